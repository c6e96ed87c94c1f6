import json
import subprocess
import sys
from functools import partial

import h5py

from tests import ROOT, VALIDATION
from tests.commands import running

run = partial(running.run, "embed")


def test_every_option_arrives(lm_archive, tmp_path, caplog):
    caplog.set_level("INFO")
    out = tmp_path / "vectors.h5"
    out.write_text("in the way")
    options = "--layers average --dtype float16 --batch-size 3 --forget-sentences --force"
    run(lm_archive, VALIDATION, out, *options.split())
    with h5py.File(out, "r") as file:
        assert "sentence_to_index" not in file
        assert file["0"].dtype == "float16"
        assert file["0"].ndim == 2
    num_words = len(VALIDATION.read_text().split())
    assert f"{out}: 8 sentences, {num_words} words, " in caplog.text
    assert " words/s" in caplog.text
    # A line for each of the model's parameters would hide the rest.
    assert "model.contextualizer" not in caplog.text


def test_the_user_sees_what_it_does(lm_archive, tmp_path):
    out = tmp_path / "vectors.h5"
    # In a fresh interpreter, which finds the command by `.allennlp_plugins` alone.
    command = [sys.executable, "-m", "allennlp", "embed", lm_archive, str(VALIDATION), str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "embedding: 100%" in done.stderr
    assert f"{out}: 8 sentences, " in done.stderr
    assert "Traceback" not in done.stderr
    with h5py.File(out, "r") as file:
        index = json.loads(file["sentence_to_index"][0])
    assert list(index) == VALIDATION.read_text().splitlines()
