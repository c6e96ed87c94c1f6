"""Markdown tables of collected results."""

import statistics
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

import pandas

from experiments.results import (
    GROUPS,
    LANGUAGES,
    METRICS,
    TASKS,
    Results,
    base_model,
    language_model_of,
    mean_score,
    minutes_of,
    sort_representations,
    title_of,
)

__all__ = ["TABLES"]

_SENTEVAL = ["MR", "CR", "SUBJ", "MPQA", "SST-2", "SST-5", "TREC", "MRPC", "SICK-E", "SICK-R"]

Row = Mapping[str, Any]


def _markdown(table: pandas.DataFrame) -> str:
    """Without columns that are all empty."""
    if table.empty:
        return "No finished runs."
    table = table.fillna("").astype(str)
    table = table.loc[:, (table != "").any()]
    return table.to_markdown(index=False, disable_numparse=True)


def _mean(scores: Sequence[float]) -> str:
    """With the sample standard deviation of two or more."""
    mean = f"{statistics.mean(scores):.1f}"
    return mean if len(scores) == 1 else f"{mean} ± {statistics.stdev(scores):.1f}"


def _number(value: Optional[float], style: str) -> str:
    return "" if value is None else format(value, style)


def _millions(value: float) -> str:
    return f"{value / 1e6:.1f} M"


def _pivot(rows: Sequence[Row], by: str, columns: Mapping[Any, str], value: str) -> Dict[str, Any]:
    """
    For each representation, in the order of the tables, the columns that `columns` names of the
    values of `by`. The cells are the means of `value`.
    """
    cells: Dict[Any, Any] = {}
    for row in rows:
        cells.setdefault((row["representation"], row[by]), []).append(row[value])
    return {
        name: {
            title: _mean(cells[name, key]) if (name, key) in cells else ""
            for key, title in columns.items()
        }
        for name in sort_representations(name for name, key in cells if key in columns)
    }


def _minutes(results: Results) -> str:
    """Representations by the minutes of their training, with the words that it read."""
    titles = {
        task: f"`{task}`, {'accuracy' if 'accuracy' in METRICS[task] else 'F1'}" for task in TASKS
    }
    scores = _pivot(results["tasks"], "task", titles, "score")
    table = [
        {
            "minutes": minutes_of(name) or "",
            "representation": title_of(name),
            "words read": _words_read(results, language_model_of(name)),
            **scores[name],
            "mean": _number(mean_score(results, name), ".1f"),
        }
        for name in sorted(scores, key=minutes_of)
        if minutes_of(name) or name in ("none", "fasttext")
    ]
    return _markdown(pandas.DataFrame(table))


def _language_models(results: Results, base: str) -> Sequence[Row]:
    """Those of the text of most tasks."""
    return [
        row
        for row in results["language_models"]
        if base_model(row["name"]) == base and row["corpus"] not in LANGUAGES
    ]


def _words_read(results: Results, name: str) -> str:
    """The mean of its trainings."""
    words = [
        row["words_read"]
        for row in _language_models(results, base_model(name))
        if row["name"] == name and "words_read" in row
    ]
    return _millions(statistics.mean(words)) if words else ""


def _languages(results: Results) -> str:
    """F1 by group of entities, with their number."""
    rows = [
        # Models of other packages are trained for other minutes in each language.
        {
            **row,
            "representation": base_model(row["representation"]),
            "column": (row["task"], row["group"]),
        }
        for row in results["groups"]
    ]
    annotated = {row["column"]: row["annotated"] for row in rows}
    titles = {
        (task, group): f"{language}, {title} ({annotated[task, group]:,})"
        for task, language in LANGUAGES.items()
        for group, title in GROUPS.items()
        if (task, group) in annotated
    }
    pivot = _pivot(rows, "column", titles, "f1")
    table = [{"representation": title_of(name), **pivot[name]} for name in pivot]
    return _markdown(pandas.DataFrame(table))


def _claims(results: Results) -> str:
    """
    The differences of the means of the tasks after the same minutes. Significant ones of several
    seeds are bold.
    """
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
    return _markdown(pandas.DataFrame(lines.values()))


def _senteval(results: Results) -> str:
    rows = {row["representation"]: row for row in results["senteval"]}
    table = [
        {
            "representation": title_of(name)
            + (", all layers" if name.endswith("all-layers") else ""),
            "average": f"{rows[name]['average']:.1f}",
            **{task: _number(rows[name]["scores"].get(task), ".1f") for task in _SENTEVAL},
        }
        for name in sort_representations(rows)
    ]
    return _markdown(pandas.DataFrame(table))


def _summary(results: Results) -> str:
    """The mean of the tasks by minutes of training, and the size and speed of the models."""
    embedding = {row["label"]: row["words_per_second"] for row in results["embedding_speed"]}
    names = sort_representations(row["representation"] for row in results["tasks"])
    names = [name for name in names if language_model_of(name) == name]
    means = {name: _number(mean_score(results, name), ".1f") for name in names}
    all_minutes = sorted({minutes_of(name) for name in names if means[name]} - {0})
    table = []
    for base in sort_representations(map(base_model, names)):
        # Those without minutes of training have one mean.
        has_minutes = any(minutes_of(name) for name in names if base_model(name) == base)
        of_base = {
            f"after {minutes} minutes": means.get(f"{base}-{minutes}min" if has_minutes else base)
            for minutes in all_minutes
        }
        if not any(of_base.values()):
            continue
        models = _language_models(results, base)
        speeds = [row["speed_up"] for row in models if row.get("speed_up")]
        table.append(
            {
                "representation": title_of(base),
                **of_base,
                "parameters": _millions(models[0]["trainable_parameters"]) if models else "",
                "training speed vs. ELMo": f"{statistics.mean(speeds):.1f}" if speeds else "",
                "embedding, words/s": _number(embedding.get(base), ",.0f"),
            }
        )
    return _markdown(pandas.DataFrame(table))


TABLES: Dict[str, Callable[[Results], str]] = {
    "claims": _claims,
    "summary": _summary,
    "minutes": _minutes,
    "languages": _languages,
    "senteval": _senteval,
}
