import math
from collections import Counter
from unittest.mock import patch

import numpy
import pytest
from allennlp.data import Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA

from allennlp_semfit.common import text_files
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
# The last word does not occur.
WORDS = ["@@UNKNOWN@@", "</s>", "a", "b", "c", "z"]

# The words "d" and "\x1c", which separates words, are not among them; and there are empty lines.
LINES = st.lists(
    st.text(st.sampled_from("abcd \u3000"), max_size=12).map(" ".join), min_size=1, max_size=6
)


def pairs(lines, words, window):
    """Counts pair by pair."""
    known = set(words)
    counts = Counter()
    for line in lines:
        sentence = [word if word in known else words[0] for word in line.split()]
        if not sentence:
            continue
        sentence = ["</s>", *sentence, "</s>"]
        for i, word in enumerate(sentence):
            for follower in sentence[i + 1 : i + 1 + window]:
                counts[word, follower] += 1
    return counts


def dense(counts, words):
    return numpy.array([[counts[first, second] for second in words] for first in words])


@given(LINES, st.integers(1, 9), st.integers(1, 30))
def test_it_counts_each_pair(tmp_path_factory, lines, window, chunk_bytes):
    path = tmp_path_factory.mktemp("corpus") / "in.txt"
    path.write_text("\n".join([*lines, "a"]), "utf-8")
    with patch.object(text_files, "CHUNK_SIZE", chunk_bytes):
        cooccurrences = count_cooccurrences([path], WORDS, window=window)
    numpy.testing.assert_array_equal(
        cooccurrences.toarray(), dense(pairs([*lines, "a"], WORDS, window), WORDS)
    )


def test_workers_do_not_change_the_counts(monkeypatch):
    monkeypatch.setattr(text_files, "CHUNK_SIZE", 500)
    lines = [line for path in FILES for line in path.read_text("utf-8").split("\n")]
    words = ["@@UNKNOWN@@", *sorted({word for line in lines for word in line.split()})[::2], "</s>"]
    cooccurrences = count_cooccurrences(FILES, words, window=3, num_workers=3)
    assert cooccurrences.has_canonical_format
    numpy.testing.assert_array_equal(cooccurrences.toarray(), dense(pairs(lines, words, 3), words))


@pytest.fixture
def lines():
    return ["a b c a", "b b d", "", "c a b", "a"]


@pytest.fixture
def cooccurrences(lines, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\n".join(lines))
    return count_cooccurrences([path], WORDS, window=2)


def test_ppmi_is_that_of_the_definition(cooccurrences, lines):
    counts = Counter()
    for (first, second), count in pairs(lines, WORDS, 2).items():
        counts[first, second] += count
        counts[second, first] += count
    total = sum(counts.values())
    expected = numpy.zeros((len(WORDS), len(WORDS)))
    occurrences = {
        word: sum(count for pair, count in counts.items() if pair[0] == word) for word in WORDS
    }
    smoothed = {word: occurrences[word] ** 0.75 for word in WORDS}
    for i, context in enumerate(WORDS):
        for j, word in enumerate(WORDS):
            if counts[context, word]:
                p_context = smoothed[context] / sum(smoothed.values())
                p_word = occurrences[word] / total
                pmi = math.log(counts[context, word] / total / p_context / p_word)
                expected[i, j] = max(pmi, 0)
    ppmi = positive_pmi(cooccurrences)
    numpy.testing.assert_allclose(ppmi.toarray(), expected, rtol=1e-6, atol=1e-7)
    assert ppmi.nnz == (expected > 0).sum() > 0
    assert ppmi.dtype == numpy.float32


def test_conditional_probabilities_are_those_of_the_next_and_of_the_previous_word(
    cooccurrences, lines
):
    counts = pairs(lines, WORDS, 2)
    expected = []
    for swap in (False, True):
        for context in WORDS:
            given_context = [counts[(word, context) if swap else (context, word)] for word in WORDS]
            expected.append([count / max(sum(given_context), 1) for count in given_context])
    probabilities = conditional_probabilities(cooccurrences)
    numpy.testing.assert_allclose(probabilities.toarray(), expected, rtol=1e-6)
    assert probabilities.dtype == numpy.float32


def table(path):
    """The words and their vectors, float64."""
    read = KeyedVectors.load_word2vec_format(path)
    return read.index_to_key, read.vectors.astype(float)


def test_the_vectors_are_the_svds():
    values = numpy.random.RandomState(0).rand(41, 29)
    matrix = numpy.where(values > 0.7, values, 0).astype(numpy.float32)
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
