import json

import pytest
import torch

from experiments.decoding import main, measure_decoding
from tests import FIXTURES
from tests.language_models import write_language_model

HELDOUT = FIXTURES / "corpus" / "heldout.txt"
TRAIN = FIXTURES / "corpus" / "train"


class AlwaysTheSame:
    """Prefers the words in their order, whatever the context."""

    words = [f"w{number}" for number in range(20)]

    def contexts(self, sentences, locations):
        return torch.zeros(len(locations), 2, 1)

    def __call__(self, contexts):
        return -torch.arange(20.0).expand(len(contexts), 20)


def test_accuracies_and_hubs():
    sentences = [["w0", "w9", "unknown", "w10"], ["w0", "w19"]]
    counts = {"w0": 5000, "w9": 20, "w10": 20, "w19": 2}
    row = measure_decoding(AlwaysTheSame(), sentences, counts, "none")
    assert row == {
        "correction": "none",
        "buckets": [
            {"bucket": "1–2", "count": 1, "accuracy_at_1": 0, "accuracy_at_10": 0},
            {"bucket": "10–99", "count": 2, "accuracy_at_1": 0, "accuracy_at_10": 0.5},
            {"bucket": "1000+", "count": 2, "accuracy_at_1": 1, "accuracy_at_10": 1},
        ],
        "count": 5,
        "accuracy_at_1": 0.4,
        "accuracy_at_10": 0.6,
        "hubs": [["w0", 1]],
    }


@pytest.mark.parametrize(
    ("kind", "corrections"),
    [("frozen_characters", ["none", "csls", "whitening"]), ("words", ["none"])],
)
def test_an_archive_is_measured(kind, corrections, tmp_path):
    archive = write_language_model(tmp_path / "model", kind, archive=True)
    out = tmp_path / "out.json"
    main([*map(str, (archive, HELDOUT, TRAIN, out)), "--sentences", "5", "--min-count", "1"])
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert [row["correction"] for row in rows] == corrections
    for row in rows:
        assert row["count"] == sum(bucket["count"] for bucket in row["buckets"]) > 0
        assert sum(share for _, share in row["hubs"]) <= 1 + 1e-9


@pytest.mark.parametrize("location", [0, 1, 2])
def test_a_missing_file_is_named(location, tmp_path):
    archive = write_language_model(tmp_path / "model", "words", archive=True)
    args = [str(path) for path in (archive, HELDOUT, TRAIN, tmp_path / "out.json")]
    args[location] = str(tmp_path / "missing")
    with pytest.raises(SystemExit, match="decoding: .*missing"):
        main(args)
