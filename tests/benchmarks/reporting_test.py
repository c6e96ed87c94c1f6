import json
import logging

import pytest
import torch
from matplotlib.image import imread

from benchmarks.reporting import RESULTS, Lines, argument_parser, parse_arguments, report

TIMINGS = {"slow": [4.0, 6.0, 8.0, 5.0], "quick": [1.0, 3.0, 2.0, 1.5]}
CPU = torch.device("cpu")


def test_the_json_has_the_range_the_ratio_the_measures_and_the_machine(tmp_path):
    out = tmp_path / "results" / "some-cpu.json"
    measures = {"quick": {"parameters": 12}}
    rows = report(TIMINGS, "slow", out, device=CPU, measures=measures, batch_size=7)
    results = json.loads(out.read_text())
    assert results["timings"] == rows
    assert rows["slow"] == {
        "min_seconds": 4.0,
        "median_seconds": 5.5,
        "max_seconds": 8.0,
        "speedup over slow": 1.0,
    }
    assert rows["quick"]["speedup over slow"] == pytest.approx(5.5 / 1.75)
    assert rows["quick"]["parameters"] == 12
    assert (results["device"], results["batch_size"], results["repeats"]) == ("cpu", 7, 4)
    assert results["threads"] == torch.get_num_threads()


def test_each_candidate_may_have_its_own_reference(tmp_path):
    references = {"slow": "quick", "quick": "quick"}
    rows = report(TIMINGS, references, tmp_path / "some-cpu.json", device=CPU)
    assert rows["quick"]["speedup over reference"] == 1
    assert rows["slow"]["speedup over reference"] == pytest.approx(1.75 / 5.5)


def test_the_table_leaves_a_measure_that_a_candidate_lacks_empty(tmp_path, caplog):
    measures = {"quick": {"peak_memory_bytes": 2_500_000_000, "parameters": 12_345}}
    with caplog.at_level(logging.INFO, logger="benchmarks"):
        report(TIMINGS, "slow", tmp_path / "some.json", device=CPU, measures=measures)
    _, header, slow, quick = caplog.messages[0].split("\n")
    assert header.split()[-4:] == ["peak", "memory", "bytes", "parameters"]
    assert slow.split() == ["slow", "4.000", "5.500", "8.000", "1.000"]
    assert quick.split() == ["quick", "1.000", "1.750", "3.000", "3.143", "2.500", "GB", "12,345"]
    assert len(header) == len(quick)


@pytest.mark.parametrize("lines", [None, Lines("words", {"slow": ("a", 10), "quick": ("a", 100)})])
def test_the_plot_is_small_and_shows_something(lines, tmp_path):
    report(TIMINGS, "slow", tmp_path / "some-cpu.json", device=CPU, lines=lines)
    plot = tmp_path / "some-cpu.png"
    assert plot.stat().st_size < 100_000
    height, width, _ = imread(plot).shape
    assert (width, height > 100) == (840, True)
    assert imread(plot).min() < imread(plot).max()


def test_the_options_and_where_the_results_go(tmp_path):
    parser = argument_parser("some", "Some benchmark.")
    args = parse_arguments(parser, ["--device", "cpu"])
    assert args.out == RESULTS / "some-cpu.json"
    assert (args.device, args.repeats) == (CPU, 5)
    args = parse_arguments(parser, ["--repeats", "2", "--out", str(tmp_path / "other.json")])
    assert (args.repeats, args.out) == (2, tmp_path / "other.json")


def test_a_benchmark_of_the_cpu_takes_no_device():
    parser = argument_parser("some", None, is_on_cpu=True)
    args = parse_arguments(parser, [])
    assert (args.device, args.out) == (CPU, RESULTS / "some-cpu.json")
    with pytest.raises(SystemExit):
        parse_arguments(parser, ["--device", "cpu"])


def test_no_rounds_are_refused(capsys):
    with pytest.raises(SystemExit):
        parse_arguments(argument_parser("some", None), ["--repeats", "0"])
    assert "--repeats is 0; it must be at least 1." in capsys.readouterr().err
