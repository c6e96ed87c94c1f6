"""Exports the character CNN of a trained language model."""

import os
from pathlib import Path
from typing import Dict, Tuple, Union

import numpy
import torch
from allennlp.modules.seq2vec_encoders import CnnHighwayEncoder
from allennlp.modules.token_embedders import TokenCharactersEncoder

from allennlp_semfit.archives.archive import Archive
from allennlp_semfit.common.output import check_output_path
from allennlp_semfit.models.language_model_archive import LANGUAGE_MODEL
from allennlp_semfit.models.language_model_base import LanguageModelBase
from allennlp_semfit.modules.token_embedders.elmo_checkpoint import (
    CONTENTS,
    NUM_CHARACTERS,
    CharacterCnnOptions,
    extract_weights,
    write_character_cnn,
)
from allennlp_semfit.pretrained.input_spec import type_of

__all__ = ["export_character_cnn"]

_ACTIVATIONS = {
    torch.nn.functional.relu: "relu",
    torch.nn.functional.tanh: "tanh",
    torch.tanh: "tanh",
}


def export_character_cnn(
    archive_file: str, out_dir: Union[str, os.PathLike], *, force: bool = False
) -> CharacterCnnOptions:
    """
    Writes the character CNN of a language model in ELMo's format, which the `elmo_character_cnn`
    embedder and AllenNLP's own ELMo read.

    # Parameters

    archive_file : `str`
        The archive of a `bidirectional_lm`, or its serialization directory.
    out_dir : `Union[str, os.PathLike]`
        The directory for `options.json` and `weights.hdf5`, created if missing.
    force : `bool`, optional (default = `False`)
        Whether to replace the two files. Other files in `out_dir` stay.

    # Returns

    `CharacterCnnOptions`

    # Raises

    `ConfigurationError`
        If `out_dir` cannot be used, the archive cannot be read, or its model has no character CNN
        that ELMo's format can represent.
    """
    # Checked before the model, which takes a while to load.
    check_output_path(Path(out_dir), contents=CONTENTS, force=force)
    archive = LANGUAGE_MODEL.read(archive_file)
    options, weights = _extract(archive, _find_embedder(archive))
    write_character_cnn(Path(out_dir), options, weights, force=force)
    return options


def _find_embedder(archive: Archive) -> TokenCharactersEncoder:
    model = archive.model
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
    return found[0]


def _extract(
    archive: Archive, embedder: TokenCharactersEncoder
) -> Tuple[CharacterCnnOptions, Dict[str, numpy.ndarray]]:
    embedding, encoder = embedder._embedding._module, embedder._encoder._module
    activation = _ACTIVATIONS.get(encoder._activation)
    for is_valid, found, expected in (
        (activation is not None, f"the activation {encoder._activation}", "`relu` or `tanh`"),
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
                f"has a character CNN with {found}, which ELMo's format cannot represent",
                f"It must be {expected}.",
            )
    options = CharacterCnnOptions(
        activation=str(activation),
        filters=tuple((conv.kernel_size[0], conv.out_channels) for conv in encoder._convolutions),
        num_highways=len(encoder._highways._layers),
        character_dim=embedding.get_output_dim(),
        projection_dim=encoder.get_output_dim(),
    )
    return options, extract_weights(embedding, encoder)
