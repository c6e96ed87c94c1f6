"""
Adds the finished runs in the directories OUT of the Makefile to `results/runs.json`, and makes the
rows of tables from it:

    python -m experiments.results OUT…
"""

import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

import pandas
from scipy import stats

from experiments.json_files import read_json, write_json
from experiments.run_record import FILE_NAME

RUNS = Path(__file__).parent / "results" / "runs.json"

# The titles of word representations, in the order of the tables.
REPRESENTATIONS = {
    "none": "none",
    "fasttext": "fastText",
    "fasttext_whitened": "fastText, whitened",
    "fasttext_300d": "fastText, 300 dimensions",
    "fasttext_300d_whitened": "fastText, 300 dimensions, whitened",
    "elmo": "ELMo",
    "elmo_adaptive": "ELMo-A",
    "elmo_semfit_random": "ELMo-S, random targets",
    "elmo_semfit": "ELMo-S",
    "elmo_semfit_whitened": "ELMo-S, whitened vectors",
    "elmo_semfit_layer0": "ELMo-S, input layer alone",
    "elmo_semfit_300d": "ELMo-S, vectors of 300 dimensions",
    "elmo_semfit_contrastive": "ELMo-S, contrastive head",
    "elmo_semfit_fasttext": "ELMo-S + fastText",
    "elmo_semfit_fasttext_whitened": "ELMo-S + fastText, whitened vectors",
    "elmo_semfit_300d_fasttext_whitened": "ELMo-S + fastText, 300 dimensions, whitened",
    "elmo_semfit_contrastive_fasttext": "ELMo-S, contrastive head + fastText",
    "elmo_semfit_larger": "ELMo-S, 512 cells",
    "minilm": "MiniLM-L6, frozen",
}
# The titles of the other configs in `training_config/language_models/`.
CONFIGS = {
    "elmo_semfit_l2": "distance `l2`",
    "elmo_semfit_nllvmf": "distance `nllvmf`",
    "elmo_semfit_svd": "targets by SVD",
    "elmo_semfit_svd_input": "vectors by SVD, as input and targets",
    "elmo_semfit_pca": "principal components as targets",
    "elmo_semfit_sru": "SRU",
    "elmo_semfit_qrnn": "QRNN",
    "elmo_semfit_gated_cnn": "gated CNN",
    "elmo_semfit_transformer": "Transformer",
    "masked_lm": "masked language model",
}
# The tasks of the main table, with the names and metrics of their scores.
TASKS = {
    "snli": ("SNLI, accuracy", "accuracy"),
    "sst5": ("SST-5, accuracy", "accuracy"),
    "ner": ("NER, F1", "f1-measure-overall"),
    "srl": ("SRL, F1", "f1-measure-overall"),
    "coref": ("coreference, F1", "coref_f1"),
}
SENTEVAL = ["MR", "CR", "SUBJ", "MPQA", "SST-2", "SST-5", "TREC", "MRPC", "SICK-E", "SICK-R"]
LANGUAGES = {"yor": "Yoruba", "wol": "Wolof"}
METRICS = {
    **{task: metric for task, (_, metric) in TASKS.items()},
    **dict.fromkeys(["bc5cdr", "bc5cdr_longer", *LANGUAGES], "f1-measure-overall"),
}

Row = Dict[str, Any]


def collect(out: Path) -> Dict[str, List[Row]]:
    """The rows of a directory OUT. Times are seconds of processor time, scores percent."""
    models, tasks = [], []
    for run in sorted(done.parent for done in out.glob("*/models/*/done")):
        corpus = run.parent.parent
        record = _record(run)
        record["words_read"] = record.pop("tokens")
        record["words_of_text"] = _count_words(corpus / "train")
        if run.name not in ("elmo", "elmo_semfit_continued", "elmo_semfit_svd_input"):
            record["fasttext_seconds"] = float((corpus / "vectors.seconds").read_text())
        models.append({"model": run.name, "corpus": corpus.name, **record})
    for run in sorted(done.parent for done in out.glob("tasks/*/done")):
        task, representation, *corpora = run.name.split(".")
        score = 100 * read_json(run / "metrics.json")[f"test_{METRICS[task]}"]
        row = {"task": task, "representation": representation, "corpus": "".join(corpora)}
        record = _record(run)
        row.update({key: record[key] for key in ("seed", "commit", "seconds")}, all=score)
        entities = run / "entities.json"
        if entities.exists():
            groups = read_json(entities)
            row.update({group: scores["f1"] for group, scores in groups.items()})
        tasks.append(row)
    senteval = []
    for file in sorted(out.glob("senteval/*.json")):
        representation, layers = file.stem.split(".")
        senteval.append({"representation": representation, "layers": layers, **read_json(file)})
    return {"models": models, "tasks": tasks, "senteval": senteval}


