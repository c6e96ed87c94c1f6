"""The tables of gathered results, in Markdown."""

import statistics
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from experiments import paper
from experiments.results import (
    IN_TIME,
    TASKS,
    UNNORMALIZED,
    Results,
    frequencies_of,
    in_order,
    scores_of,
    trainings_of,
    way_of,
)

__all__ = ["TABLES"]

_REFERENCE = "elmo_semfit"
_SENTEVAL = ["MR", "CR", "SUBJ", "MPQA", "SST-2", "SST-5", "TREC", "MRPC", "SICK-E", "SICK-R"]

_IN_SUMMARY = {
    "fasttext": "fastText alone",
    "elmo": "ELMo",
    "elmo_adaptive": "ELMo-A",
    "elmo_semfit": "ELMo-S",
    "elmo_semfit_whitened": "ELMo-S, whitened targets",
}
# In the order of `TASKS`, with the data of the laptop's scale.
_SUMMARY_HEADER = [
    "SNLI, accuracy",
    "coreference (LitBank), F1",
    "SST-5, accuracy",
    "NER (WNUT-17), F1",
    "SRL (web), F1",
]


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "No run of it has ended."
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _score(results: Results, task: str, representation: str) -> str:
    """The mean over the seeds and, of two or more, the deviation of such a sample."""
    return _mean_and_deviation(scores_of(results, task, representation))


def _mean_and_deviation(scores: Sequence[float]) -> str:
    if not scores:
        return ""
    mean = f"{statistics.mean(scores):.1f}"
    return mean if len(scores) == 1 else f"{mean} ± {statistics.stdev(scores):.1f}"


def _task_header(tasks: Mapping[str, str]) -> List[str]:
    return [f"`{task}`, {metric}" for task, metric in tasks.items()]


def _tasks(results: Results, tasks: Mapping[str, str] = TASKS, way: str = "") -> str:
    names = in_order(
        run["representation"]
        for run in results["tasks"]
        if run["task"] in tasks and way_of(run["representation"]) == way
    )
    rows = [[f"`{name}`", *(_score(results, task, name) for task in tasks)] for name in names]
    return _grid(["representation", *_task_header(tasks)], rows)


def _summary(results: Results) -> str:
    """The README's: the models that most readers ask for, by the names that they know."""
    rows = [
        [title, *(_score(results, task, name) for task in TASKS)]
        for name, title in _IN_SUMMARY.items()
        if any(scores_of(results, task, name) for task in TASKS)
    ]
    return _grid(["", *_SUMMARY_HEADER], rows)


def _bc5cdr(results: Results) -> str:
    return _tasks(results, {"bc5cdr": "F1"})


def _unseen(results: Results) -> str:
    wanted = [row for row in results["unseen"] if row["label"] is None]
    names = in_order(row["representation"] for row in wanted)
    groups = list(dict.fromkeys(row["group"] for row in wanted))
    counts = {row["group"]: row["gold"] for row in wanted}
    rows = []
    for name in names:
        found = [row for row in wanted if row["representation"] == name]
        cells = [[100 * row["f1"] for row in found if row["group"] == group] for group in groups]
        rows.append([f"`{name}`", *map(_mean_and_deviation, cells)])
    return _grid(["representation", *(f"{group} ({counts[group]:,})" for group in groups)], rows)


def _frequency(results: Results, *, long_tail: bool = False) -> str:
    rows = frequencies_of(results, long_tail=long_tail)
    buckets = list(dict.fromkeys(bucket for name in rows for bucket in rows[name]))
    cells = [
        [f"`{name}`", *(_mrr(rows[name].get(bucket)) for bucket in buckets)]
        for name in in_order(rows)
    ]
    return _grid(["language model", *buckets], cells)


def _mrr(row: Optional[Mapping[str, Any]]) -> str:
    return f"{row['mrr']:.2f}, {row['mrr_alike']:.2f}" if row else ""


def _paper_tasks(results: Results) -> str:
    return _grid(["representation", *_task_header(TASKS)], _paper_rows(paper.TASKS))


def _paper_rows(cells: Mapping[str, Mapping[str, str]]) -> List[List[str]]:
    return [
        [f"`{name}`: {paper.PAPER_NAMES[name]}", *cells[name].values()] for name in in_order(cells)
    ]


