"""
Writes the tables of the pages, between `<!-- table: NAME -->` and `<!-- end -->`, and their plots,
from the JSON files in `experiments/results/` and `benchmarks/results/`:

    python -m experiments.pages
"""

import re
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Mapping

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.json_files import read_json
from experiments.results import (
    REPRESENTATIONS,
    RUNS,
    Scores,
    amounts,
    amounts_table,
    configs_table,
    domain_summary,
    domain_table,
    languages_table,
    larger_table,
    senteval_table,
    tasks_table,
)

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / page for page in ("README.md", "docs/results.md", "docs/performance.md")]
IMAGES = ROOT / "docs" / "images"

OURS = "bidirectional_language_model_lstm"
# The benchmarks that are plotted as lines, with the labels of the x-axes.
X_LABELS = {
    "scaling_vocabulary": "words in the vocabulary",
    "contextualizer": "memory cells in each direction of a layer",
}
PLOTTED = ["models", *X_LABELS]
# The contextualizers in the plot.
CONTEXTUALIZERS = ["ElmoLstm, float32", f"{OURS}, float32", f"{OURS}, bfloat16"]

# The scores of the experiments, and the results of the benchmarks.
Results = Mapping[str, Any]


def read_results() -> Results:
    files = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    return {
        "scores": Scores(read_json(RUNS)),
        "benchmarks": {file.stem.replace("-cpu", ""): read_json(file) for file in files},
    }


def _markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """A table without its empty columns."""
    table = pandas.DataFrame(rows).fillna("").astype(str)
    table = table.loc[:, (table != "").any()]
    return table.to_markdown(index=False, disable_numparse=True)


def _timings(results: Results, benchmark: str) -> Dict[str, Any]:
    return results["benchmarks"][benchmark]["timings"]


def _speed(results: Results) -> str:
    """Ratios of the times of training steps on a CPU and on a GPU, and their factors."""

    def ratio(benchmark: str, slower: str, faster: str) -> str:
        return _times(_seconds(results, benchmark, slower), _seconds(results, benchmark, faster))

    elmo, adaptive, ours, sparse = "elmo", "elmo_adaptive", "elmo_semfit", "elmo, sparse gradients"
    fast = ", bfloat16"
    theirs, our_lstm = (
        _seconds(results, "contextualizer", f"{name}, float32, 4096 cells")
        for name in ("ElmoLstm", OURS)
    )
    # The step of an ELMo with our contextualizer.
    mixed = {
        name: _seconds(results, benchmark, name) - theirs + our_lstm
        for name, benchmark in ((elmo, "models"), (sparse, "models_sparse"))
    }

    def shares(name: str, benchmark: str) -> Dict[str, str]:
        step, our_step = (_seconds(results, benchmark, each) for each in (name, ours))
        return {
            "… by the contextualizer alone": _times(step, mixed[name]),
            "… by the input and output layers": _times(mixed[name], our_step),
        }

    # The paper's ratios follow from the speed-ups over ELMo in Table 2: 4.2, and 1.8 of ELMo-A.
    # A row has the ratio on the CPU, in bfloat16 on the CPU and on the GPU, and the paper's.
    rows = [
        (
            "ELMo-S vs. ELMo-A, same contextualizer",
            ratio("models", adaptive, ours),
            ratio("models", adaptive + fast, ours + fast),
            ratio("models_128-cuda", adaptive + fast, ours + fast),
            "2.3 ×",
        ),
        (
            "ELMo-S vs. ELMo",
            ratio("models", elmo, ours),
            ratio("models", elmo + fast, ours + fast),
            ratio("models_128-cuda", elmo + fast, ours + fast),
            "4.2 ×",
        ),
        *((name, value) for name, value in shares(elmo, "models").items()),
        (
            "ELMo-S vs. ELMo with sparse gradients",
            ratio("models_sparse", sparse, ours),
            ratio("models_sparse", sparse + fast, ours + fast),
        ),
        *((name, value) for name, value in shares(sparse, "models_sparse").items()),
    ]
    columns = ("training step", "CPU, float32", "CPU, bfloat16", "H200, bfloat16", "paper")
    return _markdown(dict(zip(columns, row)) for row in rows)


