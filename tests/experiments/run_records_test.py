import hashlib
import json
from pathlib import Path

import pytest
import torch
from allennlp.models import load_archive
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common.errors import InvalidFileError
from experiments.run_records import (
    config_hash,
    count_trainable_parameters,
    device_name,
    read_sessions,
    replace_roots,
)

ROOTS = {"/home/me/repo": "$REPOSITORY", "/home/me/repo/out": "$OUT", "/data": "$SEMFIT_DATA"}
CONFIG = {
    "train_data_path": "/home/me/repo/out/novels/train",
    "test_data_path": ["/data/test.txt"],
    "model": {"cell_size": 256, "vectors": "/home/me/repo/vectors.bin"},
}


@pytest.mark.parametrize(
    ("lines", "duration", "is_partial", "sessions", "commit"),
    [
        (["began 100 a1", "ended 160 a1"], 60, False, 1, "a1"),
        # Two sessions, of two versions of the code.
        (["began 100 a1", "ended 160 a1", "began 500 b2", "ended 515 b2"], 75, False, 2, "a1, b2"),
        # The first was killed.
        (["began 100 a1", "began 500 a1", "ended 515 a1"], 15, True, 2, "a1"),
        # The last was.
        (["began 100 a1", "ended 160 a1", "began 500 a1"], 60, True, 2, "a1"),
    ],
)
def test_sessions_are_summed(lines, duration, is_partial, sessions, commit, tmp_path):
    # A dot in a name is no suffix.
    (tmp_path / "ner.1.elmo.sessions").write_text("\n".join(lines) + "\n")
    assert read_sessions(tmp_path / "ner.1.elmo") == {
        "duration": duration,
        "duration_is_partial": is_partial,
        "sessions": sessions,
        "commit": commit,
    }


@pytest.mark.parametrize("text", ["ended 5 a\n", "began soon a\n", "began 5\n"])
def test_what_is_no_session_is_named(text, tmp_path):
    (tmp_path / "run.sessions").write_text(text)
    with pytest.raises(InvalidFileError, match=r"sessions is malformed in line 1: '(ended|began)"):
        read_sessions(tmp_path / "run")
    with pytest.raises(InvalidFileError, match=r"other\.sessions.*experiments/train writes it"):
        read_sessions(tmp_path / "other")


def test_the_hash_is_of_the_canonical_json():
    general = {
        "model": {"cell_size": 256, "vectors": "$REPOSITORY/vectors.bin"},
        "test_data_path": ["$SEMFIT_DATA/test.txt"],
        "train_data_path": "$OUT/novels/train",
    }
    assert replace_roots(CONFIG, ROOTS) == general
    canonical = json.dumps(general).replace(", ", ",").replace(": ", ":")
    assert config_hash(CONFIG, ROOTS) == hashlib.sha256(canonical.encode()).hexdigest()[:12]


@given(st.lists(st.text("ab/", min_size=1), min_size=3, max_size=3, unique=True))
def test_the_hash_is_the_same_wherever_the_roots_are(names):
    repository, out, data = (f"/{i}/{name.strip('/')}x" for i, name in enumerate(names))
    config = {
        "train_data_path": f"{out}/novels/train",
        "test_data_path": [f"{data}/test.txt"],
        "model": {"cell_size": 256, "vectors": f"{repository}/vectors.bin"},
        "random_seed": 5,
    }
    roots = {repository: "$REPOSITORY", out: "$OUT", data: "$SEMFIT_DATA"}
    assert config_hash(config, roots) == config_hash(CONFIG, ROOTS)


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"cell_size": 255, "vectors": "/home/me/repo/vectors.bin"}},
        {"train_data_path": "/home/me/repo/out/pubmed/train"},
        {"train_data_path": "/home/me/repo/novels/train"},
    ],
)
def test_the_hash_differs_with_a_size_and_a_path(change):
    assert config_hash({**CONFIG, **change}, ROOTS) != config_hash(CONFIG, ROOTS)


def test_a_path_elsewhere_asks_where_the_data_was():
    # Its name begins as a place's does.
    with pytest.raises(InvalidFileError, match="/database/x .*Set SEMFIT_DATA"):
        config_hash({**CONFIG, "test_data_path": "/database/x"}, ROOTS)


def test_a_gpu_is_one_whose_memory_was_used(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "H200")
    assert device_name({"peak_worker_0_memory_MB": 5.0}) == "cpu"
    assert device_name({"peak_gpu_0_memory_MB": 0.0, "training_gpu_0_memory_MB": 0}) == "cpu"
    assert device_name({"peak_gpu_0_memory_MB": 0.5}) == "H200"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_name({"training_gpu_1_memory_MB": 7}) == "gpu"


def test_parameters_are_those_of_the_log_with_the_sizes_of_the_weights(tmp_path):
    assert count_trainable_parameters(tmp_path) is None
    line = "2026-01-01 00:00:00,000 - INFO - allennlp.common.{} - {}\n"
    log = [
        line.format("util", "The following parameters are Frozen (without gradient):"),
        line.format("util", "vectors"),
        line.format("util", "The following parameters are Tunable (with gradient):"),
        line.format("util", "lstm.weight"),
        line.format("util", "lstm.bias"),
        line.format("params", "trainer.num_epochs = 1"),
        line.format("util", "vectors"),
    ]
    weights = {"vectors": (100, 7), "lstm.weight": (5, 3), "lstm.bias": (5,), "buffer": (9,)}
    torch.save({name: torch.zeros(size) for name, size in weights.items()}, tmp_path / "best.th")
    # A training that went on has listed them twice.
    (tmp_path / "out.log").write_text("".join(log + log))
    assert count_trainable_parameters(tmp_path) == 5 * 3 + 5
    # Weights of another model.
    torch.save({"lstm.weight": torch.zeros(5, 3)}, tmp_path / "best.th")
    assert count_trainable_parameters(tmp_path) is None


def test_allennlp_logs_what_is_counted(lm_archive):
    parameters = load_archive(lm_archive).model.parameters()
    count = sum(p.numel() for p in parameters if p.requires_grad)
    assert count_trainable_parameters(Path(lm_archive).parent) == count
