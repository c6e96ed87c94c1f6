"""
Runs the snippets of the documentation that are marked as runnable, from the first page to the last,
in one directory:

    <!-- runnable -->                     shell commands or Python
    <!-- runnable: mine.jsonnet -->       a file, which is there from the beginning
    <!-- runnable with PACKAGE -->        Python, if the package is installed

`allennlp` is called in this process, because importing it anew takes ten seconds.
"""

import gzip
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec

import datasets
import h5py
import pytest
from allennlp.commands import main

from tests import ROOT, TRAIN
from tests.docs.pages import PAGES

SNIPPET = re.compile(
    r"^<!-- runnable(?: with (\w+))?(?:: (\S+))? -->\n```(\w+)\n(.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
# What a user trains in an hour, in a second.
SMALLER = {"--dim 100": "--dim 10 --bucket 2000", "2 * 128": "2 * 6"}
# The same in the config that the snippets train.
SMALLER_CONFIG = {
    "embedding_dim:: 100": "embedding_dim:: 10",
    "hidden_dim:: 128": "hidden_dim:: 6",
    "cell_size: 256": "cell_size: 8",
    "batches_per_epoch: 500": "batches_per_epoch: 5",
}


def snippets():
    """Where each is, the file that it is, its language, and the snippet."""
    unused = set(SMALLER)
    for page in PAGES:
        text = page.read_text("utf-8")
        assert len(SNIPPET.findall(text)) == len(
            re.findall("^<!-- runnable", text, flags=re.MULTILINE)
        )
        for match in SNIPPET.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            code = match[4]
            for large, small in SMALLER.items():
                if large in code:
                    unused.discard(large)
                    code = code.replace(large, small)
            if match[1] is None or find_spec(match[1]):
                yield f"{page.relative_to(ROOT)}:{line}", match[2], match[3], code
    assert not unused


def run_shell(code, monkeypatch):
    for line in code.replace("\\\n", " ").splitlines():
        if line.startswith("export "):
            exported = subprocess.run(
                ["bash", "-c", f"{line}; env -0"], check=True, stdout=subprocess.PIPE, text=True
            )
            for variable in exported.stdout.split("\0")[:-1]:
                monkeypatch.setenv(*variable.split("=", 1))
        elif line.startswith("allennlp "):
            monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
            main(prog="allennlp")
        else:
            subprocess.run(["bash", "-c", line], check=True)


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """With what the snippets take for granted: a user's own text, and the repository's configs."""
    sentences = (TRAIN / "shard-00.txt").read_text("utf-8")
    (tmp_path / "my-text.txt.gz").write_bytes(gzip.compress((10 * sentences).encode()))
    for name in ("brown.txt", "my-domain.txt"):
        (tmp_path / name).write_text(4 * sentences, "utf-8")
    rows = datasets.Dataset.from_list([{"text": line} for line in sentences.splitlines()])
    # `datasets` takes a directory for the dataset of the Hub that has its name.
    rows.to_parquet(tmp_path / "wikimedia/wikipedia/20231101.yo/train-00000-of-00001.parquet")
    (tmp_path / "wikimedia/wikipedia/README.md").write_text(
        "---\nconfigs:\n- config_name: 20231101.yo\n  data_files: 20231101.yo/*.parquet\n---\n"
    )
    rows.to_json(tmp_path / "reviews.jsonl.gz", compression="gzip")
    rows.rename_column("text", "review").to_csv(tmp_path / "reviews.csv")
    shutil.copytree(ROOT / "training_config", tmp_path / "training_config")
    config = tmp_path / "training_config" / "elmo_semfit.jsonnet"
    code = config.read_text("utf-8")
    for large, small in SMALLER_CONFIG.items():
        assert large in code
        code = code.replace(large, small)
    config.write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_runnable_snippets_run(directory, monkeypatch):
    commands = []
    for place, file, language, code in snippets():
        if file:
            (directory / file).write_text(code, "utf-8")
        else:
            commands.append((place, language, code))
    names = {}
    for place, language, code in commands:
        print(place)  # noqa: T201 (which one fails)
        if language == "python":
            exec(code, names)
        else:
            assert language == "bash", place
            run_shell(code, monkeypatch)
    num_sentences = len((directory / "data/mine/validation.txt").read_text("utf-8").splitlines())
    with h5py.File(directory / "validation.h5") as vectors:
        assert vectors["0"].shape[::2] == (3, 12)
        assert len(vectors) == num_sentences + 1
    assert len((directory / "labels.json").read_text().splitlines()) == 2
