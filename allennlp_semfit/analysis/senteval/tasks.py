"""The ten tasks, and readers for the files that SentEval distributes."""

import hashlib
import io
import logging
import os
import re
from collections import Counter
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple, Union

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import InvalidFileError, check_bounds

__all__ = ["TASKS", "Example", "Sentence", "Task", "TaskData", "read_tasks"]

logger = logging.getLogger(__name__)

# Of the number of examples that a file of SentEval has. A copy may lack repeated or empty ones.
_MIN_SHARE = 0.9

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
    """
    The format of a file. `pattern` matches a line, with the groups `first`, `second` if there are
    pairs, and `label` if it is not the same for all lines. `expected` says this to humans. The
    label is a number or, with `classes`, one of them.
    """

    pattern: str
    expected: str
    encoding: str = "utf-8"
    classes: Tuple[str, ...] = ()
    label: str = ""
    # The first field of the header line; empty if there is none.
    header: str = ""


class _File(NamedTuple):
    """`size` is the number of examples in the file that SentEval distributes."""

    split: str
    path: str
    format: _Format
    size: int


class Task(NamedTuple):
    """
    `protocol` is the name of a function of `protocols`, `min_examples_per_fold` the minimum number
    of examples of each class for each fold.
    """

    files: Tuple[_File, ...]
    protocol: str
    min_examples_per_fold: int = 0


_FIELD = r"[^\t]*"
_PAIR = rf"(?P<first>{_FIELD})\t(?P<second>{_FIELD})"
_TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_SICK_CLASSES = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
_SICK_FIELDS = "five fields separated by tabs: a number, two sentences, a score, a judgement"

_SST2 = _Format(rf"(?P<first>{_FIELD})\t(?P<label>[01])\s*", "a phrase, a tab, and 0 or 1")
_SST5 = _Format("(?P<label>[0-4]) (?P<first>.*)", "a class from 0 to 4, a space, and a sentence")
_QUESTIONS = _Format(
    rf"(?P<label>{'|'.join(_TREC_CLASSES)}):[^ ]*(?P<first>.*)",
    f"CLASS:kind and a question, where CLASS is one of {', '.join(_TREC_CLASSES)}",
    "latin-1",
    _TREC_CLASSES,
)
_PARAPHRASES = _Format(
    rf"(?P<label>[01])\t{_FIELD}\t{_FIELD}\t{_PAIR}",
    "five fields separated by tabs: 0 or 1, two numbers, two sentences",
    header="Quality",
)
_ENTAILMENT = _Format(
    rf"{_FIELD}\t{_PAIR}\t{_FIELD}\t(?P<label>{'|'.join(_SICK_CLASSES)})\s*",
    f"{_SICK_FIELDS}, which is one of {', '.join(_SICK_CLASSES)}",
    classes=_SICK_CLASSES,
    header="pair_ID",
)
_RELATEDNESS = _Format(
    rf"{_FIELD}\t{_PAIR}\t(?P<label>[1-4](\.\d*)?|5(\.0*)?)\t{_FIELD}",
    f"{_SICK_FIELDS}, the score from 1 to 5",
    header="pair_ID",
)


def _two_classes(folder: str, positive: str, negative: str, *sizes: int) -> Task:
    files = tuple(
        _File(
            "train",
            f"{folder}/{name}",
            _Format("(?P<first>.*)", "a sentence", "latin-1", label=label),
            size,
        )
        for name, label, size in zip((positive, negative), ("1", "0"), sizes)
    )
    # The training set of each fold is split into folds again.
    return Task(files, "nested_folds", min_examples_per_fold=2)


def _sst(folder: str, format_: _Format, *sizes: int) -> Task:
    files = tuple(
        _File(split, f"SST/{folder}/sentiment-{split}", format_, size)
        for split, size in zip(("train", "dev", "test"), sizes)
    )
    return Task(files, "dev_and_test")


def _sick(format_: _Format, protocol: str) -> Task:
    files = (
        _File("train", "SICK/SICK_train.txt", format_, 4500),
        _File("dev", "SICK/SICK_trial.txt", format_, 500),
        _File("test", "SICK/SICK_test_annotated.txt", format_, 4927),
    )
    return Task(files, protocol)


def _train_and_test(train: str, test: str, format_: _Format, *sizes: int) -> Task:
    files = (_File("train", train, format_, sizes[0]), _File("test", test, format_, sizes[1]))
    return Task(files, "folds_and_test", min_examples_per_fold=1)


TASKS: Dict[str, Task] = {
    "MR": _two_classes("MR", "rt-polarity.pos", "rt-polarity.neg", 5331, 5331),
    "CR": _two_classes("CR", "custrev.pos", "custrev.neg", 2407, 1368),
    "SUBJ": _two_classes("SUBJ", "subj.objective", "subj.subjective", 5000, 5000),
    "MPQA": _two_classes("MPQA", "mpqa.pos", "mpqa.neg", 3312, 7294),
    "SST-2": _sst("binary", _SST2, 67_349, 872, 1821),
    "SST-5": _sst("fine", _SST5, 8544, 1101, 2210),
    "TREC": _train_and_test("TREC/train_5500.label", "TREC/TREC_10.label", _QUESTIONS, 5452, 500),
    "MRPC": _train_and_test(
        "MRPC/msr_paraphrase_train.txt", "MRPC/msr_paraphrase_test.txt", _PARAPHRASES, 4076, 1725
    ),
    "SICK-E": _sick(_ENTAILMENT, "dev_and_test"),
    "SICK-R": _sick(_RELATEDNESS, "relatedness"),
}


def read_tasks(
    data_dir: Union[str, os.PathLike], names: Sequence[str] = tuple(TASKS), *, folds: int = 10
) -> Dict[str, TaskData]:
    """
    Reads the data of tasks, after checking that all files exist. Logs a warning for each file with
    fewer examples than SentEval's.

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
        if len(examples) < _MIN_SHARE * file.size:
            logger.warning(
                "%s has %s examples instead of the %s of %s. If it is not data of your own, fetch "
                "it again; the score is not comparable with others.",
                root / file.path,
                f"{len(examples):,}",
                f"{file.size:,}",
                name,
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
    for number, line in enumerate(io.BytesIO(data), start=1):
        try:
            text = line.decode(format_.encoding).rstrip("\r\n")
        except UnicodeDecodeError:
            raise _malformed(path, number, line, format_.encoding) from None
        if number == 1 and format_.header:
            if text.lstrip("\ufeff").partition("\t")[0] != format_.header:
                raise _malformed(path, number, text, f"a header that starts with {format_.header}")
            continue
        match = re.fullmatch(format_.pattern, text)
        if not match:
            raise _malformed(path, number, text, format_.expected)
        sentences = match.groupdict()
        label = sentences.pop("label", format_.label)
        yield Example(
            tuple(tuple(sentence.split()) for sentence in sentences.values()),
            format_.classes.index(label) if format_.classes else float(label),
        )


def _malformed(
    path: Path, number: int, found: Union[str, bytes], expected: str
) -> InvalidFileError:
    shown = repr(found[:80]) + ("…" if len(found) > 80 else "")
    return InvalidFileError(
        path,
        f"is malformed in line {number}: {shown}; expected {expected}",
        "Fetch SentEval's data again.",
    )
