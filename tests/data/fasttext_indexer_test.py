import multiprocessing
import pickle
import unicodedata

import numpy
import pytest
import torch
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import ELMoTokenCharactersIndexer, SingleIdTokenIndexer
from allennlp.nn.util import get_text_field_mask
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.data.fasttext_indexer import FastTextIndexer, SentenceField
from allennlp_semfit.fasttext.model import FastTextModel
from tests import VECTORS
from tests.batches import with_all_vectors
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


INDEXERS = {
    "fasttext": FastTextIndexer(VECTORS, token_min_padding_length=2),
    "single_id": SingleIdTokenIndexer(token_min_padding_length=2),
    "elmo": ELMoTokenCharactersIndexer(token_min_padding_length=2),
}
SENTENCES = st.lists(st.lists(st.text(min_size=1), max_size=5), min_size=1, max_size=4)


def text_field(words, indexers):
    return TextField([Token(word) for word in words], indexers)


def batch_of(fields):
    instances = [Instance({"source": field}) for field in fields]
    batch = Batch(instances)
    batch.index_instances(Vocabulary.from_instances(instances))
    return batch.as_tensor_dict()["source"]


def assert_same(actual, expected):
    assert list(actual) == list(expected)
    for name, tensors in expected.items():
        assert list(actual[name]) == list(tensors)
        for key, tensor in tensors.items():
            assert actual[name][key].dtype == tensor.dtype
            assert torch.equal(actual[name][key], tensor)


@given(SENTENCES, st.sets(st.sampled_from(sorted(INDEXERS)), min_size=1))
def test_a_batch_holds_what_that_of_text_fields_does(sentences, names):
    indexers = {name: INDEXERS[name] for name in sorted(names)}
    fields = [SentenceField(words, indexers) for words in sentences]
    actual = batch_of(fields)
    expected = batch_of([text_field(words, indexers) for words in sentences])
    mask = get_text_field_mask(expected)
    assert torch.equal(get_text_field_mask(actual), mask)
    if "fasttext" in names:
        tensors = actual["fasttext"]
        assert len(tensors["vectors"]) <= 1 + len({word for words in sentences for word in words})
        assert torch.equal(tensors["indices"] != 0, mask)
        actual["fasttext"] = with_all_vectors(tensors)
    assert_same(actual, expected)


def test_it_passes_for_a_text_field():
    words = ["The", "boats", "came", "home"]
    field, expected = SentenceField(words, INDEXERS), text_field(words, INDEXERS)
    assert field.tokens == list(field) == expected.tokens
    assert field[1] == expected[1]
    assert len(field) == field.sequence_length() == 4
    assert field.human_readable_repr() == words
    assert str(field) == str(expected)


@pytest.mark.parametrize("indexers", [None, INDEXERS])
def test_a_pickled_copy_is_equal_and_another(indexers):
    field = SentenceField(["a", "b"], indexers)
    copy = pickle.loads(pickle.dumps(field))
    assert copy == field
    assert copy.words is not field.words
    copy.token_indexers = {"fasttext": INDEXERS["fasttext"]}
    assert field._token_indexers == indexers
    if indexers:
        field.index(Vocabulary())
        copy, lengths = pickle.loads(pickle.dumps(field)), field.get_padding_lengths()
        assert_same(*(each.batch_tensors([each.as_tensor(lengths)]) for each in (copy, field)))
