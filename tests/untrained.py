"""Models with random weights, as a training leaves them."""

import json
from pathlib import Path
from typing import Any, Dict

import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.models.archival import archive_model

import allennlp_semfit  # noqa: F401 (registers what a configuration names)


def write_untrained(directory: Path, config: Dict[str, Any], data: Path, archive: bool) -> Path:
    """
    Writes the model of a configuration with the vocabulary of `data`. Returns the directory or,
    with `archive`, the `model.tar.gz` in it.
    """
    (directory / "config.json").write_text(json.dumps(config))
    params = Params(config).duplicate()
    reader = DatasetReader.from_params(params["dataset_reader"])
    instances = list(reader.read(str(data)))
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances)
    vocab.save_to_files(str(directory / "vocabulary"))
    model = Model.from_params(params["model"], vocab=vocab)
    for parameter in model.parameters():
        if parameter.requires_grad:
            # AllenNLP sets biases to zero, and gates so that they let all through. With a deviation
            # of 0.5, an LSTM may be chaotic: a rounding grows to 0.04 within 40 words.
            parameter.data.normal_(std=0.2)
    torch.save(model.state_dict(), directory / "best.th")
    return Path(archive_model(directory)) if archive else directory
