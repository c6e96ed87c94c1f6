import copy
import json
import shutil

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing import ModelTestCase
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.models import Model
from allennlp.models.archival import load_archive
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit import mimick as module
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.mimick import MimickIndexer, WordVectorsReader
from allennlp_semfit.static_vectors.table import read_table
from tests import TABLE
from tests.language_models import tensors_of
from tests.mimick_archive import CONFIG, write_mimick
from tests.processes import threads_in_a_fork

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


def predict(model, word):
    """Equations of the paper, one character and one direction at a time, in float64."""
    weights = {name: weight.double() for name, weight in model.state_dict().items()}
    (embedding,) = (weights[name] for name in weights if "token_embedder_characters" in name)
    characters = ["<w>", *word, "</w>"]
    indices = [model.vocab.get_token_index(character, "characters") for character in characters]
    states = []
    for suffix, order in (("", indices), ("_reverse", indices[::-1])):
        w_x, w_h, b_x, b_h = (
            weights[f"_seq2vec_encoder._module.{name}_l0{suffix}"]
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        hidden = cell = torch.zeros(w_h.size(1), dtype=torch.float64)
        for index in order:
            gates = w_x @ embedding[index] + b_x + w_h @ hidden + b_h
            i, f, g, o = gates.chunk(4)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
        states.append(hidden)
    w_1, b_1, w_2, b_2 = (
        weights[f"_feedforward._linear_layers.{name}"]
        for name in ("0.weight", "0.bias", "1.weight", "1.bias")
    )
    return w_2 @ torch.tanh(w_1 @ torch.cat(states) + b_1) + b_2


class TestMimick(ModelTestCase):
    def setup_method(self):
        super().setup_method()
        config = {
            **CONFIG,
            "train_data_path": TABLE,
            "validation_data_path": TABLE,
            "data_loader": {"batch_size": 16},
            "trainer": {"num_epochs": 2, "optimizer": "adam"},
        }
        param_file = self.TEST_DIR / "config.json"
        param_file.write_text(json.dumps(config))
        self.set_up_model(param_file, TABLE)
        for parameter in self.model.parameters():
            torch.nn.init.normal_(parameter, std=0.5)

    def test_it_trains_saves_loads_and_predicts_the_same(self):
        self.ensure_model_can_train_save_and_load(self.param_file)

    def test_its_vectors_loss_and_metrics_are_those_of_the_paper(self):
        with torch.no_grad():
            outputs = self.model(**self.dataset.as_tensor_dict())
        expected = torch.stack([predict(self.model, word) for word in WORDS])
        torch.testing.assert_close(outputs["vectors"].double(), expected, rtol=1e-4, atol=1e-6)
        targets = torch.tensor(VECTORS).double()
        loss = (expected - targets).pow(2).sum() / len(WORDS)
        assert outputs["loss"].item() == pytest.approx(loss.item(), rel=1e-5)

        def directions(vectors):
            return vectors / vectors.norm(dim=1, keepdim=True)

        cosine = (directions(expected) * directions(targets)).sum(1).mean()
        baseline = directions(targets).mean(0).norm()
        assert self.model.get_metrics(reset=True) == {
            "cosine": pytest.approx(cosine.item(), abs=1e-5),
            "baseline_cosine": pytest.approx(baseline.item(), rel=1e-5),
        }
        assert self.model.get_metrics()["cosine"] == 0

    def test_vectors_of_another_dimension_are_refused(self):
        batch = self.dataset.as_tensor_dict()
        batch["vector"] = batch["vector"][:, :7]
        with pytest.raises(ConfigurationError, match=r"have dimension 7, .*is 10; set it to 7\."):
            self.model(**batch)


@pytest.mark.parametrize(
    ("section", "key", "message"),
    [
        ("seq2vec_encoder", "input_size", "text_field_embedder's output has dimension 3, .* is 6;"),
        ("feedforward", "input_dim", "encoder's output has dimension 8, .*`input_dim` is 6; set"),
    ],
)
def test_dimensions_must_match(section, key, message):
    config = copy.deepcopy(CONFIG["model"])
    config[section][key] = 6
    with pytest.raises(ConfigurationError, match=message):
        Model.from_params(Params(config), vocab=Vocabulary())


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return str(write_mimick(tmp_path_factory.mktemp("mimick") / "model", archive=True))


@pytest.fixture(scope="module")
def indexer(archive):
    return MimickIndexer(archive, TABLE)


@pytest.fixture(scope="module")
def expected_vector(archive):
    """The table's vector, or the prediction for the word alone in float32."""
    loaded = load_archive(archive)
    table = dict(zip(WORDS, VECTORS))

    def vector(word):
        for spelling in (word, word.lower()):
            if spelling in table:
                return table[spelling]
        instance = loaded.dataset_reader.text_to_instance(word[:100])
        loaded.dataset_reader.apply_token_indexers(instance)
        return loaded.model.forward_on_instance(instance)["vectors"]

    return vector


@given(
    st.lists(
        st.lists(st.one_of(st.sampled_from(WORDS), st.text()), max_size=5), min_size=1, max_size=4
    )
)
def test_a_batch_holds_each_words_vector(indexer, expected_vector, sentences):
    for words, vectors in zip(sentences, tensors_of(indexer, sentences)["vectors"]):
        for word, vector in zip(words, vectors):
            numpy.testing.assert_allclose(
                vector.numpy(), expected_vector(word), rtol=1e-4, atol=1e-5
            )


def test_the_table_comes_first_as_it_is_and_then_in_lower_case(indexer):
    assert {"the", "The"} <= {*WORDS}
    vectors = tensors_of(indexer, [["the", "The", "THE", "RIVER", "</s>", "thee"]])["vectors"][0]
    rows = [WORDS.index(word) for word in ("the", "The", "the", "river", "</s>")]
    assert torch.equal(vectors[:5], torch.tensor(VECTORS[rows]))
    assert not (vectors[5].numpy() == VECTORS).all(axis=1).any()


def test_a_letter_may_be_decomposed(archive):
    vectors = module._MimickVectors(archive, TABLE)
    vectors._rows["café"] = 3
    known, composed, decomposed = vectors.get_word_vectors(["Cafe\u0301", "nö", "no\u0308"])
    numpy.testing.assert_array_equal(known, VECTORS[3])
    numpy.testing.assert_array_equal(composed, decomposed)


def test_of_a_long_word_the_beginning_is_read(indexer):
    numpy.testing.assert_array_equal(
        *indexer.vectors.get_word_vectors([100 * "x", 100 * "x" + "yz"])
    )


def test_a_prediction_does_not_depend_on_the_batch(archive, monkeypatch):
    generator = numpy.random.default_rng(1)
    words = ["".join(map(chr, generator.integers(97, 123, n % 15 + 1))) for n in range(60)]
    vectors = {}
    for size in (1, 7, 60):
        monkeypatch.setattr(module, "_MAX_WORDS_PER_BATCH", size)
        fresh = module._MimickVectors(archive, TABLE)
        vectors[size] = numpy.stack(fresh.get_word_vectors(words))
    numpy.testing.assert_array_equal(vectors[1], vectors[7])
    numpy.testing.assert_array_equal(vectors[1], vectors[60])


def test_predictions_are_made_once_for_a_batch_and_cached(archive, monkeypatch):
    monkeypatch.setattr(module, "_CACHE_SIZE", 4)
    vectors = module._MimickVectors(archive, TABLE)
    predicted = []
    forward = vectors._model.forward_on_instances

    def spy(instances):
        predicted.append(
            {"".join(token.text for token in i["word"].tokens[1:-1]) for i in instances}
        )
        return forward(instances)

    monkeypatch.setattr(vectors._model, "forward_on_instances", spy)
    first = vectors.get_word_vectors(["xa", "the", "xb", "xa"])
    assert first[0] is first[3]
    assert vectors.get_word_vectors(["xb", "xa", "the"])[0] is first[2]
    vectors.get_word_vectors(["xc", "xa", "xd"])
    # The cache is full.
    again = vectors.get_word_vectors(["xe", "xa"])
    assert predicted == [{"xa", "xb"}, {"xc", "xd"}, {"xe", "xa"}]
    numpy.testing.assert_array_equal(again[1], first[0])
    for of_table_or_model in (again[1], first[1]):
        with pytest.raises(ValueError, match="read-only"):
            of_table_or_model[0] = 1


def test_a_loaders_worker_has_no_threads_to_wait_for(archive):
    assert threads_in_a_fork(MimickIndexer, archive, TABLE) == 1


def test_files_that_change_are_read_again(archive, tmp_path):
    path = tmp_path / "table.txt"
    shutil.copy(TABLE, path)
    before = MimickIndexer(archive, str(path))
    path.write_text("zebra" + 10 * " 1.0")
    after = MimickIndexer(archive, str(path))
    assert torch.equal(tensors_of(after, [["zebra"]])["vectors"], torch.ones(1, 1, 10))
    assert not torch.equal(tensors_of(before, [["zebra"]])["vectors"], torch.ones(1, 1, 10))


def from_params(archive_file, table_path):
    indexer = {"type": "mimick", "archive_file": str(archive_file), "table_path": str(table_path)}
    config = {"type": "language_modeling", "token_indexers": {"mimick": indexer}}
    return DatasetReader.from_params(Params({"dataset_reader": config})["dataset_reader"])


def test_a_missing_or_wrong_file_is_an_error_with_its_key(archive, tmp_path, lm_archive):
    table = tmp_path / "table.txt"
    table.write_text("word 1 2 3\n")
    for files, key, message in (
        (("no/such", TABLE), "archive_file", "MIMICK model no/such does not exist"),
        ((lm_archive, TABLE), "archive_file", "type 'bidirectional_lm'. It must be a `mimick`"),
        ((archive, "no/such.txt"), "table_path", "Table .* no/such.txt does not exist"),
        ((archive, table), "table_path", "has vectors of dimension 3, but the MIMICK .* 10"),
    ):
        full_key = rf"key of this file is `dataset_reader\.token_indexers\.mimick\.{key}`"
        with pytest.raises(InvalidFileError, match=rf"{message}(?s:.)*{full_key}"):
            from_params(*files)
