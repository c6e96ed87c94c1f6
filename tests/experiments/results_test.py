import json
import statistics

import pytest
from scipy import stats

from experiments.entities import score_entities, score_run
from experiments.results import (
    Scores,
    amounts_table,
    collect,
    difference,
    domain_table,
    larger_table,
    merge,
    tasks_table,
)
from tests.experiments.tasks_test import task_of, train


def test_the_interval_is_that_of_welch():
    one, other = {1: 71.0, 2: 73.5, 3: 70.2}, {1: 69.5, 5: 70.9}
    variances = [statistics.variance(scores.values()) / len(scores) for scores in (one, other)]
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 2 + variances[1] ** 2)
    margin = stats.t.ppf(0.975, freedom) * sum(variances) ** 0.5
    mean = statistics.mean(one.values()) - statistics.mean(other.values())
    expected = f"{mean:+.1f} ({mean - margin:+.1f} to {mean + margin:+.1f})"
    assert difference(one, other) == expected
    assert difference(one, {4: 69.0}) == "+2.6"
    assert difference(one, {}) == ""


def row(task, representation, seed, score, corpus="novels"):
    keys = {"task": task, "representation": representation, "corpus": corpus}
    return {**keys, "seed": seed, "all": score, "commit": "c", "seconds": 60}


def test_tables_compare_the_means():
    tasks = [
        row(task, representation, seed, score + seed)
        for task in ("snli", "sst5", "ner", "srl", "coref")
        for representation, score in (("fasttext", 60), ("elmo_semfit", 62))
        for seed in (1, 2, 3)
    ]
    tasks.append(row("ner", "elmo_semfit", 4, 68))
    tasks += [row("bc5cdr", "fasttext", 1, 75.0), row("bc5cdr", "fasttext", 1, 77.5, "pubmed")]
    models = [{"model": "elmo_semfit", "corpus": "novels", "seed": 1, "seconds": 600}]
    models[0].update(fasttext_seconds=300, trainable_parameters=1_200_000)
    scores = Scores({"tasks": tasks, "models": models})
    fasttext, ours = tasks_table(scores)
    assert (fasttext["mean"], ours["mean"]) == ("62.0 ± 1.0", "64.0 ± 1.0")
    assert ours["NER, F1"] == "65.0 ± 2.2"
    assert ours["vs. fastText"] == "+2.0 (-0.3 to +4.3)"
    assert (ours["minutes"], ours["trained parameters"]) == ("15", "1.2 M")
    (domain,) = domain_table(scores)
    assert domain["PubMed vs. novels"] == "+2.5"


def test_amounts_of_text_are_in_order():
    tasks, models = [], []
    for corpus, words, gain in (("pubmed", 5_824_181, 4), ("pubmed_4000", 98_000, 1)):
        tasks.append(row("bc5cdr", "fasttext", 1, 75.0, corpus))
        tasks.append(row("bc5cdr", "elmo_semfit", 1, 75.0 + gain, corpus))
        models.append({"model": "elmo_semfit", "corpus": corpus, "words_of_text": words})
        models[-1].update(seed=1, seconds=600, fasttext_seconds=300)
    table = amounts_table(Scores({"tasks": tasks, "models": models}))
    assert [(each["million words"], each["difference"]) for each in table] == [
        ("0.1", "+1.0"),
        ("5.8", "+4.0"),
    ]


def test_the_larger_model_is_that_of_both_texts():
    tasks = [
        row("bc5cdr", "elmo_semfit", 1, 82.0, "pubmed"),
        row("bc5cdr", "elmo_semfit", 1, 77.0, "novels"),
        row("bc5cdr", "elmo_semfit_larger", 1, 83.0, "both"),
        row("srl", "elmo_semfit", 1, 54.0),
    ]
    models = [{"model": "elmo_semfit_larger", "corpus": "both", "seed": 1, "seconds": 3600}]
    models[0].update(fasttext_seconds=1200, trainable_parameters=5_000_000)
    _, ours, fasttext, larger = larger_table(Scores({"tasks": tasks, "models": models}))
    assert (ours["BC5CDR, F1"], ours["SRL, F1"], ours["minutes"]) == ("82.0", "54.0", "")
    assert (larger["BC5CDR, F1"], larger["minutes"]) == ("83.0", "80")
    assert (fasttext["minutes"], larger["trained parameters"]) == ("20", "5.0 M")


def test_entities_are_in_the_groups_of_their_words():
    words = ["yellow", "fever", ",", "aspirin", "fever"]
    annotated, predicted = ["B-D", "L-D", "O", "U-C", "U-D"], ["B-D", "L-D", "U-C", "U-C", "O"]
    known = {"all": set(), "oov": {"fever", "aspirin", ","}}
    assert score_entities([(words, annotated, predicted)], known) == {
        "all": {"f1": pytest.approx(200 * 2 / 6), "annotated": 3},
        "oov": {"f1": 100.0, "annotated": 1},
    }


def test_a_finished_run_is_collected(tmp_path):
    run = tmp_path / "tasks" / "ner.none"
    config = task_of("ner", "none")
    config["trainer"]["callbacks"] = ["run_record"]
    config["random_seed"] = 1
    train(config, run)
    (run / "done").touch()
    (run / "entities.json").write_text(json.dumps(score_run(run)))
    found = collect(tmp_path)
    (collected,) = found["tasks"]
    metrics = json.loads((run / "metrics.json").read_text())
    assert collected["all"] == 100 * metrics["test_f1-measure-overall"]
    assert (collected["representation"], collected["corpus"]) == ("none", "")
    assert "unseen" in collected
    other = {"models": [], "tasks": [{**collected, "seed": -1}]}
    assert merge(found, merge(other, found))["tasks"] == [*other["tasks"], collected]
