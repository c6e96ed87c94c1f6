import itertools
import shutil

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch
from allennlp.models import load_archive
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.predictors import Predictor
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.fasttext.train import train_fasttext
from allennlp_semfit.pretrained.elmo_semfit import ElmoSemfitIndexer
from allennlp_semfit.pretrained.layers import LanguageModelLayers, add_boundary_tokens
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from tests import TRAIN, VECTORS
from tests.language_models import KINDS, rewritten, with_vectors, write_language_model
from tests.language_models import tensors_of as indexed_by
from tests.pretrained.texts import SENTENCES
from tests.tolerance import assert_same_but_for_rounding


def open_layers(archive_file):
    archive = LanguageModelArchive.open(archive_file)
    return LanguageModelLayers(archive, archive.build_model())


def tensors_of(archive_file):
    return indexed_by(ElmoSemfitIndexer(archive_file), SENTENCES)


def places_of(sentence, kind, num_start):
    """Where the words are, or the first of their chunks of three characters."""
    lengths = [-(-len(word) // 3) if kind == "subwords" else 1 for word in sentence]
    return list(itertools.accumulate(lengths[:-1], initial=num_start))


@pytest.mark.parametrize("kind", ["trained", *KINDS])
def test_the_layers_are_those_that_the_language_model_gives_sentences_of_its_reader(
    kind, language_models
):
    layers = open_layers(language_models[kind]).eval()
    archive = load_archive(language_models[kind])
    archive.model.eval()
    instances = [archive.dataset_reader.text_to_instance(" ".join(words)) for words in SENTENCES]
    for instance in instances:
        archive.dataset_reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(archive.model.vocab)
    archive.model._contextualizer.return_all_layers = True
    tensors = tensors_of(language_models[kind])
    with torch.no_grad():
        expected = archive.model(**batch.as_tensor_dict())
        given_layers = layers(tensors)
    assert len(given_layers) == layers.num_layers == 3
    for layer, expected_layer in zip(given_layers, expected["lm_embeddings"]):
        assert_same_but_for_rounding(layer, expected_layer)
        words = layers.select_words(layer, tensors)
        assert words.shape == (3, 8, 12)
        for index, sentence in enumerate(SENTENCES):
            places = places_of(sentence, kind, num_start=1)
            assert_same_but_for_rounding(words[index, : len(places)], expected_layer[index, places])
            assert not words[index, len(places) :].any()
    assert layers.get_output_dim() == 12
    assert layers.get_input_dim() == (10 if kind in ("trained", "fasttext", "mimick") else 5)


class TestFrozenCharacters:
    @pytest.fixture(params=["characters", "frozen_characters"])
    def archive_file(self, request, language_models):
        return language_models[request.param]

    @pytest.fixture
    def tensors(self, archive_file):
        return tensors_of(archive_file)

    def frozen(self, archive_file):
        layers = open_layers(archive_file)
        layers.freeze()
        num_words = []
        characters = layers._text_field_embedder.token_embedder_characters
        characters.register_forward_hook(
            lambda _, inputs, output: num_words.append(output.shape[:2].numel())
        )
        return layers, num_words

    def test_each_word_is_computed_once_and_is_what_it_was(self, archive_file, tensors):
        expected = open_layers(archive_file).eval()(tensors)
        layers, num_words = self.frozen(archive_file)
        for _ in range(2):
            for layer, of_expected in zip(layers.train()(tensors), expected):
                assert_same_but_for_rounding(layer, of_expected)
        different = {word for words in SENTENCES for word in words}
        # And `</s>`, which stands on both sides, and the padding.
        assert sum(num_words) == len(different) + 2
        assert not layers.training
        assert not any(p.requires_grad for p in layers.parameters())
        assert layers.state_dict().keys() == open_layers(archive_file).state_dict().keys()

    def test_what_changes_the_vectors_on_their_way_is_not_passed_over(self, archive_file, tensors):
        class Doubling(BasicTextFieldEmbedder):
            def forward(self, *args, **kwargs):
                return 2 * super().forward(*args, **kwargs)

        layers = open_layers(archive_file).eval()
        layers._text_field_embedder.__class__ = Doubling
        expected = layers(tensors)
        layers.freeze()
        assert torch.equal(layers(tensors)[0], expected[0])


@pytest.mark.parametrize("kind", ["fasttext", "characters", "subwords"])
@pytest.mark.parametrize(("start", "end"), [([], []), (["<S>", "The"], ["</s>"])])
def test_other_boundary_tokens(kind, start, end, tmp_path):
    directory = write_language_model(tmp_path / "lm", kind, start_tokens=start, end_tokens=end)
    layers = open_layers(directory).eval()
    tensors = tensors_of(directory)
    with torch.no_grad():
        given = torch.stack(layers(tensors))
    words = layers.select_words(given[-1], tensors)
    assert words.shape == (3, 8, 12)
    predictor = Predictor.from_path(str(directory), "language_model_vectors")
    lengths = []
    for index, sentence in enumerate(SENTENCES):
        expected = torch.tensor(predictor.predict(" ".join(sentence))["layers"])
        lengths.append(expected.size(1))
        assert_same_but_for_rounding(given[:, index, len(start) :][:, : lengths[-1]], expected)
        places = places_of(sentence, kind, num_start=0)
        assert_same_but_for_rounding(words[index, : len(places)], expected[-1, places])
    assert given.size(2) == len(start) + max(lengths) + len(end)


@pytest.mark.parametrize("kind", ["frozen_characters", "subwords"])
def test_files_that_it_does_not_need_are_not_looked_for(kind, language_models, tmp_path):
    def change(config):
        if kind == "subwords":
            config["dataset_reader"]["tokenizer"]["model_path"] = "gone"
        else:
            embedders = config["model"]["text_field_embedder"]["token_embedders"]
            embedders["characters"]["pretrained_file"] = "gone.hdf5"

    directory = rewritten(language_models[kind], tmp_path / "lm", change)
    layers = open_layers(directory).eval()
    tensors = tensors_of(language_models[kind])
    expected = open_layers(language_models[kind]).eval()
    assert torch.equal(layers(tensors)[-1], expected(tensors)[-1])


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    padding=st.integers(0, 2),
    num_start=st.integers(0, 2),
    num_end=st.integers(0, 3),
    dims=st.sampled_from([(), (3,), (2, 3)]),
)
def test_boundaries_stand_right_round_the_words(lengths, padding, num_start, num_end, dims):
    length = max(lengths) + padding
    start = torch.randn(num_start, *dims)
    end = torch.randn(num_end, *dims)
    tensor = torch.randn(len(lengths), length, *dims)
    bounded = add_boundary_tokens(tensor, start, end, torch.tensor(lengths).unsqueeze(1))
    assert bounded.shape == (len(lengths), num_start + length + num_end, *dims)
    for sentence, words, count in zip(bounded, tensor, lengths):
        expected = torch.cat([start, words[:count], end])
        assert torch.equal(sentence[: len(expected)], expected)


def test_vectors_that_have_been_replaced_are_told_by_those_of_the_boundaries(lm_archive, tmp_path):
    layers = open_layers(lm_archive)
    state = layers.state_dict()
    layers.load_state_dict(state)
    export_model(lm_archive, tmp_path / "compact", compact=True)
    open_layers(tmp_path / "compact").load_state_dict(state)
    vectors = tmp_path / "vectors.bin"
    train_fasttext([TRAIN], vectors, dim=10, bucket=100)
    other = with_vectors(vectors, lm_archive, tmp_path / "other")
    with pytest.raises(InvalidFileError, match=f"{other} was trained on other .*{vectors}.* Res"):
        open_layers(other)
    export_model(lm_archive, tmp_path / "folder")
    shutil.copyfile(vectors, tmp_path / "folder" / "vectors.bin")
    with pytest.raises(InvalidFileError, match="vectors.bin does not have the vectors that"):
        SentenceEmbedder(tmp_path / "folder")
    # Without a training, it has no vectors to be compared with.
    untrained = with_vectors(
        vectors, write_language_model(tmp_path / "lm", "fasttext"), tmp_path / "untrained"
    )
    with pytest.raises(ConfigurationError, match=f"{untrained} has other word vectors than when"):
        open_layers(untrained).load_state_dict(state)


def test_a_fasttext_file_of_another_dimension_is_refused_with_both(lm_archive, tmp_path):
    vectors = tmp_path / "vectors.bin"
    train_fasttext([TRAIN], vectors, dim=11, bucket=100)
    with pytest.raises(ConfigurationError, match=r"dimension 10, but .*vectors.bin .*dimension 11"):
        open_layers(with_vectors(vectors, lm_archive, tmp_path / "other"))


@pytest.mark.parametrize(
    ("missing", "found"),
    [
        ("vocabulary", "has no vocabulary"),
        ("non_padded_namespaces.txt", "has a vocabulary .*No such file.*non_padded_namespaces.txt"),
    ],
)
def test_what_an_archive_lacks_is_named_with_it(lm_archive, tmp_path, missing, found):
    directory = rewritten(lm_archive, tmp_path, lambda params: None)
    (path,) = directory.rglob(missing)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InvalidFileError, match=f"{tmp_path} {found}"):
        open_layers(directory)


