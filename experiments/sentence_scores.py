"""
Counts the answers of a finished run in each test sentence, for `experiments.collect_results`:

    python -m experiments.sentence_scores RUN OUT.npz [VOCABULARY]

Of named entities also those with words that a vocabulary lacks, and those with words that the
training data of the tagger lacks.
"""

import logging
import sys
from itertools import groupby
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import numpy
from allennlp.common import Tqdm
from allennlp.common.plugins import import_plugins
from allennlp.common.util import lazy_groups_of
from allennlp.data import Vocabulary
from allennlp.data.dataset_readers.dataset_utils.span_utils import bioul_tags_to_spans
from allennlp.models import load_archive
from allennlp_models.structured_prediction.metrics.srl_eval_scorer import SrlEvalScorer
from allennlp_models.structured_prediction.models.srl import convert_bio_tags_to_conll_format
from allennlp_models.tagging import CrfTagger

from allennlp_semfit.common.output import write_file
from experiments.json_files import read_json
from experiments.results import METRICS, f1

BATCH_SIZE = 64

# What consecutive instances of a task share, in their metadata.
_SHARED = {"srl": "words", "snli": "premise_tokens"}

# An `Instance`, whose fields have attributes of their own, and the output of the model.
Prediction = Tuple[Any, Dict[str, Any]]
# The numbers of annotated, predicted and correct answers in a sentence.
Counts = Tuple[int, int, int]
IsInGroup = Callable[[Sequence[str]], bool]


def group_entities(
    vocabulary: Optional[Set[str]] = None, training_words: Optional[Set[str]] = None
) -> Dict[str, IsInGroup]:
    """The `GROUPS` that these words define, each with its condition on the words of an entity."""
    groups: Dict[str, IsInGroup] = {"all": lambda words: True}
    if vocabulary is not None:
        groups["in_vocabulary"] = vocabulary.issuperset
        groups["oov"] = lambda words: not vocabulary.issuperset(words)
    if training_words is not None:
        groups["seen"] = training_words.issuperset
        groups["unseen"] = lambda words: not training_words.issuperset(words)
    return groups


def count_answers(
    predictions: Iterable[Prediction], task: str, groups: Dict[str, IsInGroup]
) -> Dict[str, numpy.ndarray]:
    """
    For each of the `groups` from `group_entities`, or `"all"` of a task without named entities, the
    numbers of annotated, predicted and correct answers in each sentence, shape `(num_sentences,
    3)`. Consecutive instances with the same sentence count as one: the frames of SRL and the pairs
    of SNLI with the same premise.
    """
    count = {"srl": _count_arguments, "snli": _count_labels}.get(task)
    if count is not None:
        groups = {"all": groups["all"]}

    def sentence_of(numbered: Tuple[int, Prediction]) -> Any:
        number, (instance, _) = numbered
        metadata = instance["metadata"] if task in _SHARED else None
        return metadata[_SHARED[task]] if metadata else number

    rows: Dict[str, List[Counts]] = {group: [] for group in groups}
    for _, numbered in groupby(enumerate(predictions), key=sentence_of):
        sentence = [prediction for _, prediction in numbered]
        for group, holds in groups.items():
            rows[group].append(count(sentence) if count else _count_entities(*sentence[0], holds))
    return {group: numpy.array(counts, numpy.int16) for group, counts in rows.items()}


def _count_labels(sentence: Sequence[Prediction]) -> Counts:
    correct = sum(output["label"] == instance["label"].label for instance, output in sentence)
    return len(sentence), len(sentence), correct


def _count_entities(instance: Any, output: Dict[str, Any], holds: IsInGroup) -> Counts:
    words = instance["metadata"]["words"]
    annotated, predicted = (
        {
            (label, start, end)
            for label, (start, end) in bioul_tags_to_spans(tags)
            if holds(words[start : end + 1])
        }
        for tags in (instance["tags"].labels, output["tags"])
    )
    return len(annotated), len(predicted), len(annotated & predicted)


def _count_arguments(sentence: Sequence[Prediction]) -> Counts:
    """As the official script counts them, which AllenNLP runs."""
    frames = [instance["metadata"] for instance, _ in sentence]
    scorer = SrlEvalScorer(ignore_classes=["V"])
    scorer(
        [frame["verb_index"] for frame in frames],
        [frame["words"] for frame in frames],
        [convert_bio_tags_to_conll_format(output["tags"]) for _, output in sentence],
        [convert_bio_tags_to_conll_format(frame["gold_tags"]) for frame in frames],
    )
    correct, excess, missed = (
        sum(counts.values())
        for counts in (scorer._true_positives, scorer._false_positives, scorer._false_negatives)
    )
    return correct + missed, correct + excess, correct


def score_run(run: Path, vocabulary: Optional[Path] = None) -> Dict[str, numpy.ndarray]:
    """
    The `count_answers` in the test data of a finished training, `TASK.REPRESENTATION`. `vocabulary`
    is that of a language model's run.
    """
    task = run.name.partition(".")[0]
    score = 100 * read_json(run / "metrics.json")[METRICS[task]]
    archive = load_archive(run / "model.tar.gz")
    archive.model.eval()
    words = training_words = None
    if isinstance(archive.model, CrfTagger):
        training: Iterable[Any] = archive.dataset_reader.read(archive.config["train_data_path"])
        training_words = {word for each in training for word in each["metadata"]["words"]}
        if vocabulary is not None:
            words = set(Vocabulary.from_files(vocabulary).get_token_to_index_vocabulary())
    test_data = archive.validation_dataset_reader.read(archive.config["test_data_path"])
    instances = list(test_data)
    outputs = [
        output
        for batch in lazy_groups_of(Tqdm.tqdm(instances, desc="predicting"), BATCH_SIZE)
        for output in archive.model.forward_on_instances(batch)
    ]
    counts = count_answers(zip(instances, outputs), task, group_entities(words, training_words))
    found = float(f1(counts["all"].sum(0)))
    # Sums in another order may change single answers.
    if abs(found - score) > 0.1:
        raise ValueError(f"{run} scores {found:.2f}, but metrics.json has {score:.2f}")
    return counts


def main() -> None:
    logging.basicConfig(level=logging.ERROR)
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    run, out, *vocabulary = map(Path, sys.argv[1:])
    import_plugins()
    counts = score_run(run, *vocabulary)
    with write_file(out) as part:
        numpy.savez_compressed(part, allow_pickle=False, **counts)


if __name__ == "__main__":
    main()
