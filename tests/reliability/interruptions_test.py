"""Commands that are killed or run out of disk space end cleanly, and can be resumed."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
import torch
from allennlp.common import Params

from allennlp_semfit.fasttext.model import FastTextModel
from tests import FIXTURES, TRAIN
from tests.commands import running
from tests.language_models import write_language_model
from tests.processes import is_running, start_module, wait_until
from tests.reliability import REPEATS

EMBED = "embed {inputs}/lm/model.tar.gz {inputs}/sentences.txt {out} --batch-size 8"
COMMANDS = {
    "train": ("run", "train {inputs}/train.json -s {out}"),
    "embed": ("v.h5", EMBED),
    "prepare-corpus": (
        "corpus",
        "prepare-corpus {inputs}/text.txt {out} --validation-fraction 0.2 --num-workers 2",
    ),
    "train-fasttext": (
        "vectors.bin",
        f"train-fasttext {TRAIN} {{out}} --dim 10 --bucket 1000 --epoch 2 --min-count 1",
    ),
    "embed --pool": ("v.npy", f"{EMBED} --pool mean"),
    "train-svd": ("table.txt", f"train-svd {TRAIN} {{out}} --dim 5 --num-workers 2"),
    "export-model": ("model", "export-model {inputs}/characters {out}"),
    "export-vectors": (
        "table.txt",
        "export-vectors {inputs}/characters {out} --words-file {inputs}/words.txt",
    ),
    "copy-configs": ("configs", "copy-configs {out}"),
}
"""The name of the output and the arguments of each command."""

# A short run has the first ones.
NAMES = list(COMMANDS)[: 4 if REPEATS == 1 else None]
RESUMED = ("run", "v.h5.unfinished", "v.npy.unfinished")
"""The files from which a failed run can be resumed."""
SECONDS = 600
"""A command that takes longer than this hangs, even on a busy machine."""


class Ended(NamedTuple):
    code: int
    output: str
    operations: int
    milliseconds: int
    kilobytes: int
    open_files: int


class Work:
    """A command, a directory for its output, and another for its temporary files."""

    def __init__(self, name, inputs, place):
        self.place, self.inputs = place, inputs
        self.out_name, self.line = COMMANDS[name]
        self.out = place / self.out_name
        self.temporary = place.with_name(f"{place.name}.tmp")
        place.mkdir(parents=True)
        self.temporary.mkdir()

    def run(self, *options, event=0, number=signal.SIGKILL, seconds=SECONDS, size=-1):
        line = shlex.split(self.line.format(inputs=self.inputs, out=self.out))
        usage, log = (
            self.place.with_name(f"{self.place.name}.{name}") for name in ("usage", "log")
        )
        usage.write_text("0 0 0 0")
        # What is in a pipe is not subject to `size`.
        log.unlink(missing_ok=True)
        os.mkfifo(log)
        pipe = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 2**20)
        arguments = (self.place, event, int(number), size, *line, *options)
        process = start_module("tests.reliability.watched", *arguments, output=log)
        process.join(seconds)
        hangs = process.is_alive() and seconds >= SECONDS
        process.kill()
        process.join()
        output = os.read(pipe, 2**20).decode()
        os.close(pipe)
        assert not hangs, output
        wait_until(lambda: not is_running(-process.pid))
        return Ended(process.exitcode, output, *map(int, usage.read_text().split()))

    def contents(self):
        """All files, without what differs between two runs, such as checkpoints left by a kill."""
        found = {}
        for path in self.place.rglob("*"):
            name = str(path.relative_to(self.place))
            left = (".incomplete", ".partial", "_state_e", "tfevents")
            if path.is_dir() or any(part in name for part in left):
                continue
            if path.suffix == ".bin":
                found[name] = FastTextModel(path).words
            elif path.name == "best.th" and path.with_name("model.tar.gz").exists():
                weights = torch.load(path, weights_only=True)
                found[name] = {key: weight.tolist() for key, weight in weights.items()}
            elif self.out_name == "run":
                found[name] = True
            else:
                found[name] = re.sub(rb'"seconds": [\d.e-]+', b"", path.read_bytes())
        return found

    def check_error(self, ended, text):
        """Checks that the error is one line with the text. Returns the files not for resuming."""
        if not self.line.startswith("train {"):  # AllenNLP's command shows tracebacks.
            assert "Traceback" not in ended.output
            last_line = ended.output.strip().splitlines()[-1]
            assert last_line.startswith(f"{self.line.split()[0]}: ")
            assert text in last_line
        assert not [path for path in self.temporary.iterdir() if "pymp-" not in path.name]
        return {name for name in self.contents() if not name.startswith(RESUMED)}

    def check_that_it_goes_on(self, whole):
        is_complete = whole.items() <= self.contents().items()
        options = []
        # Before its config is written, a training has nothing to resume.
        if self.out_name == "run" and (self.out / "config.json").exists():
            options = ["--recover"]
        elif is_complete and self.out_name == "configs":
            return
        elif is_complete:
            options = ["--force"]
        ended = self.run(*options)
        assert ended.code == 0, ended.output
        assert self.contents() == whole


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    inputs = tmp_path_factory.mktemp("inputs")
    write_language_model(inputs / "lm", "fasttext", archive=True)
    write_language_model(inputs / "characters", "characters")
    lines = "".join(shard.read_text("utf-8") for shard in sorted(TRAIN.iterdir()))
    (inputs / "sentences.txt").write_text(lines * 5, "utf-8")
    (inputs / "text.txt").write_text(lines * 20, "utf-8")
    (inputs / "words.txt").write_text("\n".join(lines.split()), "utf-8")
    config = Params.from_file(FIXTURES / "language_model.jsonnet").as_dict(quiet=True)
    config["trainer"]["checkpointer"]["save_every_num_batches"] = 2
    # Its random state is not resumed.
    config["model"]["contextualizer"]["dropout"] = 0.0
    (inputs / "train.json").write_text(json.dumps(config))
    return inputs


@pytest.fixture(scope="module")
def uninterrupted(inputs, tmp_path_factory):
    """A function that returns a command's `Work`, and how it ended."""
    runs = {}

    def run(name):
        if name not in runs:
            work = Work(name, inputs, tmp_path_factory.mktemp("uninterrupted") / "place")
            ended = work.run()
            assert ended.code == 0, ended.output
            assert {Path(file).parts[0] for file in work.contents()} == {work.out_name}
            runs[name] = work, ended
        return runs[name]

    return run


