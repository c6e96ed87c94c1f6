"""Markdown tables of collected results."""

import statistics
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from experiments import paper
from experiments.results import (
    EQUAL_TIME,
    PUBMED,
    TASKS,
    Results,
    cloze_scores,
    list_trainings,
    sort_representations,
    task_scores,
    variant_of,
)

__all__ = ["TABLES"]

_REFERENCE = "elmo_semfit"
_SUMMARY = ["fasttext", "elmo", "elmo_adaptive", "elmo_semfit"]
_SENTEVAL = ["MR", "CR", "SUBJ", "MPQA", "SST-2", "SST-5", "TREC", "MRPC", "SICK-E", "SICK-R"]
# The column titles of `experiments.oov_entities`.
_GROUPS = {
    "all": "all",
    "in_vocabulary": "in vocabulary",
    "oov": "OOV",
    "seen_in_training": "seen in training",
    "unseen_in_training": "unseen in training",
}


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "No finished runs."
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _score(results: Results, task: str, representation: str) -> str:
    """The mean over the runs and, for two or more, the sample standard deviation."""
    return _mean_and_deviation(task_scores(results, task, representation))


def _mean_and_deviation(scores: Sequence[float]) -> str:
    if not scores:
        return ""
    mean = f"{statistics.mean(scores):.1f}"
    return mean if len(scores) == 1 else f"{mean} ± {statistics.stdev(scores):.1f}"


def _task_header(tasks: Mapping[str, str]) -> List[str]:
    return [f"`{task}`, {metric}" for task, metric in tasks.items()]


def _tasks(
    results: Results,
    tasks: Mapping[str, str] = TASKS,
    *,
    are_ablations: Optional[bool] = None,
) -> str:
    names = sort_representations(
        run["representation"]
        for run in results["tasks"]
        if run["task"] in tasks and not variant_of(run["representation"])
    )
    if are_ablations is not None:
        names = [
            name
            for name in names
            if name == _REFERENCE or name.startswith(f"{_REFERENCE}_") == are_ablations
        ]
        if are_ablations and names == [_REFERENCE]:
            names = []
    rows = [[f"`{name}`", *(_score(results, task, name) for task in tasks)] for name in names]
    return _grid(["representation", *_task_header(tasks)], rows)


def _oov_entities(results: Results) -> str:
    wanted = [row for row in results["oov_entities"] if row["label"] is None]
    names = sort_representations(row["representation"] for row in wanted)
    groups = list(dict.fromkeys(row["group"] for row in wanted))
    counts = {row["group"]: row["gold"] for row in wanted}
    rows = []
    for name in names:
        found = [row for row in wanted if row["representation"] == name]
        cells = [[100 * row["f1"] for row in found if row["group"] == group] for group in groups]
        rows.append([f"`{name}`", *map(_mean_and_deviation, cells)])
    return _grid(
        ["representation", *(f"{_GROUPS[group]} ({counts[group]:,})" for group in groups)], rows
    )


def _cloze(results: Results, *, pubmed: bool = False) -> str:
    rows = cloze_scores(results, pubmed=pubmed)
    buckets = list(dict.fromkeys(bucket for name in rows for bucket in rows[name]))
    cells = [
        [f"`{name}`", *(_mrr(rows[name].get(bucket)) for bucket in buckets)]
        for name in sort_representations(rows)
    ]
    return _grid(["language model", *buckets], cells)


def _probes(results: Results) -> str:
    rows = []
    buckets: List[str] = []
    for name in sort_representations(row["name"] for row in results["probes"]):
        found = [row for row in results["probes"] if row["name"] == name]
        ranks = [{each["bucket"]: each["mrr"] for each in row["cloze"]} for row in found]
        buckets = list(ranks[0])
        cells = [f"{statistics.mean(rank[bucket] for rank in ranks):.2f}" for bucket in buckets]
        all_ranks = statistics.mean(statistics.mean(rank.values()) for rank in ranks)
        cells.append(f"{all_ranks:.2f}")
        for task in ("bc5cdr", "wnut17"):
            of_task = [row["linear"][task] for row in found]
            f1, unseen = ([row[key] for row in of_task] for key in ("f1", "f1_unseen"))
            cells.append(f"{_mean_and_deviation(f1)} ({statistics.mean(unseen):.1f})")
        cells.append(_mean_and_deviation([row["sst2"] for row in found]))
        rows.append([f"`{name}`", *cells])
    scores = ["BC5CDR, F1 (unseen words)", "WNUT-17, F1 (unseen words)", "SST-2, accuracy"]
    return _grid(["language model", *buckets, "mean MRR", *scores], rows)


def _mrr(row: Optional[Mapping[str, Any]]) -> str:
    return f"{row['mrr']:.2f} / {row['mrr_same_frequency']:.2f}" if row else ""


def _paper_tasks(results: Results) -> str:
    return _grid(["representation", *_task_header(TASKS)], _paper_rows(paper.TASKS))


