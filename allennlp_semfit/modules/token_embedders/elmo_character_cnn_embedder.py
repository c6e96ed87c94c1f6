from typing import Any, Dict, Optional

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2vec_encoders import CnnHighwayEncoder
from allennlp.modules.token_embedders import Embedding, TokenEmbedder

from allennlp_semfit.common.errors import InvalidFileError, with_config_key
from allennlp_semfit.modules.token_embedders.elmo_checkpoint import (
    MAX_CHARACTERS,
    NUM_CHARACTERS,
    load_weights,
    parse_options,
    read_options,
)

__all__ = ["ElmoCharacterCnnEmbedder"]

# The largest convolution of the published ELMo takes 180 kB a word.
_MAX_WORDS_AT_ONCE = 1024


@TokenEmbedder.register("elmo_character_cnn")
class ElmoCharacterCnnEmbedder(TokenEmbedder):
    """
    Embeds each word with the character CNN of a trained ELMo (Peters et al. 2018), without ELMo's
    LSTM: the vector depends on the word's spelling only. It is always frozen, so a language model
    can use its vectors as input, as targets (`target_embedder` of the `semfit` head), or as both.

    Like every `pretrained_file` in AllenNLP, the weights are read for training only: an archive
    contains them. With inline `options` it needs neither file.

    Registered as a `TokenEmbedder` with name "elmo_character_cnn".

    # Parameters

    options : `Dict[str, Any]`, optional (default = `None`)
        The sizes, in the form of ELMo's `options.json`.
    options_file : `str`, optional (default = `None`)
        ELMo's `options.json` itself, a path or a URL. Give either this or `options`.
    pretrained_file : `str`
        ELMo's weights as HDF5, a path or a URL. The weights of the LSTM are not read.
        `allennlp export-character-cnn` writes both files.

    # Raises

    `ConfigurationError`
        If a file is missing or damaged, the weights do not fit the options, or both or neither of
        `options` and `options_file` are given; when words are embedded, if there are no weights.

    # Example

    ```json
    "token_indexers": {"characters": {"type": "elmo_characters"}},
    ...
    "token_embedders": {
        "characters": {
            "type": "elmo_character_cnn",
            "options": {
                "char_cnn": {
                    "activation": "relu",
                    "embedding": {"dim": 16},
                    "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
                    "max_characters_per_token": 50,
                    "n_highway": 2
                },
                "lstm": {"projection_dim": 512}
            },
            "pretrained_file": "weights.hdf5"
        }
    }
    ```
    """

    def __init__(
        self,
        options: Optional[Dict[str, Any]] = None,
        options_file: Optional[str] = None,
        pretrained_file: Optional[str] = None,
    ) -> None:
        super().__init__()
        if (options is None) == (options_file is None):
            raise ConfigurationError(
                "elmo_character_cnn: it takes either `options` or `options_file`."
            )
        if options_file is not None:
            try:
                sizes = read_options(options_file)
            except InvalidFileError as error:
                error.parameter = "options_file"
                raise
        else:
            try:
                sizes = parse_options(options)
            except ConfigurationError as error:
                message = f"elmo_character_cnn: `options`: {error.message}"
                raise ConfigurationError(message) from None
        place = options_file or "elmo_character_cnn: `options`"
        try:
            # The indexer's ids are ELMo's plus 1, for the padding.
            self._embedding = Embedding(sizes.character_dim, NUM_CHARACTERS + 1)
            self._encoder = CnnHighwayEncoder(
                sizes.character_dim,
                list(sizes.filters),
                sizes.num_highways,
                sizes.projection_dim,
                activation=sizes.activation,
            )
        # PyTorch raises any of them for sizes that are too large.
        except (MemoryError, OverflowError, RuntimeError, SystemError, TypeError) as error:
            raise ConfigurationError(
                f"{place}: there is not enough memory for {sizes}; give those of the weights"
            ) from error
        # AllenNLP's is a lambda, which does not pickle.
        self._encoder._layer_norm = torch.nn.Identity()
        self._has_weights = pretrained_file is not None
        if pretrained_file is not None:
            try:
                load_weights(pretrained_file, self._embedding, self._encoder)
            except InvalidFileError as error:
                error.remedy += f" The options are those of {place}."
                raise
        self.requires_grad_(False)

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "ElmoCharacterCnnEmbedder":
        with with_config_key(params, "pretrained_file"):
            return super().from_params(params, *args, **extras)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._has_weights = True

    def get_output_dim(self) -> int:
        return int(self._encoder.get_output_dim())

    def forward(self, elmo_tokens: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        elmo_tokens : `torch.Tensor`
            The output of the `elmo_characters` indexer: shape `(batch_size, length, 50)`, zero
            where padded.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, get_output_dim())`, zero where padded. It has no gradient.

        # Raises

        `ConfigurationError`
            If the tensor is not from the `elmo_characters` indexer, or there are no weights.
        """
        if elmo_tokens.dim() != 3 or elmo_tokens.size(-1) != MAX_CHARACTERS:
            raise ConfigurationError(
                f"The elmo_character_cnn embedder takes a tensor of shape (batch, length, "
                f"{MAX_CHARACTERS}), but the indexer of the same name gave it one of shape "
                f'{tuple(elmo_tokens.shape)}. Let that indexer be {{"type": "elmo_characters"}}.'
            )
        if not self._has_weights:
            raise ConfigurationError(
                "elmo_character_cnn: there are no weights. Give ELMo's as `pretrained_file`."
            )
        is_word = elmo_tokens.any(dim=-1)
        with torch.no_grad():
            vectors = torch.cat(
                [
                    self._encoder(self._embedding(words), words > 0)
                    for words in elmo_tokens[is_word].split(_MAX_WORDS_AT_ONCE)
                ]
            )
            result = vectors.new_zeros(*is_word.shape, self.get_output_dim())
            result[is_word] = vectors
        return result
