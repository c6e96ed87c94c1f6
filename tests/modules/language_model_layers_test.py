import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Token
from allennlp.models import load_archive
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common.fasttext_training import train_fasttext
from allennlp_semfit.common.invalid_file import InvalidFileError
from allennlp_semfit.modules.language_model_layers import LanguageModelLayers, _put_round
from tests import FIXTURES, VECTORS

SENTENCES = ["The captain closed the gate .", "Snow .", "Nobody had seen so much of it before"]


def tensors_of(layers, sentences):
    indexed = [layers.indexer.tokens_to_indices(_tokens(s), layers.vocab) for s in sentences]
    length = {"vectors": max(len(i["vectors"]) for i in indexed)}
    padded = [layers.indexer.as_padded_tensor_dict(i, length) for i in indexed]
    return {name: torch.stack([p[name] for p in padded]) for name in padded[0]}


def _tokens(sentence):
    return [Token(word) for word in sentence.split()]


def rewritten(archive_file, directory, change):
    """A copy of the archive whose configuration went through `change`."""
    with tarfile.open(archive_file) as archive:
        archive.extractall(directory)
    config = directory / "config.json"
    params = json.loads(config.read_text())
    change(params)
    config.write_text(json.dumps(params))
    return directory


def test_the_layers_are_those_that_the_language_model_gives_sentences_of_its_reader(lm_archive):
    layers = LanguageModelLayers.from_archive(lm_archive).eval()
    archive = load_archive(lm_archive)
    archive.model.eval()
    instances = [archive.dataset_reader.text_to_instance(sentence) for sentence in SENTENCES]
    for instance in instances:
        archive.dataset_reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(archive.model.vocab)
    archive.model.return_all_layers = True
    with torch.no_grad():
        expected = archive.model(**batch.as_tensor_dict())
        given_layers, mask = layers(tensors_of(layers, SENTENCES))
    assert torch.equal(mask, expected["mask"])
    assert len(given_layers) == layers.num_layers == 3
    for layer, expected_layer in zip(given_layers, expected["lm_embeddings"]):
        torch.testing.assert_close(layer, expected_layer)
        words = layers.without_boundaries(layer)
        torch.testing.assert_close(words[0, :6], expected_layer[0, 1:7])
        torch.testing.assert_close(words[1, :2], expected_layer[1, 1:3])
    assert layers.get_output_dim() == 12
    assert layers.get_input_dim() == 10


def test_other_boundaries_than_one_token_on_each_side(lm_archive, tmp_path):
    def change(params):
        params["dataset_reader"]["start_tokens"] = ["<s>", "<s>", "go"]
        params["dataset_reader"]["end_tokens"] = []

    changed = rewritten(lm_archive, tmp_path, change)
    layers = LanguageModelLayers.from_archive(changed).eval()
    plain = LanguageModelLayers.from_archive(
        rewritten(
            lm_archive,
            tmp_path,
            lambda params: params["dataset_reader"].update(start_tokens=[], end_tokens=[]),
        )
    ).eval()
    with torch.no_grad():
        ours, mask = layers(tensors_of(layers, SENTENCES))
        theirs, their_mask = plain(tensors_of(layers, ["<s> <s> go " + s for s in SENTENCES]))
    assert torch.equal(mask, their_mask)
    for layer, their_layer in zip(ours, theirs):
        torch.testing.assert_close(layer, their_layer)
        assert torch.equal(layers.without_boundaries(layer), layer[:, 3:])


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
    bounded = _put_round(tensor, start, end, torch.tensor(lengths).unsqueeze(1))
    assert bounded.shape == (len(lengths), num_start + length + num_end, *dims)
    for sentence, words, count in zip(bounded, tensor, lengths):
        expected = torch.cat([start, words[:count], end])
        assert torch.equal(sentence[: len(expected)], expected)


def test_the_boundaries_can_come_with_a_state_dict_instead_of_the_fasttext_file(
    lm_archive, tmp_path
):
    layers = LanguageModelLayers.from_archive(lm_archive).eval()
    missing = str(tmp_path / "gone.bin")
    travelled = LanguageModelLayers.from_archive(lm_archive, fasttext_model_path=missing).eval()
    tensors = tensors_of(layers, SENTENCES)
    with pytest.raises(ConfigurationError, match="gone.bin does not exist.*`fasttext_model_path`"):
        travelled(tensors)
    travelled.load_state_dict(layers.state_dict())
    with torch.no_grad():
        for ours, theirs in zip(travelled(tensors)[0], layers(tensors)[0]):
            assert torch.equal(ours, theirs)


