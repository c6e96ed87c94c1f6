"""A task for what is tested in a model: tagging with AllenNLP's `simple_tagger`."""

import json
from pathlib import Path
from typing import Any, Dict

from allennlp.data import Token
from allennlp.models import load_archive

SENTENCES = "The###D gate###N closed###V\nSnow###N fell###V\n" * 3


def tagging_config(
    directory: Path,
    indexers: Dict[str, Any],
    embedders: Dict[str, Any],
    encoder: Dict[str, Any],
    data: str = SENTENCES,
) -> Dict[str, Any]:
    """Writes the data into `directory`, and returns the configuration of a training on it."""
    path = directory / "tagged.tsv"
    path.write_text(data)
    config = {
        "dataset_reader": {"type": "sequence_tagging", "token_indexers": indexers},
        "train_data_path": str(path),
        "validation_data_path": str(path),
        "model": {
            "type": "simple_tagger",
            "text_field_embedder": {"token_embedders": embedders},
            "encoder": encoder,
        },
        "data_loader": {"batch_size": 4},
        "trainer": {"num_epochs": 1, "optimizer": "adam"},
    }
    # What indexers and embedders share is copied, because AllenNLP empties what it reads.
    return json.loads(json.dumps(config))


def predict(archive_file, **overrides: Any):
    """The scores of the tags for the words of a sentence, by the model of an archive."""
    words = ["The", "snow", "closed", "the", "gate"]
    archive = load_archive(archive_file, overrides=overrides)
    instance = archive.dataset_reader.text_to_instance([Token(word) for word in words])
    archive.dataset_reader.apply_token_indexers(instance)
    return archive.model.eval().forward_on_instance(instance)["logits"].tolist()
