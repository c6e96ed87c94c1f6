import json
import statistics

import pytest
from scipy import stats

from experiments.entities import score_entities, score_run
from experiments.results import Scores, collect, difference, merge
from tests.experiments.tasks_test import task_of, train


def test_the_interval_is_that_of_welch():
    one, other = {1: 71.0, 2: 73.5, 3: 70.2}, {1: 69.5, 5: 70.9}
    variances = [statistics.variance(scores.values()) / len(scores) for scores in (one, other)]
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 2 + variances[1] ** 2)
    margin = stats.t.ppf(0.975, freedom) * sum(variances) ** 0.5
    mean = statistics.mean(one.values()) - statistics.mean(other.values())
    expected = f"{mean:+.1f} ({mean - margin:+.1f} to {mean + margin:+.1f})"
    assert difference(one, other) == expected.replace("-", "−")
    assert difference(one, {4: 69.0}) == "+2.6"
    assert difference(one, {}) == ""


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


def test_whitened_vectors_belong_to_a_corpus_of_their_own():
    row = {"task": "ner", "representation": "fasttext", "seed": 1}
    corpora = {"novels": 14.9, "novels_whitened": 19.5}
    scores = Scores({"tasks": [{**row, "corpus": name, "all": f1} for name, f1 in corpora.items()]})
    assert scores.of("ner", "fasttext", "novels") == {1: 14.9}
    assert scores.of("ner", "fasttext_whitened", "novels") == {1: 19.5}
