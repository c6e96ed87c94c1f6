import fasttext
import numpy
import pytest

from allennlp_semfit.analysis.senteval.sentence_vectors import FastTextVectors, LanguageModelVectors
from tests import VECTORS
from tests.tolerance import assert_same_but_for_rounding

SENTENCES = [
    ["The", "heron", "stood", "on", "the", "bridge", "."],
    [],
    ["Snow", "."],
    ["zxqv"] * 70,
    ["Snow", "fell", "."],
]


@pytest.mark.parametrize(
    ("layers", "description"),
    [
        ("average", "the mean of 3 layers"),
        ("normalized", "the mean of 3 layers, each normalised"),
        ("top", "the last of 3 layers"),
        ("all", "3 layers side by side"),
    ],
)
def test_the_mean_over_words_of_the_layers(layers, description, embedder):
    # So small a batch that there are two groups of sentences, which are not in order.
    vectors = LanguageModelVectors(embedder, batch_size=1, layers=layers)
    assert vectors.description == f"mean over the words of {description}"
    found = vectors(SENTENCES)
    assert found.shape == (5, embedder.get_sentence_dim(layers)) == (5, vectors.dim)
    assert_same_but_for_rounding(found, embedder.sentence_vectors(SENTENCES, layers=layers))


def test_the_mean_of_fasttext_vectors():
    reference = fasttext.load_model(VECTORS)
    found = FastTextVectors(VECTORS)(SENTENCES)
    assert found.dtype == numpy.float32
    for row, sentence in zip(found, SENTENCES):
        expected = numpy.zeros(reference.get_dimension())
        for word in sentence:
            expected += reference.get_word_vector(word) / len(sentence)
        assert_same_but_for_rounding(row, expected)


def test_no_words_at_all(embedder):
    assert not FastTextVectors(VECTORS)([[], []]).any()
    assert not LanguageModelVectors(embedder)([[]]).any()
