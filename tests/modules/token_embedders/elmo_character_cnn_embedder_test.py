import copy
import json
import pickle
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


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return [str(file) for file in write_elmo(tmp_path_factory.mktemp("elmo"), num_highways=2)]


@pytest.fixture(scope="module")
def embedder(files):
    options_file, weight_file = files
    return ElmoCharacterCnnEmbedder(options_file=options_file, pretrained_file=weight_file)


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


def test_padding_between_words_is_padding_too(embedder):
    alone = embedder(batch_to_ids([SENTENCES[0]]))
    with_holes = batch_to_ids([SENTENCES[0]])
    with_holes[0, [0, 3]] = 0
    vectors = embedder(with_holes)
    assert not vectors[0, [0, 3]].any()
    torch.testing.assert_close(vectors[0, [1, 2, 4, 5]], alone[0, [1, 2, 4, 5]])


@pytest.mark.parametrize("shape", [(2, 0, 50), (0, 3, 50), (2, 3, 50)])
def test_nothing_but_padding(embedder, shape):
    vectors = embedder(torch.zeros(shape, dtype=torch.long))
    assert vectors.shape == (*shape[:2], embedder.get_output_dim())
    assert not vectors.any()


def test_it_is_always_frozen(embedder):
    assert not any(parameter.requires_grad for parameter in embedder.parameters())
    thawed = copy.deepcopy(embedder).requires_grad_(True)
    assert not thawed(batch_to_ids(SENTENCES)).requires_grad


def test_it_can_be_pickled(embedder):
    elmo_tokens = batch_to_ids(SENTENCES)
    assert torch.equal(pickle.loads(pickle.dumps(embedder))(elmo_tokens), embedder(elmo_tokens))


def from_params(options_file, weight_file):
    params = {"options_file": str(options_file), "pretrained_file": str(weight_file)}
    return TokenEmbedder.from_params(
        Params({"type": "elmo_character_cnn", **params}, history="model.embedder.")
    )


def write_options(options_file, options, change):
    path, value = change
    *parents, last = path.split(".")
    inner = options
    for parent in parents:
        inner = inner[parent]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    options_file.write_text(json.dumps(options))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("lstm", None), "there is no 'lstm'"),
        (("char_cnn.n_highway", None), "there is no 'n_highway'"),
        (("lstm.projection_dim", "5"), "Expected projection_dim to be a int"),
        (("char_cnn.embedding.dim", 2.5), "Expected embedding_dim to be a int"),
        (("char_cnn.activation", "selu"), "unknown activation selu"),
        (("char_cnn.filters", [[1, 3], 2]), "cannot unpack non-iterable int"),
        (("lstm.projection_dim", 10**15), "can't allocate memory"),
    ],
)
def test_wrong_options_are_named(change, message, tmp_path):
    options_file, weight_file = write_elmo(tmp_path)
    options = json.loads(options_file.read_text())
    write_options(options_file, options, change)
    with pytest.raises(InvalidFileError, match=f"^ELMo's options file.*{message}") as error:
        from_params(options_file, weight_file)
    assert "`model.embedder.options_file`" in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigurationError, match=f"^elmo_character_cnn: `options`: .*{message}"):
        ElmoCharacterCnnEmbedder(options, pretrained_file=str(weight_file))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda options: options.unlink(), "does not exist"),
        (lambda options: options.write_text("{"), "is not valid: Expecting property name"),
        (lambda options: options.write_bytes(b'"\xff"'), "is not valid: 'utf-8'"),
    ],
)
def test_an_options_file_that_is_none_is_named(damage, message, tmp_path):
    options_file, weight_file = write_elmo(tmp_path)
    damage(options_file)
    with pytest.raises(InvalidFileError, match=message) as error:
        from_params(options_file, weight_file)
    assert "`model.embedder.options_file`" in str(error.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda weights: weights.unlink(), "does not exist"),
        (lambda weights: weights.write_text("no"), "is no HDF5, or damaged"),
        (lambda weights: (weights.unlink(), weights.mkdir()), "is a directory"),
        (lambda weights: weights.write_bytes(weights.read_bytes()[:-500]), "is no HDF5, or dam"),
        (lambda weights: write_elmo(weights.parent, filters=[(1, 3)]), "no `CNN/W_cnn_1`"),
        (
            lambda weights: write_elmo(weights.parent, projection_dim=6),
            r"`CNN_proj/W_proj` of the shape \(7, 6\), but .* be \(7, 5\). .* belong to `options`",
        ),
    ],
)
def test_wrong_weights_are_named_with_their_key(damage, message, tmp_path):
    options_file, weight_file = write_elmo(tmp_path)
    options = json.loads(options_file.read_text())
    damage(weight_file)
    params = {"options": options, "pretrained_file": str(weight_file)}
    with pytest.raises(
        InvalidFileError, match=f"^ELMo's weight file {weight_file}.*{message}"
    ) as error:
        TokenEmbedder.from_params(
            Params({"type": "elmo_character_cnn", **params}, history="model.embedder.")
        )
    assert "`model.embedder.pretrained_file`" in str(error.value)
    assert "\n" not in str(error.value)


