"""The commands that write something, on tiny inputs, and how their outputs are compared."""

import hashlib
import json
import re
import shlex
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

import torch
from allennlp.models.archival import extracted_archive

from allennlp_semfit.fasttext.model import FastTextModel
from stress.child import Child, Ended, allennlp
from stress.formats import training_config
from tests import FIXTURES, VECTORS
from tests.analysis.senteval.data import write_data
from tests.language_models import write_language_model

__all__ = ["COMMANDS", "Command", "Work", "all_in", "describe_files", "files_in", "make_inputs"]

SECONDS = 300
"""A command that runs longer than this has hung."""


def files_in(directory: Path) -> Dict[str, str]:
    """The hashes of all files, and the empty directories, by their relative paths."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else ""
        for path in directory.rglob("*")
        if not path.is_dir() or not any(path.iterdir())
    }


def all_in(directory: Path) -> List[str]:
    """The relative paths of all files and directories."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def describe_files(names: Iterable[str]) -> str:
    """Names without those of their contents, and without what is random in them."""
    outermost = (name for name in names if not set(map(str, Path(name).parents)) & set(names))
    random = re.compile(r"(-|\btmp)\w{8}(?=/|$)")
    return ", ".join(sorted({random.sub(r"\1…", name) for name in outermost}))[:200]


def _content(out: Path) -> Any:
    return files_in(out) if out.is_dir() else hashlib.sha256(out.read_bytes()).hexdigest()


def _words(out: Path) -> Any:
    # The vectors differ between two runs.
    model = FastTextModel(out)
    return model.words, model.dim


def _corpus(out: Path) -> Any:
    files = {name: value for name, value in files_in(out).items() if name != "corpus.json"}
    record = json.loads((out / "corpus.json").read_text())
    del record["summary"]["seconds"]
    return files, record


def _senteval(out: Path) -> Any:
    results = json.loads(out.read_text())
    for task in results["tasks"].values():
        del task["seconds"]
    return results


_OF_VALIDATION = ("epoch", "validation_", "best_epoch", "best_validation_")


def _training(out: Path) -> Any:
    """The weights in the archive, and what the metrics say of them."""
    with extracted_archive(str(out / "model.tar.gz")) as directory:
        weights = torch.load(Path(directory, "weights.th"), weights_only=True)
    metrics = json.loads((out / "metrics.json").read_text())
    return {name: weight.tolist() for name, weight in weights.items()}, {
        name: value for name, value in metrics.items() if name.startswith(_OF_VALIDATION)
    }


def _weight_names(out: Path) -> Any:
    # Two workers' batches come in any order.
    return sorted(_training(out)[0])


class Command(NamedTuple):
    """
    A command.

    # Parameters

    line : `str`
        Its arguments; `{…}` are paths.
    out : `str`
        The name of the output, a file or a directory.
    digest : `Callable[[Path], Any]`, optional
        What must be the same in each output of these arguments. By default that is all of it.
    resume : `str`, optional (default = `""`)
        The option with which an interrupted run resumes. Without it, the same command does.
    force : `str`, optional (default = `"--force"`)
        The option with which it replaces an output.
    keeps : `Tuple[str, ...]`, optional (default = `()`)
        Globs for what an interrupted or failed run may leave, because it resumes from it.
    done : `str`, optional (default = `""`)
        What it says if its output is there and it has nothing to do. Without it, that is an error.
    is_ours : `bool`, optional (default = `True`)
        Otherwise it is AllenNLP's, which shows tracebacks.
    """

    line: str
    out: str
    digest: Callable[[Path], Any] = _content
    resume: str = ""
    force: str = "--force"
    keeps: Tuple[str, ...] = ()
    done: str = ""
    is_ours: bool = True

    def is_clear(self, ended: Ended, *named: str) -> bool:
        """Whether the command ended with a line of its own that contains the given text."""
        line = ended.last_line
        if not self.is_ours:
            return ended.code > 0
        return (
            ended.code > 0
            and "Traceback" not in ended.output
            and line.startswith(f"{self.line.split()[0]}: ")
            and all(text in line for text in named)
        )


_LANGUAGE_MODEL = "{inputs}/lm/model.tar.gz"

