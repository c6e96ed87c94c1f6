import copy
import gc
import gzip
import os
import pickle
import shutil
from pathlib import Path

import fasttext
import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from gensim.models.fasttext import ft_ngram_hashes
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.fasttext import model as model_module
from allennlp_semfit.fasttext.model import FastTextModel, ngram_hashes
from tests import FIXTURES, VECTORS

WORDS_ONLY = str(FIXTURES / "words_only.bin")
REFERENCES = {path: fasttext.load_model(path) for path in (VECTORS, WORDS_ONLY)}
STRANGE_WORDS = ["", "</s>", "<unk>", "</w>", "日本語", "e\u0301", "a\0b", "__label__x", "🜁🜂", " "]


def reference_vector(reference, word):
    """The vector of `fasttext`, but that of `<unk>` for a word that has no rows."""
    vector = reference.get_word_vector(word)
    if len(reference.get_subwords(word)[1]) > 0:
        return vector
    if len(reference.get_subwords("<unk>")[1]) > 0:
        return reference.get_word_vector("<unk>")
    words = reference.get_input_matrix()[: len(reference.words)]
    return words.astype("float64").mean(axis=0).astype("float32")


@pytest.mark.parametrize("max_rows", [7, 4096])
def test_every_word_of_the_dictionary_has_the_same_vector_as_in_fasttext(max_rows, monkeypatch):
    monkeypatch.setattr(model_module, "_MAX_ROWS_PER_READ", max_rows)
    for path, reference in REFERENCES.items():
        model = FastTextModel(path)
        assert model.dim == reference.get_dimension()
        assert model.words == reference.words
        for word in reference.words + STRANGE_WORDS:
            numpy.testing.assert_array_equal(
                model.get_word_vector(word), reference_vector(reference, word), err_msg=repr(word)
            )


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_string_has_the_same_vector_as_in_fasttext(word):
    for path, reference in REFERENCES.items():
        numpy.testing.assert_array_equal(
            FastTextModel.open(path).get_word_vector(word), reference_vector(reference, word)
        )


@given(
    word=st.text(st.characters(exclude_categories=["Cs"])),
    shortest=st.integers(0, 7),
    longest=st.integers(0, 7),
)
def test_the_hashes_of_ngrams_are_gensims(word, shortest, longest):
    larger_than_any_hash = 2**32
    expected = list(ft_ngram_hashes(word, shortest, longest, larger_than_any_hash))
    assert ngram_hashes(word.encode(), shortest, longest) == expected


def test_words_with_one_hash_have_their_own_vectors(monkeypatch):
    monkeypatch.setattr(model_module, "crc32", lambda word: len(word) % 2)
    model, reference = FastTextModel(VECTORS), REFERENCES[VECTORS]
    assert "unheard-of" not in model
    for word in reference.words:
        numpy.testing.assert_array_equal(
            model.get_word_vector(word), reference.get_word_vector(word)
        )


def test_a_word_that_occurs_twice_or_is_not_utf8(tmp_path):
    content = Path(VECTORS).read_bytes()
    path = tmp_path / "vectors.bin"
    path.write_bytes(content.replace(b"river\0", b"roses\0").replace(b"bridge\0", b"bridg\xff\0"))
    model, reference = FastTextModel(path), fasttext.load_model(str(path))
    numpy.testing.assert_array_equal(
        model.get_word_vector("roses"), reference.get_word_vector("roses")
    )
    assert "bridg\ufffd" in model.words


def test_a_lone_surrogate_is_read_as_a_question_mark():
    model = FastTextModel.open(VECTORS)
    numpy.testing.assert_array_equal(
        model.get_word_vector("a\ud800b"), model.get_word_vector("a?b")
    )


def test_a_label_of_a_model_without_ngrams_is_an_unknown_word(tmp_path):
    (tmp_path / "corpus.txt").write_text("__label__x and other words\n" * 20)
    # fastText initializes the matrix in ten equal parts, and leaves out the rest.
    options = {"minn": 0, "maxn": 0, "bucket": 0, "dim": 10, "thread": 12, "verbose": 0}
    trained = fasttext.train_unsupervised(str(tmp_path / "corpus.txt"), minCount=1, **options)
    trained.save_model(str(tmp_path / "vectors.bin"))
    model = FastTextModel(str(tmp_path / "vectors.bin"))
    assert model.words == trained.words
    assert "__label__x" in model
    vectors = [model.get_word_vector(word) for word in ("__label__x", "unheard-of")]
    numpy.testing.assert_array_equal(*vectors)


