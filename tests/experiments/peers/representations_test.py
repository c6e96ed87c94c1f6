"""The laptop configs with each peer, trained for an epoch."""

import json
import math

import pytest

from tests import FIXTURES
from tests.experiments.peers.embedding import REPRESENTATIONS
from tests.training_config.downstream_test import (
    CONFIGS,
    SIZES,
    SIZES_OF_TASKS,
    config_of,
    environment,
    train,
)

DIMS = {"word2vec_dim": 10, "transformer_dim": 8, "flair_dim": 10}


@pytest.mark.parametrize("task", ["ner", "snli", "srl"])
@pytest.mark.parametrize("name", ["word2vec", "bert", "electra", "flair"])
def test_a_task_trains_with_a_peer(task, name, request, tmp_path):
    directory = FIXTURES / "flair" if name == "flair" else request.getfixturevalue("trained")(name)
    overlay = tmp_path / "task.jsonnet"
    overlay.write_text(f"(import '{CONFIGS}/laptop/{task}.jsonnet') + (import '{REPRESENTATIONS}')")
    config = config_of(
        overlay,
        environment(task, name, PEER_PATH=str(directory)),
        {**SIZES, **SIZES_OF_TASKS[task], **DIMS},
    )
    model = train(config, tmp_path / "task")
    metrics = json.loads((tmp_path / "task" / "metrics.json").read_text("utf-8"))
    assert math.isfinite(metrics["test_loss"])
    is_peer = [
        (parameter.requires_grad, parameter)
        for key, parameter in model.named_parameters()
        if any(part in key for part in ("word2vec", "flair", "transformer_model"))
    ]
    assert is_peer
    assert not any(requires_grad for requires_grad, _ in is_peer)


def test_representations_of_other_names_are_named(tmp_path):
    overlay = tmp_path / "task.jsonnet"
    overlay.write_text(f"(import '{CONFIGS}/laptop/ner.jsonnet') + (import '{REPRESENTATIONS}')")
    with pytest.raises(RuntimeError, match='It takes one of "bert", "electra", "elmo"'):
        config_of(overlay, environment("ner", "gpt", PEER_PATH="x"), {})