COMMANDS: Dict[str, Command] = {
    "train": Command(
        "train {inputs}/train.json -s {out} --include-package allennlp_semfit",
        "run",
        _training,
        resume="--recover",
        keeps=("run", "run/**/*"),
        is_ours=False,
    ),
    "train with workers": Command(
        "train {inputs}/train_with_workers.json -s {out} --include-package allennlp_semfit",
        "run",
        _weight_names,
        resume="--recover",
        keeps=("run", "run/**/*"),
        is_ours=False,
    ),
    "embed": Command(
        f"embed {_LANGUAGE_MODEL} {{inputs}}/sentences.txt {{out}} --batch-size 8",
        "vectors.h5",
        keeps=("vectors.h5.unfinished",),
        done="Nothing to do",
    ),
    "embed --pool": Command(
        f"embed {_LANGUAGE_MODEL} {{inputs}}/sentences.txt {{out}} --batch-size 8 --pool mean",
        "vectors.npy",
        keeps=("vectors.npy.unfinished",),
        done="Nothing to do",
    ),
    "prepare-corpus": Command(
        "prepare-corpus {inputs}/text.txt {out} --held-out 0.2 --num-workers 2",
        "corpus",
        _corpus,
        done="Nothing to do",
    ),
    "train-fasttext": Command(
        "train-fasttext {corpus} {out} --dim 10 --bucket 1000 --epoch 2 --min-count 1",
        "vectors.bin",
        _words,
    ),
    "count-vocabulary": Command("count-vocabulary {corpus} {out} --num-workers 2", "vocabulary"),
    "train-bpe": Command("train-bpe {corpus} {out} --merges 60 --num-workers 2", "subwords"),
    "train-svd": Command("train-svd {corpus} {out} --dim 5 --num-workers 2", "table.txt"),
    "export-character-cnn": Command("export-character-cnn {inputs}/characters {out}", "elmo"),
    "senteval": Command(
        f"senteval {VECTORS} {{inputs}}/senteval --tasks CR TREC --folds 2 --output-file {{out}}",
        "results.json",
        _senteval,
        keeps=("results.json",),
        done="already evaluated",
    ),
    "show-neighbours --html": Command(
        f"show-neighbours {_LANGUAGE_MODEL} {{inputs}}/sentences.txt --words the --html {{out}}",
        "neighbours.html",
    ),
    "copy-configs": Command("copy-configs {out}", "configs", force=""),
}
"""By name."""


def make_inputs(inputs: Path) -> None:
    """Writes the inputs of all commands."""
    write_language_model(inputs / "lm", "fasttext", archive=True)
    write_language_model(inputs / "characters", "characters")
    write_data(inputs / "senteval")
    shards = sorted((FIXTURES / "corpus" / "train").iterdir())
    lines = "".join(shard.read_text("utf-8") for shard in shards)
    (inputs / "sentences.txt").write_text(lines * 5, "utf-8")
    (inputs / "text.txt").write_text(lines * 20, "utf-8")
    config = training_config()
    (inputs / "train.json").write_text(json.dumps(config))
    config["data_loader"].update({"num_workers": 2, "max_instances_in_memory": 16})
    (inputs / "train_with_workers.json").write_text(json.dumps(config))


class Work:
    """
    A directory in which a command runs.

    # Parameters

    name : `str`
        A key of `COMMANDS`.
    inputs : `Path`
        What `make_inputs` has written.
    place : `Path`
        The directory for the output, and for nothing else. It is made, and one for temporary files
        beside it.
    """

    def __init__(self, name: str, inputs: Path, place: Path) -> None:
        self.command = COMMANDS[name]
        self.place = place
        self.out = place / self.command.out
        self._inputs = inputs
        self._temporary = place.with_name(f"{place.name}.tmp")
        for directory in (place, self._temporary):
            directory.mkdir()

    def start(self, *options: str, before: Callable[[], Any] = int, **limits: Any) -> Child:
        """Starts the command. `before` is called in the new process, and first."""
        corpus = FIXTURES / "corpus" / "train"
        line = self.command.line.format(inputs=self._inputs, corpus=corpus, out=self.out)
        arguments = [*shlex.split(line), *filter(None, options)]
        return Child(partial(_start, before, str(self._temporary), arguments), **limits)

    def run(self, *options: str, **settings: Any) -> Ended:
        """Runs the command to its end."""
        return self.start(*options, **settings).end(SECONDS)

    def repeat(self, *, is_complete: bool) -> Ended:
        """Runs the command as a user does after an interruption."""
        if is_complete and not self.command.done:
            return self.run(self.command.force)
        return self.run(self.command.resume if self.out.exists() else "")

    def leftovers(self) -> List[str]:
        """What there is besides the output, and temporary files."""
        out = self.command.out
        return self._temporary_files() + sorted(
            name for name in files_in(self.place) if name != out and not name.startswith(f"{out}/")
        )

    def unexpected(self) -> List[str]:
        """What there is besides what a failed run may leave."""
        kept = {
            str(path.relative_to(self.place))
            for pattern in self.command.keeps
            for path in self.place.glob(pattern)
        }
        return self._temporary_files() + sorted(set(files_in(self.place)) - kept)

    def _temporary_files(self) -> List[str]:
        # A worker that AllenNLP's command terminates leaves a directory of `multiprocessing`.
        return [
            f"temporary {name}"
            for name in all_in(self._temporary)
            if self.command.is_ours or not name.startswith("pymp-")
        ]

    def digest(self) -> Any:
        """What must be the same in each output, or the error if the output is incomplete."""
        try:
            return self.command.digest(self.out)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def remove(self) -> None:
        """Removes both directories."""
        shutil.rmtree(self.place)
        shutil.rmtree(self._temporary)


def _start(before: Callable[[], Any], temporary: str, arguments: List[str]) -> None:
    tempfile.tempdir = temporary
    before()
    allennlp(*arguments)
