"""
Scores sentence vectors on the ten tasks of SentEval with logistic regression:

    python -m experiments.senteval MODEL DATA_DIR OUT.json [--layers all]

A sentence's vector is the mean over its words of the mean of the language model's layers, or of the
words' fastText vectors. Scores are in percent: the accuracy or, for SICK-R, 100 times Pearson's
correlation.
"""

import argparse
import logging
import sys
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Callable, Dict, Sequence

import numpy

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.fasttext.model import FastTextModel
from experiments.json_files import write_json
from experiments.run_record import describe_commit
from experiments.senteval.protocols import LabeledFeatures
from experiments.senteval.tasks import TASKS, Sentence, Splits, read_task

# Returns the vectors of sentences, shape `(num_sentences, dim)`.
Embed = Callable[[Sequence[Sentence]], numpy.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a language model, or fastText vectors: a file NAME.bin"
    )
    parser.add_argument("data_dir", type=Path, metavar="DATA_DIR", help="SentEval's `downstream`")
    parser.add_argument("out", type=Path, metavar="OUT.json")
    parser.add_argument("--folds", type=int, default=10, help="for cross-validation; default 10")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the model, for OUT.json")
    parser.add_argument("--cuda-device", type=int, default=-1, help="the GPU; -1 for the CPU")
    parser.add_argument(
        "--layers",
        choices=["average", "normalized", "top", "all"],
        default="average",
        help="how a language model's layers are pooled; `all` concatenates them",
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    embed = open_model(args.model, args.layers, args.cuda_device)
    scores = evaluate(embed, args.data_dir, args.folds)
    write_json(args.out, {"seed": args.seed, "commit": describe_commit(), "scores": scores})


def open_model(path: str, layers: str = "average", cuda_device: int = -1) -> Embed:
    if not path.endswith(".bin"):
        embedder = SentenceEmbedder(path, cuda_device)
        return partial(embedder.sentence_vectors, layers=layers, show_progress_bar=True)
    model = FastTextModel.open(path)
    zero = numpy.zeros((1, model.dim), numpy.float32)

    def embed(sentences: Sequence[Sentence]) -> numpy.ndarray:
        words_of = ([model.get_word_vector(word) for word in words] for words in sentences)
        return numpy.array([numpy.mean(vectors or zero, axis=0) for vectors in words_of])

    return embed


def evaluate(embed: Embed, data_dir: Path, folds: int) -> Dict[str, float]:
    """Returns the scores by task."""
    scores = {}
    for name, task in TASKS.items():
        outcome = task.protocol(features_of(embed, read_task(name, data_dir)), folds)
        scores[name] = outcome.score
        sys.stdout.write(f"{name}: {outcome.score:.2f}\n")
    return scores


def features_of(embed: Embed, splits: Splits) -> Dict[str, LabeledFeatures]:
    """Computes the features of the examples. Each distinct sentence is embedded once."""
    distinct: Dict[Sentence, int] = {}
    for example in chain.from_iterable(splits.values()):
        for sentence in example.sentences:
            distinct.setdefault(sentence, len(distinct))
    embedded = embed(list(distinct))
    labeled = {}
    for split, examples in splits.items():
        rows = numpy.array([[distinct[each] for each in example.sentences] for example in examples])
        features = embedded[rows[:, 0]]
        if rows.shape[1] == 2:
            # SentEval's features are symmetric in the two sentences.
            other = embedded[rows[:, 1]]
            features = numpy.concatenate([abs(features - other), features * other], axis=1)
        labels = numpy.array([example.label for example in examples])
        labeled[split] = LabeledFeatures(features, labels)
    return labeled


if __name__ == "__main__":
    main()