@pytest.mark.parametrize("repeat", range(REPEATS))
@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_command_goes_on(name, repeat, inputs, uninterrupted, tmp_path):
    expected, ended = uninterrupted(name)
    whole = expected.contents()
    random = Random(f"{name} {repeat}")
    work = Work(name, inputs, tmp_path / "place")
    number, event = signal.SIGKILL, random.randint(1, ended.operations)
    if repeat % 3 == 1:
        # Near the end, where the output appears.
        event = max(1, ended.operations - repeat // 3)
    elif repeat % 6 == 2 and name != "train":  # AllenNLP's command shows tracebacks.
        number = random.choice([signal.SIGINT, signal.SIGTERM])
    if repeat % 6 == 5:
        stopped = work.run(seconds=random.uniform(0, 1.2 * ended.milliseconds / 1000))
    else:
        stopped = work.run(event=event, number=number)
    if number != signal.SIGKILL:
        assert stopped.code == 128 + number, stopped.output
        # It may have been complete.
        assert work.check_error(stopped, "interrupted") <= set(whole)
    assert stopped.code in (-number, 128 + number, 0), stopped.output
    if work.out.exists() and not work.out_name.startswith(RESUMED):
        assert whole.items() <= work.contents().items()
    work.check_that_it_goes_on(whole)


@pytest.mark.parametrize("repeat", range(REPEATS))
@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk(name, repeat, inputs, uninterrupted, tmp_path):
    expected, _ = uninterrupted(name)
    random = Random(f"{name} {repeat}")
    work = Work(name, inputs, tmp_path / "place")
    # A training with --force begins by removing what is there, and `copy-configs` has no --force.
    replaces = work.out_name not in ("run", "configs") and random.random() < 0.5
    if replaces:
        shutil.copytree(expected.place, work.place, dirs_exist_ok=True)
    before = work.contents()
    largest = max(file.stat().st_size for file in expected.place.rglob("*") if file.is_file())
    # Room for temporary files, but not for what HDF5 adds to the vectors: it shows its own errors.
    size = int(random.uniform(0.5, 0.7) * largest)
    ended = work.run(*["--force"] * replaces, size=size)
    assert ended.code > 0, ended.output
    assert work.check_error(ended, "") <= set(before)
    assert before.items() <= work.contents().items()
    work.check_that_it_goes_on(expected.contents())


NEED_FORCE = [name for name in COMMANDS if name not in ("train", "copy-configs")]


@pytest.mark.parametrize("name", NEED_FORCE)
def test_an_output_is_replaced_only_with_force_and_at_once(name, inputs, tmp_path, monkeypatch):
    out_name, line = COMMANDS[name]
    command, *arguments = shlex.split(line.format(inputs=inputs, out=tmp_path / out_name))

    def contents():
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    running.run(command, *arguments)
    before = contents()
    assert "--force" in running.error_of(command, *arguments)
    assert contents() == before
    moved = []
    replace = os.replace

    def record(source, path):
        moved.append(Path(path))
        replace(source, path)

    monkeypatch.setattr(os, "replace", record)
    running.run(command, *arguments, "--force")
    assert contents().keys() == before.keys()
    for file in before:
        assert any(file.is_relative_to(path) for path in moved)


@pytest.mark.parametrize("name", ["train", "embed --pool"])
def test_a_long_run_needs_no_more(name, inputs, tmp_path):
    def run(times):
        place = tmp_path / str(times)
        shutil.copytree(inputs, place)
        sentences = place / "sentences.txt"
        sentences.write_text(sentences.read_text("utf-8") * times, "utf-8")
        config = {"train_data_path": str(sentences), "data_loader.max_instances_in_memory": 16}
        config["trainer.num_epochs"] = 1
        options = ["-o", json.dumps(config)] if name == "train" else []
        ended = Work(name, place, place / "place").run(*options, seconds=SECONDS + 30 * times)
        assert ended.code == 0, ended.output
        return ended

    few, many = run(1), run(2 * REPEATS)
    # What grows is the vectors of a window, up to 50,000 words in 3 layers of 12 floats: 7 MB.
    # Twice as much is allowed, for what the allocator adds.
    assert many.kilobytes < few.kilobytes + 2**14
    assert many.open_files <= few.open_files
