import os

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.text_files import find_text_files, read_text, unchanged

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
    assert names("", exclude=[tmp_path / "c.tmp"]) == ["a.txt", "b.txt"]


def test_a_name_with_glob_characters_is_a_file(tmp_path):
    path = tmp_path / "part[1].txt"
    path.write_text(TEXT)
    assert find_text_files([path]) == [path]


def test_it_names_what_is_missing(tmp_path):
    with pytest.raises(ConfigurationError, match=r"missing\.txt: there is no such file"):
        find_text_files([tmp_path / "missing.txt"])
    with pytest.raises(ConfigurationError, match=r"\*\.txt: there is no such file"):
        find_text_files([tmp_path / "*.txt"])
    with pytest.raises(ConfigurationError, match="it contains no files"):
        find_text_files([tmp_path])


@pytest.mark.parametrize("change", [os.remove, os.utime, lambda path: path.write_text("")])
def test_a_file_that_changes_is_named(tmp_path, change):
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    for path in files:
        path.write_text(TEXT)
        os.utime(path, (0, 0))
    with unchanged(files):
        files[0].read_text()
    message = r"b\.txt: it changed while it was read"
    with pytest.raises(ConfigurationError, match=message), unchanged(files):
        change(files[1])


def test_a_pipe_or_a_device_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ConfigurationError, match=f"^{path}: it is not a regular file; write"):
            find_text_files([path])


def test_chunks_join_to_the_file_and_end_where_a_word_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("allennlp_semfit.common.text_files.CHUNK_SIZE", 5)
    path = tmp_path / "text.txt"
    path.write_text("größere Wörter\n\n三つ の ことば\nzuletzt", "utf-8")
    chunks = list(read_text(path))
    assert b"".join(chunks) == path.read_bytes()
    assert len(chunks) > 3
    assert all(not chunk or chunk[-1:].isspace() for chunk in chunks[:-1])
