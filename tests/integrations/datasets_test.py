"""Hugging Face's `datasets`, which needs no code here: see `docs/howto/integrations.md`."""

import numpy
import pytest

from allennlp_semfit import SentenceEmbedder
from tests import FIXTURES, VECTORS

TEXTS = ["The heron stood on the bridge .", "Snow .", "", "zxqv жук .", "Nobody watered it ."]


def test_a_column_of_vectors(lm_archive):
    datasets = pytest.importorskip("datasets")
    embedder = SentenceEmbedder(lm_archive, fasttext_model_path=VECTORS)

    def add_vectors(batch):
        return {"vector": embedder.sentence_vectors([text.split() for text in batch["text"]])}

    dataset = datasets.Dataset.from_dict({"text": TEXTS}).with_format("numpy")
    mapped = dataset.map(add_vectors, batched=True)
    assert mapped.features["vector"].feature.dtype == "float32"
    expected = embedder.sentence_vectors([text.split() for text in TEXTS])
    numpy.testing.assert_array_equal(mapped["vector"][:], expected)


def test_the_fingerprint_of_a_map_is_that_of_the_arguments(lm_archive):
    fingerprint = pytest.importorskip("datasets.fingerprint")

    def digest(**options):
        embedder = SentenceEmbedder(lm_archive, **options)
        before = fingerprint.Hasher.hash(embedder.sentence_vectors)
        embedder.sentence_vectors([["Snow", "."]])
        assert fingerprint.Hasher.hash(embedder.sentence_vectors) == before
        return before

    assert digest() == digest()
    assert digest(fasttext_model_path=str(FIXTURES / "words_only.bin")) != digest()
