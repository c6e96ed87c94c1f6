"""
The long tail of named entity recognition: how well a trained tagger finds the entities whose words
a language model's truncated vocabulary has, and those that have another word.

    python -m experiments.unseen_words RUN TEST.conll VOCABULARY_DIR OUT.json [--train TRAIN.conll]
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

__all__ = ["TaggedSentence", "describe_run", "predict", "read_vocabulary", "score"]

BATCH_SIZE = 64


class TaggedSentence(NamedTuple):
    """
    # Parameters

    words : `List[str]`
    gold : `List[str]`
        A tag for each word, in BIOUL.
    predicted : `List[str]`
        The same.
    """

    words: List[str]
    gold: List[str]
    predicted: List[str]


def score(
    sentences: Iterable[TaggedSentence],
    vocabulary: Set[str],
    training_words: Optional[Set[str]] = None,
) -> List[Dict[str, Any]]:
    """
    An entity is found if its label and both of its ends are right. What is annotated and what is
    predicted belongs to a group by its own words, so that each group has a precision and a recall.

    # Parameters

    sentences : `Iterable[TaggedSentence]`
    vocabulary : `Set[str]`
        The words that the language model knows.
    training_words : `Set[str]`, optional (default = `None`)
        The words that the tagger was trained on.

    # Returns

    `List[Dict[str, Any]]`
        A row for each `"group"`, with the `"label"` `None`, and one for each of its labels:
        `"precision"`, `"recall"` and `"f1"`, between 0 and 1, and how many entities are `"gold"`,
        `"predicted"` and `"correct"`. The groups are `"all"`; `"known"`, all words of which are in
        the vocabulary, and `"unseen"`, with a word that is not; if there are `training_words`,
        `"trained"` and `"untrained"`, the same with these.
    """
    groups: Dict[str, Callable[[Sequence[str]], bool]] = {
        "all": lambda words: True,
        "known": vocabulary.issuperset,
        "unseen": lambda words: not vocabulary.issuperset(words),
    }
    if training_words is not None:
        trained = training_words.issuperset
        groups["trained"] = trained
        groups["untrained"] = lambda words: not trained(words)

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


def predict(archive: Archive, data: Path) -> List[TaggedSentence]:
    """
    # Parameters

    archive : `Archive`
        Of a `crf_tagger` whose tags are BIOUL.
    data : `Path`
        What its dataset reader reads.

    # Returns

    `List[TaggedSentence]`
        The sentences of the data, the shortest first.

    # Raises

    `ConfigurationError`
        If the archive holds another model.
    """
    model = archive.model
    if not isinstance(model, CrfTagger) or model.label_encoding != "BIOUL":
        raise ConfigurationError(
            f"the archive holds a {type(model).__name__}; a `crf_tagger` whose `label_encoding` is "
            "BIOUL is wanted, such as training_config/downstream/ner.jsonnet trains"
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
        As `allennlp count-vocabulary` writes it.

    # Returns

    `Set[str]`
        Its words.

    # Raises

    `InvalidFileError`
        If there is no vocabulary in it.
    """
    file = _existing(directory / "tokens.txt", "`allennlp count-vocabulary` makes it")
    vocabulary = Vocabulary()
    try:
        vocabulary.set_from_file(str(file))
    except (AssertionError, UnicodeDecodeError):
        raise InvalidFileError(
            f"{file}: it is no vocabulary in AllenNLP's format, UTF-8 with a line @@UNKNOWN@@; "
            "`allennlp count-vocabulary` makes one"
        ) from None
    words = vocabulary.get_token_to_index_vocabulary()
    return set(words) - {vocabulary._padding_token, vocabulary._oov_token}


def describe_run(run: Path) -> Dict[str, Any]:
    """
    # Parameters

    run : `Path`
        A directory `TASK.SEED.REPRESENTATION`.

    # Returns

    `Dict[str, Any]`
        Its name as `"run"`, and the `"task"`, `"seed"` and `"representation"` of it.

    # Raises

    `ConfigurationError`
        If it is called something else.
    """
    name = run.resolve().name
    parts = re.fullmatch(r"([^.]+)\.(\d+)\.(.+)", name)
    if parts is None:
        raise ConfigurationError(
            f"{run}: a run's directory is called TASK.SEED.REPRESENTATION, as in ner.1.elmo_semfit;"
            " rename it"
        )
    task, seed, representation = parts.groups()
    return {"run": name, "task": task, "seed": int(seed), "representation": representation}


def _words_of(reader: DatasetReader, data: Path) -> Set[str]:
    instances: Iterable[Any] = reader.read(str(data))
    return {word for instance in instances for word in instance["metadata"]["words"]}


def _existing(path: Path, remedy: str) -> Path:
    if not path.is_file():
        raise InvalidFileError(f"{path}: there is no such file; {remedy}")
    return path


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.ERROR)
    parser = argparse.ArgumentParser(prog="experiments.unseen_words", description=__doc__)
    parser.add_argument("run", type=Path, help="a directory TASK.SEED.REPRESENTATION, trained")
    parser.add_argument("test", type=Path, help="what is to be tagged")
    parser.add_argument("vocabulary", type=Path, help="the language model's, a directory")
    parser.add_argument("out", type=Path, help="a JSON file")
    parser.add_argument("--train", type=Path, help="what the tagger was trained on")
    parser.add_argument("-o", "--overrides", default="", help="of the archive's configuration")
    args = parser.parse_args(arguments)
    try:
        run = describe_run(args.run)
        file = _existing(args.run / "model.tar.gz", "`allennlp train` makes it when it ends")
        for data in filter(None, (args.test, args.train)):
            _existing(data, "give one in the format of the archive's dataset reader")
        vocabulary = read_vocabulary(args.vocabulary)
        archive = load_archive(file, overrides=args.overrides)
        training_words = (
            None if args.train is None else _words_of(archive.dataset_reader, args.train)
        )
        rows = score(predict(archive, args.test), vocabulary, training_words)
    except ConfigurationError as error:
        sys.exit(f"unseen_words: {error}")
    write_json(args.out, {"rows": [{**run, **row} for row in rows]})


if __name__ == "__main__":
    main()
