import json
import sys
from types import SimpleNamespace

import numpy
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.data import Vocabulary

from experiments.results import METRICS, f1
from experiments.sentence_scores import count_answers, group_entities, main
from tests.experiments.tasks_test import task_of


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
def test_the_counts_give_the_score_of_the_run(task, tmp_path, monkeypatch):
    config = task_of(task, "none")
    # It learns something.
    optimizer = {"type": "adam", "lr": 0.02}
    config["trainer"].update(cuda_device=-1, num_epochs=20, optimizer=optimizer)
    run, out = tmp_path / f"{task}.none", tmp_path / "sentences.npz"
    train_model(Params(config), serialization_dir=run)
    vocabulary = Vocabulary(tokens_to_add={"tokens": ["Lisbon", "flew", "Trust"]})
    vocabulary.save_to_files(tmp_path / "vocabulary")
    arguments = ["sentence_scores", str(run), str(out), str(tmp_path / "vocabulary")]
    monkeypatch.setattr(sys, "argv", arguments)
    main()
    counts = dict(numpy.load(out))
    if task == "ner":
        assert (counts["in_vocabulary"] + counts["oov"]).sum() == counts["all"].sum()
        # The test data is the training data.
        assert (counts["seen"] == counts["all"]).all()
        assert 0 < counts["oov"].sum() < counts["all"].sum()
    else:
        assert list(counts) == ["all"]
    metrics = json.loads((run / "metrics.json").read_text())
    assert f1(counts["all"].sum(0)) == pytest.approx(100 * metrics[METRICS[task]], abs=1e-4)
    assert counts["all"][:, 2].sum() > 0
