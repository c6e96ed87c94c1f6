"""The config of MIMICK models."""

import json

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common.params import Params, with_overrides
from allennlp.data import TokenIndexer

from tests import TABLE
from tests.training_config.language_models_test import CONFIGS, evaluate


def test_it_trains_and_its_archive_scores_the_same(tmp_path):
    config = with_overrides(
        evaluate(CONFIGS / "mimick.jsonnet", TABLE_PATH=TABLE),
        {
            "model.feedforward.hidden_dims": [10, 10],
            "trainer.num_epochs": 2,
            "trainer.cuda_device": -1,
        },
    )
    train_model(Params(config), tmp_path)
    metrics = json.loads((tmp_path / "metrics.json").read_text("utf-8"))
    archive = tmp_path / "model.tar.gz"
    # `evaluate` reads with the validation reader: the validation words.
    scores = evaluate_from_archive(archive, TABLE)
    assert scores["cosine"] == pytest.approx(metrics["best_validation_cosine"], rel=1e-5)
    indexer = {"type": "mimick", "archive_file": str(archive), "table_path": TABLE}
    # The table has neither, so these are predictions.
    words = ["zebra", "ZEBRA"]
    lower, upper = TokenIndexer.from_params(Params(indexer)).vectors.get_word_vectors(words)
    assert lower.shape == (10,)
    assert (lower == upper).all()
