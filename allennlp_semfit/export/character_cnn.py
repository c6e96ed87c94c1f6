"""Exports the character CNN of a trained language model."""

import json
import os
from pathlib import Path
from typing import Any, Dict, Union

import h5py
import torch
from allennlp.modules.seq2vec_encoders import CnnHighwayEncoder
from allennlp.modules.token_embedders import TokenCharactersEncoder

from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.common.model_config import type_of
from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.models.language_model_base import LanguageModelBase
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    MAX_CHARACTERS,
    NUM_CHARACTERS,
    elmo_weights,
)

_OPTIONS, _WEIGHTS = "options.json", "weights.hdf5"


def export_character_cnn(
    archive_file: str, out_dir: Union[str, os.PathLike], *, force: bool = False
) -> Dict[str, Any]:
    """
    Writes the character CNN of a language model in ELMo's format, which the `elmo_character_cnn`
    embedder reads. The model must read words with the `elmo_characters`
    indexer and a `character_encoding` embedder whose encoder is `cnn-highway`.

    # Parameters

    archive_file : `str`
        The language model's `model.tar.gz`, serialization directory or exported folder.
    out_dir : `Union[str, os.PathLike]`
        The directory for `options.json` and `weights.hdf5`, created if missing.
    force : `bool`, optional (default = `False`)
        Whether to replace the two files in `out_dir`. Other files there stay.

    # Returns

    `Dict[str, Any]`
        The contents of `options.json`.

    # Raises

    `ConfigurationError`
        If `out_dir` cannot be used, the archive cannot be read, or its model has no character CNN
        that ELMo's format can represent.
    """
    # Check before loading the model, which takes a while.
    contents = (_WEIGHTS, _OPTIONS)
    check_output_path(Path(out_dir), contents=contents, force=force)
    archive = LanguageModelArchive.open(archive_file)
    embedder = _find_embedder(archive)
    embedding, encoder = embedder._embedding._module, embedder._encoder._module
    is_tanh = encoder._activation is torch.nn.functional.tanh
    convolutions = encoder._convolutions
    options = {
        "lstm": {"projection_dim": encoder.get_output_dim()},
        "char_cnn": {
            "activation": "tanh" if is_tanh else "relu",
            "filters": [[conv.kernel_size[0], conv.out_channels] for conv in convolutions],
            "n_highway": len(encoder._highways._layers),
            "embedding": {"dim": embedding.get_output_dim()},
            "n_characters": NUM_CHARACTERS + 1,
            "max_characters_per_token": MAX_CHARACTERS,
        },
    }
    # Call the embedding instead of copying its weight: it may project or rescale rows.
    with torch.no_grad(), write_directory(Path(out_dir), contents) as new:
        weights = elmo_weights(embedding(torch.arange(1, NUM_CHARACTERS + 1)), encoder)
        (new / _OPTIONS).write_text(json.dumps(options, indent=2) + "\n", "utf-8")
        with h5py.File(new / _WEIGHTS, "w") as file:
            for name, weight in weights.items():
                values = -weight if name.endswith("_carry") else weight
                file[name] = values.detach().float().numpy()
    return options


def _find_embedder(archive: LanguageModelArchive) -> TokenCharactersEncoder:
    model = archive.build_model()
    assert isinstance(model, LanguageModelBase)
    indexers = archive.config["dataset_reader"].get("token_indexers", {})
    embedders = getattr(model._text_field_embedder, "_token_embedders", {})
    types = {name: type_of(indexers.get(name)) for name in embedders}
    found = [
        embedder
        for name, embedder in embedders.items()
        if types[name] == "elmo_characters"
        and isinstance(embedder, TokenCharactersEncoder)
        and isinstance(embedder._encoder._module, CnnHighwayEncoder)
    ]
    if len(found) != 1:
        kinds = {
            name: f"{types[name]}, {type(embedder).__name__}"
            for name, embedder in embedders.items()
        }
        raise archive.error(
            f"has {len(found) or 'no'} trained character CNN{'s' if found else ''}, but must have "
            f"one: its indexers and embedders are {kinds}",
            "Train one with the indexer `elmo_characters` and the embedder `character_encoding` "
            "with the encoder `cnn-highway`.",
        )
    embedding, encoder = found[0]._embedding._module, found[0]._encoder._module
    for is_valid, option, expected in (
        (
            encoder._projection_location == "after_highway",
            f"`projection_location` {encoder._projection_location!r}",
            "'after_highway'",
        ),
        (not isinstance(encoder._layer_norm, torch.nn.Module), "`do_layer_norm`", "false"),
        (
            embedding.num_embeddings > NUM_CHARACTERS,
            f"`num_embeddings` {embedding.num_embeddings}",
            f"{NUM_CHARACTERS + 1} or more, for the ids of `elmo_characters`",
        ),
    ):
        if not is_valid:
            raise archive.error(
                f"has a character CNN with {option}, which ELMo's format cannot represent",
                f"It must be {expected}.",
            )
    return found[0]