def _seconds(results: Results, benchmark: str, candidate: str) -> float:
    return _timings(results, benchmark)[candidate]["median_seconds"]


def _times(slower: float, faster: float) -> str:
    return f"{slower / faster:.1f} ×"


def _gpu(results: Results) -> str:
    rows = [
        {
            "model": _title_of_model(name).replace(" in bfloat16", ""),
            "parameters": f"{row['parameters'] / 1e6:,.0f} M",
            "words/s": f"{row['words_per_second']:,.0f}",
            "speed vs. ELMo": _times(
                _seconds(results, "models_128-cuda", "elmo, bfloat16"), row["median_seconds"]
            ),
            "memory": f"{row['peak_memory_bytes'] / 1e9:.1f} GB",
        }
        for name, row in _timings(results, "models_128-cuda").items()
    ]
    return _markdown(rows)


def _output_layers(results: Results) -> str:
    rows = [
        {
            "output layer": f"`{layer}`".replace(", sparse`", "`, sparse gradients"),
            "vocabulary": vocabulary,
            "parameters": f"{row['parameters'] / 1e6:,.0f} M",
            "memory": f"{row['peak_memory_bytes'] / 1e9:.1f} GB",
            "step": f"{row['median_seconds']:.2f} s",
            "million words": f"{row['seconds_per_million_words']:,.0f} s",
            "largest batch in 8 GB": f"{row['largest_batch']:,}",
        }
        for name, row in _timings(results, "heads").items()
        for layer, _, vocabulary in [name.rpartition(", ")]
        if vocabulary in ("40,000", "800,000")
    ]
    order = [row["output layer"] for row in rows]
    return _markdown(sorted(rows, key=lambda row: order.index(row["output layer"])))


def _contextualizers(results: Results) -> str:
    titles = {
        "ElmoLstm": "AllenNLP's `ElmoLstm`",
        "torch.nn.LSTM": "`torch.nn.LSTM`",
        f"{OURS}, PyTorch operations": '`…_lstm`, `"torch"`',
        OURS: '`…_lstm`, `"native"`',
        "matrix products": "matrix products of `…_lstm`",
    }
    sizes = {"contextualizer_16": 512, "contextualizer_64": 512, "contextualizer": 4096}
    rows = []
    for name, title in titles.items():
        row = {"contextualizer": title}
        for benchmark, cells in sizes.items():
            sentences = results["benchmarks"][benchmark]["batch_size"]
            for dtype in ("float32", "bfloat16"):
                timing = _timings(results, benchmark)[f"{name}, {dtype}, {cells} cells"]
                column = f"{cells} cells, {sentences} sentences, {dtype}"
                row[column] = f"{timing['words_per_second']:,.0f}"
        rows.append(row)
    return _markdown(rows)


def _models(results: Results) -> str:
    titles = {
        "elmo": "ELMo: character CNN, `ElmoLstm`, sampled softmax",
        "elmo_adaptive": "ELMo-A: fastText, our contextualizer, adaptive softmax",
        "elmo_semfit": "ELMo-S: fastText, our contextualizer, `semfit`",
    }
    timings = _timings(results, "models")
    rows = []
    for name, title in titles.items():
        fast = timings[f"{name}, bfloat16"]
        single = timings.get(name)
        row = {
            "model": title,
            "parameters": f"{fast['parameters'] / 1e6:,.0f} M",
            "memory": f"{(single or fast)['peak_memory_bytes'] / 1e9:.1f} GB",
        }
        for timing, words, speed in (
            (single, "words/s", "speed vs. ELMo"),
            (fast, "bfloat16, fused Adam: words/s", "speed vs. ELMo in float32"),
        ):
            if timing:
                row[words] = f"{timing['words_per_second']:,.0f}"
                row[speed] = _times(timings["elmo"]["median_seconds"], timing["median_seconds"])
        rows.append(row)
    return _markdown(rows)


