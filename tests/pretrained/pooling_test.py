import numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from allennlp_semfit.pretrained.pooling import pool_words

VECTORS = st.tuples(st.integers(0, 5), st.integers(1, 4)).flatmap(
    lambda shape: arrays(numpy.float32, shape, elements=st.floats(-100, 100, width=32))
)


@given(VECTORS, st.sampled_from(["mean", "max", "first"]))
def test_the_words_of_any_sentence(vectors, pool):
    pooled = pool_words(vectors, pool)
    assert pooled.dtype == numpy.float32
    assert not numpy.shares_memory(pooled, vectors)
    expected = []
    for column in vectors.T.tolist():
        values = {"mean": sum(column) / max(len(column), 1), "max": max(column, default=0)}
        values["first"] = column[0] if column else 0
        expected.append(values[pool])
    assert pooled.shape == (len(expected),)
    if pool == "mean":
        # Rounding is relative to the largest.
        numpy.testing.assert_allclose(pooled, expected, rtol=0, atol=5 * 100 * 2**-23)
    else:
        numpy.testing.assert_array_equal(pooled, expected)
