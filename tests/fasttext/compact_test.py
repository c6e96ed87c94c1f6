import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.fasttext import compact as compact_module
from allennlp_semfit.fasttext.compact import CompactFastText, open_fasttext, write_compact
from allennlp_semfit.fasttext.model import FastTextModel
from tests import FIXTURES, VECTORS

MODEL = FastTextModel.open(VECTORS)
HALF = numpy.finfo(numpy.float16)


@pytest.fixture(scope="module")
def compact(tmp_path_factory):
    path = tmp_path_factory.mktemp("compact") / "vectors.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compact_module, "_ROWS_PER_READ", 7)
        write_compact(MODEL, path)
    return open_fasttext(str(path))


def test_the_file_has_the_mode_of_any_other(tmp_path):
    (tmp_path / "other").touch()
    write_compact(MODEL, tmp_path / "vectors.safetensors")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_words_of_the_dictionary_are_rounded_to_half_precision(compact):
    for word in MODEL.words:
        expected = MODEL.get_word_vector(word)
        numpy.testing.assert_allclose(
            compact.get_word_vector(word),
            expected,
            rtol=float(HALF.eps),
            atol=float(HALF.smallest_subnormal),
        )
        assert word in compact


@given(st.text())
def test_any_other_string_differs_by_the_rounding_of_its_ngrams(compact, word):
    if word in MODEL:
        return
    assert word not in compact
    used = {bucket for known in MODEL.words for bucket in MODEL.buckets_of(known.encode())}
    buckets = MODEL.buckets_of(word.encode(errors="replace"))
    others = MODEL.read_buckets([*set(range(MODEL.bucket)) - used]).mean(axis=0)
    error = numpy.full(MODEL.dim, float(HALF.eps))
    for bucket in buckets:
        row = MODEL.read_buckets([bucket])[0]
        rounding = abs(row).max() / 127 / 2
        error += (rounding if bucket in used else abs(row - others)) / len(buckets)
    difference = abs(compact.get_word_vector(word) - MODEL.get_word_vector(word))
    assert (difference <= 1.001 * error).all()


def test_looking_up_ngrams_converts_no_table(compact, monkeypatch):
    def searchsorted(table, values):
        assert table.dtype == values.dtype
        return search(table, values)

    search = numpy.searchsorted
    monkeypatch.setattr(numpy, "searchsorted", searchsorted)
    compact.get_word_vector("unheard")


def test_without_ngrams_unknown_words_have_the_vector_of_the_unknown_word(tmp_path):
    model = FastTextModel.open(FIXTURES / "words_only.bin")
    write_compact(model, tmp_path / "vectors.safetensors")
    compact = CompactFastText.open(tmp_path / "vectors.safetensors")
    actual, expected = compact.get_word_vector("unheard"), model.get_word_vector("unheard")
    numpy.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-6)
    assert compact.dim == model.dim


SIZES = {"bucket": "1000", "minn": "3", "maxn": "6"}


def test_ngrams_that_are_not_stored_have_the_same_row(compact, tmp_path):
    tensors = load_file(compact.path)
    for name in ("buckets", "bucket_scales", "bucket_rows"):
        tensors[name] = tensors[name][:1]
    path = tmp_path / "vectors.safetensors"
    save_file(tensors, path, SIZES)
    vector = CompactFastText.open(path).get_word_vector("unheard")
    numpy.testing.assert_allclose(vector, tensors["other_row"], rtol=1e-6)
    assert vector.any()


@pytest.mark.parametrize(
    ("sizes", "buckets", "message"),
    [
        (None, numpy.s_[:], r"cannot be read \('bucket'\)"),
        ({**SIZES, "bucket": str(2**32)}, numpy.s_[:], "`bucket` is 4294967296"),
        ({**SIZES, "bucket": "-1"}, numpy.s_[:], "`bucket` is -1"),
        (SIZES, numpy.s_[1:], "tables of different lengths"),
        (SIZES, numpy.s_[:, None], "tables of different lengths"),
    ],
)
def test_another_file_is_refused_with_its_name(sizes, buckets, message, compact, tmp_path):
    path = tmp_path / "vectors.safetensors"
    tensors = load_file(compact.path)
    tensors["buckets"] = tensors["buckets"][buckets]
    save_file(tensors, path, sizes)
    with pytest.raises(InvalidFileError, match=f"{path} .*{message}"):
        open_fasttext(str(path))
