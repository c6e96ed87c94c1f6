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
    assert TABLES["speed of models"](results).splitlines()[-1].endswith(f"| {ratio:.1f} × |")
