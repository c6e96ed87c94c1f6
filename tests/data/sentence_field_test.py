import pickle

import pytest
import torch
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import ELMoTokenCharactersIndexer, SingleIdTokenIndexer
from allennlp.nn.util import get_text_field_mask
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.data.fasttext_indexer import FastTextIndexer, SentenceField
from tests import VECTORS
from tests.batches import with_all_vectors

INDEXERS = {
    "fasttext": FastTextIndexer(VECTORS, token_min_padding_length=2),
    "single_id": SingleIdTokenIndexer(token_min_padding_length=2),
    "elmo": ELMoTokenCharactersIndexer(token_min_padding_length=2),
}
SENTENCES = st.lists(st.lists(st.text(min_size=1), max_size=5), min_size=1, max_size=4)


def text_field(words, indexers):
    return TextField([Token(word) for word in words], indexers)


def tensors_of(fields):
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
    actual = tensors_of(fields)
    expected = tensors_of([text_field(words, indexers) for words in sentences])
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
