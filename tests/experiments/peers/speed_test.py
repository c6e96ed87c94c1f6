from experiments.peers import speed
from experiments.peers.speed import measure_speed
from tests import FIXTURES

FLAIR = str(FIXTURES / "flair")


def test_representations_are_measured(lm_archive):
    sentences = [["a", "b", "c"]] * 12
    rows = measure_speed({"elmo_semfit_sru": str(lm_archive), "flair": FLAIR}, sentences)
    assert [row["label"] for row in rows] == ["elmo_semfit_sru", "flair"]
    assert all(row["words_per_second"] > 0 for row in rows)


def test_words_per_second_is_the_median(monkeypatch):
    def time_interleaved(functions, *, repeats, device):
        for embed in functions.values():
            for _ in range(repeats + 1):
                embed()
        return {name: [2.0, 1.0, 4.0, 0.5, 8.0] for name in functions}

    monkeypatch.setattr(speed, "time_interleaved", time_interleaved)
    (row,) = measure_speed({"flair": FLAIR}, [["a", "b", "c", "d"]] * 12)
    assert row == {"label": "flair", "words_per_second": 4}
