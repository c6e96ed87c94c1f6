import json

import pytest
import torch
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.training.metrics import SpanBasedF1Measure
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.corpus.vocabulary import VocabularyWriter
from experiments import oov_entities
from experiments.oov_entities import (
    TaggedSentence,
    main,
    parse_run_name,
    read_vocabulary,
    score_entities,
)
from tests import FIXTURES

DATA = FIXTURES / "downstream" / "ner.conll"
WORDS = ["aspirin", "Aspirin", "fever", "of", "lisinopril"]
LABELS = ["Chemical", "Disease"]
TAGS = ["O", *(f"{part}-{label}" for part in "BIUL" for label in LABELS)]
MEASURES = {"precision": "precision", "recall": "recall", "f1": "f1-measure"}


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
def tagged_sentences(draw):
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
    gold, predicted = (draw(tag_sequences(len(words))) for _ in range(2))
    return TaggedSentence(words, gold, predicted)


def only(tags, words, is_wanted):
    """The tags without the entities that are not wanted."""
    kept, start = list(tags), 0
    for index, tag in enumerate(tags):
        if tag[0] in "OBU":
            start = index
        if tag[0] in "UL" and not is_wanted(words[start : index + 1]):
            kept[start : index + 1] = ["O"] * (index + 1 - start)
    return kept


def measure_by_allennlp(sentences, is_wanted):
    vocab = Vocabulary(tokens_to_add={"tags": TAGS})
    metric = SpanBasedF1Measure(vocab, label_encoding="BIOUL")
    for words, *both in sentences:
        gold, predicted = (
            torch.tensor([[TAGS.index(tag) for tag in only(tags, words, is_wanted)]])
            for tags in both
        )
        metric(torch.nn.functional.one_hot(predicted, len(TAGS)), gold)
    return metric.get_metric()


@given(
    sentences=st.lists(tagged_sentences(), max_size=6),
    vocabulary=st.sets(st.sampled_from(WORDS)),
    training_words=st.sets(st.sampled_from(WORDS)),
)
def test_each_group_scores_as_allennlp_scores_data_that_has_no_other_entities(
    sentences, vocabulary, training_words
):
    groups = {
        "all": lambda words: True,
        "in_vocabulary": lambda words: all(word in vocabulary for word in words),
        "oov": lambda words: any(word not in vocabulary for word in words),
        "seen_in_training": lambda words: all(word in training_words for word in words),
        "unseen_in_training": lambda words: any(word not in training_words for word in words),
    }
    rows = score_entities(sentences, vocabulary, training_words)
    assert {row["group"] for row in rows} == set(groups)
    for row in rows:
        expected = measure_by_allennlp(sentences, groups[row["group"]])
        for ours, theirs in MEASURES.items():
            found = expected.get(f"{theirs}-{row['label'] or 'overall'}", 0.0)
            assert row[ours] == pytest.approx(found, abs=1e-9)


def test_the_rows_count_what_there_is():
    sentence = TaggedSentence(
        ["Aspirin", "and", "odd", "fever"],
        ["U-Chemical", "O", "B-Disease", "L-Disease"],
        ["U-Chemical", "O", "O", "U-Disease"],
    )
    rows = score_entities([sentence], {"Aspirin", "and", "fever"})
    counts = {
        (row["group"], row["label"]): (row["gold"], row["predicted"], row["correct"])
        for row in rows
    }
    assert counts == {
        ("all", None): (2, 2, 1),
        ("all", "Chemical"): (1, 1, 1),
        ("all", "Disease"): (1, 1, 0),
        ("in_vocabulary", None): (1, 2, 1),
        ("in_vocabulary", "Chemical"): (1, 1, 1),
        ("in_vocabulary", "Disease"): (0, 1, 0),
        ("oov", None): (1, 0, 0),
        ("oov", "Chemical"): (0, 0, 0),
        ("oov", "Disease"): (1, 0, 0),
    }


