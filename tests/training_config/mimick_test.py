"""The config of MIMICK models."""

import json

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params, with_overrides
from allennlp.data import TokenIndexer

from tests import TABLE
from tests.training_config.language_models_test import CONFIGS, evaluate


def train(table, directory, dim, epochs):
    """Trains a model, and returns its metrics."""
    config = with_overrides(
        evaluate(CONFIGS / "mimick.jsonnet", TABLE_PATH=str(table)),
        {
            "model.feedforward.hidden_dims": [dim, dim],
            "trainer.num_epochs": epochs,
            "trainer.cuda_device": -1,
        },
    )
    train_model(Params(config), directory)
    return json.loads((directory / "metrics.json").read_text("utf-8"))


def test_it_trains_and_its_archive_scores_the_same(tmp_path):
    metrics = train(TABLE, tmp_path / "out", dim=10, epochs=2)
    archive = tmp_path / "out" / "model.tar.gz"
    # `evaluate` reads with the validation reader: the validation words.
    scores = evaluate_from_archive(archive, TABLE)
    assert scores["cosine"] == pytest.approx(metrics["best_validation_cosine"], rel=1e-5)
    indexer = {"type": "mimick", "archive_file": str(archive), "table_path": TABLE}
    # The table has neither, so these are predictions.
    words = ["zebra", "ZEBRA"]
    lower, upper = TokenIndexer.from_params(Params(indexer)).vectors.get_word_vectors(words)
    assert lower.shape == (10,)
    assert (lower == upper).all()


def test_a_table_must_have_words_to_hold_out(tmp_path):
    table = tmp_path / "small.txt"
    table.write_text("a 1 2\nb 3 4\nc 5 6\n")
    with pytest.raises(
        ConfigurationError, match="small.txt: 0 of 3 words would be used for validation; give"
    ):
        train(table, tmp_path / "out", dim=2, epochs=1)