@lru_cache
def _count_words(text: Path) -> int:
    return sum(len(line.split()) for file in text.iterdir() for line in file.open())


def _record(run: Path) -> Row:
    return {"seed": read_json(run / "config.json")["random_seed"], **read_json(run / FILE_NAME)}


def merge(new: Mapping[str, List[Row]], old: Mapping[str, List[Row]]) -> Dict[str, List[Row]]:
    """The rows of `old` that `new` does not have, and all rows of `new`."""

    def identity(row: Row) -> Tuple[Any, ...]:
        keys = ("model", "task", "representation", "layers", "corpus", "seed")
        return tuple(row.get(key, "") for key in keys)

    merged = {}
    for kind, rows in new.items():
        found = set(map(identity, rows))
        kept = [row for row in old.get(kind, []) if identity(row) not in found]
        merged[kind] = sorted([*kept, *rows], key=identity)
    return merged


def describe(values: Sequence[float]) -> str:
    """The mean and, for several trainings, the standard deviation."""
    series = pandas.Series(values, dtype=float)
    if series.empty:
        return ""
    deviation = f" ± {series.std():.1f}" if len(series) > 1 else ""
    return f"{series.mean():.1f}{deviation}"


def _split(representation: str, corpus: str) -> Tuple[str, str]:
    """Whitened vectors belong to a corpus of their own."""
    name = representation.removesuffix("_whitened")
    return name, corpus + representation.removeprefix(name)


class Scores:
    """The scores of all runs: `of(task, representation, corpus)` are those of a task by seed."""

    def __init__(self, runs: Mapping[str, List[Row]]) -> None:
        self._runs = runs

    def of(
        self, task: str, representation: str, corpus: str, group: str = "all"
    ) -> Dict[int, float]:
        representation, corpus = _split(representation, corpus)
        return {
            row["seed"]: row[group]
            for row in self._runs["tasks"]
            if (row["task"], row["representation"]) == (task, representation)
            and row["corpus"] in (corpus, "")
            and group in row
        }

    def senteval(self, representation: str, layers: str) -> pandas.DataFrame:
        """A row for each training, and a column for each task."""
        return pandas.DataFrame(
            row["scores"]
            for row in self._runs["senteval"]
            if (row["representation"], row["layers"]) == (representation, layers)
        )

    def mean(self, tasks: Iterable[str], representation: str, corpus: str) -> Dict[int, float]:
        """The mean over the tasks, for each seed that all of them have."""
        found = [self.of(task, representation, corpus) for task in tasks]
        seeds = sorted(set.intersection(*map(set, found)))
        return {seed: sum(each[seed] for each in found) / len(found) for seed in seeds}

    def minutes(self, representation: str, corpus: str) -> str:
        """The minutes of processor time of a language model and of its vectors."""
        if not representation.startswith("fasttext"):
            representation, corpus = _split(representation, corpus)
        name = representation.replace("_fasttext", "").replace("_layer0", "")
        rows = [row for row in self._runs["models"] if row["corpus"] == corpus]
        if name.startswith("fasttext"):
            # Whitening takes seconds.
            minutes = [row["fasttext_seconds"] for row in rows if "fasttext_seconds" in row]
        else:
            rows = [row for row in rows if row["model"] == name]
            minutes = [row["seconds"] + row.get("fasttext_seconds", 0) for row in rows]
        return f"{sum(minutes) / len(minutes) / 60:.0f}" if minutes else ""

    def words_of_text(self, text: str) -> Dict[str, int]:
        """The number of words of a text and of each sample of it."""
        return {
            row["corpus"]: row["words_of_text"]
            for row in self._runs["models"]
            if re.fullmatch(rf"{text}(_\d+)?", row["corpus"]) and "words_of_text" in row
        }

    def parameters(self, representation: str, corpus: str) -> str:
        representation, corpus = _split(representation, corpus)
        name = representation.replace("_fasttext", "")
        for row in self._runs["models"]:
            if (row["model"], row["corpus"]) == (name, corpus):
                return f"{row['trainable_parameters'] / 1e6:.1f} M"
        return ""


