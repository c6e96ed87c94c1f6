"""Untrained MIMICK models, as `training_config/mimick.jsonnet` makes them, but for their sizes."""

from pathlib import Path

from tests import TABLE
from tests.untrained import write_untrained

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
    return write_untrained(directory, CONFIG, Path(TABLE), archive)
