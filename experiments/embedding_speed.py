"""
Measures how fast language models and fastText vectors embed text on one core, from words to
vectors, as in the models of `experiments/tasks`:

    python -m experiments.embedding_speed TEXT OUT.json fasttext=vectors.bin elmo=model.tar.gz …

Each round times all of them on the same sentences. No sentence is used twice.
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
from allennlp.modules import TokenEmbedder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from more_itertools import chunked, divide

import allennlp_semfit  # noqa: F401 (registers the indexers and embedders)
from allennlp_semfit.fasttext.model import FastTextModel
from benchmarks.reporting import time_interleaved
from experiments.json_files import write_json

NUM_SENTENCES = 3000
BATCH_SIZE = 32
REPEATS = 5

Sentences = Sequence[List[str]]


def measure_speed(models: Mapping[str, str], sentences: Sentences) -> List[Dict[str, Any]]:
    """The median of the words per second of each model, by name; `fasttext` has vectors."""
    rounds = [list(part) for part in divide(REPEATS + 1, sentences)]
    seconds = time_interleaved(
        {name: _embedding_of(models[name], name == "fasttext", rounds) for name in models},
        repeats=REPEATS,
        device=torch.device("cpu"),
    )
    words = [sum(map(len, part)) for part in rounds[1:]]
    return [
        {"label": name, "words_per_second": round(median(map(truediv, words, seconds[name])))}
        for name in models
    ]


def _embedding_of(path: str, is_fasttext: bool, rounds: Sequence[Sentences]) -> Callable[[], None]:
    """A function that embeds the sentences of the next round at each call."""
    if is_fasttext:
        indexer: Dict[str, Any] = {"type": "fasttext", "model_path": path}
        embedder: Dict[str, Any] = {
            "type": "fasttext",
            "embedding_dim": FastTextModel.open(path).dim,
        }
    else:
        indexer = {"type": "elmo_semfit", "archive_file": path}
        embedder = {**indexer, "dropout": 0.0, "do_layer_norm": True}
    indexers = {"words": TokenIndexer.from_params(Params(indexer))}
    text_field_embedder = BasicTextFieldEmbedder(
        {"words": TokenEmbedder.from_params(Params(embedder))}
    ).eval()
    vocabulary = Vocabulary()
    coming = iter(rounds)

    def batches_of(part: Sentences) -> Iterator[Batch]:
        for some in chunked(sorted(part, key=len), BATCH_SIZE):
            fields = (TextField([Token(word) for word in words], indexers) for words in some)
            yield Batch([Instance({"text": field}) for field in fields])

    def embed() -> None:
        with torch.no_grad():
            for batch in batches_of(next(coming)):
                batch.index_instances(vocabulary)
                text_field_embedder(batch.as_tensor_dict()["text"])

    return embed


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    text, out, *models = sys.argv[1:]
    torch.set_num_threads(1)
    with open(text, encoding="utf-8") as lines:
        sentences = [line.split() for line in islice(filter(str.strip, lines), NUM_SENTENCES)]
    rows = measure_speed(dict(model.split("=", 1) for model in models), sentences)
    write_json(Path(out), {"rows": rows})