def _in_time(results: Results) -> str:
    trainings = trainings_of(results)
    stopped = [each for each in trainings if way_of(each.representation) == IN_TIME]
    if not stopped:
        return _grid([], [])
    compared = stopped + [each for each in trainings if each.representation == _REFERENCE]
    order = in_order(each.name for each in compared)
    rows = []
    for each in sorted(compared, key=lambda each: order.index(each.name)):
        scores = [_score(results, task, each.representation) for task in TASKS]
        rows.append([f"`{each.name}`", f"{each.seconds / 60:.0f}", _number(each.updates), *scores])
    header = ["language model", "minutes of training", "updates", *_task_header(TASKS)]
    return _grid(header, rows)


def _number(value: Any) -> str:
    return "" if value is None else f"{value:,.0f}"


def _by_corpus(rows: Sequence[Mapping[str, Any]]) -> Dict[Tuple[str, str], Mapping[str, Any]]:
    """One row of a language model each, by its corpus and name, in the order of the tables."""
    found = {(row["corpus"], row["name"]): row for row in rows}
    return {
        (corpus, name): found[corpus, name]
        for corpus in sorted({corpus for corpus, _ in found})
        for name in in_order(name for other, name in found if other == corpus)
    }


def _language_models(results: Results) -> str:
    models = _by_corpus(results["language_models"])
    rows = []
    for (corpus, name), model in models.items():
        speed_up, parameters = model.get("speed_up"), model["trainable_parameters"]
        minutes = _number(model["training_seconds"] and model["training_seconds"] / 60)
        rows.append(
            [
                corpus,
                f"`{name}`",
                f"{parameters / 1e6:.1f} M" if parameters else "",
                _number(model["words_per_second"]),
                "" if speed_up is None else f"{speed_up:.2f}",
                minutes,
                f"{model['cosine']:.3f}" if "cosine" in model else "",
                f"{model['baseline_cosine']:.3f}" if "baseline_cosine" in model else "",
                f"{model['perplexity']:.1f}" if "perplexity" in model else "",
            ]
        )
    header = ["text", "model", "trainable parameters", "words a second", "times `elmo`'s"]
    return _grid([*header, "minutes", "cosine", "of a constant", "perplexity of a word"], rows)


def _paper_language_models(results: Results) -> str:
    header = ["model", "trainable parameters", "days × cards", "speed-up", "sentences a card"]
    rows = [
        [
            f"`{name}`: {paper.PAPER_NAMES[name]}",
            f"{row.million_parameters} M",
            f"{row.days:g} × {row.cards}",
            f"{row.speed_up:g}",
            str(row.sentences_per_card),
        ]
        for name, row in paper.TRAINING.items()
    ]
    return _grid(header, rows)


def _senteval(results: Results) -> str:
    rows = {row["representation"]: row for row in results["senteval"]}
    cells = [
        [
            f"`{name}`",
            f"{rows[name]['average']:.1f}",
            *(
                f"{rows[name]['scores'][task]:.1f}" if task in rows[name]["scores"] else ""
                for task in _SENTEVAL
            ),
        ]
        for name in in_order(rows)
    ]
    return _grid(["representation", "average", *_SENTEVAL], cells)


def _paper_senteval(results: Results) -> str:
    header = ["representation", *next(iter(paper.SENTEVAL.values()))]
    return _grid(header, _paper_rows(paper.SENTEVAL))


def _layers(results: Results) -> str:
    rows = []
    for (corpus, name), model in _by_corpus(results["layers"]).items():
        layers = sorted(model["rows"], key=lambda layer: layer["layer"])
        lengths = ", ".join(f"{layer['length']:.1f}" for layer in layers)
        shares = ", ".join(f"{100 * layer['shared']:.0f} %" for layer in layers)
        rows.append([corpus, f"`{name}`", lengths, shares])
    return _grid(["text", "model", "lengths of its layers", "the same for every word"], rows)


def _spectra(results: Results) -> str:
    rows = [
        [row["corpus"], row["targets"], f"{100 * row['first']:.0f} %", f"{row['dimensions']:.1f}"]
        for row in results["spectra"]
    ]
    return _grid(["text", "targets", "along one axis", "axes in effect"], rows)


TABLES: Dict[str, Callable[[Results], str]] = {
    "tasks": _tasks,
    "summary": _summary,
    "tasks of the paper": _paper_tasks,
    "unnormalized tasks": partial(_tasks, way=UNNORMALIZED),
    "equal time": _in_time,
    "language models": _language_models,
    "language models of the paper": _paper_language_models,
    "senteval": _senteval,
    "senteval of the paper": _paper_senteval,
    "bc5cdr": _bc5cdr,
    "unseen": _unseen,
    "frequency": _frequency,
    "frequency in the long tail": partial(_frequency, long_tail=True),
    "layers": _layers,
    "spectra": _spectra,
}
