from typing import Any

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.elmo import _ElmoCharacterEncoder
from allennlp.modules.token_embedders import TokenEmbedder

from allennlp_semfit.common.invalid_file import located_in
from allennlp_semfit.modules.elmo_format import (
    MAX_CHARACTERS,
    check_weights,
    read_options,
    reading_weights,
)

__all__ = ["ElmoCharacterCnnEmbedder"]

# The largest convolution of the published ELMo gives 180 kB for a word.
_WORDS_AT_ONCE = 1024


@TokenEmbedder.register("elmo_character_cnn")
class ElmoCharacterCnnEmbedder(TokenEmbedder):
    """
    Embeds each word by the character CNN of a trained ELMo, without ELMo's LSTM: a vector that
    depends on the word's spelling alone. It is always frozen, so that a language model may take its
    vectors for input, for targets (`target_embedder` of the `semfit` head), or for both.

    Its weights are in the archive of the model that has it, but when that is loaded, the two files
    are still wanted, as the `fasttext` indexer's file is.

    Registered as a `TokenEmbedder` with name "elmo_character_cnn".

    # Parameters

    options_file : `str`
        ELMo's options, as JSON; a path or a URL. `allennlp export-character-cnn` makes both files.
    weight_file : `str`
        ELMo's weights, as HDF5; a path or a URL. Those of its LSTM are not read.

    # Raises

    `ConfigurationError`
        If a file is missing or damaged, or the two do not belong together.

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
        check_weights(weight_file, read_options(options_file))
        with reading_weights(weight_file):
            self._encoder = _ElmoCharacterEncoder(options_file, weight_file, requires_grad=False)

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "ElmoCharacterCnnEmbedder":
        options_file = params.get("options_file")
        if isinstance(options_file, str):
            with located_in(params, "options_file"):
                read_options(options_file)
        # What is wrong from here on, is wrong with the weights.
        with located_in(params, "weight_file"):
            return super().from_params(params, *args, **extras)

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
