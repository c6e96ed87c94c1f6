"""
Scores a trained tagger separately on entities within a language model's vocabulary and on entities
with out-of-vocabulary (OOV) words:

    python -m experiments.oov_entities RUN TEST.conll VOCABULARY_DIR OUT.json [--train TRAIN.conll]
"""

import argparse
import logging
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set
from typing import Counter as CounterType

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.dataset_readers.dataset_utils.span_utils import bioul_tags_to_spans
from allennlp.models import load_archive
from allennlp.models.archival import Archive
from allennlp_models.tagging import CrfTagger

import allennlp_semfit  # noqa: F401 (registers what the archives name)
from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import write_json

__all__ = ["TaggedSentence", "parse_run_name", "predict_tags", "read_vocabulary", "score_entities"]

BATCH_SIZE = 64


class TaggedSentence(NamedTuple):
    """
    # Parameters

    words : `List[str]`
    gold : `List[str]`
        One BIOUL tag per word.
    predicted : `List[str]`
        One BIOUL tag per word.
    """

    words: List[str]
    gold: List[str]
    predicted: List[str]


def score_entities(
    sentences: Iterable[TaggedSentence],
    vocabulary: Set[str],
    training_words: Optional[Set[str]] = None,
) -> List[Dict[str, Any]]:
    """
    A prediction is correct if its label and both boundaries are. The words of an annotated or
    predicted entity determine its groups, so that each group has a precision and a recall.

    # Parameters

    sentences : `Iterable[TaggedSentence]`
    vocabulary : `Set[str]`
        The vocabulary of the language model.
    training_words : `Set[str]`, optional (default = `None`)
        The words in the training data of the tagger.

    # Returns

    `List[Dict[str, Any]]`
        A row for each `"group"` with the `"label"` `None`, and one for each label in it:
        `"precision"`, `"recall"` and `"f1"` between 0 and 1, and the numbers of `"gold"`,
        `"predicted"` and `"correct"` entities. The groups are `"all"`; `"in_vocabulary"`, with all
        words in the vocabulary; and `"oov"`, with a word that is not. With `training_words` there
        are also `"seen_in_training"` and `"unseen_in_training"`, which are defined likewise.
    """
    groups: Dict[str, Callable[[Sequence[str]], bool]] = {
        "all": lambda words: True,
        "in_vocabulary": vocabulary.issuperset,
        "oov": lambda words: not vocabulary.issuperset(words),
    }
    if training_words is not None:
        is_seen = training_words.issuperset
        groups["seen_in_training"] = is_seen
        groups["unseen_in_training"] = lambda words: not is_seen(words)

    counts: CounterType[Any] = Counter()
    labels = set()
    for sentence in sentences:
        gold = set(bioul_tags_to_spans(sentence.gold))
        predicted = set(bioul_tags_to_spans(sentence.predicted))
        kinds = {"gold": gold, "predicted": predicted, "correct": gold & predicted}
        for kind, spans in kinds.items():
            for label, (start, end) in spans:
                labels.add(label)
                for group, holds in groups.items():
                    if holds(sentence.words[start : end + 1]):
                        counts[group, None, kind] += 1
                        counts[group, label, kind] += 1
    return [
        {
            "group": group,
            "label": label,
            **_measure(*(counts[group, label, kind] for kind in ("gold", "predicted", "correct"))),
        }
        for group in groups
        for label in (None, *sorted(labels))
    ]


def _measure(gold: int, predicted: int, correct: int) -> Dict[str, float]:
    return {
        "precision": correct / predicted if predicted else 0.0,
        "recall": correct / gold if gold else 0.0,
        "f1": 2 * correct / (gold + predicted) if gold + predicted else 0.0,
        "gold": gold,
        "predicted": predicted,
        "correct": correct,
    }


