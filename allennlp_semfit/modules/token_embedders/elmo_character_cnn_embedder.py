from typing import Any, Dict, Iterator, Optional, Tuple

import h5py
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data.token_indexers.elmo_indexer import ELMoCharacterMapper
from allennlp.modules.seq2vec_encoders import CnnHighwayEncoder
from allennlp.modules.token_embedders import Embedding, TokenEmbedder

from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.common.errors import InvalidFileError, check_bounds, first_line, resolve_file
from allennlp_semfit.functional import distinct_vectors

# The number of characters for each word that the `elmo_characters` indexer returns.
_MAX_CHARACTERS: int = ELMoCharacterMapper.max_word_length
# The largest convolution of the published ELMo takes 180 kB per word.
_MAX_WORDS_AT_ONCE = 1024


@TokenEmbedder.register("elmo_character_cnn")
class ElmoCharacterCnnEmbedder(TokenEmbedder, NamesConfigKey):
    """
    Embeds each word with the character CNN of a trained ELMo (Peters et al. 2018), without ELMo's
    LSTM: the vector depends on the word's spelling only. It is always frozen, so a language model
    can use its vectors as input, as targets (`target_embedder` of the `semfit` head), or as both.

    Like every `pretrained_file` in AllenNLP, the weights are read for training only: an archive
    contains them.

    Registered as a `TokenEmbedder` with name "elmo_character_cnn".

    # Parameters

    options : `Dict[str, Any]`
        The sizes, in the form of ELMo's `options.json`, which jsonnet's `import` reads.
    pretrained_file : `str`
        ELMo's weights as HDF5, a path or a URL. The weights of the LSTM are not read.

    # Raises

    `ConfigurationError`
        If the file is missing or damaged, or the weights do not fit the options; when words are
        embedded, if there are no weights.

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

    def __init__(self, options: Dict[str, Any], pretrained_file: Optional[str] = None) -> None:
        super().__init__()
        try:
            cnn = options["char_cnn"]
            # PyTorch checks the other sizes.
            check_bounds({"n_highway": cnn["n_highway"]}, at_least=0, at_most=100)
            sizes = {
                "activation": cnn["activation"],
                "embedding_dim": cnn["embedding"]["dim"],
                "filters": [(int(width), int(number)) for width, number in cnn["filters"]],
                "num_highway": cnn["n_highway"],
                "projection_dim": options["lstm"]["projection_dim"],
            }
            self._encoder = CnnHighwayEncoder.from_params(Params(sizes))
            # The indexer's ids are ELMo's plus 1, because 0 is the padding of sentences.
            num_characters = ELMoCharacterMapper.padding_character + 2
            self._embedding = Embedding(cnn["embedding"]["dim"], num_characters)
        # PyTorch raises many types of errors for invalid sizes.
        except Exception as error:
            found = f"there is no {error}" if isinstance(error, KeyError) else first_line(error)
            message = f"elmo_character_cnn: `options`: {found} in {options}"
            raise ConfigurationError(message) from error
        # AllenNLP's identity is a lambda, which does not pickle.
        self._encoder._layer_norm = torch.nn.Identity()
        self._has_weights = pretrained_file is not None
        if pretrained_file is not None:
            self._load_weights(pretrained_file)
        self.requires_grad_(False)

    @torch.no_grad()
    def _load_weights(self, pretrained_file: str) -> None:
        kind, remedy = "ELMo's weight file", "Give the weights that belong to `options`."
        path = resolve_file(pretrained_file, "Give the path of the file.", kind)
        try:
            with h5py.File(path, "r") as file:
                for name, weight in self._elmo_weights():
                    found, wanted = getattr(file.get(name), "shape", None), tuple(weight.shape)
                    if found != wanted:
                        has = f"has `{name}` of the shape {found}" if found else f"has no `{name}`"
                        found = f"{has}, but its shape must be {wanted}"
                        raise InvalidFileError(pretrained_file, found, remedy, kind)
                    values = torch.from_numpy(file[name][...].astype("float32"))
                    weight.copy_(-values if name.endswith("_carry") else values)
        except (OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
            found = f"is not HDF5, or is damaged ({error})"
            remedy = "Copy it again from an intact file."
            raise InvalidFileError(pretrained_file, found, remedy, kind) from None

    def _elmo_weights(self) -> Iterator[Tuple[str, torch.Tensor]]:
        """
        The weights as views with ELMo's names and shapes. AllenNLP's gate is the share of the input
        that is carried, ELMo's the share that is transformed, so the signs of their weights differ.
        """
        encoder: Any = self._encoder
        yield "char_embed", self._embedding.weight[1:]
        for index, convolution in enumerate(encoder._convolutions):
            yield f"CNN/W_cnn_{index}", convolution.weight.permute(2, 1, 0).unsqueeze(0)
            yield f"CNN/b_cnn_{index}", convolution.bias
        for index, layer in enumerate(encoder._highways._layers):
            for kind, values in (("W", layer.weight.t()), ("b", layer.bias)):
                transform, carry = values.chunk(2, dim=-1)
                yield f"CNN_high_{index}/{kind}_transform", transform
                yield f"CNN_high_{index}/{kind}_carry", carry
        yield "CNN_proj/W_proj", encoder._projection.weight.t()
        yield "CNN_proj/b_proj", encoder._projection.bias

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._has_weights = True

    def get_output_dim(self) -> int:
        return int(self._encoder.get_output_dim())

    def forward(self, elmo_tokens: torch.Tensor) -> torch.Tensor:
        """
        The vectors of words, without gradients and zero where padded, shape
        `(batch_size, length, get_output_dim())`. `elmo_tokens` is the output of the
        `elmo_characters` indexer, shape `(batch_size, length, 50)`.
        """
        if elmo_tokens.dim() != 3 or elmo_tokens.size(-1) != _MAX_CHARACTERS:
            raise ConfigurationError(
                f"The elmo_character_cnn embedder takes a tensor of shape (batch, length, "
                f"{_MAX_CHARACTERS}), but the indexer of the same name gave it one of shape "
                f'{tuple(elmo_tokens.shape)}. Let that indexer be {{"type": "elmo_characters"}}.'
            )
        if not self._has_weights:
            raise ConfigurationError(
                "elmo_character_cnn: there are no weights. Give ELMo's as `pretrained_file`."
            )
        with torch.no_grad():
            # Embed each distinct word once, so that all its occurrences have identical vectors.
            distinct, indices = distinct_vectors(elmo_tokens.float())
            vectors = [
                self._encoder(self._embedding(words), words > 0)
                for words in distinct.long().split(_MAX_WORDS_AT_ONCE)
            ]
            # The padding has the index -1.
            padding = vectors[0].new_zeros(1, self.get_output_dim())
            return torch.cat([*vectors, padding])[indices]