def test_the_vocabulary_is_what_was_counted(tmp_path):
    VocabularyWriter(tmp_path / "vocabulary", "tokens").write(["the", "The", "naïve"])
    assert read_vocabulary(tmp_path / "vocabulary") == {"the", "The", "naïve"}
    (tmp_path / "vocabulary" / "tokens.txt").write_text("the\n")
    with pytest.raises(oov_entities.InvalidFileError, match="tokens.txt cannot be read .OOV token"):
        read_vocabulary(tmp_path / "vocabulary")


def test_a_run_says_what_it_is(tmp_path, monkeypatch):
    expected = {
        "run": "ner.2.elmo_v1.5",
        "task": "ner",
        "seed": 2,
        "representation": "elmo_v1.5",
    }
    assert parse_run_name(tmp_path / "ner.2.elmo_v1.5") == expected
    (tmp_path / "ner.2.elmo_v1.5").mkdir()
    monkeypatch.chdir(tmp_path / "ner.2.elmo_v1.5")
    assert parse_run_name(tmp_path.__class__(".")) == expected


@pytest.fixture
def arguments(tmp_path):
    """Of a run that has learnt something, and would drop half of it out if it were training."""
    config = {
        "dataset_reader": {"type": "conll2003", "convert_to_coding_scheme": "BIOUL"},
        "train_data_path": str(DATA),
        "data_loader": {"batch_size": 2},
        "trainer": {"optimizer": {"type": "adam", "lr": 0.05}, "num_epochs": 10, "cuda_device": -1},
        "model": {
            "type": "crf_tagger",
            "label_encoding": "BIOUL",
            "dropout": 0.5,
            "text_field_embedder": {
                "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}
            },
            "encoder": {"type": "lstm", "input_size": 4, "hidden_size": 5, "bidirectional": True},
        },
    }
    run = tmp_path / "ner.1.none"
    train_model(Params(config), serialization_dir=run)
    VocabularyWriter(tmp_path / "vocabulary", "tokens").write(["Lisbon", "flew", "Trust"])
    return [
        str(path)
        for path in (run, DATA, tmp_path / "vocabulary", tmp_path / "results" / "out.json")
    ]


def test_all_entities_score_as_in_allennlp_evaluate(arguments, tmp_path):
    main([*arguments, "--train", str(DATA)])
    rows = json.loads((tmp_path / "results" / "out.json").read_text())["rows"]
    overall = {row["group"]: row for row in rows if row["label"] is None}
    expected = evaluate_from_archive(f"{arguments[0]}/model.tar.gz", str(DATA))
    assert overall["all"]["correct"] > 0
    for ours, theirs in MEASURES.items():
        assert overall["all"][ours] == pytest.approx(expected[f"{theirs}-overall"], abs=1e-9)
    assert {row["run"] for row in rows} == {"ner.1.none"}
    for count in ("gold", "predicted", "correct"):
        assert overall["in_vocabulary"][count] + overall["oov"][count] == overall["all"][count]
        assert overall["seen_in_training"][count] == overall["all"][count]
    assert 0 < overall["in_vocabulary"]["gold"] < overall["all"]["gold"]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, "ner.1.missing", "ner.1.missing/model.tar.gz does not exist"),
        (0, "missing", "missing: rename the directory to TASK.SEED.REPRESENTATION"),
        (1, "missing.conll", "missing.conll does not exist"),
        (2, "missing", "missing/tokens.txt does not exist"),
        (5, "missing.conll", "missing.conll does not exist"),
    ],
)
def test_what_is_missing_is_said_before_the_model_is_loaded(
    place, value, message, arguments, monkeypatch
):
    monkeypatch.setattr(oov_entities, "load_archive", None)
    arguments = [*arguments, "--train", str(DATA)]
    arguments[place] = value
    with pytest.raises(SystemExit, match=f"^oov_entities: {message}.*$"):
        main(arguments)
