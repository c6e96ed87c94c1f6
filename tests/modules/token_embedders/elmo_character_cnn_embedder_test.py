import copy
import json
import pickle
import shutil
from pathlib import Path

import h5py
import numpy
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing import ModelTestCase
from allennlp.data import Batch, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.instance import Instance
from allennlp.data.token_indexers import ELMoTokenCharactersIndexer
from allennlp.data.tokenizers import Token
from allennlp.models import load_archive
from allennlp.modules import Elmo
from allennlp.modules.elmo import _ElmoBiLm, batch_to_ids
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
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


def test_it_is_the_character_cnn_of_allennlps_elmo(files, embedder, as_elmo_has_it):
    elmo_tokens = batch_to_ids(SENTENCES)
    vectors = embedder(elmo_tokens)
    assert vectors.shape == (3, 9, embedder.get_output_dim())
    torch.testing.assert_close(vectors, as_elmo_has_it(elmo_tokens))
    # ELMo's lowest layer alone has it twice.
    lowest = [50.0, -50.0, -50.0]
    elmo = Elmo(*files, 1, dropout=0.0, scalar_mix_parameters=lowest).eval()
    (layer,) = elmo(elmo_tokens)["elmo_representations"]
    for half in layer.chunk(2, dim=-1):
        torch.testing.assert_close(half, vectors)
    assert not vectors[1, 2:].any()
    assert vectors[1, :2].any(-1).all()


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


def test_it_embeds_what_the_indexer_gives(embedder, as_elmo_has_it):
    field = TextField(
        [Token(word) for word in SENTENCES[2]], {"words": ELMoTokenCharactersIndexer()}
    )
    batch = Batch([Instance({"text": field})])
    batch.index_instances(Vocabulary())
    tensors = batch.as_tensor_dict()["text"]
    vectors = BasicTextFieldEmbedder({"words": embedder})(tensors)
    torch.testing.assert_close(vectors, as_elmo_has_it(batch_to_ids([SENTENCES[2]])))


def test_it_is_always_frozen(embedder):
    assert not any(parameter.requires_grad for parameter in embedder.parameters())
    thawed = copy.deepcopy(embedder).requires_grad_(True)
    assert not thawed(batch_to_ids(SENTENCES)).requires_grad


def test_its_state_holds_the_weights(embedder, tmp_path):
    other = from_params(*write_elmo(tmp_path / "other", num_highways=2, seed=2))
    elmo_tokens = batch_to_ids(SENTENCES)
    assert not torch.allclose(other(elmo_tokens), embedder(elmo_tokens))
    other.load_state_dict(embedder.state_dict())
    assert torch.equal(other(elmo_tokens), embedder(elmo_tokens))


def test_a_copy_needs_no_file(tmp_path):
    options_file, weight_file = write_elmo(tmp_path / "elmo")
    embedder = from_params(options_file, weight_file)
    shutil.rmtree(tmp_path / "elmo")
    elmo_tokens = batch_to_ids(SENTENCES)
    for copied in (pickle.loads(pickle.dumps(embedder)), copy.deepcopy(embedder)):
        assert torch.equal(copied(elmo_tokens), embedder(elmo_tokens))


def from_params(options_file, weight_file):
    params = {"options_file": str(options_file), "pretrained_file": str(weight_file)}
    return TokenEmbedder.from_params(
        Params({"type": "elmo_character_cnn", **params}, history="model.embedder.")
    )


def change(path, value):
    def do(options_file, weight_file):
        options = json.loads(options_file.read_text())
        *parents, last = path.split(".")
        inner = options
        for parent in parents:
            inner = inner[parent]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
        options_file.write_text(json.dumps(options))

    return do


def cut_short(options_file, weight_file):
    weight_file.write_bytes(weight_file.read_bytes()[:-500])


