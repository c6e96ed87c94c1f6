"""
Measures how fast word representations embed text on one core, from words to vectors, as in the
models of `experiments/tasks`:

    python -m experiments.peers.speed TEXT OUT.json elmo=model.tar.gz bert=output/bert …

Each round times all representations on the same sentences. No sentence is used twice.
"""

import sys
from itertools import islice
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence

import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.modules import TextFieldEmbedder
from more_itertools import chunked, divide

import allennlp_semfit  # noqa: F401 (registers `elmo_semfit`)
import experiments.peers.flair_embedder  # noqa: F401 (registers `flair`)
from benchmarks.reporting import time_interleaved
from experiments.json_files import write_json
from experiments.peers.clock import read_sentences
from experiments.peers.train import PEERS

CONFIG = Path(__file__).with_name("speed.jsonnet")
NUM_SENTENCES = 3000
BATCH_SIZE = 32
REPEATS = 5

Sentences = Sequence[List[str]]


def measure_speed(models: Mapping[str, str], sentences: Sentences) -> List[Dict[str, Any]]:
    """The median of the words per second of `fasttext`, peers, and language models, by name."""
    rounds = [list(part) for part in divide(REPEATS + 1, sentences)]
    seconds = time_interleaved(
        {name: _embedding_of(name, models[name], sentences, rounds) for name in models},
        repeats=REPEATS,
        device=torch.device("cpu"),
    )
    words = [sum(map(len, part)) for part in rounds[1:]]
    return [
        {"label": name, "words_per_second": round(median(map(truediv, words, seconds[name])))}
        for name in models
    ]


def _embedding_of(
    name: str, path: str, sentences: Sentences, rounds: Sequence[Sentences]
) -> Callable[[], None]:
    """A function that embeds the sentences of the next round at each call."""
    representation = name if name in ("fasttext", *PEERS) else "elmo_semfit"
    variables = ("FASTTEXT_MODEL_PATH", "LM_ARCHIVE_PATH", "PEER_PATH")
    ext_vars = {"WORD_REPRESENTATION": representation, **dict.fromkeys(variables, path)}
    config = Params.from_file(CONFIG, ext_vars=ext_vars).as_dict()
    indexers = {
        key: TokenIndexer.from_params(Params(indexer))
        for key, indexer in config["indexers"].items()
    }

    def batches_of(part: Sentences) -> Iterator[Batch]:
        for some in chunked(sorted(part, key=len), BATCH_SIZE):
            fields = (TextField([Token(word) for word in words], indexers) for words in some)
            yield Batch([Instance({"text": field}) for field in fields])

    vocabulary = Vocabulary.from_instances(
        instance for batch in batches_of(sentences) for instance in batch.instances
    )
    embedder = TextFieldEmbedder.from_params(
        Params({"token_embedders": config["embedders"]}), vocab=vocabulary
    )
    embedder.eval()
    coming = iter(rounds)

    def embed() -> None:
        with torch.no_grad():
            for batch in batches_of(next(coming)):
                batch.index_instances(vocabulary)
                embedder(batch.as_tensor_dict()["text"])

    return embed


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    text, out, *models = sys.argv[1:]
    torch.set_num_threads(1)
    lines = islice(read_sentences([Path(text)]), NUM_SENTENCES)
    rows = measure_speed(
        dict(model.split("=", 1) for model in models), [line.split() for line in lines]
    )
    write_json(Path(out), {"rows": rows})