def test_what_another_indexer_gives_is_refused(embedder):
    for shape in ((2, 3), (2, 3, 12)):
        with pytest.raises(ConfigurationError, match='{"type": "elmo_characters"}'):
            embedder(torch.ones(shape, dtype=torch.long))


def config_in(directory):
    options_file, weight_file = write_elmo(directory)
    return tagging_config(
        directory,
        {"words": {"type": "elmo_characters"}},
        {
            "words": {
                "type": "elmo_character_cnn",
                "options_file": str(options_file),
                "pretrained_file": str(weight_file),
            }
        },
        {"type": "lstm", "input_size": 5, "hidden_size": 3},
    )


def test_an_archive_needs_no_file(tmp_path):
    config = config_in(tmp_path / "data")
    embedder = config["model"]["text_field_embedder"]["token_embedders"]["words"]
    embedder["options"] = json.loads(Path(embedder.pop("options_file")).read_text())
    config["model"]["text_field_embedder"]["token_embedders"]["words"] = {
        "type": "cached",
        "embedder": embedder,
    }
    train_model(Params(config), str(tmp_path / "task"))
    before, after = [], []
    for logits in (before, after):
        model = load_archive(tmp_path / "task" / "model.tar.gz").model.eval()
        logits.append(model({"words": {"elmo_tokens": batch_to_ids(SENTENCES)}})["logits"])
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
    assert torch.equal(before[0], after[0])


def test_an_archive_needs_the_options_that_its_config_does_not_hold(tmp_path):
    train_model(Params(config_in(tmp_path / "data")), str(tmp_path / "task"))
    shutil.move(tmp_path / "data", tmp_path / "elsewhere")
    with pytest.raises(InvalidFileError, match="options.json does not exist") as raised:
        load_archive(tmp_path / "task" / "model.tar.gz")
    override = json.loads(str(raised.value).partition("-o '")[2].partition("'")[0])
    options_file = tmp_path / "elsewhere" / "options.json"
    load_archive(
        tmp_path / "task" / "model.tar.gz", overrides={name: str(options_file) for name in override}
    )


def test_it_takes_the_options_once(files):
    options = json.loads(Path(files[0]).read_text())
    for arguments in ({}, {"options": options, "options_file": files[0]}):
        with pytest.raises(ConfigurationError, match="either `options` or `options_file`"):
            ElmoCharacterCnnEmbedder(**arguments, pretrained_file=files[1])


def test_without_weights_it_embeds_nothing(files):
    embedder = ElmoCharacterCnnEmbedder(options_file=files[0])
    with pytest.raises(ConfigurationError, match="no weights. Give .* as `pretrained_file`"):
        embedder(batch_to_ids(SENTENCES))