def test_the_fasttext_file_can_be_elsewhere(lm_archive, tmp_path):
    moved = shutil.copy(VECTORS, tmp_path / "moved.bin")
    change = {"token_indexers": {"fasttext": {"type": "fasttext", "model_path": "gone.bin"}}}
    archive = rewritten(lm_archive, tmp_path, lambda p: p["dataset_reader"].update(change))
    layers = LanguageModelLayers.from_archive(archive, fasttext_model_path=moved)
    assert layers.indexer is not None
    state, expected = layers.state_dict(), LanguageModelLayers.from_archive(lm_archive).state_dict()
    assert list(state) == list(expected)
    assert all(torch.equal(state[name], expected[name]) for name in expected)


def test_a_fasttext_file_of_another_dimension_is_refused_with_both(lm_archive, tmp_path):
    vectors = tmp_path / "vectors.bin"
    train_fasttext([FIXTURES / "corpus" / "train"], vectors, dim=11, bucket=100)
    with pytest.raises(ConfigurationError, match=r"dimension 10, but .*vectors.bin .*dimension 11"):
        LanguageModelLayers.from_archive(lm_archive, fasttext_model_path=str(vectors))


def test_no_archive_is_refused_with_its_name(tmp_path):
    with pytest.raises(
        InvalidFileError, match="no/model.tar.gz does not exist .*working directory"
    ):
        LanguageModelLayers.from_archive("no/model.tar.gz")


@pytest.mark.parametrize("content", [b"", b"no archive\n", None])
def test_what_is_no_archive_is_refused(content, lm_archive, tmp_path):
    path = tmp_path / "model.tar.gz"
    if content is None:
        with open(lm_archive, "rb") as file:
            content = file.read()[:3000]
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match="model.tar.gz is no archive, or is cut short"):
        LanguageModelLayers.from_archive(path)


def test_weights_that_were_cut_short_are_refused(lm_archive, tmp_path):
    directory = rewritten(lm_archive, tmp_path, lambda params: None)
    weights = directory / "weights.th"
    weights.write_bytes(weights.read_bytes()[:500])
    with pytest.raises(InvalidFileError, match="cannot be read"):
        LanguageModelLayers.from_archive(directory)


@pytest.mark.parametrize("config", ["no jsonnet", "{}"])
def test_a_config_that_is_none_is_refused(lm_archive, tmp_path, config):
    directory = rewritten(lm_archive, tmp_path, lambda params: None)
    (directory / "config.json").write_text(config)
    with pytest.raises(InvalidFileError, match="cannot be read|a model of type None"):
        LanguageModelLayers.from_archive(directory)


def test_boundaries_go_where_the_sentences_are():
    # A state dict from the CPU may have brought them to a model on another device.
    boundary = torch.randn(1, 10)
    sentences = torch.empty(2, 3, 10, dtype=torch.float16, device="meta")
    lengths = torch.empty(2, 1, dtype=torch.long, device="meta")
    bounded = _put_round(sentences, boundary, boundary, lengths)
    assert bounded.device.type == "meta"
    assert bounded.dtype == torch.float16
    assert bounded.shape == (2, 5, 10)


def test_an_archive_of_something_else_is_refused(tmp_path):
    path = tmp_path / "vectors.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("notes.txt"), io.BytesIO())
    with pytest.raises(InvalidFileError, match="vectors.tar.gz holds no config.json"):
        LanguageModelLayers.from_archive(path)


def test_another_model_is_refused_with_its_type(lm_archive, tmp_path):
    archive = rewritten(lm_archive, tmp_path, lambda p: p.update(model={"type": "simple_tagger"}))
    with pytest.raises(InvalidFileError, match="'simple_tagger'; a `bidirectional_lm` is wanted"):
        LanguageModelLayers.from_archive(archive)


def test_several_indexers_are_refused_with_their_names(lm_archive, tmp_path):
    archive = rewritten(
        lm_archive,
        tmp_path,
        lambda p: p["dataset_reader"]["token_indexers"].update(tokens={"type": "single_id"}),
    )
    with pytest.raises(ConfigurationError, match=r"\['fasttext', 'tokens'\].*exactly one"):
        LanguageModelLayers.from_archive(archive)


def test_the_directory_of_a_training_serves_as_its_archive(lm_archive):
    layers = LanguageModelLayers.from_archive(Path(lm_archive).parent)
    state, expected = layers.state_dict(), LanguageModelLayers.from_archive(lm_archive).state_dict()
    assert all(torch.equal(state[name], expected[name]) for name in expected)
