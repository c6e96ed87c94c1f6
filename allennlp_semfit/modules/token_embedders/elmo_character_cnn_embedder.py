import json
import logging
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional, Union

import numpy
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import get_weights_path
from allennlp.modules.elmo import _ElmoCharacterEncoder
from allennlp.modules.token_embedders import TokenEmbedder

from allennlp_semfit.common.errors import InvalidFileError, with_config_key
from allennlp_semfit.modules.token_embedders.elmo_checkpoint import (
    MAX_CHARACTERS,
    CharacterCnnOptions,
    check_weights,
    read_options,
    reading_weights,
    weight_shapes,
    write_character_cnn,
)

__all__ = ["ElmoCharacterCnnEmbedder"]

logger = logging.getLogger(__name__)

# The largest convolution of the published ELMo gives 180 kB for a word.
_WORDS_AT_ONCE = 1024

# By which an embedder is found in a model's state.
_AN_ENCODERS_WEIGHT = "_encoder._char_embedding_weights"


@TokenEmbedder.register("elmo_character_cnn")
class ElmoCharacterCnnEmbedder(TokenEmbedder):
    """
    Embeds each word by the character CNN of a trained ELMo, without ELMo's LSTM: a vector that
    depends on the word's spelling alone. It is always frozen, so that a language model may take its
    vectors for input, for targets (`target_embedder` of the `semfit` head), or for both.

    The archive of a model that has it holds its weights and its options, and is loaded without the
    two files where these are not in their places.

    Registered as a `TokenEmbedder` with name "elmo_character_cnn".

    # Parameters

    options_file : `str`
        ELMo's options, as JSON; a path or a URL. `allennlp export-character-cnn` makes both files.
    weight_file : `str`
        ELMo's weights, as HDF5; a path or a URL. Those of its LSTM are not read.

    # Raises

    `ConfigurationError`
        If a file is missing or damaged, or the two do not belong together, and this is no archive
        that is loaded.

    # Example

    ```json
    "token_indexers": {"characters": {"type": "elmo_characters"}},
    ...
    "token_embedders": {
        "characters": {
            "type": "elmo_character_cnn",
            "options_file": "options.json",
            "weight_file": "weights.hdf5"
        }
    }
    ```
    """

    def __init__(self, options_file: str, weight_file: str) -> None:
        super().__init__()
        options = read_options(options_file)
        check_weights(weight_file, options)
        with reading_weights(weight_file):
            self._encoder = _ElmoCharacterEncoder(options_file, weight_file, requires_grad=False)
        self._file_and_options = (options_file, options)

    @classmethod
    def from_params(
        cls,
        params: Params,
        *args: Any,
        serialization_dir: Optional[Union[str, os.PathLike]] = None,
        **extras: Any,
    ) -> "ElmoCharacterCnnEmbedder":
        options_file = params.get("options_file")
        try:
            if isinstance(options_file, str):
                with with_config_key(params, "options_file"):
                    read_options(options_file)
            # What is wrong from here on, is wrong with the weights.
            with with_config_key(params, "weight_file"):
                return super().from_params(params, *args, **extras)
        except InvalidFileError:
            options = _archived_options(serialization_dir, options_file)
            if options is None:
                raise
        logger.info("Without %s: the weights are those of %s", options_file, serialization_dir)
        return cls._until_its_weights_are_loaded(options_file, options)

    @classmethod
    def _until_its_weights_are_loaded(
        cls, options_file: str, options: CharacterCnnOptions
    ) -> "ElmoCharacterCnnEmbedder":
        zeros = {name: numpy.zeros(shape) for name, shape in weight_shapes(options).items()}
        with TemporaryDirectory() as directory:
            write_character_cnn(Path(directory), options, zeros)
            embedder = cls(f"{directory}/options.json", f"{directory}/weights.hdf5")
        embedder._file_and_options = (options_file, options)
        return embedder

    def get_extra_state(self) -> torch.Tensor:
        # What an archive must have beside the weights: `_archived_options` reads it.
        return torch.tensor(list(json.dumps(self._file_and_options).encode()), dtype=torch.uint8)

    def set_extra_state(self, state: torch.Tensor) -> None:
        # The weights have been made for it already.
        pass

    def get_output_dim(self) -> int:
        return int(self._encoder.get_output_dim())

    def forward(self, elmo_tokens: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        elmo_tokens : `torch.Tensor`
            What the `elmo_characters` indexer gives: shape `(batch_size, length, 50)`, zero where
            padded.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, get_output_dim())`, zero where padded. It takes no gradient.

        # Raises

        `ConfigurationError`
            If this is not what the `elmo_characters` indexer emits.
        """
        if elmo_tokens.dim() != 3 or elmo_tokens.size(-1) != MAX_CHARACTERS:
            raise ConfigurationError(
                f"The elmo_character_cnn embedder takes a tensor of shape (batch, length, "
                f"{MAX_CHARACTERS}), but the indexer of the same name gave it one of shape "
                f'{tuple(elmo_tokens.shape)}. Let that indexer be {{"type": "elmo_characters"}}.'
            )
        places = elmo_tokens.any(dim=-1).nonzero(as_tuple=True)
        with torch.no_grad():
            # All words stand in one sentence, for the encoder puts a boundary at each end of a
            # sentence, after its last word. So these are always first and last, and few.
            vectors = torch.cat(
                [
                    self._encoder(words.unsqueeze(0))["token_embedding"][0, 1:-1]
                    for words in elmo_tokens[places].split(_WORDS_AT_ONCE)
                ]
            )
            result = vectors.new_zeros(*elmo_tokens.shape[:2], self.get_output_dim())
            result[places] = vectors
        return result


def _archived_options(
    serialization_dir: Optional[Union[str, os.PathLike]], options_file: str
) -> Optional[CharacterCnnOptions]:
    """The options of the model saved in the directory, if it has some from that file."""
    if serialization_dir is None or not os.path.exists(get_weights_path(serialization_dir)):
        return None
    state = torch.load(get_weights_path(serialization_dir), map_location="cpu")
    for name in state:
        if name.endswith(_AN_ENCODERS_WEIGHT):
            extra_state = state.get(name[: -len(_AN_ENCODERS_WEIGHT)] + "_extra_state")
            if extra_state is None:
                continue
            archived_file, (activation, filters, *sizes) = json.loads(bytes(extra_state.tolist()))
            if archived_file == options_file:
                return CharacterCnnOptions(activation, tuple(map(tuple, filters)), *sizes)
    return None
