import json
from types import SimpleNamespace

import numpy
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params

from allennlp_semfit.corpus.vocabulary import write_vocabulary
from experiments.results import METRICS, f1
from experiments.sentence_scores import count_answers, group_entities, score_run
from tests.experiments.tasks_test import task_of
from tests.processes import run_module


def test_entities_are_in_the_groups_of_their_words():
    words = ["yellow", "fever", ",", "aspirin", "fever"]
    annotated = SimpleNamespace(labels=["B-D", "L-D", "O", "U-C", "U-D"])
    instance = {"metadata": {"words": words}, "tags": annotated}
    output = {"tags": ["B-D", "L-D", "U-C", "U-C", "O"]}
    groups = group_entities({"fever", "aspirin", ","}, {"yellow", "fever"})
    counts = count_answers([(instance, output)], "ner", groups)
    assert {group: rows.tolist() for group, rows in counts.items()} == {
        "all": [[3, 3, 2]],
        "in_vocabulary": [[2, 2, 1]],
        "oov": [[1, 1, 1]],
        "seen": [[2, 1, 1]],
        "unseen": [[1, 2, 1]],
    }


@pytest.mark.parametrize("task", ["ner", "snli", "srl"])
def test_the_counts_give_the_score_of_the_run(task, tmp_path):
    config = task_of(task, "none")
    # It learns something.
    optimizer = {"type": "adam", "lr": 0.02}
    config["trainer"].update(cuda_device=-1, num_epochs=20, optimizer=optimizer)
    run = tmp_path / f"{task}.none"
    train_model(Params(config), serialization_dir=run)
    write_vocabulary(tmp_path / "vocabulary", "tokens", ["Lisbon", "flew", "Trust"])
    if task == "ner":
        # In an interpreter that has imported nothing else.
        out = tmp_path / "sentences.npz"
        arguments = (run, out, tmp_path / "vocabulary")
        run_module("experiments.sentence_scores", *arguments, output=tmp_path / "log")
        counts = dict(numpy.load(out))
        assert (counts["in_vocabulary"] + counts["oov"]).sum() == counts["all"].sum()
        # The test data is the training data.
        assert (counts["seen"] == counts["all"]).all()
        assert 0 < counts["oov"].sum() < counts["all"].sum()
    else:
        counts = score_run(run)
        assert list(counts) == ["all"]
    metrics = json.loads((run / "metrics.json").read_text())
    assert f1(counts["all"].sum(0)) == pytest.approx(100 * metrics[METRICS[task]], abs=1e-4)
    assert counts["all"][:, 2].sum() > 0
    metrics[METRICS[task]] -= 0.01
    (run / "metrics.json").write_text(json.dumps(metrics))
    with pytest.raises(ValueError, match=r"scores .* but metrics.json has"):
        score_run(run)
