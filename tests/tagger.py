"""The training of a small model of AllenNLP with the `resumable` trainer."""

import glob
from typing import Any, Dict, Optional

import torch
from allennlp.commands import train as train_module
from allennlp.common import Params

SENTENCES = ["a###D cat###N sleeps###V", "the###D old###A dog###N barks###V loudly###R"] * 4


def train(
    *,
    recover: bool = False,
    num_epochs: int = 3,
    data_loader: Optional[Dict[str, Any]] = None,
    **trainer: Any,
) -> Dict[str, Any]:
    """Trains for epochs of two batches, and returns the last training state."""
    params = Params(
        {
            "dataset_reader": {"type": "sequence_tagging"},
            "train_data_path": "tagged.tsv",
            "validation_data_path": "tagged.tsv",
            "model": {
                "type": "simple_tagger",
                "text_field_embedder": {
                    "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}
                },
                "encoder": {"type": "lstm", "input_size": 3, "hidden_size": 4},
            },
            # Its order of batches is random.
            "data_loader": {
                "batch_sampler": {"type": "bucket", "batch_size": 4},
                **(data_loader or {}),
            },
            "validation_data_loader": {"batch_size": 8},
            "trainer": {
                "type": "resumable",
                "checkpointer": "resumable",
                "num_epochs": num_epochs,
                "cuda_device": -1,
                "optimizer": {"type": "sgd", "lr": 0.1},
                "validation_metric": "+accuracy",
                "learning_rate_scheduler": {"type": "exponential", "gamma": 0.5},
                **trainer,
            },
        }
    )
    train_module.train_model(params, "run", recover=recover)
    return torch.load(max(glob.glob("run/training_state_*.th")), weights_only=False)
