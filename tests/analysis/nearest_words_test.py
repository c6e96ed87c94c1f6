import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

from allennlp_semfit.analysis.nearest_words import find_nearest_words
from allennlp_semfit.analysis.word_scorer import WordScorer
from allennlp_semfit.modules.lm_heads.target_transforms import TargetWhitening
from tests import VECTORS
from tests.language_models import KINDS, write_language_model

# "quagga" is not a candidate.
WORDS = [".", "harbour", "of", "the", "zebra", "captain", "gate", "snow", "a", "in", "sea", "it"]
SENTENCES = [
    ["the", "captain", "of", "the", "harbour", "."],
    [],
    ["quagga"],
    ["it", "zebra", "in", "the", "sea", "."],
]
FASTTEXT = (
    {"fasttext": {"type": "fasttext", "model_path": VECTORS}},
    {"fasttext": {"type": "fasttext", "embedding_dim": 10}},
    10,
)


def scorer_of(directory, **head):
    KINDS["vectors"] = (*FASTTEXT, {"embedding_dim": 10, **head})
    archive = load_archive(write_language_model(directory, "vectors", archive=True))
    del KINDS["vectors"]
    # An untrained head predicts the same everywhere.
    torch.nn.init.normal_(archive.model._head.projection.weight)
    return WordScorer(archive.model, archive.dataset_reader, WORDS)


@pytest.fixture(scope="module")
def scorer(tmp_path_factory):
    return scorer_of(tmp_path_factory.mktemp("semfit") / "model", type="semfit")


def unit(vectors):
    return vectors / numpy.linalg.norm(vectors, axis=-1, keepdims=True)


def predictions(scorer):
    """The unit predictions for all words, shape `(2, num_words, dim)`, and the words."""
    locations = [(row, at) for row, words in enumerate(SENTENCES) for at in range(len(words))]
    contexts = scorer.contexts(SENTENCES, locations)
    both = numpy.stack([scorer.predict(contexts[:, direction]).numpy() for direction in (0, 1)])
    return unit(both), [SENTENCES[row][at] for row, at in locations]


def cosines(scorer):
    predicted, words = predictions(scorer)
    return predicted @ unit(scorer.vectors.numpy()).T, words


def csls(scorer):
    plain, words = cosines(scorer)
    scores = numpy.empty_like(plain)
    for direction, rows in enumerate(plain):
        for row in range(len(rows)):
            for column in range(len(WORDS)):
                crowding = numpy.mean(sorted(rows[row])[-10:])
                hubness = numpy.mean(sorted(rows[:, column])[-10:])
                scores[direction, row, column] = 2 * rows[row, column] - crowding - hubness
    return scores, words


def whitened(scorer):
    predicted, words = predictions(scorer)
    vectors = scorer.vectors
    whitening = TargetWhitening(10)
    whitening.update(vectors)
    return unit(whitening(torch.from_numpy(predicted)).numpy()) @ unit(
        whitening(vectors).numpy()
    ).T, words


@pytest.mark.parametrize(
    ("correction", "reference"), [("none", cosines), ("csls", csls), ("whitening", whitened)]
)
def test_they_are_those_of_a_brute_force_search(correction, reference, scorer, monkeypatch):
    # Blocks end within sentences, and groups within the text.
    monkeypatch.setattr("allennlp_semfit.analysis.nearest_words._CONTEXTS", 4)
    monkeypatch.setattr("allennlp_semfit.analysis.nearest_words._SENTENCES", 2)
    found = list(find_nearest_words(scorer, SENTENCES, top_k=3, correction=correction))
    assert [[each.word for each in sentence] for sentence in found] == SENTENCES
    scores, words = reference(scorer)
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


def test_more_words_than_there_are(scorer):
    ((only,),) = find_nearest_words(scorer, [["the"]], top_k=100)
    assert sorted(word for word, _ in only.nearest["both"]) == sorted(WORDS)


@pytest.mark.parametrize("correction", ["csls", "whitening"])
def test_a_softmax_predicts_no_vectors(correction, tmp_path):
    archive = load_archive(write_language_model(tmp_path / "model", "words", archive=True))
    scorer = WordScorer(archive.model, archive.dataset_reader, WORDS)
    assert list(find_nearest_words(scorer, SENTENCES))
    with pytest.raises(ConfigurationError, match="is a SoftmaxHead, which predicts no vectors"):
        list(find_nearest_words(scorer, SENTENCES, correction=correction))
