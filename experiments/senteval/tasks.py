"""The ten tasks, and readers for the files that SentEval distributes."""

import logging
import re
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Tuple

from experiments.senteval import protocols

logger = logging.getLogger(__name__)

# The share of SentEval's examples that a file must have. A copy may lack repeated or empty ones.
_MIN_SHARE = 0.9

Sentence = Tuple[str, ...]
"""The words of a sentence."""


class Example(NamedTuple):
    """One sentence or a pair, with its class or relatedness."""

    sentences: Tuple[Sentence, ...]
    label: float


# The examples of `"train"`, `"dev"` and `"test"`, or some of these.
Splits = Dict[str, List[Example]]


class _Format(NamedTuple):
    """
    The format of a file. `pattern` matches a line, with the groups `first`, `second` if there are
    pairs, and `label` if it is not the same for all lines. The label is a number or, with
    `classes`, one of them.
    """

    pattern: str
    encoding: str = "utf-8"
    classes: Tuple[str, ...] = ()
    label: str = ""
    has_header: bool = False


class _File(NamedTuple):
    """`size` is the number of examples in the file that SentEval distributes."""

    split: str
    path: str
    format: _Format
    size: int


class Task(NamedTuple):
    files: Tuple[_File, ...]
    protocol: protocols.Protocol


_FIELD = r"[^\t]*"
_PAIR = rf"(?P<first>{_FIELD})\t(?P<second>{_FIELD})"
_TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_SICK_CLASSES = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")

_SST2 = _Format(rf"(?P<first>{_FIELD})\t(?P<label>[01])\s*")
_SST5 = _Format("(?P<label>[0-4]) (?P<first>.*)")
_QUESTIONS = _Format(
    rf"(?P<label>{'|'.join(_TREC_CLASSES)}):[^ ]*(?P<first>.*)", "latin-1", _TREC_CLASSES
)
_PARAPHRASES = _Format(rf"(?P<label>[01])\t{_FIELD}\t{_FIELD}\t{_PAIR}", has_header=True)
_ENTAILMENT = _Format(
    rf"{_FIELD}\t{_PAIR}\t{_FIELD}\t(?P<label>{'|'.join(_SICK_CLASSES)})\s*",
    classes=_SICK_CLASSES,
    has_header=True,
)
_RELATEDNESS = _Format(
    rf"{_FIELD}\t{_PAIR}\t(?P<label>[1-4](\.\d*)?|5(\.0*)?)\t{_FIELD}", has_header=True
)


def _two_classes(folder: str, positive: str, negative: str, *sizes: int) -> Task:
    files = tuple(
        _File("train", f"{folder}/{name}", _Format("(?P<first>.*)", "latin-1", label=label), size)
        for name, label, size in zip((positive, negative), ("1", "0"), sizes)
    )
    return Task(files, protocols.nested_folds)


def _sst(folder: str, format_: _Format, *sizes: int) -> Task:
    files = tuple(
        _File(split, f"SST/{folder}/sentiment-{split}", format_, size)
        for split, size in zip(("train", "dev", "test"), sizes)
    )
    return Task(files, protocols.dev_and_test)


def _sick(format_: _Format, protocol: protocols.Protocol) -> Task:
    files = (
        _File("train", "SICK/SICK_train.txt", format_, 4500),
        _File("dev", "SICK/SICK_trial.txt", format_, 500),
        _File("test", "SICK/SICK_test_annotated.txt", format_, 4927),
    )
    return Task(files, protocol)


def _train_and_test(train: str, test: str, format_: _Format, *sizes: int) -> Task:
    files = (_File("train", train, format_, sizes[0]), _File("test", test, format_, sizes[1]))
    return Task(files, protocols.folds_and_test)


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
    "SICK-E": _sick(_ENTAILMENT, protocols.dev_and_test),
    "SICK-R": _sick(_RELATEDNESS, protocols.relatedness),
}


def read_task(name: str, data_dir: Path) -> Splits:
    """
    Reads the examples of a task from SentEval's `downstream` directory. Logs a warning for each
    file with fewer examples than SentEval's.
    """
    splits: Splits = {}
    for file in TASKS[name].files:
        path = data_dir / file.path
        examples = list(_read_examples(path, file.format))
        if len(examples) < _MIN_SHARE * file.size:
            logger.warning(
                "%s has %d examples instead of %d; the score is not comparable with others.",
                path,
                len(examples),
                file.size,
            )
        splits.setdefault(file.split, []).extend(examples)
    # SentEval's order, on which the folds depend.
    for examples in splits.values():
        examples.sort(key=lambda each: (*map(len, each.sentences), each.label))
    return splits


def _read_examples(path: Path, format_: _Format) -> Iterator[Example]:
    with path.open(encoding=format_.encoding, newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if number == 1 and format_.has_header:
                continue
            match = re.fullmatch(format_.pattern, line.rstrip("\r\n"))
            if not match:
                raise ValueError(f"{path} is malformed in line {number}: {line[:80]!r}")
            sentences = match.groupdict()
            label = sentences.pop("label", format_.label)
            yield Example(
                tuple(tuple(sentence.split()) for sentence in sentences.values()),
                format_.classes.index(label) if format_.classes else float(label),
            )
