import shutil

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader
from allennlp.models.archival import load_archive
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit import mimick as module
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.mimick import MimickIndexer
from allennlp_semfit.static_vectors.table import read_table
from tests import TABLE
from tests.language_models import tensors_of
from tests.mimick_archive import write_mimick
from tests.processes import threads_in_a_fork

WORDS, VECTORS = read_table(TABLE)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return str(write_mimick(tmp_path_factory.mktemp("mimick") / "model", archive=True))


@pytest.fixture(scope="module")
def indexer(archive):
    return MimickIndexer(archive, TABLE)


@pytest.fixture(scope="module")
def expected_vector(archive):
    """The table's vector, or the prediction for the word alone in float32."""
    loaded = load_archive(archive)
    table = dict(zip(WORDS, VECTORS))

    def vector(word):
        for spelling in (word, word.lower()):
            if spelling in table:
                return table[spelling]
        instance = loaded.dataset_reader.text_to_instance(word[:100])
        loaded.dataset_reader.apply_token_indexers(instance)
        return loaded.model.forward_on_instance(instance)["vectors"]

    return vector


@given(
    st.lists(
        st.lists(st.one_of(st.sampled_from(WORDS), st.text()), max_size=5), min_size=1, max_size=4
    )
)
def test_a_batch_holds_each_words_vector(indexer, expected_vector, sentences):
    for words, vectors in zip(sentences, tensors_of(indexer, sentences)["vectors"]):
        for word, vector in zip(words, vectors):
            numpy.testing.assert_allclose(
                vector.numpy(), expected_vector(word), rtol=1e-4, atol=1e-5
            )


def test_the_table_comes_first_as_it_is_and_then_in_lower_case(indexer):
    assert {"the", "The"} <= {*WORDS}
    vectors = tensors_of(indexer, [["the", "The", "THE", "RIVER", "</s>", "thee"]])["vectors"][0]
    rows = [WORDS.index(word) for word in ("the", "The", "the", "river", "</s>")]
    assert torch.equal(vectors[:5], torch.tensor(VECTORS[rows]))
    assert not (vectors[5].numpy() == VECTORS).all(axis=1).any()


def test_a_letter_may_be_decomposed(archive):
    vectors = module._MimickVectors(archive, TABLE)
    vectors._rows["café"] = 3
    known, composed, decomposed = vectors.get_word_vectors(["Cafe\u0301", "nö", "no\u0308"])
    numpy.testing.assert_array_equal(known, VECTORS[3])
    numpy.testing.assert_array_equal(composed, decomposed)


def test_of_a_long_word_the_beginning_is_read(indexer):
    numpy.testing.assert_array_equal(
        *indexer.vectors.get_word_vectors([100 * "x", 100 * "x" + "yz"])
    )


def test_a_prediction_does_not_depend_on_the_batch(archive, monkeypatch):
    generator = numpy.random.default_rng(1)
    words = ["".join(map(chr, generator.integers(97, 123, n % 15 + 1))) for n in range(60)]
    vectors = {}
    for size in (1, 7, 60):
        monkeypatch.setattr(module, "_MAX_WORDS_PER_BATCH", size)
        fresh = module._MimickVectors(archive, TABLE)
        vectors[size] = numpy.stack(fresh.get_word_vectors(words))
    numpy.testing.assert_array_equal(vectors[1], vectors[7])
    numpy.testing.assert_array_equal(vectors[1], vectors[60])


def test_predictions_are_made_once_for_a_batch_and_cached(archive, monkeypatch):
    monkeypatch.setattr(module, "_CACHE_SIZE", 4)
    vectors = module._MimickVectors(archive, TABLE)
    predicted = []
    forward = vectors._model.forward_on_instances

    def spy(instances):
        predicted.append(
            {"".join(token.text for token in i["word"].tokens[1:-1]) for i in instances}
        )
        return forward(instances)

    monkeypatch.setattr(vectors._model, "forward_on_instances", spy)
    first = vectors.get_word_vectors(["xa", "the", "xb", "xa"])
    assert first[0] is first[3]
    assert vectors.get_word_vectors(["xb", "xa", "the"])[0] is first[2]
    vectors.get_word_vectors(["xc", "xa", "xd"])
    # The cache is full.
    again = vectors.get_word_vectors(["xe", "xa"])
    assert predicted == [{"xa", "xb"}, {"xc", "xd"}, {"xe", "xa"}]
    numpy.testing.assert_array_equal(again[1], first[0])
    for of_table_or_model in (again[1], first[1]):
        with pytest.raises(ValueError, match="read-only"):
            of_table_or_model[0] = 1


def test_a_loaders_worker_has_no_threads_to_wait_for(archive):
    assert threads_in_a_fork(MimickIndexer, archive, TABLE) == 1


def test_files_that_change_are_read_again(archive, tmp_path):
    path = tmp_path / "table.txt"
    shutil.copy(TABLE, path)
    before = MimickIndexer(archive, str(path))
    path.write_text("zebra" + 10 * " 1.0")
    after = MimickIndexer(archive, str(path))
    assert torch.equal(tensors_of(after, [["zebra"]])["vectors"], torch.ones(1, 1, 10))
    assert not torch.equal(tensors_of(before, [["zebra"]])["vectors"], torch.ones(1, 1, 10))


def from_params(archive_file, table_path):
    indexer = {"type": "mimick", "archive_file": str(archive_file), "table_path": str(table_path)}
    config = {"type": "language_modeling", "token_indexers": {"mimick": indexer}}
    return DatasetReader.from_params(Params({"dataset_reader": config})["dataset_reader"])


def test_a_missing_or_wrong_file_is_an_error_with_its_key(archive, tmp_path, lm_archive):
    table = tmp_path / "table.txt"
    table.write_text("word 1 2 3\n")
    for files, key, message in (
        (("no/such", TABLE), "archive_file", "MIMICK model no/such does not exist"),
        ((lm_archive, TABLE), "archive_file", "type 'bidirectional_lm'. It must be a `mimick`"),
        ((archive, "no/such.txt"), "table_path", "Table .* no/such.txt does not exist"),
        ((archive, table), "table_path", "has vectors of dimension 3, but the MIMICK .* 10"),
    ):
        full_key = rf"that is `dataset_reader\.token_indexers\.mimick\.{key}`"
        with pytest.raises(InvalidFileError, match=rf"{message}(?s:.)*{full_key}"):
            from_params(*files)
