"""Embeds sentences with a representation of `experiments`, as AllenNLP's models do."""

import json
from pathlib import Path
from typing import List

import _jsonnet
import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.modules import TextFieldEmbedder

import experiments
import experiments.peers.flair_embedder  # noqa: F401 (registers `flair`)

REPRESENTATIONS = Path(experiments.__file__).with_name("representations.libsonnet")


def embed(name: str, path: Path, sentences: List[List[str]]) -> torch.Tensor:
    """Returns vectors of shape `(number of sentences, maximum length, dim)`."""
    variables = {"WORD_REPRESENTATION": name, "PEER_PATH": str(path)}
    config = json.loads(_jsonnet.evaluate_file(str(REPRESENTATIONS), ext_vars=variables))
    indexers = {
        key: TokenIndexer.from_params(Params(indexer))
        for key, indexer in config["indexers"].items()
    }
    fields = [TextField([Token(word) for word in words], indexers) for words in sentences]
    batch = Batch([Instance({"text": field}) for field in fields])
    vocabulary = Vocabulary.from_instances(batch.instances)
    embedder = TextFieldEmbedder.from_params(
        Params({"token_embedders": config["embedders"]}), vocab=vocabulary
    )
    batch.index_instances(vocabulary)
    # In training mode, as in that of a task.
    return embedder(batch.as_tensor_dict()["text"]).detach()
