import bz2
import gzip
import logging
import lzma
import shutil
import zipfile
from pathlib import Path

import numpy
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.static_vectors.table import read_table, write_table
from tests import TABLE

# Any characters but the separators of words and lines, and the byte order mark.
WORDS = st.text(
    st.characters(exclude_characters=" \t\r\n\ufeff", exclude_categories=["Cs"]),
    min_size=1,
    max_size=9,
).filter(str.strip)
VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False)


def write(path, text):
    path.write_bytes(text.encode("utf-8"))
    return str(path)


@pytest.mark.parametrize("header", [True, False])
def test_it_reads_what_gensim_reads(header, tmp_path):
    lines = Path(TABLE).read_text("utf-8").splitlines(keepends=True)
    path = write(tmp_path / "table.txt", "".join(lines if header else lines[1:]))
    words, vectors = read_table(path)
    expected = KeyedVectors.load_word2vec_format(path, no_header=not header)
    assert words == expected.index_to_key
    assert vectors.dtype == numpy.float32
    numpy.testing.assert_array_equal(vectors, expected.vectors)


@given(st.dictionaries(WORDS, st.lists(VALUES, min_size=3, max_size=3), min_size=1), st.booleans())
def test_any_words_and_values_come_back(tmp_path_factory, table, header):
    lines = [" ".join([word, *map(repr, values)]) for word, values in table.items()]
    text = "\n".join([f"{len(table)} 3"] * header + lines) + "\n"
    path = write(tmp_path_factory.getbasetemp() / "any.txt", text)
    words, vectors = read_table(path)
    assert words == list(table)
    numpy.testing.assert_array_equal(vectors, numpy.float32(list(table.values())))


def test_a_word_may_have_spaces(tmp_path):
    text = ", 1 2 3\n. . . 4 5 6\nat name@domain.com 7 8 9 \r\n"
    words, vectors = read_table(write(tmp_path / "glove.txt", text))
    assert words == [",", ". . .", "at name@domain.com"]
    assert vectors.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_it_may_be_compressed_or_in_an_archive(tmp_path):
    words, vectors = read_table(TABLE)
    content = Path(TABLE).read_bytes()
    for suffix, module in ((".gz", gzip), (".bz2", bz2), (".xz", lzma)):
        path = tmp_path / f"table.txt{suffix}"
        path.write_bytes(module.compress(content))
        found = read_table(str(path))
        assert found[0] == words
        numpy.testing.assert_array_equal(found[1], vectors)
    with zipfile.ZipFile(tmp_path / "tables.zip", "w") as archive:
        archive.writestr("a.txt", content)
        archive.writestr("b.txt", "word 1 2\n")
    assert read_table(f"({tmp_path}/tables.zip)#a.txt")[0] == words
    assert read_table(f"({tmp_path}/tables.zip)#b.txt")[0] == ["word"]
    for inside in ("", "#c.txt"):
        uri = f"({tmp_path}/tables.zip){inside}" if inside else f"{tmp_path}/tables.zip"
        with pytest.raises(InvalidFileError, match=r"tables.zip.* cannot be read \("):
            read_table(uri)


def test_only_the_first_words_may_be_read(tmp_path):
    # A repeated word counts once.
    path = write(tmp_path / "table.txt", "4 2\na 1 2\na 7 8\nb 3 4\nc x\n")
    words, vectors = read_table(path, max_words=2)
    assert words == ["a", "b"]
    assert vectors.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InvalidFileError, match="line 5"):
        read_table(path, max_words=3)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(
    "ignored",
    # A repeated word, two that are not UTF-8, and white space.
    [b"a", b"\xed\xa0\xbd", b"\xf6", b" ", b"", b"\t"]
    + [space.encode() for space in "\u00a0\u3000\u0085\u2028"],
)
def test_a_line_without_a_new_word_is_ignored(ignored, header, tmp_path, caplog):
    caplog.set_level(logging.WARNING, logger="allennlp_semfit")
    lines = [b"a 1 2", ignored + b" 3 4", b"b 5 6", ignored + b" 7 8"]
    path = tmp_path / "table.txt"
    path.write_bytes(b"\n".join([b"4 2"] * header + lines) + b"\n")
    words, vectors = read_table(str(path))
    assert words == ["a", "b"]
    assert vectors.tolist() == [[1, 2], [5, 6]]
    if ignored == b"a":
        expected = KeyedVectors.load_word2vec_format(path, no_header=not header)
        assert words == list(expected.key_to_index)
    (record,) = [record for record in caplog.records if record.name.startswith("allennlp_semfit")]
    message = record.getMessage()
    assert message.startswith(f"{path} has 2 lines whose word is a repetition, not UTF-8 or")
    assert message.endswith(f" in line {2 + header}. They are ignored.")


