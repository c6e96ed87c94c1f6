"""Markdown tables of collected results."""

import statistics
from functools import partial
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

import pandas

from experiments.results import (
    LANGUAGES,
    PAIRED_TASKS,
    TASKS,
    Results,
    base_model,
    mean_score,
    minutes_of,
    sort_representations,
    task_scores,
)
from experiments.sentence_scores import GROUPS

__all__ = ["TABLES"]

_NAMES = {
    "none": "none",
    "fasttext": "fastText",
    "bert": "BERT, small",
    "electra": "ELECTRA, small",
    "elmo": "ELMo",
    "elmo_adaptive": "ELMo-A",
    "elmo_semfit": "ELMo-S",
    "elmo_semfit_contrastive": "ELMo-S, contrastive head",
}
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
    if not len(scores):
        return ""
    mean = f"{statistics.mean(scores):.1f}"
    return mean if len(scores) == 1 else f"{mean} ± {statistics.stdev(scores):.1f}"


def _pivot(
    rows: Sequence[Row], index: str, columns: Mapping[Any, str], by: str, value: str
) -> pandas.DataFrame:
    """
    A row for each representation in `index`, in the order of the tables; of the values of `by`, the
    columns that `columns` names. The cells are the means of `value`.
    """
    table = pandas.DataFrame(rows, columns=[index, by, value])
    table = table[table[by].isin(list(columns))]
    if table.empty:
        return pandas.DataFrame()
    table = table.groupby([index, by])[value].agg(list).map(_mean).unstack()
    table = table.reindex(index=sort_representations(table.index), columns=list(columns))
    table.index = [f"`{name}`" for name in table.index]
    return table.rename(columns=columns).rename_axis(index).reset_index()


def _task_titles(tasks: Mapping[str, str]) -> Dict[str, str]:
    return {task: f"`{task}`, {metric}" for task, metric in tasks.items()}


def _mean_of_tasks(results: Results, name: str) -> str:
    return _number(mean_score(results, name), ".1f")


def _minutes(results: Results) -> str:
    """Representations by the minutes of their training, with the words that it read."""
    names = {row["representation"] for row in results["tasks"] if row["task"] in TASKS}
    table = [
        {
            "minutes": minutes_of(name) or "",
            "representation": f"`{base_model(name)}`",
            "words read": _words_read(results, name),
            **{
                title: _mean(task_scores(results, task, name))
                for task, title in _task_titles(TASKS).items()
            },
            f"mean of {', '.join(PAIRED_TASKS)}": _mean_of_tasks(results, name),
        }
        for name in sorted(sort_representations(names), key=minutes_of)
        if minutes_of(name) or name in ("none", "fasttext")
    ]
    return _markdown(pandas.DataFrame(table))


def _words_read(results: Results, name: str) -> str:
    """The mean of its trainings."""
    words = [
        row["words_read"]
        for row in results["language_models"]
        if row["name"] == name and "words_read" in row
    ]
    return f"{statistics.mean(words) / 1e6:.1f} M" if words else ""


def _groups(results: Results, tasks: Sequence[str]) -> str:
    """F1 by group of entities, with their number."""
    rows = [
        {**row, "column": (row["task"], row["group"])}
        for row in results["groups"]
        if row["task"] in tasks
    ]
    annotated = {row["column"]: row["annotated"] for row in rows}
    titles = {
        (task, group): f"`{task}`, {title} ({annotated[task, group]:,})"
        for task in tasks
        for group, title in GROUPS.items()
        if (task, group) in annotated
    }
    return _markdown(_pivot(rows, "representation", titles, "column", "f1"))


def _claims(results: Results) -> str:
    """A row for each two representations. Significant differences of several seeds are bold."""
    columns: Dict[Any, Dict[str, Any]] = {}
    for row in results["claims"]:
        name, other, seeds = row["representation"], row["other"], row["seeds"]
        line = columns.setdefault(
            (name, other, seeds),
            {
                "minutes": minutes_of(name) or "",
                "representation": f"`{base_model(name)}`",
                "compared with": f"`{base_model(other)}`",
                "seeds": seeds,
            },
        )
        title = "mean" if len(row["tasks"]) > 1 else f"`{row['tasks'][0]}`"
        title += "" if row["group"] == "all" else f", {GROUPS[row['group']]}"
        cell = f"{row['mean']:+.1f} ({row['low']:+.1f} to {row['high']:+.1f})"
        line[title] = f"**{cell}**" if row["verdict"] in ("above", "below") else cell
    return _markdown(pandas.DataFrame(columns.values()))


def _number(value: Optional[float], style: str) -> str:
    return "" if value is None else format(value, style)


def _contextualizers(results: Results) -> str:
    """The language models with their scores in the tasks of `scales/contextualizers.mk`."""
    tasks = {task: TASKS[task] for task in ("ner", "snli", "srl")}
    models = {row["name"]: row for row in results["language_models"] if not minutes_of(row["name"])}
    names = [*sort_representations(models), "fasttext"] if models else []
    table = [
        {
            "representation": f"`{name}`" if name in models else f"`{name}` alone",
            "parameters": f"{models[name]['trainable_parameters'] / 1e6:.2f} M"
            if name in models
            else "",
            "cosine, held out": _number(models.get(name, {}).get("cosine"), ".4f"),
            **{
                title: _mean(task_scores(results, task, name))
                for task, title in _task_titles(tasks).items()
            },
        }
        for name in names
    ]
    return _markdown(pandas.DataFrame(table))


def _senteval(results: Results) -> str:
    rows = {row["representation"]: row for row in results["senteval"]}
    table = [
        {
            "representation": f"`{name}`",
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
    means = {name: _mean_of_tasks(results, name) for name in names}
    all_minutes = sorted({minutes_of(name) for name in names if means[name]} - {0})
    table = []
    for base in sort_representations(map(base_model, names)):
        # Those without minutes of training have one mean.
        of_base = {
            minutes: means.get(f"{base}-{minutes}min") or means.get(base) for minutes in all_minutes
        }
        models = [row for row in results["language_models"] if base_model(row["name"]) == base]
        speeds = [row["speed_up"] for row in models if row.get("speed_up")]
        if any(of_base.values()):
            table.append(
                {
                    "representation": _NAMES.get(base, base),
                    **{
                        f"mean of {len(PAIRED_TASKS)} tasks, {minutes} minutes": mean
                        for minutes, mean in of_base.items()
                    },
                    "parameters": f"{models[0]['trainable_parameters'] / 1e6:.1f} M"
                    if models
                    else "",
                    "training speed vs. ELMo": f"{statistics.mean(speeds):.1f}" if speeds else "",
                    "embedding, words/s": _number(embedding.get(base), ",.0f"),
                }
            )
    return _markdown(pandas.DataFrame(table))


TABLES: Dict[str, Callable[[Results], str]] = {
    "claims": _claims,
    "summary": _summary,
    "minutes": _minutes,
    "languages": partial(_groups, tasks=LANGUAGES),
    "bc5cdr": partial(_groups, tasks=["bc5cdr"]),
    "contextualizers": _contextualizers,
    "senteval": _senteval,
}