def rewrite(name, array):
    def do(options_file, weight_file):
        with h5py.File(weight_file, "a") as file:
            del file[name]
            if array is not None:
                file[name] = array

    return do


FILTERS = "char_cnn.filters"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda options, weights: options.unlink(), "does not exist"),
        (lambda options, weights: options.write_text("{"), "cannot be read as JSON"),
        (lambda options, weights: options.write_bytes(b'"\xff"'), "cannot be read as JSON"),
        (lambda options, weights: options.write_text("[" * 10**5), "cannot be read as JSON"),
        (lambda options, weights: options.write_text("[]"), "there is no `char_cnn.activation`"),
        (change("lstm", None), "there is no `lstm.projection_dim`"),
        (change("lstm", 3), "there is no `lstm.projection_dim`"),
        (change(FILTERS, None), "there is no `char_cnn.filters`"),
        (change("char_cnn.embedding", None), "there is no `char_cnn.embedding.dim`"),
        (change("char_cnn.n_highway", None), "there is no `char_cnn.n_highway`"),
        (change("char_cnn.n_highway", -1), "is -1; it takes a whole number, 0 or more"),
        (change("lstm.projection_dim", 2.5), "is 2.5; it takes a whole number, 1 or more"),
        (change("char_cnn.embedding.dim", True), "is true; it takes a whole number"),
        (change("char_cnn.activation", "selu"), 'is "selu"; it takes "relu" or "tanh"'),
        (
            change("char_cnn.max_characters_per_token", 30),
            "is 30; it takes 50, as `elmo_characters`",
        ),
        (change(FILTERS, []), r"is \[\]; it takes a list of \[width"),
        (change(FILTERS, [[1, 3], [51, 4]]), r"a list of \[width up to 50, number\]"),
        (change(FILTERS, [[1, 3], 2]), r"a list of \[width"),
        (change(FILTERS, [[1, 0]]), r"a list of \[width"),
    ],
)
def test_wrong_options_are_named_with_their_key(damage, message, tmp_path):
    options_file, weight_file = write_elmo(tmp_path)
    damage(options_file, weight_file)
    with pytest.raises(InvalidFileError, match=message) as error:
        from_params(options_file, weight_file)
    assert str(error.value).startswith(f"ELMo's options file {options_file}")
    assert "`model.embedder.options_file`" in str(error.value)
    assert "\n" not in str(error.value)


def impossible_type(options_file, weight_file):
    """Of floats that no type of NumPy can represent."""
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_ebias(100_000)
    with h5py.File(weight_file, "a") as file:
        space = file["char_embed"].id.get_space()
        del file["char_embed"]
        h5py.h5d.create(file.id, b"char_embed", kind, space)


SHAPES = {
    "char_embed": (261, 4),
    "CNN/W_cnn_0": (1, 1, 4, 3),
    "CNN/b_cnn_1": (4,),
    "CNN_high_0/W_transform": (7, 7),
    "CNN_high_0/W_carry": (7, 7),
    "CNN_high_0/b_transform": (7,),
    "CNN_high_0/b_carry": (7,),
    "CNN_proj/W_proj": (7, 5),
    "CNN_proj/b_proj": (5,),
}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda options, weights: weights.unlink(), "does not exist"),
        (lambda options, weights: weights.write_text("no"), "is no HDF5, or damaged"),
        (lambda options, weights: (weights.unlink(), weights.mkdir()), "is a directory"),
        (cut_short, "is no HDF5, or damaged"),
        (impossible_type, "is no HDF5, or damaged"),
        (rewrite("CNN", None), "has no `CNN/W_cnn_0`"),
        (rewrite("CNN_proj", numpy.zeros(3)), "has no `CNN_proj/W_proj`"),
        (rewrite("char_embed", numpy.zeros((261, 4), "int32")), "the type int32"),
        (change(FILTERS, [[1, 3], [3, 4]]), "`CNN/W_cnn_1` has the shape"),
        (change("lstm.projection_dim", 6), r"`CNN_proj/W_proj` has the shape \(7, 5\).*\(7, 6\)"),
        (change("char_cnn.n_highway", 2), "has no `CNN_high_1/W_transform`"),
        *[
            (
                # One number, or one row, could be copied to all places without a word.
                rewrite(name, numpy.zeros((1,) * len(shape), "float32")),
                f"`{name}` has the shape",
            )
            for name, shape in SHAPES.items()
        ],
        *[(rewrite(name, None), f"has no `{name}`") for name in SHAPES],
    ],
)
def test_wrong_weights_are_named_with_their_key(damage, message, tmp_path):
    options_file, weight_file = write_elmo(tmp_path)
    damage(options_file, weight_file)
    with pytest.raises(InvalidFileError, match=message) as error:
        from_params(options_file, weight_file)
    assert f"ELMo's weight file {weight_file}" in str(error.value)
    assert "`model.embedder.pretrained_file`" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["external_link", "soft_link", "group", "external", "virtual"])
