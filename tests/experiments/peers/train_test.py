import json
import time

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from transformers import AutoModel, AutoTokenizer, BertForMaskedLM, ElectraForPreTraining

from experiments.peers import transformer
from experiments.peers.clock import TrainingClock, learning_rate_factor
from experiments.peers.speed import measure_speed
from tests import FIXTURES
from tests.experiments.peers.embedding import embed
from tests.tolerance import assert_same_but_for_rounding

SENTENCES = [
    ["Aspirin", "'s", "dogs", "barks", "in", "the", "U.S.", "court", "."],
    ["asleep", "naïvely", "€"],
]


@pytest.mark.parametrize("name", ["word2vec", "bert", "electra"])
def test_a_record_is_written(name, trained):
    directory = trained(name)
    record = json.loads((directory / "record.json").read_text("utf-8"))
    assert record["seed"] == 1
    assert record["updates"] > 0
    assert record["words_read"] > 0
    assert record["trainable_parameters"] > 0
    assert record["commit"]


@pytest.mark.parametrize(
    ("name", "kind"), [("bert", BertForMaskedLM), ("electra", ElectraForPreTraining)]
)
def test_vectors_of_transformers_are_means_of_pieces_and_layers(name, kind, trained):
    directory = trained(name)
    _, loading = kind.from_pretrained(directory, output_loading_info=True)
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    tokenizer = AutoTokenizer.from_pretrained(directory)
    model = AutoModel.from_pretrained(directory, output_hidden_states=True).eval()
    for vectors, words in zip(embed(name, directory, SENTENCES), SENTENCES):
        encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            layers = model(**encoded).hidden_states[1:]
        pieces = torch.stack(layers).mean(dim=0)[0]
        numbers = encoded.word_ids()
        expected = torch.stack(
            [
                pieces[[at for at, number in enumerate(numbers) if number == word]].mean(dim=0)
                for word in range(len(words))
            ]
        )
        assert_same_but_for_rounding(vectors[: len(words)], expected)


def test_text_is_packed_into_full_sequences(trained, text):
    tokenizer = AutoTokenizer.from_pretrained(trained("bert"))
    first, second = (text / "0.txt").read_text("utf-8").splitlines()[:2]
    packed = transformer._PackedText([text / "0.txt"], tokenizer)
    sequences = iter(packed)
    sequence = next(sequences)
    assert len(sequence) == len(next(sequences)) == transformer.SEQUENCE_LENGTH
    start = f"[CLS] {first} [SEP] {second} [SEP]"
    expected = tokenizer(start, add_special_tokens=False).input_ids
    assert sequence[: len(expected)] == expected[: len(sequence)]
    words = " ".join((text / "0.txt").read_text("utf-8").splitlines()[:100])
    pieces = len(tokenizer(words, add_special_tokens=False).input_ids) + 100
    assert packed.words_in(10) == round(10 * 127 * 1000 / pieces)


def test_the_clock_and_the_learning_rate(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "process_time", lambda: now)
    clock = TrainingClock(60.0)
    now += 20
    clock.end_preparation()
    assert clock.progress() == 0.0
    now += 10
    assert clock.progress() == 0.25
    now += 31
    assert clock.progress() > 1.0
    with pytest.raises(ConfigurationError, match="took 61 of 60 seconds"):
        clock.end_preparation()
    factors = [learning_rate_factor(each, warmup=0.1) for each in (0.0, 0.05, 0.1, 0.55, 1.0, 1.2)]
    assert factors == pytest.approx([0.0, 0.5, 1.0, 0.5, 0.0, 0.0])
    assert learning_rate_factor(0.0, warmup=0.0) == 1.0


def test_the_speed_of_embedding_is_measured(lm_archive):
    models = {"elmo_semfit_sru": str(lm_archive), "flair": str(FIXTURES / "flair")}
    rows = measure_speed(models, [["a", "b", "c"]] * 12)
    assert [row["label"] for row in rows] == list(models)
    assert all(row["words_per_second"] > 0 for row in rows)
