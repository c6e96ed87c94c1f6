"""Markdown tables of collected results."""

import statistics
from functools import partial
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

import pandas

from experiments import paper
from experiments.results import (
    LANGUAGES,
    PAIRED_TASKS,
    SMALL_CORPORA,
    TASKS,
    Results,
    base_model,
    cloze_scores,
    minutes_of,
    sort_representations,
    task_scores,
)
from experiments.sentence_scores import GROUPS

__all__ = ["TABLES"]

_REFERENCE = "elmo_semfit"
_NAMES = {
    **paper.SHORT_NAMES,
    "flair": "flair",
    "bert": "BERT, small",
    "electra": "ELECTRA, small",
    "elmo_semfit_contrastive": "ELMo-S, contrastive head",
}
_SENTEVAL = ["MR", "CR", "SUBJ", "MPQA", "SST-2", "SST-5", "TREC", "MRPC", "SICK-E", "SICK-R"]
_SUMMARY_LAST = ("parameters", "training speed vs. ELMo")
_TIMED_TASKS = {"snli": "accuracy", "ner": "F1", "srl": "F1", "bc5cdr": "F1"}

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


def _tasks(
    results: Results, tasks: Mapping[str, str] = TASKS, *, are_ablations: Optional[bool] = None
) -> str:
    def is_wanted(name: str) -> bool:
        is_ablation = name.startswith(f"{_REFERENCE}_")
        return name == base_model(name) and (
            are_ablations is None or name == _REFERENCE or is_ablation == are_ablations
        )

    rows = [row for row in results["tasks"] if is_wanted(row["representation"])]
    if are_ablations and {row["representation"] for row in rows} <= {_REFERENCE}:
        rows = []
    return _markdown(_pivot(rows, "representation", _task_titles(tasks), "task", "score"))


def _mean_of_tasks(results: Results, name: str) -> str:
    """Of those of the paired tests, if all were run."""
    scores = [task_scores(results, task, name) for task in PAIRED_TASKS]
    return f"{statistics.mean(map(statistics.mean, scores)):.1f}" if all(scores) else ""


def _minutes(results: Results) -> str:
    """Representations by the minutes of their training, with the words that it read."""
    rows = [row for row in results["tasks"] if minutes_of(row["representation"])]
    names = sort_representations(row["representation"] for row in rows)
    table = [
        {
            "minutes": minutes_of(name),
            "representation": f"`{base_model(name)}`",
            "words read": _words_read(results, name),
            **{
                title: _mean(task_scores(results, task, name))
                for task, title in _task_titles(_TIMED_TASKS).items()
            },
            "mean": _mean_of_tasks(results, name),
        }
        for name in sorted(names, key=minutes_of)
    ]
    return _markdown(pandas.DataFrame(table))


def _words_read(results: Results, name: str) -> str:
    """The mean of its trainings on the large corpus."""
    words = [
        row["words_read"]
        for row in results["language_models"]
        if row["name"] == name and row["corpus"] not in SMALL_CORPORA and "words_read" in row
    ]
    return f"{statistics.mean(words) / 1e6:.2f} M" if words else ""


