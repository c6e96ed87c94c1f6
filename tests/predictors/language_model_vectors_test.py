import numpy
import pytest
import torch
from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor

from tests.tolerance import assert_same_but_for_rounding

SENTENCE = "The heron stood on the bridge ."


@pytest.fixture(scope="module")
def archive(lm_archive):
    return load_archive(lm_archive)


def test_all_layers_of_each_word(archive):
    predictor = Predictor.from_archive(archive)
    output = predictor.predict_json({"sentence": SENTENCE})
    assert output == predictor.predict(SENTENCE)
    assert output["tokens"] == SENTENCE.split()
    layers = numpy.array(output["layers"])
    assert layers.shape == (3, 7, 12)

    vectors = archive.dataset_reader._token_indexers["fasttext"].vectors.get_word_vectors(
        archive.dataset_reader.text_to_instance(SENTENCE)["source"].words
    )
    mask = torch.ones(1, 9, dtype=torch.bool)
    expected = archive.model._contextualizer(torch.tensor(numpy.stack(vectors)).unsqueeze(0), mask)
    for layer, reference in zip(layers, expected):
        assert_same_but_for_rounding(layer, reference[0, 1:-1].detach())


def test_a_batch_gives_the_same_as_single_sentences(archive):
    predictor = Predictor.from_archive(archive)
    sentences = [SENTENCE, "Snow .", "Nobody watered the roses on Thursday ."]
    together = predictor.predict_batch_json([{"sentence": sentence} for sentence in sentences])
    for sentence, output in zip(sentences, together):
        alone = predictor.predict(sentence)
        assert output["tokens"] == alone["tokens"]
        assert_same_but_for_rounding(output["layers"], alone["layers"])
    assert predictor.predict("  ") == {"tokens": [], "layers": [[], [], []]}
