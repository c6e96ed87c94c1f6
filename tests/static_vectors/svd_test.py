import numpy
import pytest
from allennlp.data import Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA

from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.static_vectors import svd
from allennlp_semfit.static_vectors.svd import (
    conditional_probabilities,
    count_cooccurrences,
    positive_pmi,
    train_svd,
)
from tests import TRAIN, VECTORS

FILES = sorted(TRAIN.iterdir())


def table(path):
    """The words and their vectors, float64."""
    read = KeyedVectors.load_word2vec_format(path)
    return read.index_to_key, read.vectors.astype(float)


def sparse(num_rows, num_columns, seed=0):
    values = numpy.random.RandomState(seed).rand(num_rows, num_columns)
    return numpy.where(values > 0.7, values, 0).astype(numpy.float32)


def test_the_vectors_are_the_svds():
    matrix = sparse(41, 29)
    left, values, right = numpy.linalg.svd(matrix.astype(float))
    for alpha in (0, 0.5, 1, 1.5):
        vectors, explained_share = svd._truncated_svd(csr_matrix(matrix), 7, alpha=alpha)
        expected = right[:7].T * values[:7] ** alpha
        # Up to the sign of each column.
        expected *= numpy.sign((expected * vectors).sum(axis=0))
        numpy.testing.assert_allclose(vectors, expected, atol=2e-5 * values[0] ** alpha)
        assert explained_share == pytest.approx((values[:7] ** 2).sum() / (values**2).sum())
        largest = numpy.abs(vectors).argmax(axis=0)
        assert (vectors[largest, range(7)] > 0).all()


@given(st.integers(2, 25), st.integers(2, 12), st.integers(0, 12), st.integers(0, 2**31))
def test_a_matrix_of_any_rank_is_decomposed(num_rows, num_columns, rank, seed):
    random = numpy.random.RandomState(seed)
    matrix = 1 + random.rand(num_rows, rank) @ random.rand(rank, num_columns)
    dim = min(num_rows, num_columns) - 1
    vectors, _ = svd._truncated_svd(csr_matrix(matrix), dim, alpha=1)
    left, values, right = numpy.linalg.svd(matrix, full_matrices=False)
    expected = (right[:dim].T * values[:dim] ** 2) @ right[:dim]
    numpy.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-5 * expected.max())


@pytest.mark.parametrize("matrix", ["ppmi", "conditional"])
def test_the_table_has_the_matrix_of_the_corpus(matrix, tmp_path):
    result = train_svd(
        [TRAIN], tmp_path / "svd.txt", matrix=matrix, dim=6, alpha=1, min_count=3, num_workers=1
    )
    words, vectors = table(tmp_path / "svd.txt")
    reader = LanguageModelingReader(token_indexers={"tokens": SingleIdTokenIndexer()})
    instances = list(reader.read(TRAIN))
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances, min_count={"tokens": 3})
    assert sorted(words) == sorted(list(vocab.get_token_to_index_vocabulary())[1:])
    assert words[:2] == ["@@UNKNOWN@@", "</s>"]

    window = {"ppmi": 2, "conditional": 1}[matrix]
    function = {"ppmi": positive_pmi, "conditional": conditional_probabilities}[matrix]
    expected = function(count_cooccurrences(FILES, words, window=window)).toarray().astype(float)
    values = numpy.linalg.svd(expected, compute_uv=False)
    numpy.testing.assert_allclose(numpy.linalg.norm(vectors, axis=0), values[:6], rtol=1e-4)
    # They are right singular vectors.
    image = expected.T @ (expected @ vectors)
    numpy.testing.assert_allclose(image, vectors * values[:6] ** 2, atol=1e-3 * values[0] ** 3)
    assert vectors[0].any()

    assert result.num_words == sum(len(path.read_text("utf-8").split()) for path in FILES)
    assert result.table_size == len(words)
    assert result.num_nonzeros == (expected > 0).sum()
    share = (values[:6] ** 2).sum() / (values**2).sum()
    assert result.explained_share == pytest.approx(share, rel=1e-4)


def test_each_option_is_used(tmp_path):
    options = {"dim": 5, "window": 3, "alpha": 0, "min_count": 2, "max_words": 40}
    result = train_svd([TRAIN], tmp_path / "svd.vec", **options, num_workers=1)
    words, vectors = table(tmp_path / "svd.vec")
    assert result.num_nonzeros == positive_pmi(count_cooccurrences(FILES, words, window=3)).nnz
    assert len(words) == 41
    numpy.testing.assert_allclose(vectors.T @ vectors, numpy.eye(5), atol=1e-5)


def test_the_vocabulary_has_the_tables_words(tmp_path):
    out, vocabulary = tmp_path / "svd.txt", tmp_path / "vocabulary"
    text = tmp_path / "in.txt"
    text.write_text("one two @@UNKNOWN@@\ntwo one three\n" * 3)
    for force in (False, True):
        # Neither output is text of the second run.
        train_svd(
            [tmp_path / "**/*.txt"],
            out,
            dim=2,
            min_count=1,
            vocabulary_dir=vocabulary,
            num_workers=1,
            force=force,
        )
        words, vectors = table(out)
        assert words == ["@@UNKNOWN@@", "</s>", "one", "two", "three"]
        vocab = Vocabulary.from_files(vocabulary)
        assert list(vocab.get_token_to_index_vocabulary()) == ["@@PADDING@@", *words]
    # A word of the text is read as it.
    assert vectors[0].any()


def test_without_rare_words_the_unknown_word_is_zero(tmp_path):
    text, out = tmp_path / "in.txt", tmp_path / "svd.txt"
    text.write_text("one two three one\nthree one\n")
    train_svd([text], out, dim=2, min_count=1, num_workers=1)
    words, vectors = table(out)
    # By frequency: each line has a boundary at both ends.
    assert words == ["@@UNKNOWN@@", "</s>", "one", "three", "two"]
    assert (vectors.any(axis=1) == [word != "@@UNKNOWN@@" for word in words]).all()
    train_svd([text], out, dim=2, min_count=1, num_workers=1, pca_of=VECTORS, force=True)
    assert not table(out)[1][0].any()


def test_pca_is_that_of_fasttexts_vectors(tmp_path):
    out = tmp_path / "pca.txt"
    result = train_svd([TRAIN], out, pca_of=VECTORS, dim=4, min_count=3, num_workers=1)
    words, vectors = table(out)
    model = FastTextModel.open(VECTORS)
    original = numpy.array([model.get_word_vector(word) for word in words[1:]], dtype=float)
    pca = PCA(4, svd_solver="covariance_eigh").fit(original)
    expected = pca.transform(original)
    expected *= numpy.sign((expected * vectors[1:]).sum(axis=0))
    numpy.testing.assert_allclose(vectors[1:], expected, atol=1e-5 * numpy.abs(expected).max())
    assert result.explained_share == pytest.approx(pca.explained_variance_ratio_.sum(), rel=1e-4)
    assert result.num_nonzeros is None

    rare = [
        word for path in FILES for word in path.read_text("utf-8").split() if word not in set(words)
    ]
    mean = numpy.mean([model.get_word_vector(word) for word in rare], axis=0, dtype=float)
    signs = numpy.sign((pca.transform(original) * vectors[1:]).sum(axis=0))
    expected_unknown = pca.transform(mean[None])[0] * signs
    numpy.testing.assert_allclose(vectors[0], expected_unknown, atol=1e-5)