def predict_tags(archive: Archive, data: Path) -> List[TaggedSentence]:
    """
    # Parameters

    archive : `Archive`
        The archive of a `crf_tagger` with BIOUL tags.
    data : `Path`
        A file for its dataset reader.

    # Returns

    `List[TaggedSentence]`
        The sentences, sorted by length.

    # Raises

    `ConfigurationError`
        If the archive contains another model.
    """
    model = archive.model
    if not isinstance(model, CrfTagger) or model.label_encoding != "BIOUL":
        raise ConfigurationError(
            f"the archive contains a {type(model).__name__}; give a `crf_tagger` with "
            "`label_encoding` BIOUL, such as training_config/downstream/ner.jsonnet trains"
        )
    model.eval()
    instances: List[Any] = sorted(
        archive.validation_dataset_reader.read(str(data)), key=lambda each: len(each["tokens"])
    )
    sentences = []
    with Tqdm.tqdm(total=len(instances), desc="tagging") as progress:
        for group in lazy_groups_of(instances, BATCH_SIZE):
            for instance, output in zip(group, model.forward_on_instances(group)):
                sentences.append(
                    TaggedSentence(
                        instance["metadata"]["words"], instance["tags"].labels, output["tags"]
                    )
                )
            progress.update(len(group))
    return sentences


def read_vocabulary(directory: Path) -> Set[str]:
    """
    # Parameters

    directory : `Path`
        A directory written by `allennlp count-vocabulary`.

    # Returns

    `Set[str]`
        The words, without padding and `@@UNKNOWN@@`.

    # Raises

    `InvalidFileError`
        If it contains no vocabulary.
    """
    file = _existing(directory / "tokens.txt", "Create it with `allennlp count-vocabulary`.")
    vocabulary = Vocabulary()
    try:
        vocabulary.set_from_file(str(file))
    except (AssertionError, UnicodeDecodeError):
        raise InvalidFileError(
            file,
            "is not a vocabulary in AllenNLP's format, UTF-8 with a line @@UNKNOWN@@",
            "Create one with `allennlp count-vocabulary`.",
        ) from None
    words = vocabulary.get_token_to_index_vocabulary()
    return set(words) - {vocabulary._padding_token, vocabulary._oov_token}


def parse_run_name(run: Path) -> Dict[str, Any]:
    """
    # Parameters

    run : `Path`
        A directory `TASK.SEED.REPRESENTATION`.

    # Returns

    `Dict[str, Any]`
        The name as `"run"`, and its parts `"task"`, `"seed"` and `"representation"`.

    # Raises

    `ConfigurationError`
        If the directory has another name.
    """
    name = run.resolve().name
    parts = re.fullmatch(r"([^.]+)\.(\d+)\.(.+)", name)
    if parts is None:
        raise ConfigurationError(
            f"{run}: rename the directory to TASK.SEED.REPRESENTATION, such as ner.1.elmo_semfit"
        )
    task, seed, representation = parts.groups()
    return {"run": name, "task": task, "seed": int(seed), "representation": representation}


def _words_of(reader: DatasetReader, data: Path) -> Set[str]:
    instances: Iterable[Any] = reader.read(str(data))
    return {word for instance in instances for word in instance["metadata"]["words"]}


def _existing(path: Path, remedy: str) -> Path:
    if not path.is_file():
        raise InvalidFileError(path, "does not exist", remedy)
    return path


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.ERROR)
    parser = argparse.ArgumentParser(prog="experiments.oov_entities", description=__doc__)
    parser.add_argument(
        "run", type=Path, help="the directory of a training, TASK.SEED.REPRESENTATION"
    )
    parser.add_argument("test", type=Path, help="the test data")
    parser.add_argument(
        "vocabulary", type=Path, help="the vocabulary of the language model, a directory"
    )
    parser.add_argument("out", type=Path, help="a JSON file")
    parser.add_argument("--train", type=Path, help="the training data of the tagger")
    parser.add_argument("-o", "--overrides", default="", help="overrides of the archive's config")
    args = parser.parse_args(arguments)
    try:
        run = parse_run_name(args.run)
        file = _existing(args.run / "model.tar.gz", "`allennlp train` writes it at its end.")
        for data in filter(None, (args.test, args.train)):
            _existing(data, "Give a file for the dataset reader of the archive.")
        vocabulary = read_vocabulary(args.vocabulary)
        archive = load_archive(file, overrides=args.overrides)
        training_words = (
            None if args.train is None else _words_of(archive.dataset_reader, args.train)
        )
        rows = score_entities(predict_tags(archive, args.test), vocabulary, training_words)
    except ConfigurationError as error:
        sys.exit(f"oov_entities: {error}")
    write_json(args.out, {"rows": [{**run, **row} for row in rows]})


if __name__ == "__main__":
    main()