def difference(one: Mapping[int, float], other: Mapping[int, float]) -> str:
    """The difference of the means, with Welch's 95% interval if both have several trainings."""
    ours, theirs = [*one.values()], [*other.values()]
    if not ours or not theirs:
        return ""
    text = f"{sum(ours) / len(ours) - sum(theirs) / len(theirs):+.1f}"
    if min(len(ours), len(theirs)) > 1:
        found = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
        text += f" ({found.low:+.1f} to {found.high:+.1f})"
    return text.replace("-", "−")


def tasks_table(scores: Scores) -> List[Row]:
    """A row for each representation with a score; those that read text were trained on novels."""
    rows = []
    for name, title in REPRESENTATIONS.items():
        columns = {
            label: describe([*scores.of(task, name, "novels").values()])
            for task, (label, _) in TASKS.items()
        }
        if any(columns.values()):
            mean = scores.mean(TASKS, name, "novels")
            gain = difference(mean, scores.mean(TASKS, "fasttext", "novels"))
            rows.append(
                {
                    "representation": title,
                    **columns,
                    "mean": describe([*mean.values()]),
                    "vs. fastText": "" if name in ("none", "fasttext") else gain,
                    "minutes": scores.minutes(name, "novels"),
                    "trained parameters": scores.parameters(name, "novels"),
                }
            )
    return rows


def domain_table(scores: Scores) -> List[Row]:
    """NER on BC5CDR with representations of each text, and what the text of the domain gains."""
    rows = []
    for name, title in REPRESENTATIONS.items():
        text, vectors = "pubmed", "fasttext"
        if "_300d" in name:
            text, vectors = "pubmed_300d", "fasttext_300d"
        novels, pubmed = (scores.of("bc5cdr", name, corpus) for corpus in ("novels", text))
        if not pubmed:
            continue
        # A representation that reads neither text has the same runs for both.
        reads_text = novels != pubmed
        reads_vectors = name.startswith("elmo") or name.endswith("_whitened")
        fasttext = scores.of("bc5cdr", vectors, text) if reads_vectors else {}
        unseen, rare = (
            describe([*scores.of("bc5cdr", name, text, group).values()])
            for group in ("unseen", "oov")
        )
        rows.append(
            {
                "representation": title,
                "neither": "" if reads_text else describe([*pubmed.values()]),
                "trained on novels": describe([*novels.values()]) if reads_text else "",
                "trained on PubMed": describe([*pubmed.values()]) if reads_text else "",
                "PubMed vs. novels": difference(pubmed, novels) if reads_text else "",
                "vs. its fastText": difference(pubmed, fasttext),
                "unseen entities": unseen,
                "entities with rare words": rare,
                "minutes": scores.minutes(name, text),
            }
        )
    return rows


def domain_summary(scores: Scores) -> List[Row]:
    texts = ("neither", "trained on novels", "trained on PubMed")
    columns = ("representation", *texts, "unseen entities", "minutes")
    left_out = [REPRESENTATIONS[f"elmo_semfit_{name}"] for name in ("contrastive", "fasttext")]
    rows = [row for row in domain_table(scores) if row["representation"] not in left_out]
    return [{column: row[column] for column in columns} for row in rows]


def amounts(scores: Scores) -> List[Row]:
    """The scores of fastText and ELMo-S, by task and amount of text."""
    rows = []
    for task, text in (("bc5cdr", "pubmed"), ("ner", "novels")):
        for corpus, words in sorted(scores.words_of_text(text).items(), key=lambda each: each[1]):
            found = [scores.of(task, name, corpus) for name in ("fasttext", "elmo_semfit")]
            if all(found):
                rows.append({"task": task, "corpus": corpus, "words": words, "scores": found})
    return rows


