"""A task for what is tested in a model: tagging with AllenNLP's `simple_tagger`."""

import json
from pathlib import Path
from typing import Any, Dict

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
