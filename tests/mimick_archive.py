"""Untrained MIMICK models, as `training_config/mimick.jsonnet` makes them, but for their sizes."""

import json
from pathlib import Path

import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.models.archival import archive_model

import allennlp_semfit  # noqa: F401 (registers what a configuration names)
from tests import TABLE

__all__ = ["CONFIG", "write_mimick"]

CONFIG = {
    "dataset_reader": {"type": "word_vectors"},
    "model": {
        "type": "mimick",
        "text_field_embedder": {
            "token_embedders": {
                "characters": {
                    "type": "embedding",
                    "embedding_dim": 3,
                    "vocab_namespace": "characters",
                }
            }
        },
        "seq2vec_encoder": {
            "type": "lstm",
            "input_size": 3,
            "hidden_size": 4,
            "bidirectional": True,
        },
        "feedforward": {
            "input_dim": 8,
            "num_layers": 2,
            "hidden_dims": [5, 10],
            "activations": ["tanh", "linear"],
        },
    },
}


def write_mimick(directory: Path, *, archive: bool = False) -> Path:
    """
    Writes a `mimick` for `TABLE` with random weights. Returns the directory, or the `model.tar.gz`
    in it.
    """
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(CONFIG))
    reader = DatasetReader.from_params(Params(CONFIG)["dataset_reader"].duplicate())
    instances = list(reader.read(TABLE))
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances)
    vocab.save_to_files(str(directory / "vocabulary"))
    model = Model.from_params(Params(CONFIG)["model"].duplicate(), vocab=vocab)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.5)
    torch.save(model.state_dict(), directory / "best.th")
    return Path(archive_model(directory)) if archive else directory