def test_weights_in_another_file_are_refused(kind, tmp_path):
    options_file, weight_file = write_elmo(tmp_path)
    other = tmp_path / "other.hdf5"
    other.write_bytes(weight_file.read_bytes())
    name = "CNN/W_cnn_0" if kind == "group" else "char_embed"
    with h5py.File(weight_file, "a") as file:
        shape = file["char_embed"].shape
        del file["CNN" if kind == "group" else name]
        if kind == "external_link":
            file[name] = h5py.ExternalLink(other.name, name)
        elif kind == "group":
            file["CNN"] = h5py.ExternalLink(other.name, "CNN")
        elif kind == "soft_link":
            file[name] = h5py.SoftLink("/elsewhere")
        elif kind == "external":
            file.create_dataset(name, shape, "float32", external=[(str(other), 0, h5py.UNLIMITED)])
        else:
            layout = h5py.VirtualLayout(shape, "float32")
            layout[...] = h5py.VirtualSource(other.name, name, shape)
            file.create_virtual_dataset(name, layout)
    with pytest.raises(InvalidFileError, match=f"has `{name}` in another file") as error:
        from_params(options_file, weight_file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_weights_of_another_precision(dtype, tmp_path):
    files = write_elmo(tmp_path)
    before = from_params(*files)
    with h5py.File(files[1], "a") as file:
        for name in SHAPES:
            array = file[name][...].astype(dtype)
            del file[name]
            file[name] = array
    tolerance = 1e-2 if dtype == "float16" else 0.0
    elmo_tokens = batch_to_ids(SENTENCES)
    torch.testing.assert_close(
        from_params(*files)(elmo_tokens), before(elmo_tokens), rtol=tolerance, atol=tolerance
    )


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


class TestInAModel(ModelTestCase):
    def test_it_trains_saves_loads_and_predicts_the_same(self, tmp_path):
        config_file = tmp_path / "config.json"
        config_file.write_text(json.dumps(config_in(tmp_path / "data")))
        self.ensure_model_can_train_save_and_load(config_file)


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
    with pytest.raises(ConfigurationError, match="`options`: there is no `lstm.projection_dim`"):
        ElmoCharacterCnnEmbedder({**options, "lstm": {}}, pretrained_file=files[1])


def test_without_weights_it_embeds_nothing(files):
    embedder = ElmoCharacterCnnEmbedder(options_file=files[0])
    with pytest.raises(ConfigurationError, match="no weights. Give .* as `pretrained_file`"):
        embedder(batch_to_ids(SENTENCES))


def test_sizes_that_do_not_fit_into_memory(tmp_path):
    options_file, weight_file = write_elmo(tmp_path)
    change("lstm.projection_dim", 10**15)(options_file, weight_file)
    with pytest.raises(ConfigurationError, match=f"^{options_file}: there is not enough memory"):
        from_params(options_file, weight_file)
