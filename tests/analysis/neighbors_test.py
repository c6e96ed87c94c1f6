import unicodedata

import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.analysis import neighbors
from allennlp_semfit.analysis.neighbors import (
    Occurrence,
    distinct_sentences,
    find_neighbors,
    find_occurrences,
)
from allennlp_semfit.pretrained.pooling import pool_layers
from tests import TRAIN

LINES = (TRAIN / "shard-00.txt").read_text("utf-8").splitlines()
# Three occurrences of "river", one of "zxqv".
LINES += ["", LINES[0], "RIVER жук 漢字 River zxqv river", "snow"]


@pytest.fixture(scope="module")
def sentences():
    return distinct_sentences(LINES, 100)


def expected_vectors(embedder, sentences, layers):
    """The centered vectors of length 1 by occurrence, in float64."""
    vectors = {}
    for line, words in sentences.items():
        one = pool_layers(embedder.embed_sentence(words), layers)
        for position, vector in enumerate(one):
            vectors[Occurrence(line, position)] = vector.astype("float64")
    mean = numpy.mean(list(vectors.values()), axis=0)
    centered = {occurrence: vector - mean for occurrence, vector in vectors.items()}
    return {occurrence: v / numpy.linalg.norm(v) for occurrence, v in centered.items()}


@pytest.mark.parametrize("layers", ["all", "top", "average", "normalized"])
def test_neighbors_are_those_of_brute_force(embedder, sentences, layers, monkeypatch):
    monkeypatch.setattr(neighbors, "_QUERIES", 2)
    vectors = expected_vectors(embedder, sentences, layers)
    words = {place: sentences[place.line][place.position].casefold() for place in vectors}
    occurrences = [
        place
        for chosen in find_occurrences(sentences, ["river", "the"], 9).values()
        for place in chosen
    ]
    found = find_neighbors(embedder, sentences, occurrences, layers, 4, 3)
    assert [each.occurrence for each in found] == occurrences
    for occurrence, same_word, other_words in found:
        cosines = {
            place: vector @ vectors[occurrence]
            for place, vector in vectors.items()
            if place != occurrence
        }
        for given_ones, is_same in ((same_word, True), (other_words, False)):
            candidates = [
                cosine
                for place, cosine in cosines.items()
                if (words[place] == words[occurrence]) == is_same
            ]
            nearest = sorted(candidates, reverse=True)[:4]
            # Equal vectors may come in any order.
            tolerance = 1e-5
            assert [n.cosine for n in given_ones] == pytest.approx(nearest, abs=tolerance)
            for near, cosine in given_ones:
                assert cosine == pytest.approx(cosines[near], abs=tolerance)
                assert (words[near] == words[occurrence]) == is_same
            assert len({near for near, _ in given_ones}) == len(given_ones)


def test_there_can_be_fewer_neighbors_than_wanted(embedder, sentences):
    (zxqv,) = find_occurrences(sentences, ["ZXQV"], 5)["ZXQV"]
    num_words = sum(map(len, sentences.values()))
    (found,) = find_neighbors(embedder, sentences, [zxqv], "top", 2 * num_words)
    assert found.same_word == []
    assert len({near for near, _ in found.other_words}) == num_words - 1
    cosines = [cosine for _, cosine in found.other_words]
    assert cosines == sorted(cosines, reverse=True)


@given(st.lists(st.text("ab \t", max_size=4), max_size=30), st.integers(1, 9))
def test_sentences_are_distinct(lines, max_sentences):
    found = distinct_sentences(iter(lines), max_sentences)
    expected = {}
    for index, line in enumerate(lines):
        if line.split() and line.split() not in expected.values():
            expected[index] = line.split()
    assert list(found.items()) == list(expected.items())[:max_sentences]


@given(st.lists(st.sampled_from(["a", "A", "b"]), min_size=1, max_size=60), st.integers(1, 9))
def test_occurrences_are_spread_over_the_text(words, max_occurrences):
    sentences = {3 * index: ["x", word] for index, word in enumerate(words)}
    all_places = [3 * index for index, word in enumerate(words) if word != "b"]
    if not all_places:
        with pytest.raises(ConfigurationError, match="'A' does not occur"):
            find_occurrences(sentences, ["A"], max_occurrences)
        return
    found = find_occurrences(sentences, ["A"], max_occurrences)["A"]
    assert {occurrence.position for occurrence in found} == {1}
    places = [occurrence.line for occurrence in found]
    assert len(places) == min(len(all_places), max_occurrences)
    indices = [all_places.index(place) for place in places]
    assert indices[0] == 0
    if len(indices) > 1:
        assert indices[-1] == len(all_places) - 1
        steps = numpy.diff(indices)
        assert steps.min() >= 1
        assert steps.max() - steps.min() <= 1


def test_the_unicode_form_of_a_word_does_not_matter(embedder):
    sentences = {0: ["Ẹ̀", "e"], 1: [unicodedata.normalize("NFD", "ẹ̀"), "e"]}
    places = find_occurrences(sentences, ["ẹ̀"], 2)["ẹ̀"]
    assert places == [Occurrence(0, 0), Occurrence(1, 0)]
    (found,) = find_neighbors(embedder, sentences, places[:1], "top", 9)
    assert [near.occurrence for near in found.same_word] == places[1:]


def test_a_missing_word_without_similar_ones(sentences):
    with pytest.raises(ConfigurationError) as error:
        find_occurrences(sentences, ["river", "qqqqqqqq"], 5)
    message = str(error.value)
    assert message.startswith(f"'qqqqqqqq' does not occur in the {len(sentences)} sentences")
    assert "similar" not in message


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_case_of_the_turkish_dotted_i_is_ignored(form):
    sentences = distinct_sentences([unicodedata.normalize(form, "İzmir izmir İZMİR ızgara")])
    assert len(find_occurrences(sentences, ["izmir"])["izmir"]) == 3