def amounts_table(scores: Scores) -> List[Row]:
    titles = {"bc5cdr": "BC5CDR, PubMed", "ner": "WNUT-17, novels"}
    return [
        {
            "task, text": titles[row["task"]],
            "million words": f"{row['words'] / 1e6:.1f}",
            "fastText": describe([*fasttext.values()]),
            "ELMo-S": describe([*ours.values()]),
            "difference": difference(ours, fasttext),
            "minutes": scores.minutes("elmo_semfit", row["corpus"]),
            **{
                REPRESENTATIONS[name]: describe(
                    [*scores.of(row["task"], name, f"{row['corpus']}_300d").values()]
                )
                for name in ("fasttext_300d", "elmo_semfit_300d")
            },
            "ELMo-S of novels, continued": describe(
                [*scores.of(row["task"], "elmo_semfit_continued", row["corpus"]).values()]
            ),
        }
        for row in amounts(scores)
        for fasttext, ours in [row["scores"]]
    ]


def languages_table(scores: Scores) -> List[Row]:
    rows = []
    kinds = [(name, title, "") for name, title in REPRESENTATIONS.items()]
    for name, title, steps in [*kinds, ("elmo_semfit", "ELMo-S, 1,500 steps", "_short")]:
        row = {"representation": title}
        for language, label in LANGUAGES.items():
            found = scores.of(language, name, language + steps)
            unseen = scores.of(language, name, language + steps, "unseen")
            gain = difference(found, scores.of(language, "fasttext", language))
            row[label] = describe([*found.values()])
            row[f"{label}, unseen"] = describe([*unseen.values()])
            row[f"{label}, vs. fastText"] = "" if name in ("none", "fasttext") else gain
        if any([*row.values()][1:]):
            rows.append(row)
    return rows


def larger_table(scores: Scores) -> List[Row]:
    """A larger model of both texts, beside models of the text that is nearer to each task."""
    labels = {"bc5cdr": "BC5CDR, F1", **{task: label for task, (label, _) in TASKS.items()}}
    texts = {"bc5cdr": "pubmed", "ner": "novels", "srl": "novels"}
    rows = []
    for name in ("fasttext", "elmo_semfit", "fasttext_300d", "elmo_semfit_larger"):
        both = "both" if name.endswith(("_300d", "_larger")) else ""
        rows.append(
            {
                "representation": REPRESENTATIONS[name],
                **{
                    labels[task]: describe([*scores.of(task, name, both or text).values()])
                    for task, text in texts.items()
                },
                "minutes": scores.minutes(name, both or "novels"),
                "trained parameters": scores.parameters(name, both or "novels"),
            }
        )
    return rows


def configs_table(scores: Scores) -> List[Row]:
    """ELMo-S and the models that it is compared with, trained on novels."""
    compared = ("fasttext", "elmo_semfit_random", "elmo_adaptive", "elmo_semfit")
    titles = {**{name: REPRESENTATIONS[name] for name in compared}, **CONFIGS}
    return [
        {
            "language model": title,
            **{
                TASKS[task][0]: describe([*scores.of(task, name, "novels").values()])
                for task in ("ner", "srl")
            },
            "minutes": scores.minutes(name, "novels"),
            "trained parameters": scores.parameters(name, "novels"),
        }
        for name, title in titles.items()
        if scores.of("ner", name, "novels")
    ]


def senteval_table(scores: Scores) -> List[Row]:
    rows = []
    for name, title in REPRESENTATIONS.items():
        for layers, suffix in (("average", ""), ("all", ", all layers")):
            found = scores.senteval(name, layers)
            if not found.empty:
                tasks = {task: f"{found[task].mean():.1f}" for task in SENTEVAL}
                average = describe(found.mean(axis=1))
                rows.append({"representation": title + suffix, "average": average, **tasks})
    return rows


def main() -> None:
    runs = read_json(RUNS) if RUNS.exists() else {}
    for out in sys.argv[1:]:
        runs = merge(collect(Path(out)), runs)
    write_json(RUNS, runs)


if __name__ == "__main__":
    main()