def test_another_file_that_an_archive_needs_is_named_with_it(lm_archive, tmp_path):
    def change(params):
        (indexer,) = params["dataset_reader"]["token_indexers"].values()
        indexer.clear()
        indexer.update(type="mimick", archive_file="gone.tar.gz", table_path="table.txt")

    directory = rewritten(lm_archive, tmp_path, change)
    with pytest.raises(
        InvalidFileError, match=f"{tmp_path} needs another file.*gone.tar.gz"
    ) as raised:
        open_layers(directory)
    # A key of the archive's configuration, which would be taken for one of the user's own.
    assert raised.value.key is None


@given(widths=st.tuples(*[st.integers(1, 4)] * 3), length=st.integers(0, 2))
def test_characters_are_padded_to_the_longest_word(widths, length):
    tensor, start, end = (torch.ones(2, width) for width in widths)
    # AllenNLP's indexer of ELMo's characters gives no words as shape `(0,)`.
    words = tensor[:length].expand(3, -1, -1) if length else torch.empty(3, 0)
    bounded = add_boundary_tokens(words, start, end, torch.full((3, 1), length))
    counts = [start.size(1)] * 2 + [tensor.size(1)] * length + [end.size(1)] * 2
    assert bounded.sum(2).tolist() == 3 * [counts]


