import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader

from allennlp_semfit.mimick import WordVectorsReader
from allennlp_semfit.static_vectors.table import read_table
from tests import TABLE

WORDS, VECTORS = read_table(TABLE)


def spelling(instance):
    characters = [token.text for token in instance["word"].tokens]
    assert (characters[0], characters[-1]) == ("<w>", "</w>")
    return "".join(characters[1:-1])


def test_it_reads_each_word_and_its_vector():
    instances = list(WordVectorsReader().read(TABLE))
    assert [spelling(instance) for instance in instances] == WORDS
    found = numpy.stack([instance["vector"].tensor.numpy() for instance in instances])
    numpy.testing.assert_array_equal(found, VECTORS)
    assert [*map(spelling, WordVectorsReader(max_words=3).read(TABLE))] == WORDS[:3]


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_the_validation_words_are_drawn_at_random(fraction):
    def read(subset):
        reader = WordVectorsReader(subset=subset, validation_fraction=fraction)
        return [spelling(instance) for instance in reader.read(TABLE)]

    found = read("validation")
    assert len(found) == fraction * len(WORDS)
    assert sorted(found + read("train")) == sorted(WORDS)
    assert found == read("validation")
    # Not the first words, nor the last.
    assert found not in (WORDS[: len(found)], WORDS[-len(found) :])


@pytest.mark.parametrize(("fraction", "number"), [(0.1, 0), (0, 0), (1.0, 3), (-0.5, -2)])
def test_a_table_must_have_words_to_hold_out(tmp_path, fraction, number):
    table = tmp_path / "small.txt"
    table.write_text("a 1 2\nb 3 4\nc 5 6\n")
    message = f"small.txt: {number} of 3 words would be used for validation; give"
    with pytest.raises(ConfigurationError, match=message):
        list(WordVectorsReader(subset="train", validation_fraction=fraction).read(table))


def test_workers_share_the_words():
    reader = WordVectorsReader()
    loader = MultiProcessDataLoader(reader, TABLE, batch_size=7, num_workers=2)
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
    vectors = numpy.concatenate([batch["vector"].numpy() for batch in loader])
    assert vectors.shape == VECTORS.shape
    assert sorted(map(tuple, vectors.tolist())) == sorted(map(tuple, VECTORS.tolist()))


def test_a_wrong_subset_is_an_error():
    message = "^word_vectors: `subset` must be one of all, train, validation"
    with pytest.raises(ConfigurationError, match=message):
        WordVectorsReader(subset="test")
