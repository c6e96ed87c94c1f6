"""
Measures how fast word representations embed text, from words to vectors, as in the models of
`training_config/downstream`:

    python -m experiments.peers.speed TEXT OUT.json elmo_semfit=model.tar.gz bert=output/bert …

Each round times all representations on the same sentences. No sentence is used twice.
"""

import argparse
import logging
import os
import sys
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.modules import TextFieldEmbedder
from more_itertools import chunked, divide

import allennlp_semfit  # noqa: F401 (registers `elmo_semfit`)
import experiments.peers.flair_embedder  # noqa: F401 (registers `flair`)
from benchmarks.timing import time_interleaved
from experiments.json_files import write_json
from experiments.peers.text import read_sentences

__all__ = ["Candidate", "measure_speed"]

CONFIG = Path(__file__).with_name("speed.jsonnet")
# The environment variables with the path, of those that are no peers.
PATH_VARIABLES = {"elmo_semfit": "LM_ARCHIVE_PATH", "fasttext": "FASTTEXT_MODEL_PATH"}
BATCH_SIZE = 32

Sentences = Sequence[List[str]]


class Candidate(NamedTuple):
    """
    # Parameters

    label : `str`
        Its name in the results.
    representation : `str`
        A value of `WORD_REPRESENTATION`.
    path : `str`
        The archive of a language model, a fastText `.bin`, or the directory of a peer.
    """

    label: str
    representation: str
    path: str

    @classmethod
    def parse(cls, argument: str) -> "Candidate":
        """Parses `REPRESENTATION=PATH` or `REPRESENTATION:LABEL=PATH`."""
        name, separator, path = argument.partition("=")
        representation, _, label = name.partition(":")
        if not separator or not representation or not path:
            raise argparse.ArgumentTypeError(
                f"{argument!r} is not REPRESENTATION=PATH or REPRESENTATION:LABEL=PATH"
            )
        return cls(label or representation, representation, path)


def measure_speed(
    candidates: Sequence[Candidate], sentences: Sentences, *, repeats: int = 5
) -> List[Dict[str, Any]]:
    """
    # Parameters

    candidates : `Sequence[Candidate]`
    sentences : `Sequence[List[str]]`
        Their words. Divided among a warm-up and the repeats.
    repeats : `int`, optional (default = `5`)

    # Returns

    `List[Dict[str, Any]]`
        For each candidate, the `"label"`, the `"representation"`, the median
        `"words_per_second"`, and `"rounds"`, all of them.

    # Raises

    `ConfigurationError`
        If two candidates have the same label, there are too few sentences, or a model cannot be
        loaded.
    """
    if len({candidate.label for candidate in candidates}) < len(candidates):
        raise ConfigurationError(
            "two representations have the same label; use REPRESENTATION:LABEL=PATH"
        )
    if len(sentences) <= repeats:
        raise ConfigurationError(
            f"{len(sentences)} sentences are too few for {repeats} rounds; give more text"
        )
    rounds = [list(part) for part in divide(repeats + 1, sentences)]
    seconds = time_interleaved(
        {candidate.label: _embedding_of(candidate, sentences, rounds) for candidate in candidates},
        repeats=repeats,
        device=torch.device("cpu"),
    )
    words = [sum(map(len, part)) for part in rounds[1:]]
    rows = []
    for candidate in candidates:
        rates = [count / time for count, time in zip(words, seconds[candidate.label])]
        rows.append(
            {
                "label": candidate.label,
                "representation": candidate.representation,
                "words_per_second": round(median(rates)),
                "rounds": [round(rate) for rate in rates],
            }
        )
    return rows


def _embedding_of(
    candidate: Candidate, sentences: Sentences, rounds: Sequence[Sentences]
) -> Callable[[], None]:
    """A function that embeds the sentences of the next round at each call."""
    variable = PATH_VARIABLES.get(candidate.representation, "PEER_PATH")
    params = Params.from_file(
        CONFIG, ext_vars={"WORD_REPRESENTATION": candidate.representation, variable: candidate.path}
    )
    indexers = {
        name: TokenIndexer.from_params(params["indexers"][name]) for name in params["indexers"]
    }

    def batches_of(part: Sentences) -> Iterator[Batch]:
        for some in chunked(sorted(part, key=len), BATCH_SIZE):
            fields = (TextField([Token(word) for word in words], indexers) for words in some)
            yield Batch([Instance({"text": field}) for field in fields])

    vocabulary = Vocabulary.from_instances(
        instance for batch in batches_of(sentences) for instance in batch.instances
    )
    embedder = TextFieldEmbedder.from_params(
        Params({"token_embedders": params["embedders"].as_dict()}), vocab=vocabulary
    )
    embedder.eval()
    coming = iter(rounds)

    def embed() -> None:
        with torch.no_grad():
            for batch in batches_of(next(coming)):
                batch.index_instances(vocabulary)
                embedder(batch.as_tensor_dict()["text"])

    return embed


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(
        prog="experiments.peers.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text", type=Path, help="a file with one tokenised sentence per line")
    parser.add_argument("out", type=Path, help="a JSON file")
    parser.add_argument(
        "candidates",
        type=Candidate.parse,
        nargs="+",
        metavar="REPRESENTATION[:LABEL]=PATH",
        help="a value of WORD_REPRESENTATION, and its model",
    )
    parser.add_argument("--sentences", type=int, default=3000, help="how many of the text to read")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args(arguments)
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)
    torch.set_num_threads(args.threads)
    try:
        lines = islice(read_sentences([args.text]), args.sentences)
        sentences = [line.split() for line in lines]
        rows = measure_speed(args.candidates, sentences, repeats=args.repeats)
    except ConfigurationError as error:
        sys.exit(f"experiments.peers.speed: {error}")
    write_json(args.out, {"threads": args.threads, "batch_size": BATCH_SIZE, "rows": rows})


if __name__ == "__main__":
    main()
