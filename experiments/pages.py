"""
Writes the tables of the pages, between `<!-- table: NAME -->` and `<!-- end -->`, and their plots,
from the JSON files in `experiments/results/` and `benchmarks/results/`:

    python -m experiments.pages
"""

import re
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, Tuple

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from experiments.json_files import read_json
from experiments.results import (
    LANGUAGES,
    METRICS,
    PAIRED_TASKS,
    REPRESENTATIONS,
    base_model,
    language_model_of,
    minutes_of,
    sort_representations,
    title_of,
)

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / page for page in ("README.md", "docs/results.md", "docs/performance.md")]
IMAGES = ROOT / "docs" / "images"

# Groups of entities, by their words.
GROUPS = {"all": "all", "seen": "seen in training", "unseen": "unseen in training"}
SENTEVAL = ["MR", "CR", "SUBJ", "MPQA", "SST-2", "SST-5", "TREC", "MRPC", "SICK-E", "SICK-R"]
OURS = "bidirectional_language_model_lstm"
# The benchmarks with plots: bars, or lines over a quantity, of some contextualizers.
X_LABELS = {
    "scaling_vocabulary": "words in the vocabulary",
    "contextualizer": "memory cells in each direction of a layer",
}
PLOTTED = ["models", "loader", *X_LABELS]
CONTEXTUALIZERS = ["ElmoLstm, float32", f"{OURS}, float32", f"{OURS}, bfloat16"]

# From `experiments.collect_results`, and the results of the benchmarks as "benchmarks".
Results = Mapping[str, Any]


def read_results() -> Results:
    files = sorted((ROOT / "benchmarks" / "results").glob("*-cpu.json"))
    benchmarks = {file.stem[: -len("-cpu")]: read_json(file) for file in files}
    return {**read_json(ROOT / "experiments/results/laptop.json"), "benchmarks": benchmarks}


def _markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """Without columns that are all empty."""
    table = pandas.DataFrame(rows).fillna("").astype(str)
    table = table.loc[:, (table != "").any()]
    return table.to_markdown(index=False, disable_numparse=True)


def _millions(value: float) -> str:
    return f"{value / 1e6:.1f} M"


def _scores(rows: Sequence[Mapping], by: str, value: str) -> Tuple[pandas.DataFrame, ...]:
    """By representation and `by`: the means of the seeds, and these with standard deviations."""
    frame = pandas.DataFrame(rows, columns=["representation", by, value])
    groups = frame.groupby(["representation", by])[value]
    means, deviations = groups.mean().unstack(), groups.std().unstack()
    text = means.map("{:.1f}".format, na_action="ignore")
    text += deviations.map(" ± {:.1f}".format, na_action="ignore").fillna("")
    order = sort_representations(means.index)
    return means.loc[order], text.fillna("").loc[order]


def _means(results: Results) -> Dict[str, float]:
    """The mean of the tasks of the paired tests, of representations that were run on all."""
    means, _ = _scores(results["tasks"], "task", "score")
    mean = means.reindex(columns=list(PAIRED_TASKS)).mean(axis=1, skipna=False)
    return mean.dropna().to_dict()


def _language_models(results: Results, name: str) -> List[Dict[str, Any]]:
    """The trainings of `NAME-VARIANT`, or all of `NAME`, on the text of most tasks."""
    rows = (row for row in results["language_models"] if row["corpus"] not in LANGUAGES)
    return [row for row in rows if name in (row["name"], base_model(row["name"]))]