def _groups(results: Results, tasks: Sequence[str], *, are_timed: bool = False) -> str:
    """F1 by group of entities, with their number."""
    rows = [
        {**row, "column": (row["task"], row["group"])}
        for row in results["groups"]
        if row["task"] in tasks and bool(minutes_of(row["representation"])) == are_timed
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


def _cloze(results: Results, *, pubmed: bool = False) -> str:
    rows = cloze_scores(results, pubmed=pubmed)
    table = pandas.DataFrame(
        {
            "language model": f"`{name}`",
            **{
                bucket: f"{row['mrr']:.2f} / {row['mrr_same_frequency']:.2f}"
                for bucket, row in rows[name].items()
            },
        }
        for name in sort_representations(rows)
    )
    return _markdown(table)


def _language_models(results: Results) -> str:
    """The first training of each."""
    rows = [
        row
        for row in results["language_models"]
        if row.get("seed", 1) == 1 and not minutes_of(row["name"])
    ]
    names = sort_representations(row["name"] for row in rows)
    table = [
        {
            "text": row["corpus"],
            "model": f"`{row['name']}`",
            "parameters": f"{row['trainable_parameters'] / 1e6:.1f} M",
            "words/s": _number(row.get("words_per_second"), ",.0f"),
            "speed vs. `elmo`": _number(row.get("speed_up"), ".2f"),
            "minutes": _number(row["seconds"] and row["seconds"] / 60, ".0f"),
            "cosine": _number(row.get("cosine"), ".3f"),
            "baseline cosine": _number(row.get("baseline_cosine"), ".3f"),
            "perplexity per word": _number(row.get("perplexity"), ".1f"),
        }
        for row in sorted(rows, key=lambda row: (row["corpus"], names.index(row["name"])))
    ]
    return _markdown(pandas.DataFrame(table))


def _number(value: Optional[float], style: str) -> str:
    return "" if value is None else format(value, style)


def _models(results: Results) -> Dict[str, Row]:
    """The first training of each language model on the large corpus."""
    return {
        row["name"]: row
        for row in results["language_models"]
        if row["corpus"] not in SMALL_CORPORA
        and row.get("seed", 1) == 1
        and not minutes_of(row["name"])
    }


def _contextualizers(results: Results) -> str:
    """The language models with their scores in the tasks of `scales/contextualizers.mk`."""
    tasks = {task: TASKS[task] for task in ("ner", "snli", "srl")}
    models = _models(results)
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
    """The mean of the tasks by minutes of training, and what the longest of these trainings was."""
    timed = {row["representation"] for row in results["tasks"] if minutes_of(row["representation"])}
    rows = {row["name"]: row for row in results["language_models"]}
    table: Dict[str, Dict[str, str]] = {}
    for name in sort_representations(timed):
        base, model = base_model(name), rows.get(name, {})
        parameters, mean = model.get("trainable_parameters"), _mean_of_tasks(results, name)
        if mean:
            table.setdefault(base, {"representation": _NAMES.get(base, base)}).update(
                {
                    f"mean of {len(PAIRED_TASKS)} tasks, {minutes_of(name)} minutes": mean,
                    _SUMMARY_LAST[0]: f"{parameters / 1e6:.1f} M" if parameters else "",
                    _SUMMARY_LAST[1]: _number(model.get("speed_up"), ".1f"),
                }
            )
    frame = pandas.DataFrame(table.values())
    # The means first.
    return _markdown(frame[sorted(frame.columns, key=_SUMMARY_LAST.__contains__)])


def _paper_language_models(_: Results) -> str:
    table = [
        {
            "model": f"`{name}`: {paper.PAPER_NAMES[name]}",
            "parameters": f"{row.million_parameters} M",
            "days × GPUs": f"{row.days:g} × {row.gpus}",
            "speed vs. ELMo": f"{row.speed_up:g}",
            "sentences per GPU": row.sentences_per_gpu,
        }
        for name, row in paper.TRAINING.items()
    ]
    return _markdown(pandas.DataFrame(table))


def _paper(rows: Mapping[str, Mapping[str, str]], titles: Mapping[str, str], _: Results) -> str:
    table = [
        {
            "representation": f"`{name}`: {paper.PAPER_NAMES[name]}",
            **{titles.get(column, column): cell for column, cell in rows[name].items()},
        }
        for name in sort_representations(rows)
    ]
    return _markdown(pandas.DataFrame(table))


TABLES: Dict[str, Callable[[Results], str]] = {
    "claims": _claims,
    "summary": _summary,
    "tasks": partial(_tasks, are_ablations=False),
    "minutes": _minutes,
    "ablations": partial(_tasks, are_ablations=True),
    "languages": partial(_groups, tasks=LANGUAGES),
    "bc5cdr": partial(_groups, tasks=["bc5cdr"]),
    "bc5cdr in minutes": partial(_groups, tasks=["bc5cdr"], are_timed=True),
    "language models": _language_models,
    "contextualizers": _contextualizers,
    "senteval": _senteval,
    "cloze": _cloze,
    "cloze on pubmed": partial(_cloze, pubmed=True),
    "language models of the paper": _paper_language_models,
    "tasks of the paper": partial(_paper, paper.TASKS, _task_titles(TASKS)),
    "senteval of the paper": partial(_paper, paper.SENTEVAL, {}),
}
