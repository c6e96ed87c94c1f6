"""Embeds sentences with a representation of `experiments.peers`, as AllenNLP's models do."""

import json
from pathlib import Path
from typing import List

import _jsonnet
import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.modules import TextFieldEmbedder

import experiments.peers.flair_embedder  # noqa: F401 (registers `flair`)
from experiments.peers import speed

REPRESENTATIONS = Path(speed.__file__).with_name("representations.libsonnet")


def embed(name: str, path: Path, sentences: List[List[str]], **sizes: int) -> torch.Tensor:
    """Returns vectors of shape `(number of sentences, maximum length, dim)`."""
    config = json.loads(
        _jsonnet.evaluate_snippet(
            "embedding",
            f"((import '{REPRESENTATIONS}') + {{ sizes+: {json.dumps(sizes)} }} + "
            f"{{ result: $.sizes.representations.{name} }}).result",
            ext_vars={"PEER_PATH": str(path)},
        )
    )
    indexers = {
        key: TokenIndexer.from_params(Params(indexer))
        for key, indexer in config["indexers"].items()
    }
    batch = Batch(
        [
            Instance({"text": TextField([Token(word) for word in words], indexers)})
            for words in sentences
        ]
    )
    vocabulary = Vocabulary.from_instances(batch.instances)
    embedder = TextFieldEmbedder.from_params(
        Params({"token_embedders": config["embedders"]}), vocab=vocabulary
    )
    assert embedder.get_output_dim() == config["dim"]
    batch.index_instances(vocabulary)
    # In training mode, as in that of a task.
    return embedder(batch.as_tensor_dict()["text"]).detach()
