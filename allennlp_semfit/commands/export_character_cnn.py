"""
The `export-character-cnn` subcommand takes the character CNN out of a trained language model, and
writes it in the two files that AllenNLP reads ELMo's from.

    allennlp export-character-cnn output/elmo/model.tar.gz output/character_cnn
"""

import argparse
import json
import logging
import os
import sys
from pathlib import Path
from typing import Dict, Tuple, Union

import numpy
import torch
from allennlp.commands.subcommand import Subcommand
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.seq2vec_encoders import CnnHighwayEncoder
from allennlp.modules.token_embedders import TokenCharactersEncoder

from allennlp_semfit.modules.elmo_format import (
    NUM_CHARACTERS,
    CharacterCnnOptions,
    check_place,
    write_character_cnn,
)
from allennlp_semfit.modules.language_model_archive import load_language_model

__all__ = ["ExportCharacterCnn", "export_character_cnn"]

logger = logging.getLogger(__name__)

_ACTIVATIONS = {
    torch.nn.functional.relu: "relu",
    torch.nn.functional.tanh: "tanh",
    torch.tanh: "tanh",
}


@Subcommand.register("export-character-cnn")
class ExportCharacterCnn(Subcommand):
    """
    Registered as a "Subcommand" with name "export-character-cnn".
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Take the character CNN out of a trained language model, and write it in
            ELMo's format: OUT_DIR/options.json and OUT_DIR/weights.hdf5. The model must read words
            by the `elmo_characters` indexer and a `character_encoding` embedder whose encoder is
            `cnn-highway`."""
        subparser = parser.add_parser(
            self.name, description=description, help="Take out a language model's character CNN."
        )
        subparser.add_argument(
            "archive",
            metavar="ARCHIVE",
            help="the model.tar.gz of a language model, or the directory of its training",
        )
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", help="where the two files go; it may be missing"
        )
        subparser.add_argument(
            "--force", action="store_true", help="replace the two files if they exist"
        )
        subparser.set_defaults(func=export_character_cnn_from_args)
        return subparser


def export_character_cnn_from_args(args: argparse.Namespace) -> None:
    """
    Runs `export_character_cnn` with the arguments of the command line.

    # Parameters

    args : `argparse.Namespace`

    # Raises

    `SystemExit`
        With the code 1 and one line for the user, when the files cannot be made.
    """
    try:
        options = export_character_cnn(args.archive, args.out_dir, force=args.force)
    # A full disk is the user's to mend as well.
    except (ConfigurationError, OSError) as error:
        sys.exit(f"export-character-cnn: {error}")
    logger.info(
        "%s: a character CNN of %s filters, %d highway layers, %d dimensions.",
        args.out_dir,
        f"{options.num_filters:,}",
        options.num_highways,
        options.projection_dim,
    )
    embedder = {
        "type": "elmo_character_cnn",
        "options_file": str(Path(args.out_dir) / "options.json"),
        "weight_file": str(Path(args.out_dir) / "weights.hdf5"),
    }
    logger.info(
        "Next: beside an indexer of type `elmo_characters`, the embedder %s", json.dumps(embedder)
    )


def export_character_cnn(
    archive_file: str, out_dir: Union[str, os.PathLike], *, force: bool = False
) -> CharacterCnnOptions:
    """
    Writes what the `elmo_character_cnn` embedder, and AllenNLP's own ELMo, read as a character CNN.

    # Parameters

    archive_file : `str`
        The archive of a `bidirectional_lm`, or the directory of its training.
    out_dir : `Union[str, os.PathLike]`
        Where `options.json` and `weights.hdf5` go. It is made if it is missing.
    force : `bool`, optional (default = `False`)
        Whether to replace the two if they are there.

    # Returns

    `CharacterCnnOptions`
        The sizes.

    # Raises

    `ConfigurationError`
        If the files are there, the archive cannot be read, or its model has no character CNN or one
        that ELMo's format cannot hold.
    """
    # The model takes its time to load.
    check_place(Path(out_dir), force=force)
    params, model = load_language_model(archive_file)
    try:
        embedder = _find_embedder(params, model.eval()._text_field_embedder)
        options, weights = _take_out(embedder)
    except ConfigurationError as error:
        raise ConfigurationError(f"Language model {archive_file} {error}") from None
    write_character_cnn(Path(out_dir), options, weights, force=force)
    return options


