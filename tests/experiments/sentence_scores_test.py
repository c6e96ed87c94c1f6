import json
import subprocess
import sys
from types import SimpleNamespace

import numpy
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.training.metrics import SpanBasedF1Measure
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.corpus.vocabulary import VocabularyWriter
from experiments.results import METRICS, f1
from experiments.sentence_scores import count_answers, group_entities, score_run
from tests import FIXTURES
from tests.experiments.tasks_test import task_of

WORDS = ["aspirin", "Aspirin", "fever", "of", "lisinopril"]
LABELS = ["Chemical", "Disease"]
TAGS = ["O", *(f"{part}-{label}" for part in "BIUL" for label in LABELS)]


@st.composite
def tag_sequences(draw, length):
    tags = []
    while len(tags) < length:
        size = draw(st.integers(0, length - len(tags)))
        label = draw(st.sampled_from(LABELS))
        parts = {0: "O", 1: "U"}.get(size, "B" + "I" * (size - 2) + "L")
        tags += [part if part == "O" else f"{part}-{label}" for part in parts]
    return tags


@st.composite
def predictions(draw):
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
    annotated, predicted = (draw(tag_sequences(len(words))) for _ in range(2))
    tags = SimpleNamespace(labels=annotated)
    return {"metadata": {"words": words}, "tags": tags}, {"tags": predicted}


def only(tags, words, is_wanted):
    """The tags without the entities that are not wanted."""
    kept, start = list(tags), 0
    for index, tag in enumerate(tags):
        if tag[0] in "OBU":
            start = index
        if tag[0] in "UL" and not is_wanted(words[start : index + 1]):
            kept[start : index + 1] = ["O"] * (index + 1 - start)
    return kept


def f1_of_allennlp(found, is_wanted):
    vocab = Vocabulary(tokens_to_add={"tags": TAGS})
    metric = SpanBasedF1Measure(vocab, label_encoding="BIOUL")
    for instance, output in found:
        words = instance["metadata"]["words"]
        annotated, predicted = (
            torch.tensor([[TAGS.index(tag) for tag in only(tags, words, is_wanted)]])
            for tags in (instance["tags"].labels, output["tags"])
        )
        metric(torch.nn.functional.one_hot(predicted, len(TAGS)), annotated)
    return metric.get_metric().get("f1-measure-overall", 0.0)


@given(
    found=st.lists(predictions(), min_size=1, max_size=6),
    vocabulary=st.sets(st.sampled_from(WORDS)),
    training_words=st.sets(st.sampled_from(WORDS)),
)
def test_each_group_scores_as_allennlp_scores_data_that_has_no_other_entities(
    found, vocabulary, training_words
):
    conditions = {
        "all": lambda words: True,
        "in_vocabulary": lambda words: all(word in vocabulary for word in words),
        "oov": lambda words: any(word not in vocabulary for word in words),
        "seen": lambda words: all(word in training_words for word in words),
        "unseen": lambda words: any(word not in training_words for word in words),
    }
    groups = count_answers(found, "ner", group_entities(vocabulary, training_words))
    assert set(groups) == set(conditions)
    for group, counts in groups.items():
        assert counts.shape == (len(found), 3)
        expected = 100 * f1_of_allennlp(found, conditions[group])
        assert f1(counts.sum(0)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("task", ["ner", "snli", "srl", "sst5"])
def test_the_counts_give_the_score_of_the_run(task, tmp_path):
    config = task_of(task, "none")
    # It learns something.
    optimizer = {"type": "adam", "lr": 0.02}
    config["trainer"].update(cuda_device=-1, num_epochs=20, optimizer=optimizer)
    run = tmp_path / f"{task}.none"
    train_model(Params(config), serialization_dir=run)
    VocabularyWriter(tmp_path / "vocabulary", "tokens").write(["Lisbon", "flew", "Trust"])
    out = tmp_path / "sentences" / f"{run.name}.npz"
    command = [sys.executable, "-m", "experiments.sentence_scores"]
    # In an interpreter that has imported nothing else.
    subprocess.check_call([*command, run, out, tmp_path / "vocabulary"], cwd=FIXTURES.parent)
    metrics = json.loads((run / "metrics.json").read_text())
    with numpy.load(out) as counts:
        assert f1(counts["all"].sum(0)) == pytest.approx(100 * metrics[METRICS[task]], abs=1e-4)
        assert counts["all"][:, 2].sum() > 0
        if task == "ner":
            assert (counts["in_vocabulary"] + counts["oov"]).sum() == counts["all"].sum()
            # The test data is the training data.
            assert (counts["seen"] == counts["all"]).all()
            assert 0 < counts["oov"].sum() < counts["all"].sum()
        else:
            assert list(counts) == ["all"]
    metrics[METRICS[task]] -= 0.01
    (run / "metrics.json").write_text(json.dumps(metrics))
    with pytest.raises(InvalidFileError, match=r"scores .* but metrics.json has"):
        score_run(run)