def _fasttext(results: Results) -> str:
    titles = {
        "allennlp_semfit": "`FastTextModel`",
        "fasttext": "`fasttext.load_model`",
        "gensim": "gensim's `load_facebook_vectors`",
    }
    table = pandas.DataFrame(_timings(results, "fasttext_memory")).T.loc[list(titles)]
    columns = {
        "reader": table.index.map(titles),
        "open + first vector": table.median_seconds.map("{:.1f} s".format),
        "another new word": table.microseconds_per_new_word.map("{:.0f} µs".format),
        "file in memory": (table.resident_file_bytes / 1e9).map("{:.1f} GB".format),
        "memory per forked worker": (table.forked_worker_bytes / 1e6).map("{:.0f} MB".format),
        "per spawned worker": (table.without_imports_bytes / 1e6).map(
            "{:,.0f} MB".format, na_action="ignore"
        ),
    }
    return _markdown(pandas.DataFrame(columns).to_dict("records"))


def _first_vector(results: Results) -> str:
    titles = {
        "ELMo-S, archive": "ELMo-S: `SentenceEmbedder`, `model.tar.gz`",
        "ELMo-S, folder": "ELMo-S: `SentenceEmbedder`, exported folder",
        "ELMo-S, folder, no AllenNLP": "… without AllenNLP",
        "ELMo": "AllenNLP's `Elmo`",
        "sentence-transformers": "sentence-transformers, size of MiniLM-L6",
    }
    table = pandas.DataFrame(_timings(results, "first_vector")).T.loc[list(titles)]
    ratio = table.median_seconds.loc["ELMo"] / table.median_seconds
    columns = {
        "model": table.index.map(titles),
        "size": (table.model_bytes / 1e6).map("{:,.0f} MB".format),
        "to the first vector": table.median_seconds.map("{:.1f} s".format),
        "of which imports": table.import_seconds.map("{:.1f} s".format),
        "speed vs. ELMo": ratio.map("{:.1f} ×".format),
    }
    return _markdown(pandas.DataFrame(columns).to_dict("records"))


TABLES: Dict[str, Callable[[Results], str]] = {
    "tasks": lambda results: _markdown(tasks_table(results["scores"])),
    "domain": lambda results: _markdown(domain_table(results["scores"])),
    "domain summary": lambda results: _markdown(domain_summary(results["scores"])),
    "amounts": lambda results: _markdown(amounts_table(results["scores"])),
    "languages": lambda results: _markdown(languages_table(results["scores"])),
    "larger": lambda results: _markdown(larger_table(results["scores"])),
    "configs": lambda results: _markdown(configs_table(results["scores"])),
    "senteval": lambda results: _markdown(senteval_table(results["scores"])),
    "speed": _speed,
    "speed on a GPU": _gpu,
    "speed of output layers": _output_layers,
    "speed of contextualizers": _contextualizers,
    "speed of models": _models,
    "speed of fastText readers": _fasttext,
    "time to the first vector": _first_vector,
}


def fill_page(page: str, results: Results) -> str:
    return re.sub(
        r"(<!-- table: (.*) -->\n)[^<]*(<!-- end -->)",
        lambda mark: f"{mark[1]}\n{TABLES[mark[2]](results)}\n\n{mark[3]}",
        page,
    )