def _find_embedder(
    params: Params, text_field_embedder: TextFieldEmbedder
) -> TokenCharactersEncoder:
    indexers = params.as_dict(quiet=True)["dataset_reader"].get("token_indexers", {})
    embedders = getattr(text_field_embedder, "_token_embedders", {})
    found = [
        embedder
        for name, embedder in embedders.items()
        if indexers.get(name, {}).get("type") == "elmo_characters"
        and isinstance(embedder, TokenCharactersEncoder)
        and isinstance(embedder._encoder._module, CnnHighwayEncoder)
    ]
    if len(found) != 1:
        kinds = {
            name: f"{indexers.get(name, {}).get('type')}, {type(embedder).__name__}"
            for name, embedder in embedders.items()
        }
        raise ConfigurationError(
            f"has {len(found) or 'no'} trained character CNN{'s' if found else ''}, where one is "
            f"wanted: its indexers and embedders are {kinds}. Train one with the indexer "
            "`elmo_characters` and the embedder `character_encoding` with the encoder "
            "`cnn-highway`."
        )
    return found[0]


def _take_out(
    embedder: TokenCharactersEncoder,
) -> Tuple[CharacterCnnOptions, Dict[str, numpy.ndarray]]:
    embedding, encoder = embedder._embedding._module, embedder._encoder._module
    activation = _ACTIVATIONS.get(encoder._activation)
    _check(activation is not None, f"the activation {encoder._activation}", "`relu` or `tanh`")
    _check(
        encoder._projection_location == "after_highway",
        f"`projection_location` {encoder._projection_location!r}",
        "'after_highway'",
    )
    _check(not isinstance(encoder._layer_norm, torch.nn.Module), "`do_layer_norm`", "none")
    _check(
        embedding.num_embeddings > NUM_CHARACTERS,
        f"`num_embeddings` {embedding.num_embeddings}",
        f"{NUM_CHARACTERS + 1}, which `elmo_characters` counts to,",
    )
    options = CharacterCnnOptions(
        activation=str(activation),
        filters=tuple((conv.kernel_size[0], conv.out_channels) for conv in encoder._convolutions),
        num_highways=len(encoder._highways._layers),
        character_dim=embedding.get_output_dim(),
        projection_dim=encoder.get_output_dim(),
    )
    with torch.no_grad():
        # Looked up, they have what the embedding does to them. 0 is for padding between sentences,
        # which no word contains.
        characters = embedding(torch.arange(1, NUM_CHARACTERS + 1))
        weights = {"char_embed": characters}
        for index, conv in enumerate(encoder._convolutions):
            weights[f"CNN/W_cnn_{index}"] = conv.weight.permute(2, 1, 0).unsqueeze(0)
            weights[f"CNN/b_cnn_{index}"] = conv.bias
        for index, layer in enumerate(encoder._highways._layers):
            # AllenNLP's gate carries as much as it is open, ELMo's as much as it is closed.
            for kind, values in (("W", layer.weight.t()), ("b", layer.bias)):
                transform, carry = values.chunk(2, dim=-1)
                weights[f"CNN_high_{index}/{kind}_transform"] = transform
                weights[f"CNN_high_{index}/{kind}_carry"] = -carry
        weights["CNN_proj/W_proj"] = encoder._projection.weight.t()
        weights["CNN_proj/b_proj"] = encoder._projection.bias
    return options, {name: tensor.detach().float().numpy() for name, tensor in weights.items()}


def _check(is_right: bool, found: str, wanted: str) -> None:
    if not is_right:
        raise ConfigurationError(
            f"has a character CNN with {found}, which ELMo's format cannot hold; {wanted} is "
            "wanted."
        )
