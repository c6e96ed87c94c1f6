import numpy
import pytest
import torch
from allennlp.models import load_archive

from allennlp_semfit.analysis.nearest_words import WordScorer, find_nearest_words
from allennlp_semfit.fasttext.model import FastTextModel
from tests import VECTORS
from tests.analysis.word_scorer_test import MORE_KINDS
from tests.language_models import write_language_model

# "quagga" is not a candidate.
WORDS = [".", "harbour", "of", "the", "zebra", "captain", "gate", "snow", "a", "in", "sea", "it"]
SENTENCES = [
    ["the", "captain", "of", "the", "harbour", "."],
    [],
    ["quagga"],
    ["it", "zebra", "in", "the", "sea", "."],
]


@pytest.fixture
def scorer(tmp_path):
    kind = MORE_KINDS["semfit_cosine"]
    archive = load_archive(write_language_model(tmp_path / "model", kind, archive=True))
    # An untrained head predicts the same everywhere.
    torch.nn.init.normal_(archive.model._head.projection.weight)
    return WordScorer(archive.model, archive.dataset_reader, WORDS)


def unit(vectors):
    return vectors / numpy.linalg.norm(vectors, axis=-1, keepdims=True)


def cosines(scorer):
    """Those of all words with the candidates, shape `(2, num_words, len(WORDS))`, and the words."""
    contexts = scorer.contexts(SENTENCES)
    both = scorer._head.projection(contexts.transpose(0, 1)).detach().double().numpy()
    model = FastTextModel.open(VECTORS)
    vectors = numpy.stack([model.get_word_vector(word) for word in WORDS]).astype(float)
    return unit(both) @ unit(vectors).T, sum(SENTENCES, [])


def test_they_are_those_of_a_brute_force_search(scorer, monkeypatch):
    # Blocks end within sentences, and groups within the text.
    monkeypatch.setattr("allennlp_semfit.analysis.nearest_words._CONTEXTS", 4)
    monkeypatch.setattr("allennlp_semfit.analysis.nearest_words._SENTENCES", 2)
    found = list(find_nearest_words(scorer, SENTENCES, top_k=3))
    assert [[each.word for each in sentence] for sentence in found] == SENTENCES
    scores, words = cosines(scorer)
    by_direction = {"forward": scores[0], "backward": scores[1], "both": scores.sum(axis=0)}
    flat = [each for sentence in found for each in sentence]
    for name, rows in by_direction.items():
        for word, row, each in zip(words, rows, flat):
            order = numpy.argsort(-row)
            nearest = each.nearest[name]
            assert [neighbor for neighbor, _ in nearest] == [WORDS[i] for i in order[:3]]
            assert [score for _, score in nearest] == pytest.approx(row[order[:3]], abs=1e-6)
            rank = [WORDS[i] for i in order].index(word) + 1 if word in WORDS else None
            assert each.ranks[name] == rank


def test_words_with_the_same_score_have_the_last_rank(tmp_path):
    archive = load_archive(write_language_model(tmp_path / "model", "words", archive=True))
    scorer = WordScorer(archive.model, archive.dataset_reader, ["quagga", "zebra", "the"])
    ((quagga, zebra),) = find_nearest_words(scorer, [["quagga", "zebra"]])
    for found in (quagga, zebra):
        scores = dict(found.nearest["forward"])
        assert scores["quagga"] == scores["zebra"]
        assert found.ranks["forward"] == 2 + (scores["the"] > scores["quagga"])
