"""The ten tasks, and readers for the files that SentEval distributes."""

import hashlib
import os
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple, Union

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import InvalidFileError, check_bounds

__all__ = ["TASKS", "Example", "Sentence", "Task", "TaskData", "read_tasks"]

Sentence = Tuple[str, ...]
"""The words of a sentence."""


class Example(NamedTuple):
    """One sentence or a pair, with its class or relatedness."""

    sentences: Tuple[Sentence, ...]
    label: float


class TaskData(NamedTuple):
    """
    `splits` has the examples of `"train"`, `"dev"` and `"test"`, or some of these, in the order of
    SentEval, on which the folds depend: by length and then by label. `sha256` is that of the files.
    """

    splits: Dict[str, List[Example]]
    sha256: str


class _Format(NamedTuple):
    """The format of a file. `parse` raises a `ValueError` for a malformed line."""

    parse: Callable[[str], Example]
    expected: str
    encoding: str = "utf-8"
    # The first field of the header line; empty if there is none.
    header: str = ""


class _File(NamedTuple):
    split: str
    path: str
    format: _Format


class Task(NamedTuple):
    """
    `protocol` is the name of a function of `protocols`, `min_examples_per_fold` the minimum number
    of examples of each class for each fold.
    """

    files: Tuple[_File, ...]
    protocol: str
    min_examples_per_fold: int = 0


def _words(text: str) -> Sentence:
    return tuple(text.split())


def _class_format(label: int) -> _Format:
    return _Format(lambda line: Example((_words(line),), label), "a sentence", "latin-1")


def _index(label: str, labels: Sequence[str]) -> int:
    # Raises a `ValueError` for an unknown label.
    return list(labels).index(label)


def _parse_sst2(line: str) -> Example:
    text, label = line.split("\t")
    return Example((_words(text),), _index(label.strip(), "01"))


def _parse_sst5(line: str) -> Example:
    label, _, text = line.partition(" ")
    return Example((_words(text),), _index(label, "01234"))


def _parse_trec(line: str) -> Example:
    label, _, rest = line.partition(":")
    _, _, question = rest.partition(" ")
    return Example((_words(question),), _index(label, _TREC_CLASSES))


def _parse_mrpc(line: str) -> Example:
    label, _, _, first, second = line.split("\t")
    return Example((_words(first), _words(second)), _index(label, "01"))


def _parse_sick_e(line: str) -> Example:
    _, first, second, _, label = line.split("\t")
    return Example((_words(first), _words(second)), _index(label.strip(), _SICK_CLASSES))


def _parse_sick_r(line: str) -> Example:
    _, first, second, relatedness_score, _ = line.split("\t")
    score = float(relatedness_score)
    if not 1 <= score <= 5:
        raise ValueError
    return Example((_words(first), _words(second)), score)


_TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_SICK_CLASSES = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")

_SST2 = _Format(_parse_sst2, "a phrase, a tab, and 0 or 1")
_SST5 = _Format(_parse_sst5, "a class from 0 to 4, a space, and a sentence")
_QUESTIONS = _Format(
    _parse_trec,
    f"CLASS:kind and a question, where CLASS is one of {', '.join(_TREC_CLASSES)}",
    "latin-1",
)
_PARAPHRASES = _Format(
    _parse_mrpc,
    "five fields separated by tabs: 0 or 1, two numbers, two sentences",
    header="Quality",
)
_SICK_FIELDS = "five fields separated by tabs: a number, two sentences, a score, a judgement"
_ENTAILMENT = _Format(
    _parse_sick_e, f"{_SICK_FIELDS}, which is one of {', '.join(_SICK_CLASSES)}", header="pair_ID"
)
_RELATEDNESS = _Format(_parse_sick_r, f"{_SICK_FIELDS}, the score from 1 to 5", header="pair_ID")


def _two_classes(folder: str, positive: str, negative: str) -> Task:
    files = (
        _File("train", f"{folder}/{positive}", _class_format(1)),
        _File("train", f"{folder}/{negative}", _class_format(0)),
    )
    # The training set of each fold is split into folds again.
    return Task(files, "nested_folds", min_examples_per_fold=2)


def _sst(folder: str, format_: _Format) -> Task:
    splits = ("train", "dev", "test")
    files = tuple(_File(split, f"SST/{folder}/sentiment-{split}", format_) for split in splits)
    return Task(files, "dev_and_test")


def _sick(format_: _Format, protocol: str) -> Task:
    names = {"train": "SICK_train", "dev": "SICK_trial", "test": "SICK_test_annotated"}
    files = tuple(_File(split, f"SICK/{name}.txt", format_) for split, name in names.items())
    return Task(files, protocol)


def _train_and_test(train: str, test: str, format_: _Format) -> Task:
    files = (_File("train", train, format_), _File("test", test, format_))
    return Task(files, "folds_and_test", min_examples_per_fold=1)