def test_vectors_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        FastTextModel.open(VECTORS).get_word_vector("harbour")[0] = 1.0


def _descriptors_and_mappings_of(path):
    directory = Path("/proc/self/fd")
    descriptors = [name for name in directory.iterdir() if os.path.realpath(name) == str(path)]
    return len(descriptors), str(path) in Path("/proc/self/maps").read_text()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux says what a process holds.")
def test_an_open_model_is_one_file_descriptor_and_no_memory_map(tmp_path):
    path = Path(shutil.copy(VECTORS, tmp_path)).resolve()
    model = FastTextModel(path)
    for word in model.words:
        model.get_word_vector(word)
    assert _descriptors_and_mappings_of(path) == (1, False)
    del model
    gc.collect()
    assert _descriptors_and_mappings_of(path) == (0, False)


def test_a_file_truncated_while_it_is_open_is_reported(tmp_path):
    path = shutil.copy(VECTORS, tmp_path)
    model = FastTextModel(path)
    os.truncate(path, os.path.getsize(path) // 2)
    words = [f"unheard-of{number}" for number in range(100)]
    with pytest.raises(ConfigurationError, match=rf"{path} is truncated after \d+ bytes"):
        list(map(model.get_word_vector, words))


def test_the_same_file_is_opened_once(tmp_path):
    link = tmp_path / "link.bin"
    link.symlink_to(VECTORS)
    model = FastTextModel.open(VECTORS)
    assert FastTextModel.open(link) is model
    assert copy.deepcopy(model) is model
    assert pickle.loads(pickle.dumps(model)) is model
    assert len(pickle.dumps(model)) < 1000


# In the magic, in the header, in the dictionary, at the input matrix, in it, at the last float.
@pytest.mark.parametrize("keep", [3, 50, 1000, 5000, 30000, -1])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = tmp_path / "cut.bin"
    path.write_bytes(Path(VECTORS).read_bytes()[:keep])
    with pytest.raises(ConfigurationError, match=rf"{path} is truncated.*again"):
        FastTextModel.open(path)


def test_bad_files_are_refused_with_their_names_and_a_remedy(tmp_path):
    empty = tmp_path / "empty.bin"
    empty.touch()
    text = tmp_path / "text.vec"
    text.write_text("10 2\n" + "harbour 0.1 0.2\n" * 50)
    for path, message in {
        tmp_path / "none.bin": "does not exist .*working directory.*train-fasttext",
        tmp_path: "is a directory",
        empty: "is truncated after 0 bytes, or damaged. Train it or copy it again",
        text: "is not a fastText model. Use the `.bin` file",
        FIXTURES / "supervised.bin": "is a supervised model .*Train an unsupervised one",
    }.items():
        with pytest.raises(ConfigurationError, match=f"(?s){path} {message}"):
            FastTextModel.open(path)


@pytest.mark.parametrize("content", [Path(VECTORS).read_bytes(), b"x"], ids=["model", "short"])
def test_a_compressed_file_says_how_to_decompress_it(content, tmp_path):
    # By its content, because a download may have lost the suffix.
    for name in ("vectors.bin.gz", "vectors.bin"):
        (tmp_path / name).write_bytes(gzip.compress(content))
        message = f"{name} is compressed; decompress it with `gunzip`. Use the `.bin` file"
        with pytest.raises(InvalidFileError, match=message):
            FastTextModel.open(tmp_path / name)


def test_a_vector_that_is_not_finite_is_refused(tmp_path):
    damaged = numpy.fromfile(VECTORS, dtype="u1")
    end_of_input_matrix = len(damaged) - 17 - 4 * 10 * len(FastTextModel.open(VECTORS).words)
    damaged[end_of_input_matrix - 30000 : end_of_input_matrix] = 0xFF  # as floats, NaN
    path = tmp_path / "damaged.bin"
    damaged.tofile(path)
    with pytest.raises(ConfigurationError, match="not finite.*allennlp train-fasttext"):
        FastTextModel.open(path).get_word_vector("unheard-of")
