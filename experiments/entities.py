"""
Scores a finished tagger on groups of entities of its test data, in `entities.json`:

    python -m experiments.entities RUN [TEXT]

`unseen` entities have a word that the tagger's training data lacks, `oov` entities one that occurs
fewer than three times in the files of TEXT, as in the vocabulary of a softmax.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Sequence, Set, Tuple

from allennlp.common.plugins import import_plugins
from allennlp.common.util import lazy_groups_of
from allennlp.data.dataset_readers.dataset_utils.span_utils import bioul_tags_to_spans
from allennlp.models import load_archive

from experiments.json_files import write_json


def score_entities(
    sentences: Iterable[Tuple[Sequence[str], Sequence[str], Sequence[str]]],
    known: Mapping[str, Set[str]],
) -> Dict[str, Dict[str, float]]:
    """
    For each set of `known` words, the F1 in percent and the number of annotated entities, counting
    only entities with a word that is not in the set. `sentences` contains words, annotated tags and
    predicted tags in BIOUL.
    """
    counts = {group: [0, 0, 0] for group in known}
    for words, annotated, predicted in sentences:
        spans = [set(bioul_tags_to_spans(list(tags))) for tags in (annotated, predicted)]
        for group, vocabulary in known.items():
            gold, found = (
                {
                    (label, (start, end))
                    for label, (start, end) in each
                    if not vocabulary.issuperset(words[start : end + 1])
                }
                for each in spans
            )
            for index, number in enumerate(map(len, (gold, found, gold & found))):
                counts[group][index] += number
    return {
        group: {"f1": 200 * correct / max(gold + found, 1), "annotated": gold}
        for group, (gold, found, correct) in counts.items()
    }


def score_run(run: Path, *texts: Path) -> Dict[str, Dict[str, float]]:
    archive = load_archive(run / "model.tar.gz")
    archive.model.eval()
    training: Iterable[Any] = archive.dataset_reader.read(archive.config["train_data_path"])
    known = {"unseen": {word for each in training for word in each["metadata"]["words"]}}
    for text in texts:
        counts = Counter(word for file in text.iterdir() for word in file.read_text().split())
        known["oov"] = {word for word, count in counts.items() if count >= 3}
    instances: List[Any] = list(
        archive.validation_dataset_reader.read(archive.config["test_data_path"])
    )
    outputs: Iterator[Any] = (
        output
        for batch in lazy_groups_of(instances, 64)
        for output in archive.model.forward_on_instances(batch)
    )
    return score_entities(
        (
            (instance["metadata"]["words"], instance["tags"].labels, output["tags"])
            for instance, output in zip(instances, outputs)
        ),
        known,
    )


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    run, *texts = map(Path, sys.argv[1:])
    import_plugins()
    write_json(run / "entities.json", score_run(run, *texts))


if __name__ == "__main__":
    main()