def _minutes(results: Results) -> str:
    _, scores = _scores(results["tasks"], "task", "score")
    tasks = [task for task in METRICS if task in scores and task not in LANGUAGES]
    titles = [f"`{task}`, {'accuracy' if 'accuracy' in METRICS[task] else 'F1'}" for task in tasks]
    means = _means(results)
    rows = []
    for name in sorted(scores.index, key=minutes_of):
        minutes = minutes_of(name)
        if not minutes and name not in ("none", "fasttext"):
            continue
        models = _language_models(results, language_model_of(name)) if minutes else []
        words = pandas.Series([row["words_read"] for row in models if "words_read" in row])
        row = {"minutes": minutes or "", "representation": title_of(name)}
        row["words read"] = "" if words.empty else _millions(words.mean())
        row.update(zip(titles, scores.loc[name, tasks]))
        row["mean"] = f"{means[name]:.1f}" if name in means else ""
        rows.append(row)
    return _markdown(rows)


def _languages(results: Results) -> str:
    """F1 by group of entities, with their number."""
    # Models of other packages are trained for other minutes in each language.
    rows = [
        {
            "representation": base_model(row["representation"]),
            "column": f"{LANGUAGES[row['task']]}, {GROUPS[row['group']]} ({row['annotated']:,})",
            "f1": row["f1"],
        }
        for row in results["groups"]
        if row["task"] in LANGUAGES
    ]
    _, scores = _scores(rows, "column", "f1")
    groups = (
        f"{language}, {each} (" for language in LANGUAGES.values() for each in GROUPS.values()
    )
    columns = [column for group in groups for column in scores if column.startswith(group)]
    scores.index = scores.index.map(title_of)
    return _markdown(scores[columns].reset_index().to_dict("records"))


def _claims(results: Results) -> str:
    """The differences after the same minutes. Significant ones of several seeds are bold."""
    lines: Dict[Any, Dict[str, str]] = {}
    for row in results["claims"]:
        name, other = row["representation"], row["other"]
        minutes = minutes_of(name)
        if len(row["tasks"]) == 1 or not minutes or minutes_of(other) != minutes:
            continue
        pair = {"representation": title_of(name), "compared with": title_of(other)}
        cell = f"{row['mean']:+.1f} ({row['low']:+.1f} to {row['high']:+.1f})"
        is_significant = row["seeds"] > 1 and (row["low"] > 0 or row["high"] < 0)
        line = lines.setdefault(tuple(pair.values()), pair)
        line[f"after {minutes} minutes"] = f"**{cell}**" if is_significant else cell
    return _markdown(lines.values())


def _senteval(results: Results) -> str:
    rows = {row["representation"]: row for row in results["senteval"]}
    return _markdown(
        {
            "representation": title_of(name) + ", all layers" * name.endswith("all-layers"),
            "average": f"{rows[name]['average']:.1f}",
            **{task: f"{rows[name]['scores'][task]:.1f}" for task in SENTEVAL},
        }
        for name in sort_representations(rows)
    )


def _summary(results: Results) -> str:
    """The mean of the tasks by minutes of training, and the size and speed of the models."""
    embedding = {row["label"]: row["words_per_second"] for row in results["embedding_speed"]}
    # Not with fastText's vectors beside their own.
    means = {name: mean for name, mean in _means(results).items() if "_fasttext" not in name}
    trained = {
        base_model(row["representation"])
        for row in results["tasks"]
        if "-" in row["representation"]
    }
    rows = []
    for base in sort_representations(map(base_model, means)):
        models = _language_models(results, base)
        speed_ups = pandas.Series([row["speed_up"] for row in models if row.get("speed_up")])
        row = {"representation": title_of(base)}
        for minutes in sorted({*map(minutes_of, means)} - {0}):
            # Those without minutes of training have one mean.
            mean = means.get(f"{base}-{minutes}min" if base in trained else base)
            row[f"after {minutes} minutes"] = f"{mean:.1f}" if mean else ""
        if any(list(row.values())[1:]):
            row["parameters"] = _millions(models[0]["trainable_parameters"]) if models else ""
            row["training speed vs. ELMo"] = "" if speed_ups.empty else f"{speed_ups.mean():.1f}"
            row["embedding, words/s"] = f"{embedding[base]:,.0f}" if base in embedding else ""
            rows.append(row)
    return _markdown(rows)


