import os
import signal
from pathlib import Path
from unittest.mock import Mock

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from safetensors.numpy import save_file

from allennlp_semfit.common.output import check_output_path, write_directory, write_file
from tests import files_in
from tests.processes import error_in_fork, fork

CONTENTS = ("shards/", "extra.txt", "record.json")


def write_output(directory, text):
    (directory / "shards").mkdir()
    (directory / "shards" / "0.txt").write_text(text)
    (directory / "record.json").write_text(text)


def write(path, text, writer, args):
    with writer(path, *args) as temporary:
        write_output(temporary, text) if args else temporary.write_text(text)


def write_half(stop, writer, path, *args):
    with writer(path, *args) as temporary:
        (temporary / "record.json" if args else temporary).write_text("half")
        stop()


def kill(*arguments):
    """Kills a process that is writing."""
    process = fork(write_half, lambda: os.kill(os.getpid(), signal.SIGKILL), *arguments)
    process.join()
    assert process.exitcode == -signal.SIGKILL


both_writers = pytest.mark.parametrize(
    ("writer", "args"), [(write_file, ()), (write_directory, (CONTENTS,))]
)


class TestCheckOutputPath:
    @pytest.mark.parametrize("contents", [(), CONTENTS])
    def test_accepts_a_new_path_and_creates_nothing(self, tmp_path, contents, monkeypatch):
        check_output_path(tmp_path / "new", contents=contents)
        check_output_path(tmp_path / "missing" / "new", contents=contents)
        monkeypatch.chdir(tmp_path)
        check_output_path(Path("new"), contents=contents)
        assert not os.listdir(tmp_path)

    def test_an_existing_file_needs_force(self, tmp_path):
        path = tmp_path / "out.bin"
        path.write_text("old")
        with pytest.raises(ConfigurationError, match=r"out\.bin: it exists; .* or --force to repl"):
            check_output_path(path)
        check_output_path(path, force=True)
        assert path.read_text() == "old"

    @pytest.mark.parametrize("force", [False, True])
    def test_a_pipe_is_neither_opened_nor_replaced(self, tmp_path, force):
        os.mkfifo(tmp_path / "out.bin")
        with pytest.raises(ConfigurationError, match=r"out\.bin: it is not a regular file"):
            check_output_path(tmp_path / "out.bin", force=force)

    def test_an_existing_directory_needs_force_unless_it_is_empty(self, tmp_path):
        (tmp_path / ".lock").touch()
        check_output_path(tmp_path, contents=CONTENTS)
        (tmp_path / "notes").touch()
        with pytest.raises(ConfigurationError) as error:
            check_output_path(tmp_path, contents=CONTENTS)
        assert str(error.value) == (
            f"{tmp_path}: it is not empty; give another directory, or --force to replace shards/, "
            "extra.txt, record.json in it"
        )
        check_output_path(tmp_path, contents=CONTENTS, force=True)

    @pytest.mark.parametrize("force", [False, True])
    def test_a_file_is_no_directory_nor_the_reverse(self, tmp_path, force):
        file = tmp_path / "file"
        file.touch()
        with pytest.raises(ConfigurationError, match="file: it is a file; give the name of a dir"):
            check_output_path(file, contents=CONTENTS, force=force)
        for contents in ((), CONTENTS):
            with pytest.raises(ConfigurationError, match="file: it is a file, not a directory"):
                check_output_path(file / "below" / "it", contents=contents, force=force)
        with pytest.raises(ConfigurationError, match=f"^{tmp_path}: it is a directory, not a file"):
            check_output_path(tmp_path, force=force)

    def test_a_compressed_file_is_refused(self, tmp_path):
        with pytest.raises(ConfigurationError, match=r"not compressed; leave out \.gz"):
            check_output_path(tmp_path / "vectors.txt.gz")
        check_output_path(tmp_path / "model.gz", contents=CONTENTS)

    @pytest.mark.parametrize("contents", [(), CONTENTS])
    def test_a_directory_without_write_permission(self, tmp_path, contents, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
        for name in ("new", "missing/new"):
            with pytest.raises(ConfigurationError, match=f"^{tmp_path}: it is not writable"):
                check_output_path(tmp_path / name, contents=contents)


class TestWriteFile:
    def test_the_file_appears_at_the_end(self, tmp_path):
        path = tmp_path / "missing" / "out.txt"
        for text in ("new", "newer"):
            before = path.exists() and path.read_text()
            with write_file(path) as temporary:
                temporary.write_text(text)
                assert (path.exists() and path.read_text()) == before
            assert files_in(tmp_path) == {"missing/out.txt": text}


class TestWriteDirectory:
    @pytest.mark.parametrize("place", ["new", "missing/new"])
    def test_a_new_directory_appears_whole(self, tmp_path, place):
        path = tmp_path / place
        with write_directory(path, CONTENTS) as temporary:
            write_output(temporary, "new")
            assert not path.exists()
        assert files_in(path) == {"shards/0.txt": "new", "record.json": "new"}
        assert os.listdir(path.parent) == ["new"]
        (tmp_path / "other").mkdir()
        assert path.stat().st_mode == (tmp_path / "other").stat().st_mode

    def test_in_an_existing_directory_only_the_contents_are_replaced(self, tmp_path):
        path = tmp_path / "out"
        path.mkdir()
        write_output(path, "old")
        (path / "shards" / "1.txt").write_text("old")
        (path / "extra.txt").write_text("old")
        (path / "notes.txt").write_text("mine")
        before = files_in(path)
        with write_directory(path, CONTENTS) as temporary:
            write_output(temporary, "new")
            assert {name: text for name, text in files_in(path).items() if "/new/" not in name} == (
                before
            )
        # Nothing of the old output is left, not even files that the new one lacks.
        assert files_in(tmp_path) == {
            "out/shards/0.txt": "new",
            "out/record.json": "new",
            "out/notes.txt": "mine",
        }

    def test_the_last_of_the_contents_is_never_there_without_the_others(
        self, tmp_path, monkeypatch
    ):
        path = tmp_path / "out"
        replace = os.replace

        def check(*names):
            replace(*names)
            if (path / "record.json").exists():
                texts = [(path / name).read_text() for name in ("record.json", "shards/0.txt")]
                assert texts[0] == texts[1]

        monkeypatch.setattr(os, "replace", check)
        for text in ("old", "new"):
            write(path, text, write_directory, (CONTENTS,))

    def test_links_are_followed_to_the_directory_but_not_from_it(self, tmp_path):
        path, data = tmp_path / "link", tmp_path / "data"
        (tmp_path / "out").mkdir()
        data.mkdir()
        (data / "0.txt").write_text("data")
        path.symlink_to("out")
        (path / "shards").symlink_to(data)
        write(path, "new", write_directory, (CONTENTS,))
        assert path.is_symlink()
        assert files_in(tmp_path / "out") == {"shards/0.txt": "new", "record.json": "new"}
        assert files_in(data) == {"0.txt": "data"}


def test_a_link_to_a_file_remains(tmp_path):
    (tmp_path / "big").mkdir()
    (tmp_path / "link").symlink_to("big/out")
    write(tmp_path / "link", "new", write_file, ())
    assert (tmp_path / "link").is_symlink()
    assert files_in(tmp_path / "big") == {"out": "new"}


@both_writers
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("exists", [False, True])
def test_a_failure_changes_nothing(tmp_path, writer, args, error, exists):
    if exists:
        write(tmp_path / "out", "old", writer, args)
    before = sorted(tmp_path.rglob("*")), files_in(tmp_path)
    with pytest.raises(error):
        write_half(Mock(side_effect=error), writer, tmp_path / "out", *args)
    assert (sorted(tmp_path.rglob("*")), files_in(tmp_path)) == before


@both_writers
@pytest.mark.parametrize("exists", [False, True])
def test_what_a_killed_process_leaves_is_hidden_and_removed(tmp_path, writer, args, exists):
    path = tmp_path / "out"
    if exists:
        write(path, "old", writer, args)
    kill(writer, path, *args)
    assert [name for name in os.listdir(tmp_path) if name[0] != "."] == ["out"] * exists
    write(path, "new", writer, args)
    assert os.listdir(tmp_path) == ["out"]


@both_writers
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, writer, args):
    path = tmp_path / "out"
    assert error_in_fork(write, path, "new" * 100, writer, args, max_file_size=200) == (
        f"{path}: it cannot be written (File too large); make room, then repeat the command"
    )
    assert not os.listdir(tmp_path)


def test_a_full_disk_that_safetensors_names_is_one_line(tmp_path):
    def save() -> None:
        with write_file(tmp_path / "out") as temporary:
            save_file({"a": numpy.zeros(1000)}, temporary)

    assert "it cannot be written (File too large)" in error_in_fork(save, max_file_size=200)


def test_a_full_disk_that_pytorch_does_not_name_is_one_line(tmp_path):
    def save() -> None:
        with write_file(tmp_path / "out") as temporary:
            torch.save(torch.zeros(1000), temporary)

    assert "it cannot be written (the disk may be full)" in error_in_fork(save, max_file_size=200)
