import multiprocessing
import unicodedata

import numpy
import pytest
import torch
from allennlp.data import Token, Vocabulary
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.data.fasttext_indexer import FastTextIndexer
from allennlp_semfit.fasttext.model import FastTextModel
from tests import VECTORS
from tests.language_models import tensors_of

INDEXER = FastTextIndexer(VECTORS)
MODEL = FastTextModel.open(VECTORS)


@given(st.lists(st.lists(st.text(), max_size=5), min_size=1, max_size=4))
def test_a_batch_holds_each_words_vector_and_zeros_where_padded(sentences):
    tensors = tensors_of(INDEXER, sentences)
    length = max(len(words) for words in sentences)
    assert tensors["vectors"].shape == (len(sentences), length, 10)
    assert tensors["vectors"].dtype == torch.float32
    for words, vectors, mask in zip(sentences, tensors["vectors"], tensors["word_mask"]):
        assert mask.tolist() == [True] * len(words) + [False] * (length - len(words))
        assert not vectors[len(words) :].any()
        for word, vector in zip(words, vectors):
            expected = MODEL.get_word_vector(unicodedata.normalize("NFC", word))
            numpy.testing.assert_array_equal(vector.numpy(), expected)


@pytest.mark.parametrize("sentences", [[["the", "boats"], ["river"]], [[], []]])
def test_a_batch_of_a_loaders_worker_is_the_same_in_shared_memory(sentences, monkeypatch):
    expected = tensors_of(INDEXER, sentences)
    assert not expected["vectors"].is_shared()
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    tensors = tensors_of(INDEXER, sentences)
    assert torch.equal(tensors["vectors"], expected["vectors"])
    indexed = [INDEXER.words_to_indices(words) for words in sentences]
    lengths = {"vectors": max(map(len, sentences))}
    batch = INDEXER.as_padded_batch(indexed, lengths)
    assert torch.equal(batch["vectors"][batch["indices"]], expected["vectors"])
    assert batch["vectors"].is_shared()


@pytest.mark.parametrize("word", ["née", "Ọ̀rẹ́", "한국"])
def test_a_decomposed_word_has_the_vector_of_the_composed_one(word, monkeypatch):
    indexer = FastTextIndexer(VECTORS)
    composed, decomposed = (unicodedata.normalize(form, word) for form in ("NFC", "NFD"))
    vectors = indexer.vectors.get_word_vectors([composed, decomposed])
    assert numpy.array_equal(*vectors)
    assert numpy.array_equal(vectors[0], FastTextModel.open(VECTORS).get_word_vector(composed))
    # Unless the vectors were trained on decomposed words.
    monkeypatch.setattr(FastTextModel, "__contains__", lambda self, word: True)
    (vector,) = indexer.vectors.get_word_vectors([decomposed])
    assert numpy.array_equal(vector, FastTextModel.open(VECTORS).get_word_vector(decomposed))
    assert not numpy.array_equal(vector, vectors[0])


def test_padding_may_cut():
    indexed = INDEXER.tokens_to_indices([Token("a"), Token("river")], Vocabulary())
    tensors = INDEXER.as_padded_tensor_dict(indexed, {"vectors": 1, "word_mask": 1})
    assert tensors["vectors"].shape == (1, 10)
    assert tensors["word_mask"].tolist() == [True]


def test_it_counts_nothing():
    counter = {}
    INDEXER.count_vocab_items(Token("river"), counter)
    assert not counter