def _timings(results: Results, benchmark: str) -> Dict[str, Any]:
    return results["benchmarks"][benchmark]["timings"]


def _speed(results: Results) -> str:
    def ratio(benchmark: str, slower: str, faster: str) -> str:
        timings = _timings(results, benchmark)
        return f"{timings[slower]['median_seconds'] / timings[faster]['median_seconds']:.1f} ×"

    def of_contextualizer(dtype: str) -> str:
        names = (f"{name}, {dtype}, 4096 cells" for name in ("ElmoLstm", OURS))
        return ratio("contextualizer", *names)

    elmo, ours, fast, sparse = "elmo", "elmo_semfit", ", bfloat16", "elmo, sparse gradients"
    head = _timings(results, "semfit_head")["head alone"]["share_of_step"]
    loaded = _timings(results, "loader")["fasttext, workers: 1"]["words_per_second"]
    rows = {
        "training ELMo-S vs. ELMo": ratio("models", elmo, ours),
        "… both in bfloat16, with a fused Adam": ratio("models", elmo + fast, ours + fast),
        "training ELMo-S vs. ELMo with sparse gradients": ratio("models_sparse", sparse, ours),
        "… both in bfloat16, ELMo-S with a fused Adam": ratio(
            "models_sparse", sparse + fast, ours + fast
        ),
        "training ELMo-S vs. ELMo-A": ratio("models", "elmo_adaptive", ours),
        "contextualizer vs. AllenNLP's `ElmoLstm`": of_contextualizer("float32"),
        "… both in bfloat16": of_contextualizer("bfloat16"),
        "`semfit` head, share of the training step": f"{100 * head:.1f} %",
        "NER training step vs. AllenNLP's ELMo": ratio("ner_step", elmo, ours),
        "first fastText vector vs. `fasttext.load_model`": ratio(
            "fasttext_memory", "fasttext", "allennlp_semfit"
        ),
        "data loader, words/s per worker": f"{loaded:,.0f}",
    }
    # From the speed-ups over ELMo in Table 2 of Li et al. 2019: 4.2 and, of ELMo-A, 1.8.
    paper = {"training ELMo-S vs. ELMo": "4.2 ×", "training ELMo-S vs. ELMo-A": "2.3 ×"}
    return _markdown(
        {"measure": measure, "here": here, "paper": paper.get(measure, "")}
        for measure, here in rows.items()
    )


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
                ratio = timings["elmo"]["median_seconds"] / timing["median_seconds"]
                row.update({words: f"{timing['words_per_second']:,.0f}", speed: f"{ratio:.1f} ×"})
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
        "ELMo": "AllenNLP's `Elmo`",
        "sentence-transformers": "sentence-transformers, size of MiniLM-L6",
    }
    table = pandas.DataFrame(_timings(results, "first_vector")).T.loc[list(titles)]
    ratio = table.median_seconds / table.median_seconds.loc["ELMo"]
    columns = {
        "model": table.index.map(titles),
        "size": (table.model_bytes / 1e6).map("{:,.0f} MB".format),
        "to the first vector": table.median_seconds.map("{:.1f} s".format),
        "of it imports": table.import_seconds.map("{:.1f} s".format),
        "time vs. ELMo": ratio.map("{:.1f} ×".format),
    }
    return _markdown(pandas.DataFrame(columns).to_dict("records"))