def plot_amounts(scores: Scores) -> Figure:
    """Plots F1 over the number of words of text; a bar spans the trainings."""
    rows = amounts(scores)
    figure = Figure(figsize=(7.0, 3.4), layout="constrained")
    titles = {"bc5cdr": "BC5CDR, text of PubMed", "ner": "WNUT-17, text of novels"}
    for axes, (task, title) in zip(figure.subplots(1, len(titles)), titles.items()):
        points = [row for row in rows if row["task"] == task]
        words = [row["words"] for row in points]
        for place, name in enumerate(("fasttext", "elmo_semfit")):
            found = [[*row["scores"][place].values()] for row in points]
            means = [sum(each) / len(each) for each in found]
            errors = [
                [mean - min(each) for mean, each in zip(means, found)],
                [max(each) - mean for mean, each in zip(means, found)],
            ]
            label = REPRESENTATIONS[name]
            axes.errorbar(words, means, errors, marker="o", markersize=4, capsize=2, label=label)
        without = [*scores.of(task, "none", "").values()]
        if without:
            axes.axhline(sum(without) / len(without), color="gray", linestyle=":", label="none")
        axes.set_xscale("log")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("words of text")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("F1 in percent")
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure


def plot_benchmark(name: str, result: Mapping[str, Any]) -> Figure:
    rows = pandas.DataFrame(result["timings"]).T
    # The distances from the medians to both extremes.
    rows["below"] = rows.median_seconds - rows.min_seconds
    rows["above"] = rows.max_seconds - rows.median_seconds
    is_lines = name in X_LABELS
    height = 4.0 if is_lines else 1.0 + 0.32 * len(rows)
    figure = Figure(figsize=(7.0, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    if is_lines:
        _draw_lines(axes, name, rows)
    else:
        _draw_bars(axes, rows)
    caption = f"{result['device']}: {result['hardware']}, threads: {result['threads']}; "
    caption += f"median and range of {result['repeats']} rounds"
    figure.supxlabel(caption, fontsize=8, color="dimgray", x=0.99, ha="right")
    return figure


def _draw_bars(axes: Axes, rows: pandas.DataFrame) -> None:
    """Draws a bar for each model."""
    names = list(map(_title_of_model, rows.index))
    error_style = {"elinewidth": 1, "capsize": 2}
    style: Dict[str, Any] = {"height": 0.65, "color": "tab:blue", "alpha": 0.75}
    errors = rows[["below", "above"]].T
    axes.barh(names, rows.median_seconds, xerr=errors, error_kw=error_style, **style)
    longest = rows.max_seconds.max()
    for place, (median, slowest) in enumerate(zip(rows.median_seconds, rows.max_seconds)):
        label = f"{median:.3g} s   {rows.median_seconds.iloc[0] / median:.1f}×"
        axes.text(slowest + 0.01 * longest, place, label, va="center", fontsize=8)
    axes.set_xlim(0, 1.2 * longest)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"seconds; × as fast as {names[0]}")


def _title_of_model(candidate: str) -> str:
    config, *variants = candidate.split(", ")
    return ", ".join([REPRESENTATIONS[config], *variants]).replace(", bfloat16", " in bfloat16")


def _draw_lines(axes: Axes, name: str, rows: pandas.DataFrame) -> None:
    """Draws a line for all candidates `LINE, X` with the same `LINE`."""
    parts = rows.index.str.rsplit(", ", n=1)
    rows["x"] = parts.str[1].str.replace(r"\D", "", regex=True).astype(int)
    for line, points in rows.groupby(parts.str[0], sort=False):
        if name != "contextualizer" or line in CONTEXTUALIZERS:
            points = points.sort_values("x")
            style: Dict[str, Any] = {"marker": "o", "markersize": 4, "capsize": 2, "label": line}
            axes.errorbar(points.x, points.median_seconds, points[["below", "above"]].T, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(X_LABELS[name])
    axes.set_ylabel("seconds")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def main() -> None:
    results = read_results()
    for page in PAGES:
        page.write_text(fill_page(page.read_text("utf-8"), results), "utf-8")
    figure = plot_amounts(results["scores"])
    figure.savefig(IMAGES / "results" / "amounts.png", dpi=120)
    for name in PLOTTED:
        figure = plot_benchmark(name, results["benchmarks"][name])
        figure.savefig(IMAGES / "benchmarks" / f"{name}-cpu.png", dpi=120)


if __name__ == "__main__":
    main()
