import json
import sys
from functools import partial

import fasttext
import numpy
import pytest

from experiments.senteval.__main__ import evaluate, features_of, main, open_model
from experiments.senteval.tasks import TASKS, read_task
from tests import VECTORS
from tests.experiments.senteval.data import BAD, GOOD, REST, write_data
from tests.tolerance import assert_same_but_for_rounding


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("downstream"))


def count_words(sentences):
    """How many words of each kind a sentence has."""
    kinds = (GOOD, BAD, REST)
    return numpy.array([[sum(map(kind.count, words)) for kind in kinds] for words in sentences])


def test_a_language_model_on_all_tasks(lm_archive, embedder, data_dir, tmp_path, monkeypatch):
    out = tmp_path / "out.json"
    arguments = [lm_archive, data_dir, out, "--folds", 2, "--layers", "all"]
    monkeypatch.setattr(sys, "argv", ["senteval", *map(str, arguments)])
    main()
    scores = json.loads(out.read_text())["scores"]
    assert list(scores) == list(TASKS)
    assert scores == evaluate(partial(embedder.sentence_vectors, layers="all"), data_dir, 2)


def test_features_of_pairs(data_dir):
    splits = read_task("SICK-E", data_dir)
    seen = []
    found = features_of(lambda sentences: seen.extend(sentences) or count_words(sentences), splits)
    assert len(seen) == len(set(seen))
    for split, examples in splits.items():
        for features, label, example in zip(*found[split], examples):
            first, second = count_words(example.sentences)
            assert list(features) == [*abs(first - second), *(first * second)]
            assert label == example.label


def test_the_mean_of_fasttext_vectors():
    reference = fasttext.load_model(VECTORS)
    sentences = [["The", "heron", "stood", "."], [], ["zxqv"] * 70]
    for row, words in zip(open_model(VECTORS)(sentences), sentences):
        expected = numpy.zeros(reference.get_dimension())
        for word in words:
            expected += reference.get_word_vector(word) / len(words)
        assert_same_but_for_rounding(row, expected)