def _paper_rows(cells: Mapping[str, Mapping[str, str]]) -> List[List[str]]:
    return [
        [f"`{name}`: {paper.PAPER_NAMES[name]}", *cells[name].values()]
        for name in sort_representations(cells)
    ]


def _equal_time(results: Results) -> str:
    trainings = list_trainings(results)
    stopped = [each for each in trainings if variant_of(each.representation) == EQUAL_TIME]
    if not stopped:
        return _grid([], [])
    compared = stopped + [each for each in trainings if each.representation == _REFERENCE]
    order = sort_representations(each.name for each in compared)
    rows = []
    for each in sorted(compared, key=lambda each: order.index(each.name)):
        scores = [_score(results, task, each.representation) for task in TASKS]
        rows.append([f"`{each.name}`", f"{each.seconds / 60:.0f}", _number(each.updates), *scores])
    header = ["language model", "minutes of training", "updates", *_task_header(TASKS)]
    return _grid(header, rows)


def _number(value: Any) -> str:
    return "" if value is None else f"{value:,.0f}"


def _by_corpus(rows: Sequence[Mapping[str, Any]]) -> Dict[Tuple[str, str], Mapping[str, Any]]:
    """The rows of language models by corpus and name, in the order of the tables."""
    found = {(row["corpus"], row["name"]): row for row in rows}
    return {
        (corpus, name): found[corpus, name]
        for corpus in sorted({corpus for corpus, _ in found})
        for name in sort_representations(name for other, name in found if other == corpus)
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
    header = ["text", "model", "parameters", "words/s", "speed vs. `elmo`", "minutes"]
    return _grid([*header, "cosine", "baseline cosine", "perplexity per word"], rows)


def _contextualizers(results: Results) -> str:
    """The language models with their scores in the tasks of `scales/contextualizers.mk`."""
    tasks = {task: TASKS[task] for task in ("ner", "snli", "srl")}
    rows = [
        [
            f"`{name}`",
            f"{model['trainable_parameters'] / 1e6:.2f} M",
            f"{model['cosine']:.4f}" if "cosine" in model else "",
            *(_score(results, task, name) for task in tasks),
        ]
        for (_, name), model in _by_corpus(results["language_models"]).items()
    ]
    scores = [_score(results, task, "fasttext") for task in tasks]
    if any(scores):
        rows.append(["`fasttext` alone", "", "", *scores])
    header = ["representation", "parameters", "cosine, held out"]
    return _grid([*header, *_task_header(tasks)], rows)


def _paper_language_models(results: Results) -> str:
    header = ["model", "parameters", "days × GPUs", "speed vs. ELMo", "sentences per GPU"]
    rows = [
        [
            f"`{name}`: {paper.PAPER_NAMES[name]}",
            f"{row.million_parameters} M",
            f"{row.days:g} × {row.gpus}",
            f"{row.speed_up:g}",
            str(row.sentences_per_gpu),
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
        for name in sort_representations(rows)
    ]
    return _grid(["representation", "average", *_SENTEVAL], cells)


def _paper_senteval(results: Results) -> str:
    header = ["representation", *next(iter(paper.SENTEVAL.values()))]
    return _grid(header, _paper_rows(paper.SENTEVAL))


def _summary(results: Results) -> str:
    models = {row["name"]: row for row in results["language_models"] if row["corpus"] != PUBMED}
    senteval = {row["representation"]: row["average"] for row in results["senteval"]}
    rows = []
    for name in _SUMMARY:
        scores = [task_scores(results, task, name) for task in TASKS]
        model = models.get(name, {})
        parameters, speed_up = model.get("trainable_parameters"), model.get("speed_up")
        cells = [
            f"{statistics.mean(map(statistics.mean, scores)):.1f}" if all(scores) else "",
            *(
                f"{senteval[name + variant]:.1f}" if name + variant in senteval else ""
                for variant in ("", "-all-layers")
            ),
            f"{parameters / 1e6:.1f} M" if parameters else "",
            f"{speed_up:.1f}" if speed_up else "",
        ]
        if any(cells):
            rows.append([f"{paper.SHORT_NAMES[name]} (`{name}`)", *cells])
    header = ["representation", "mean of five tasks", "SentEval, mean of layers"]
    header += ["SentEval, concatenated layers", "parameters", "training speed vs. ELMo"]
    return _grid(header, rows)


TABLES: Dict[str, Callable[[Results], str]] = {
    "summary": _summary,
    "tasks": partial(_tasks, are_ablations=False),
    "ablations": partial(_tasks, are_ablations=True),
    "tasks of the paper": _paper_tasks,
    "equal time": _equal_time,
    "language models": _language_models,
    "contextualizers": _contextualizers,
    "language models of the paper": _paper_language_models,
    "senteval": _senteval,
    "senteval of the paper": _paper_senteval,
    "bc5cdr": partial(_tasks, tasks={"bc5cdr": "F1"}),
    "languages": partial(_tasks, tasks={"yor": "F1", "wol": "F1"}),
    "oov entities": _oov_entities,
    "cloze": _cloze,
    "cloze on pubmed": partial(_cloze, pubmed=True),
    "probes": _probes,
}