PADDED = {
    "characters": (
        {"characters": {"type": "characters", "min_padding_length": 3}, "tokens": "single_id"},
        {
            "characters": {
                "type": "character_encoding",
                "embedding": {"embedding_dim": 3, "vocab_namespace": "token_characters"},
                "encoder": {"type": "boe", "embedding_dim": 3},
            },
            "tokens": "empty",
        },
        3,
        {"type": "softmax"},
    ),
    "words": (
        {"fasttext": {"type": "fasttext", "model_path": VECTORS, "token_min_padding_length": 6}},
        {"fasttext": {"type": "fasttext", "embedding_dim": 10}},
        10,
        {"type": "semfit", "embedding_dim": 10},
    ),
}


@pytest.mark.parametrize("kind", PADDED)
def test_padded_indexers_give_what_the_language_model_predicts(kind, tmp_path):
    archive = write_language_model(tmp_path / "lm", PADDED[kind], archive=True)
    predictor = Predictor.from_path(str(archive), "language_model_vectors")
    embedder = SentenceEmbedder(archive)
    for sentence in ("a", "unbelievably long words"):
        expected = torch.tensor(predictor.predict(sentence)["layers"])
        found = embedder.embed_sentence(sentence.split())
        assert_same_but_for_rounding(found, expected)


def test_boundaries_go_where_the_sentences_are():
    # A state dict from the CPU may have brought them to a model on another device.
    boundary = torch.randn(1, 10)
    sentences = torch.empty(2, 3, 10, dtype=torch.float16, device="meta")
    lengths = torch.empty(2, 1, dtype=torch.long, device="meta")
    bounded = add_boundary_tokens(sentences, boundary, boundary, lengths)
    assert bounded.device.type == "meta"
    assert bounded.dtype == torch.float16
    assert bounded.shape == (2, 5, 10)


def test_the_mask_of_a_boundary_is_on_the_device_of_its_vectors(lm_archive):
    layers = open_layers(lm_archive).to("meta")
    assert layers._start["word_mask"].device.type == "meta"