TABLES: Dict[str, Callable[[Results], str]] = {
    "claims": _claims,
    "summary": _summary,
    "minutes": _minutes,
    "languages": _languages,
    "senteval": _senteval,
    "speed": _speed,
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


def plot_minutes(results: Results) -> Figure:
    """The means of the tasks by minutes of training, and of the longest by speed of embedding."""
    means = {name: mean for name, mean in _means(results).items() if "_fasttext" not in name}
    speeds = {row["label"]: row["words_per_second"] for row in results["embedding_speed"]}
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    of_minutes, of_speed = figure.subplots(1, 2, sharey=True)
    for base in sort_representations(map(base_model, means)):
        title, colour, marker = REPRESENTATIONS[base]
        style: Dict[str, Any] = {"color": colour, "label": title}
        trained = [name for name in means if base_model(name) == base and minutes_of(name)]
        if trained:
            points = [(minutes_of(name), means[name]) for name in trained]
            of_minutes.plot(*zip(*points), marker=marker, markersize=5, **style)
        else:
            of_minutes.axhline(means[base], linestyle="--", linewidth=1, **style)
        if base in speeds:
            mean = means[(trained or [base])[-1]]
            of_speed.plot(speeds[base], mean, marker=marker, markersize=5, ls="none", **style)
    of_minutes.set_xticks(sorted({0, *map(minutes_of, means)}))
    of_minutes.set_xlabel("minutes of training")
    of_minutes.set_ylabel(f"mean of {', '.join(PAIRED_TASKS)}, %")
    of_speed.set_xscale("log")
    of_speed.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    of_speed.xaxis.set_major_formatter(EngFormatter(sep=""))
    of_speed.xaxis.set_minor_formatter(NullFormatter())
    of_speed.set_xlabel("words embedded per second")
    for axes in (of_minutes, of_speed):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    handles = of_minutes.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    return figure


def plot_benchmark(name: str, result: Mapping[str, Any]) -> Figure:
    rows = pandas.DataFrame(result["timings"]).T
    # From the medians to both extremes.
    rows["below"] = rows.median_seconds - rows.min_seconds
    rows["above"] = rows.max_seconds - rows.median_seconds
    is_lines = name in X_LABELS
    height = 4.0 if is_lines else 1.0 + 0.32 * len(rows)
    figure = Figure(figsize=(7.0, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    (_draw_lines if is_lines else _draw_bars)(axes, name, rows)
    caption = f"{result['device']}: {result['hardware']}, threads: {result['threads']}; "
    caption += f"median and range of {result['repeats']} rounds"
    figure.supxlabel(caption, fontsize=8, color="dimgray", x=0.99, ha="right")
    return figure


def _draw_bars(axes: Axes, name: str, rows: pandas.DataFrame) -> None:
    has_speed_ups = name == "models"
    names = list(rows.index)
    if has_speed_ups:
        names = [_title_of_model(name) for name in names]
    error_style = {"elinewidth": 1, "capsize": 2}
    style: Dict[str, Any] = {"height": 0.65, "color": "tab:blue", "alpha": 0.75}
    errors = rows[["below", "above"]].T
    axes.barh(names, rows.median_seconds, xerr=errors, error_kw=error_style, **style)
    longest = rows.max_seconds.max()
    for place, (median, slowest) in enumerate(zip(rows.median_seconds, rows.max_seconds)):
        speed_up = f"   {rows.median_seconds.iloc[0] / median:.1f}×" if has_speed_ups else ""
        x = slowest + 0.01 * longest
        axes.text(x, place, f"{median:.3g} s{speed_up}", va="center", fontsize=8)
    axes.set_xlim(0, (1.2 if has_speed_ups else 1.12) * longest)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"seconds; × as fast as {names[0]}" if has_speed_ups else "seconds")


def _title_of_model(candidate: str) -> str:
    config, *variants = candidate.split(", ")
    return ", ".join([title_of(config), *variants]).replace(", bfloat16", " in bfloat16")


def _draw_lines(axes: Axes, name: str, rows: pandas.DataFrame) -> None:
    """Of candidates `LINE, X`."""
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
    plot_minutes(results).savefig(IMAGES / "results" / "minutes.png", dpi=120)
    for name in PLOTTED:
        figure = plot_benchmark(name, results["benchmarks"][name])
        figure.savefig(IMAGES / "benchmarks" / f"{name}-cpu.png", dpi=120)


if __name__ == "__main__":
    main()
