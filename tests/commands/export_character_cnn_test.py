import copy
import json
from functools import partial

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.elmo import _ElmoCharacterEncoder, batch_to_ids

from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.export.character_cnn import export_character_cnn
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    ElmoCharacterCnnEmbedder,
)
from tests.commands import running
from tests.language_models import write_language_model

run = partial(running.run, "export-character-cnn")

EMBEDDER = "embedders.characters"
CHARACTER_CNN = {
    "type": "character_encoding",
    "embedding": {"num_embeddings": 262, "embedding_dim": 4},
    "encoder": {
        "type": "cnn-highway",
        "activation": "relu",
        "embedding_dim": 4,
        "filters": [[1, 3], [2, 4], [3, 2]],
        "num_highway": 2,
        "projection_dim": 5,
        "projection_location": "after_highway",
        "do_layer_norm": False,
    },
    "dropout": 0.4,
}
WORDS = ["", "a", "før", "</s>", "<S>", "x" * 49, "中" * 30, "The"]


def write(directory, **overrides):
    """Writes a language model with `CHARACTER_CNN`. The keys of the overrides have dots."""
    kind = {
        "indexers": {"characters": {"type": "elmo_characters"}, "tokens": "single_id"},
        "embedders": {"characters": copy.deepcopy(CHARACTER_CNN), "tokens": "empty"},
        "input_dim": 5,
        "head": {"type": "softmax"},
    }
    for path, value in overrides.items():
        *parents, last = path.split(".")
        inner = kind
        for parent in parents:
            inner = inner[parent]
        inner[last] = value
    return write_language_model(directory, tuple(kind.values()))


def files_in(directory):
    return [str(directory / name) for name in ("options.json", "weights.hdf5")]


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {f"{EMBEDDER}.encoder.activation": "tanh"},
        {f"{EMBEDDER}.encoder.num_highway": 0},
        {f"{EMBEDDER}.encoder.num_highway": 1, f"{EMBEDDER}.dropout": 0.0},
        {f"{EMBEDDER}.embedding": {"num_embeddings": 300, "embedding_dim": 4, "padding_index": 0}},
        # The embeddings that the convolutions see are not the table's own.
        {f"{EMBEDDER}.embedding": {"num_embeddings": 262, "embedding_dim": 4, "max_norm": 0.3}},
        {f"{EMBEDDER}.embedding": {"num_embeddings": 262, "embedding_dim": 7, "projection_dim": 4}},
        {f"{EMBEDDER}.encoder.filters": [[50, 9]]},
        {"indexers.characters": "elmo_characters"},
    ],
)
def test_the_files_have_the_language_models_vectors(overrides, tmp_path):
    language_model = write(tmp_path / "lm", **overrides)
    export_character_cnn(str(language_model), tmp_path / "out")
    files = files_in(tmp_path / "out")
    elmo_tokens = batch_to_ids([WORDS])
    with torch.no_grad():
        model = LanguageModelArchive.open(language_model).build_model().eval()
        expected = model._text_field_embedder.token_embedder_characters(elmo_tokens)
        embedded = _ElmoCharacterEncoder(*files)(elmo_tokens)["token_embedding"]
    torch.testing.assert_close(embedded[:, 1:-1], expected)
    ours = ElmoCharacterCnnEmbedder(options_file=files[0], pretrained_file=files[1])
    torch.testing.assert_close(ours(elmo_tokens), expected)
    assert expected.std() > 0.1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({f"{EMBEDDER}.encoder.do_layer_norm": True}, "with `do_layer_norm`, which ELMo's format"),
        (
            {f"{EMBEDDER}.encoder.projection_location": "after_cnn"},
            "`projection_location` 'after_cnn'.*must be 'after_highway'",
        ),
        (
            {f"{EMBEDDER}.embedding": {"num_embeddings": 200, "embedding_dim": 4}},
            "`num_embeddings` 200.*262",
        ),
        (
            {
                f"{EMBEDDER}.encoder": {
                    "type": "cnn",
                    "embedding_dim": 4,
                    "num_filters": 3,
                    "output_dim": 5,
                }
            },
            "no trained character CNN.*'elmo_characters, TokenCharactersEncoder'",
        ),
        (
            {"indexers.characters.type": "characters"},
            "no trained character CNN.*'characters, TokenCharactersEncoder'",
        ),
        (
            {EMBEDDER: {"type": "embedding", "num_embeddings": 9, "embedding_dim": 5}},
            "no trained character CNN.*'elmo_characters, Embedding'",
        ),
    ],
)
def test_what_elmos_format_cannot_hold_is_refused(overrides, message, tmp_path):
    language_model = write(tmp_path / "lm", **overrides)
    with pytest.raises(ConfigurationError, match=message) as error:
        export_character_cnn(str(language_model), tmp_path / "out")
    assert str(error.value).startswith(f"Language model {language_model} has ")
    assert not (tmp_path / "out").exists()


def test_of_several_character_cnns_none_is_chosen(tmp_path):
    others = {"embedders.others": CHARACTER_CNN, "indexers.others": {"type": "elmo_characters"}}
    language_model = write(tmp_path / "lm", input_dim=10, **others)
    with pytest.raises(ConfigurationError, match="has 2 trained character CNNs, but must have one"):
        export_character_cnn(str(language_model), tmp_path / "out")


def test_the_command_says_what_it_made_and_what_is_next(tmp_path, caplog):
    caplog.set_level("INFO")
    out_dir = tmp_path / "deep" / "out"
    run(write(tmp_path / "lm"), out_dir)
    assert sorted(path.name for path in out_dir.iterdir()) == ["options.json", "weights.hdf5"]
    assert (
        f"{out_dir}: a character CNN of 9 filters, 2 highway layers, 5 dimensions."
        in caplog.messages
    )
    (message,) = (text for text in caplog.messages if text.startswith("Next: "))
    params = json.loads(message[message.index("{") :])
    assert params.pop("type") == "elmo_character_cnn"
    assert ElmoCharacterCnnEmbedder(**params).get_output_dim() == 5
