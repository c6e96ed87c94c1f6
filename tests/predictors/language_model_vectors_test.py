from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor

from tests.tolerance import assert_same_but_for_rounding


def test_a_batch_gives_the_same_as_single_sentences(lm_archive):
    predictor = Predictor.from_archive(load_archive(lm_archive))
    sentences = [
        "The heron stood on the bridge .",
        "Snow .",
        "Nobody watered the roses on Thursday .",
    ]
    together = predictor.predict_batch_json([{"sentence": sentence} for sentence in sentences])
    for sentence, output in zip(sentences, together):
        alone = predictor.predict(sentence)
        assert output["tokens"] == alone["tokens"] == sentence.split()
        assert_same_but_for_rounding(output["layers"], alone["layers"])
    assert predictor.predict("  ") == {"tokens": [], "layers": [[], [], []]}
