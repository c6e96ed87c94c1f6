"""`make train`, with a stub of the `allennlp` command."""

import os
import subprocess

from tests import ROOT

STUB = """\
#!/bin/sh
echo "log of $1"
echo "progress of $1" >&2
test "$1" != "$FAILS"
"""


def make_train(directory, fails=""):
    (directory / "data" / "sample").mkdir(parents=True)
    for name in ("corpus.json", "vectors.bin"):
        (directory / "data" / "sample" / name).touch()
    stub = directory / "allennlp"
    stub.write_text(STUB)
    stub.chmod(0o755)
    makefile = ROOT / "Makefile"
    command = ["make", "-f", makefile, "-o", ".venv/synced", f"BIN={directory}", "train"]
    environment = {**os.environ, "FAILS": fails}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)


def test_a_training_shows_its_progress_without_its_log(tmp_path):
    finished = make_train(tmp_path)
    assert finished.returncode == 0
    assert "progress of train\n" in finished.stderr
    assert "log of train\n" not in finished.stdout
    assert "log of show-training\n" in finished.stdout


def test_a_training_that_fails_is_the_last_command(tmp_path):
    finished = make_train(tmp_path, fails="train")
    assert finished.returncode != 0
    assert "export-model" not in finished.stdout
