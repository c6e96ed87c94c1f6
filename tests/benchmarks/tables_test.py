import pytest

from benchmarks.tables import TABLES, read_benchmarks


@pytest.fixture(scope="module")
def results():
    return {"benchmarks": read_benchmarks()}


@pytest.mark.parametrize("name", TABLES)
def test_each_table_has_whole_rows(name, results):
    lines = TABLES[name](results).splitlines()
    assert len(lines) > 3
    assert len({line.count("|") for line in lines}) == 1


def test_speedups_are_ratios_of_medians(results):
    timings = results["benchmarks"]["models"]["timings"]
    ratio = timings["elmo"]["median_seconds"] / timings["elmo_semfit"]["median_seconds"]
    speed = TABLES["speed"](results).splitlines()
    assert f"| training ELMo-S vs. ELMo | {ratio:.1f} × | 4.2 × |" in speed
    (row,) = (
        line
        for line in TABLES["speed of models"](results).splitlines()
        if line.startswith("| ELMo-S: ")
    )
    fast = timings["elmo"]["median_seconds"] / timings["elmo_semfit, bfloat16"]["median_seconds"]
    assert f"| {ratio:.1f} × |" in row
    assert row.endswith(f"| {fast:.1f} × |")


def test_each_contextualizer_has_its_speed_at_each_size(results):
    header, _, *rows = TABLES["speed of contextualizers"](results).splitlines()
    assert "512 cells, 64 sentences, bfloat16" in header
    timings = results["benchmarks"]["contextualizer"]["timings"]
    speed = timings["bidirectional_language_model_sru, bfloat16, 4096 cells"]["words_per_second"]
    (row,) = (row for row in rows if row.startswith("| `…_sru` |"))
    assert row.endswith(f"| {speed:,.0f} |")
