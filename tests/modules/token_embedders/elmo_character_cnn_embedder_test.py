import json
import pickle
import re
import shutil
from pathlib import Path

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids
from allennlp.modules.token_embedders import TokenEmbedder
from allennlp.nn.util import remove_sentence_boundaries
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.modules.token_embedders import elmo_character_cnn_embedder as module
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    ElmoCharacterCnnEmbedder,
)
from tests.elmo_weights import write_elmo
from tests.tagging import tagging_config

SENTENCES = [
    ["The", "captain", "closed", "the", "gate", "."],
    ["Snow", "."],
    ["Nobody", "had", "seen", "so", "much", "of", "it", "før", "x" * 60],
]


def options_in(file):
    return json.loads(Path(file).read_text())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return [str(file) for file in write_elmo(tmp_path_factory.mktemp("elmo"), num_highways=2)]


@pytest.fixture(scope="module")
def embedder(files):
    return ElmoCharacterCnnEmbedder(options_in(files[0]), files[1])


@pytest.fixture(scope="module")
def as_elmo_has_it(files):
    """What AllenNLP's ELMo makes of words, without the boundaries that it adds."""
    encoder = _ElmoBiLm(*files)._token_embedder

    def embed(elmo_tokens):
        embedded = encoder(elmo_tokens)
        vectors, mask = remove_sentence_boundaries(embedded["token_embedding"], embedded["mask"])
        return vectors * mask.unsqueeze(-1)

    return embed


@given(
    sentences=st.lists(st.lists(st.text(max_size=20), max_size=6), min_size=1, max_size=4),
    words_at_once=st.integers(1, 9),
)
def test_any_words_in_any_batch(embedder, as_elmo_has_it, sentences, words_at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MAX_WORDS_AT_ONCE", words_at_once)
        sentences.append(["one"])
        elmo_tokens = batch_to_ids(sentences)
        torch.testing.assert_close(embedder(elmo_tokens), as_elmo_has_it(elmo_tokens))


def test_a_word_has_the_same_vector_at_each_position(embedder):
    """To the last bit, by which the `contrastive` head tells words apart."""
    words = [str(number % 30) for number in range(1026)]
    (vectors,) = embedder(batch_to_ids([words]))
    assert vectors.equal(vectors[:30].repeat(35, 1)[:1026])


@pytest.mark.parametrize("shape", [(2, 0, 50), (0, 3, 50), (2, 3, 50)])
def test_nothing_but_padding(embedder, shape):
    vectors = embedder(torch.zeros(shape, dtype=torch.long))
    assert vectors.shape == (*shape[:2], embedder.get_output_dim())
    assert not vectors.any()


def test_it_is_always_frozen_and_can_be_pickled(embedder):
    assert not any(parameter.requires_grad for parameter in embedder.parameters())
    elmo_tokens = batch_to_ids(SENTENCES)
    thawed = pickle.loads(pickle.dumps(embedder)).requires_grad_(True)
    assert not thawed(elmo_tokens).requires_grad
    assert torch.equal(thawed(elmo_tokens), embedder(elmo_tokens))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda options: options.pop("lstm"), "there is no 'lstm'"),
        (lambda options: options["char_cnn"].update(activation="selu"), "unknown activation selu"),
        (lambda options: options["lstm"].update(projection_dim=10**15), "can't allocate memory"),
        (
            lambda options: options["char_cnn"].update(n_highway=2**31),
            "n_highway must be at least 0",
        ),
    ],
)
def test_wrong_options_are_named(change, message, tmp_path):
    options_file, weight_file = map(str, write_elmo(tmp_path))
    options = options_in(options_file)
    change(options)
    with pytest.raises(ConfigurationError, match=f"^elmo_character_cnn: `options`: .*{message}"):
        ElmoCharacterCnnEmbedder(options, weight_file)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda file: file.unlink(), "does not exist"),
        (lambda file: file.write_text("no"), "is not HDF5, or is damaged"),
        (lambda file: (file.unlink(), file.mkdir()), "is a directory"),
        (
            lambda file: write_elmo(file.parent / "x", projection_dim=6)[1].replace(file),
            r"`CNN_proj/W_proj` of the shape \(7, 6\), but .* be \(7, 5\). .* belong to ",
        ),
    ],
)
def test_a_wrong_file_is_named(damage, message, tmp_path):
    options_file, weight_file = write_elmo(tmp_path)
    damage(weight_file)
    params = {"options": options_in(options_file), "pretrained_file": str(weight_file)}
    params = Params({"type": "elmo_character_cnn", **params}, history="model.embedder.")
    with pytest.raises(InvalidFileError) as raised:
        TokenEmbedder.from_params(params)
    error = str(raised.value)
    assert "\n" not in error
    assert re.search(f"{weight_file}.*{message}", error)
    assert "`model.embedder.pretrained_file`" in error


def test_what_another_indexer_gives_is_refused(embedder):
    for shape in ((2, 3), (2, 3, 12)):
        with pytest.raises(ConfigurationError, match='{"type": "elmo_characters"}'):
            embedder(torch.ones(shape, dtype=torch.long))


def test_an_archive_needs_no_file_of_elmo(tmp_path):
    data = tmp_path / "data"
    options_file, weight_file = map(str, write_elmo(data))
    options = options_in(options_file)
    embedder = {"type": "elmo_character_cnn", "options": options, "pretrained_file": weight_file}
    config = tagging_config(
        data,
        {"words": {"type": "elmo_characters"}},
        {"words": {"type": "cached", "embedder": embedder}},
        {"type": "lstm", "input_size": 5, "hidden_size": 3},
    )
    archive = tmp_path / "task" / "model.tar.gz"
    trained = train_model(Params(config), str(archive.parent))
    shutil.rmtree(data)
    tensors = {"words": {"elmo_tokens": batch_to_ids(SENTENCES)}}
    logits = [model.eval()(tensors)["logits"] for model in (trained, load_archive(archive).model)]
    torch.testing.assert_close(*logits)


def test_it_needs_weights(files, embedder):
    elmo_tokens = batch_to_ids(SENTENCES)
    empty = ElmoCharacterCnnEmbedder(options_in(files[0]))
    with pytest.raises(ConfigurationError, match="no weights. Give .* as `pretrained_file`"):
        empty(elmo_tokens)
    # Those of an archive are its own.
    empty.load_state_dict(embedder.state_dict())
    assert torch.equal(empty(elmo_tokens), embedder(elmo_tokens))