TASKS: Dict[str, Task] = {
    "MR": _two_classes("MR", "rt-polarity.pos", "rt-polarity.neg"),
    "CR": _two_classes("CR", "custrev.pos", "custrev.neg"),
    "SUBJ": _two_classes("SUBJ", "subj.objective", "subj.subjective"),
    "MPQA": _two_classes("MPQA", "mpqa.pos", "mpqa.neg"),
    "SST-2": _sst("binary", _SST2),
    "SST-5": _sst("fine", _SST5),
    "TREC": _train_and_test("TREC/train_5500.label", "TREC/TREC_10.label", _QUESTIONS),
    "MRPC": _train_and_test(
        "MRPC/msr_paraphrase_train.txt", "MRPC/msr_paraphrase_test.txt", _PARAPHRASES
    ),
    "SICK-E": _sick(_ENTAILMENT, "dev_and_test"),
    "SICK-R": _sick(_RELATEDNESS, "relatedness"),
}


def read_tasks(
    data_dir: Union[str, os.PathLike], names: Sequence[str] = tuple(TASKS), *, folds: int = 10
) -> Dict[str, TaskData]:
    """
    Reads the data of tasks, after checking that all files exist.

    # Parameters

    data_dir : `Union[str, os.PathLike]`
        SentEval's `data/downstream`.
    names : `Sequence[str]`, optional (default = all of `TASKS`)
    folds : `int`, optional (default = `10`)
        The number of folds, for tasks with cross-validation.

    # Returns

    `Dict[str, TaskData]`
        The data by task name, in the order of `TASKS`.

    # Raises

    `InvalidFileError`
        If a file is missing or malformed.
    `ConfigurationError`
        If there is no such task, `folds` is less than 2, or a class has too few examples.
    """
    for name in names:
        if name not in TASKS:
            raise ConfigurationError(
                f"{name}: there is no such task; the tasks are {', '.join(TASKS)}"
            )
    check_bounds({"--folds": folds}, at_least=2)
    root = Path(data_dir)
    selected = {name: task for name, task in TASKS.items() if name in names}
    for name, task in selected.items():
        for file in task.files:
            if not (root / file.path).is_file():
                raise InvalidFileError(
                    root / file.path,
                    f"does not exist, and {name} needs it",
                    "Give the `downstream` directory of SentEval's data, or leave the task out of "
                    "--tasks.",
                )
    return {name: _read_task(name, task, root, folds) for name, task in selected.items()}


def _read_task(name: str, task: Task, root: Path, folds: int) -> TaskData:
    splits: Dict[str, List[Example]] = {}
    digest = hashlib.sha256()
    for file in task.files:
        data = (root / file.path).read_bytes()
        digest.update(hashlib.sha256(data).digest())
        examples = list(_read_examples(root / file.path, data, file.format))
        if not examples:
            raise InvalidFileError(
                root / file.path,
                "has no example",
                f"Fetch SentEval's data again, or leave {name} out of --tasks.",
            )
        splits.setdefault(file.split, []).extend(examples)
    paths = " and ".join(str(root / file.path) for file in task.files if file.split == "train")
    counts = Counter(example.label for example in splits["train"])
    if len(counts) < 2:
        raise InvalidFileError(
            paths, f"has examples of {len(counts)} class", "At least 2 classes are needed."
        )
    fewest = min(counts.values())
    if fewest < task.min_examples_per_fold * folds:
        raise ConfigurationError(
            f"{paths}: {name} has a class of {fewest} examples, but --folds {folds} needs "
            f"{task.min_examples_per_fold * folds}; use fewer folds"
        )
    for examples in splits.values():
        examples.sort(key=lambda each: (*map(len, each.sentences), each.label))
    return TaskData(splits, digest.hexdigest())


def _read_examples(path: Path, data: bytes, format_: _Format) -> Iterator[Example]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        text = line.decode(format_.encoding, errors="replace").rstrip("\r")
        if number == 1 and format_.header:
            if text.lstrip("\ufeff").partition("\t")[0] != format_.header:
                raise _malformed(path, number, text, f"a header that starts with {format_.header}")
            continue
        try:
            line.decode(format_.encoding)
            example = format_.parse(text)
        except UnicodeDecodeError:
            raise _malformed(path, number, text, f"{format_.encoding}") from None
        except ValueError:
            raise _malformed(path, number, text, format_.expected) from None
        yield example


def _malformed(path: Path, number: int, found: str, expected: str) -> InvalidFileError:
    found = repr(found[:80]) + ("…" if len(found) > 80 else "")
    return InvalidFileError(
        path,
        f"is malformed in line {number}: {found}; expected {expected}",
        "Fetch SentEval's data again.",
    )
