"""The embedder in models of AllenNLP that read the text field's tensors themselves."""

import json

import allennlp_models.lm  # noqa: F401 (registers the language model)
import numpy
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.interpret.saliency_interpreters import SaliencyInterpreter
from allennlp.predictors import Predictor

from tests.language_models import write_language_model

# Words of several subwords among them.
TEXTS = {"Nobody had seen so much snow": "bad", "The captain closed the gate": "good"}

# The model's own words: to be printed only, or embedded too.
OWN_WORDS = {"alone": "empty", "beside": {"type": "embedding", "embedding_dim": 3}}
OWN_DIM = {"alone": 0, "beside": 3}


@pytest.fixture(
    scope="module",
    params=[("fasttext", "alone"), ("characters", "beside"), ("words", "alone")]
    + [("subwords", "beside")],
    ids=lambda param: "-".join(param),
)
def classifier(request, tmp_path_factory):
    """The directory in which a `basic_classifier` was trained."""
    kind, how = request.param
    directory = tmp_path_factory.mktemp("classifier")
    elmo = {
        "type": "elmo_semfit",
        "archive_file": str(write_language_model(directory / "lm", kind)),
    }
    (directory / "texts.jsonl").write_text(
        "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in TEXTS.items())
    )
    config = {
        "dataset_reader": {
            "type": "text_classification_json",
            "tokenizer": "just_spaces",
            "token_indexers": {"elmo": elmo, "tokens": "single_id"},
        },
        "train_data_path": str(directory / "texts.jsonl"),
        "model": {
            "type": "basic_classifier",
            "text_field_embedder": {"token_embedders": {"elmo": elmo, "tokens": OWN_WORDS[how]}},
            "seq2vec_encoder": {"type": "boe", "embedding_dim": 12 + OWN_DIM[how]},
        },
        "data_loader": {"batch_size": 2},
        "trainer": {"num_epochs": 1, "optimizer": "adam"},
    }
    train(config, directory / "task")
    return directory / "task"


def train(config, directory):
    # A copy, since a part that stands in two places would be taken apart twice.
    return train_model(Params(json.loads(json.dumps(config))), str(directory))


@pytest.fixture
def predictor(classifier):
    return Predictor.from_path(classifier / "model.tar.gz", "text_classifier")


def test_it_prints_the_words_of_the_task(predictor):
    for text in TEXTS:
        assert predictor.predict_json({"sentence": text})["tokens"] == text.split()


def test_each_word_has_its_saliency(predictor):
    interpret = SaliencyInterpreter.by_name("simple-gradient")(predictor)
    for text in TEXTS:
        gradients = interpret.saliency_interpret_from_json({"sentence": text})
        (of_words,) = gradients["instance_1"].values()
        assert len(of_words) == len(text.split())
        assert numpy.isclose(sum(of_words), 1)


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_a_language_model_predicts_the_words_of_the_task(kind, tmp_path):
    elmo = {"type": "elmo_semfit", "archive_file": str(write_language_model(tmp_path / "lm", kind))}
    (tmp_path / "text").write_text("\n".join(TEXTS))
    config = {
        "dataset_reader": {
            "type": "simple_language_modeling",
            "tokenizer": "just_spaces",
            "token_indexers": {"elmo": elmo, "tokens": "single_id"},
        },
        "train_data_path": str(tmp_path / "text"),
        "model": {
            "type": "language_model",
            "text_field_embedder": {"token_embedders": {"elmo": elmo, "tokens": "empty"}},
            "contextualizer": {"type": "lstm", "input_size": 12, "hidden_size": 5},
        },
        "data_loader": {"batch_size": 2},
        "trainer": {"num_epochs": 1, "optimizer": "adam"},
    }
    model = train(config, tmp_path / "task")
    assert model._softmax_loss.softmax_b.shape == (model.vocab.get_vocab_size(),)