@pytest.mark.parametrize(
    ("module", "program"), [(gzip, "gunzip"), (bz2, "bunzip2"), (lzma, "unxz")]
)
def test_a_compressed_table_without_the_suffix_says_so(module, program, tmp_path):
    path = tmp_path / "table.vec"
    path.write_bytes(module.compress(Path(TABLE).read_bytes()))
    with pytest.raises(InvalidFileError, match=f"{path} is compressed; decompress .*`{program}`"):
        read_table(str(path))
    (tmp_path / "table.vec.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(InvalidFileError, match="vec.gz is compressed"):
        read_table(str(tmp_path / "table.vec.gz"))
    # A word that begins like a file of bzip2.
    assert read_table(write(path, "BZh9 1 2\n"))[0] == ["BZh9"]


@pytest.mark.parametrize("mode", ["zip", "tar", "gztar"])
def test_an_archive_without_files(mode, tmp_path):
    (tmp_path / "nothing").mkdir()
    path = shutil.make_archive(str(tmp_path / "table"), mode, tmp_path / "nothing")
    with pytest.raises(InvalidFileError, match=f"{path} is empty"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty. Give a table"),
        ("5 3\n", "has 0 words, but 5 according to its header in line 1."),
        ("a 1 2\n\n", "has no word in line 2."),
        ("word\n", "has no vector in line 1."),
        ("a 1 2\nb 1\n", "has 1 values instead of the 2 of line 1 in line 2."),
        ("a 1 2\nb 1 2 3\n", "has more than the 2 values of line 1 in line 2."),
        (" a 1 2\n", "has a value that is not a number (could not convert string to float: 'a') i"),
        ("a\t1\t2\n", "has no vector in line 1. Each line must have"),
        ("2 2\na 1 2\n", "has 1 words, but 2 according to its header in line 1. It may be trunc"),
        ("2 2\na 1 2\nb 1 2\na 3 4\n", "has 3 words, but 2 according to its header in line 1."),
        (
            "a 1 2\nb 1 x2\n",
            "has a value that is not a number (could not convert string to float: 'x2') in line 2.",
        ),
        ("a 1 2\nb 1 nan\n", "has a value that is not finite in line 2."),
        ("a 1 1e39\n", "has a value that is not finite in line 1."),
        ("3 2\na 1 2\na 1 2\nb 1 nan\n", "has a value that is not finite in line 4."),
    ],
)
def test_an_error_names_the_file_and_the_line(text, message, tmp_path):
    path = write(tmp_path / "table.txt", text)
    with pytest.raises(InvalidFileError) as error:
        read_table(path)
    assert f"Table of word vectors {path} {message}" in str(error.value)


def test_what_is_not_text_is_an_error(tmp_path):
    path = tmp_path / "table.bin"
    vectors = KeyedVectors(3)
    vectors.add_vectors(["a", "b"], numpy.random.default_rng(1).normal(size=(2, 3)))
    vectors.save_word2vec_format(str(path), binary=True)
    with pytest.raises(InvalidFileError, match=r"is not text: it has .* in line 2. .*word2vec"):
        read_table(str(path))
    path.write_bytes(b"sch\xf6n 1 2\n")
    with pytest.raises(InvalidFileError, match="has no words in line 1"):
        read_table(str(path))


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "table.txt.gz").write_bytes(b"a 1 2\n")
    for path, message in (
        (tmp_path / "table.txt.gz", "table.txt.gz cannot be read"),
        (tmp_path, "is a directory. Give the file in it"),
        ("no/such.txt", "no/such.txt does not exist .*working directory"),
    ):
        with pytest.raises(InvalidFileError, match=message):
            read_table(str(path))


def test_a_damaged_archive_is_an_error(tmp_path):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.txt", "".join(f"{n} {n * 0.1}\n" for n in range(100_000)))
    for name, mode, is_cut in (
        ("a.zip", "zip", True),
        ("a.zip", "zip", False),
        ("a.tar", "tar", True),
    ):
        path = Path(shutil.make_archive(str(tmp_path / "a"), mode, tmp_path / "in"))
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 255
        path.write_bytes(content[: len(content) // 2] if is_cut else content)
        for uri in (f"({path})#a.txt", str(path)):
            with pytest.raises(InvalidFileError, match=f"{name}.* (truncated|damaged).*again"):
                read_table(uri)


def test_gensim_reads_what_is_written(tmp_path):
    words = ["@@UNKNOWN@@", "the", "naïve", "三", "12", "#"]
    vectors = numpy.random.RandomState(0).randn(len(words), 7).astype(numpy.float32)
    vectors[2] *= 1e-20
    vectors[3] = 0
    write_table(tmp_path / "new" / "table.txt", words, vectors)
    read = KeyedVectors.load_word2vec_format(tmp_path / "new" / "table.txt")
    assert read.index_to_key == words
    numpy.testing.assert_allclose(read.vectors, vectors, rtol=5e-6)
    assert (tmp_path / "new" / "table.txt").read_bytes().startswith(b"6 7\n@@UNKNOWN@@ ")
