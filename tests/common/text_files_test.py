import gzip
import io
import os
from unittest import mock

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import example, given
from hypothesis import strategies as st

from allennlp_semfit.common import text_files
from allennlp_semfit.common.text_files import find_text_files, read_lines, read_text

TEXT = "The river froze .\nNo boat left the harbour .\n"


def test_it_finds_files_directories_and_globs(tmp_path):
    for name in ["b.txt", "a.txt", ".hidden", "c.tmp", "deep/d.txt"]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(TEXT)

    def names(*corpus, **kwargs):
        files = find_text_files([tmp_path / entry for entry in corpus], **kwargs)
        return [path.name for path in files]

    assert names("b.txt", "a.txt") == ["b.txt", "a.txt"]
    assert names("") == ["a.txt", "b.txt", "c.tmp"]
    assert names("*.txt") == ["a.txt", "b.txt"]
    assert names("**/*.txt") == ["a.txt", "b.txt", "d.txt"]
    assert names("", outputs=[tmp_path / "c.tmp"]) == ["a.txt", "b.txt"]
    assert names("**/*.txt", outputs=[tmp_path / "deep"]) == ["a.txt", "b.txt"]
    with pytest.raises(ConfigurationError, match="c.*: there is no such file"):
        names("c.*", outputs=[tmp_path / "c.tmp"])
    for named in ("a.txt", "deep", "deep/d.txt"):
        with pytest.raises(ConfigurationError, match="the output would replace it; give the"):
            names(named, outputs=[tmp_path / "deep", tmp_path / "a.txt"])


def test_the_directory_of_a_corpus_is_not_its_training_text(tmp_path):
    shard = tmp_path / "train" / "shard-00.txt"
    shard.parent.mkdir()
    for path in (shard, tmp_path / "validation.txt", tmp_path / "corpus.json"):
        path.write_text(TEXT)
    with pytest.raises(ConfigurationError, match=f"give {tmp_path}/train$"):
        find_text_files([tmp_path])
    assert find_text_files([tmp_path / "train"]) == [shard]


def test_it_names_what_is_missing(tmp_path):
    with pytest.raises(ConfigurationError, match="it contains no files"):
        find_text_files([tmp_path])
    (tmp_path / "link.txt").symlink_to(tmp_path / "unmounted")
    with pytest.raises(ConfigurationError, match="link.txt: the file that this link names is miss"):
        find_text_files([tmp_path])
    # As the shell makes it of <(zcat text.gz).
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError, match="pipe: it is not a regular file"):
        find_text_files([tmp_path / "pipe"])
    # A variable of the shell that is not set is not the working directory.
    with pytest.raises(ConfigurationError, match="path of a text is empty"):
        find_text_files([""])


@pytest.mark.parametrize("max_rest", [None, 4, 7])
@given(text=st.text(st.sampled_from("aä三 \t\r\n\x1c\u3000"), max_size=60), size=st.integers(1, 9))
@example(text="One\r\nTwo\rThree\r\r\nFour\r", size=9)
@example(text="三" * 20, size=4)
def test_chunks_join_to_the_file(text, size, max_rest, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_bytes(text.encode())
    # With line feeds for other line ends.
    text = io.StringIO(text, newline=None).read()
    limit = max_rest or 2**21
    with mock.patch.multiple(text_files, CHUNK_SIZE=size, MAX_REST=limit):
        chunks = list(read_text(path))
        lines = list(read_lines(path))
    assert "".join(chunks) == text + "\n" * (text != "" and not text.endswith("\n"))
    assert max_rest or all(chunk.endswith("\n") for chunk in chunks)
    assert all(len(chunk.encode()) < 3 * limit + 2 * size for chunk in chunks)
    # Only a word that is longer than the limit is cut.
    if max(map(len, text.encode().split()), default=0) < limit:
        assert [word for chunk in chunks for word in chunk.split()] == text.split()
    assert lines == text.removesuffix("\n").split("\n") if text else lines == []


@pytest.mark.parametrize("chunk_size", [5, 2**20])
@pytest.mark.parametrize("broken", [b"\xff", b"\xc3", b"\xe4\xb8", b"\xed\xa0\x80"])
@pytest.mark.parametrize("end", [b"", b" and so on\n"])
def test_it_says_where_a_text_is_not_utf8(broken, end, chunk_size, tmp_path, monkeypatch):
    monkeypatch.setattr("allennlp_semfit.common.text_files.CHUNK_SIZE", chunk_size)
    before = "\ufeffGrüße\naus dem\nHafen : ".encode()
    (tmp_path / "corpus.txt").write_bytes(before + broken + end)
    found = f"not UTF-8: byte 0x{broken[0]:02x} in line 3"
    with pytest.raises(ConfigurationError, match=rf"corpus\.txt: {found}; .*iconv"):
        list(read_lines(tmp_path / "corpus.txt"))


def test_compressed_text_is_not_called_text_in_another_encoding(tmp_path):
    (tmp_path / "corpus.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    with pytest.raises(ConfigurationError, match="corpus.txt.gz is compressed; .*`gunzip`"):
        list(read_lines(tmp_path / "corpus.txt.gz"))
