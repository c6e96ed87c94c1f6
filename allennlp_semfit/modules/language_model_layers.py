import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Token, TokenIndexer, Vocabulary
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.common.fasttext_model import FastTextModel
from allennlp_semfit.common.invalid_file import InvalidFileError
from allennlp_semfit.data.dataset_readers.language_modeling import LanguageModelingReader
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.modules.language_model_archive import load_language_model

__all__ = ["LanguageModelLayers"]


class LanguageModelLayers(torch.nn.Module):
    """
    All layers of a trained language model, for sentences without boundaries: it puts round each
    sentence the boundary tokens that the model was trained with, and runs the model without its
    output layer.

    Build it with [`from_archive`](#from_archive).

    # Parameters

    model : `BidirectionalLm`
        Its head is left behind.
    indexer_name : `str`
        The name that the model's text field embedder knows the sentence's tensors by.
    indexer : `TokenIndexer`, optional (default = `None`)
        Indexes the boundary tokens. Without it, their tensors must come with a state dict.
    start_tokens, end_tokens : `Sequence[str]`, optional (default = `()`)
        Those of the reader that the model was trained with.
    """

    def __init__(
        self,
        model: BidirectionalLm,
        indexer_name: str,
        indexer: Optional[TokenIndexer] = None,
        start_tokens: Sequence[str] = (),
        end_tokens: Sequence[str] = (),
    ) -> None:
        super().__init__()
        model.return_all_layers = True
        self.indexer_name = indexer_name
        self.indexer = indexer
        self.vocab: Vocabulary = model.vocab
        self.num_layers = model.num_layers()
        self._text_field_embedder = model._text_field_embedder
        self._contextualizer = model._contextualizer
        self._start = _Boundary()
        self._end = _Boundary()
        self._missing_file: Optional[InvalidFileError] = None
        if indexer is not None:
            for boundary, tokens in ((self._start, start_tokens), (self._end, end_tokens)):
                boundary.index(tokens, indexer, self.vocab)

    @classmethod
    def from_archive(
        cls,
        archive_file: Union[str, os.PathLike],
        fasttext_model_path: Optional[str] = None,
    ) -> "LanguageModelLayers":
        """
        # Parameters

        archive_file : `Union[str, os.PathLike]`
            The archive of a `bidirectional_lm`, or the directory of its training.
        fasttext_model_path : `str`, optional (default = `None`)
            The model's fastText file, if it is no longer where the archive says. If there is
            none, only a state dict that has the boundary tokens' vectors makes up for it.

        # Raises

        `InvalidFileError`
            If there is no such archive, or it holds another model.
        `ConfigurationError`
            If its reader has more than one indexer, or the fastText file's vectors are of another
            dimension than those which the model was trained on.
        """
        params, model = load_language_model(str(archive_file))
        reader_params = params["dataset_reader"]
        embedding_dim = model._text_field_embedder.get_output_dim()
        indexers_params = reader_params.get("token_indexers", Params({}))
        if len(indexers_params) != 1:
            raise ConfigurationError(
                f"The language model {archive_file} reads its words with the indexers "
                f"{list(indexers_params)}; to serve as an embedder it must have exactly one."
            )
        (indexer_name,) = indexers_params
        indexer_params = indexers_params[indexer_name]
        if indexer_params["type"] == "fasttext":
            if fasttext_model_path is not None:
                indexer_params["model_path"] = fasttext_model_path
            try:
                fasttext = FastTextModel.open(indexer_params["model_path"])
            except InvalidFileError as error:
                layers = cls(model, indexer_name)
                layers._missing_file = error
                return layers
            if fasttext.dim != embedding_dim:
                raise ConfigurationError(
                    f"The language model {archive_file} was trained on vectors of dimension "
                    f"{embedding_dim}, but those of {fasttext.path} have dimension {fasttext.dim}. "
                    "Give the file that it was trained with as `fasttext_model_path`."
                )
        reader = DatasetReader.from_params(reader_params.duplicate())
        assert isinstance(reader, LanguageModelingReader)
        return cls(
            model,
            indexer_name,
            reader._token_indexers[indexer_name],
            reader.start_tokens,
            reader.end_tokens,
        )

    @property
    def missing_file(self) -> Optional[InvalidFileError]:
        """What is wrong with the fastText file, where that is why there is no `indexer`."""
        return self._missing_file

    def get_input_dim(self) -> int:
        """The dimension of the word vectors that the language model was trained on."""
        return int(self._text_field_embedder.get_output_dim())

    def get_output_dim(self) -> int:
        return int(self._contextualizer.get_output_dim())

    def forward(
        self, tensors: Dict[str, torch.Tensor]
    ) -> Tuple[List[torch.Tensor], torch.BoolTensor]:
        """
        # Parameters

        tensors : `Dict[str, torch.Tensor]`
            What the language model's indexer emits for sentences of up to `length` words, without
            boundaries. Each of shape `(batch_size, length, ...)`.

        # Returns

        `List[torch.Tensor]`
            The layers, the projected input first, boundaries included. `num_layers` tensors of
            shape `(batch_size, start + length + end, get_output_dim())`.
        `torch.BoolTensor`
            Their mask, shape `(batch_size, start + length + end)`.

        # Raises

        `ConfigurationError`
            If the boundary tokens' vectors are not known.
        """
        if not (self._start.is_known and self._end.is_known):
            raise ConfigurationError(
                "The language model needs the vectors of the tokens that stand round a sentence, "
                f"but: {self._missing_file} Name the file that the language model was trained with "
                "as the embedder's `fasttext_model_path`."
            )
        mask = get_text_field_mask({self.indexer_name: tensors})
        lengths = mask.sum(dim=1, keepdim=True)
        source = {
            self.indexer_name: {
                name: _put_round(tensor, self._start[name], self._end[name], lengths)
                for name, tensor in tensors.items()
            }
        }
        mask = get_text_field_mask(source)
        return self._contextualizer(self._text_field_embedder(source), mask), mask

    def without_boundaries(self, tensor: torch.Tensor) -> torch.Tensor:
        """
        What is left of `tensor`, shape `(batch_size, start + length + end, ...)`, when the
        boundaries are dropped: shape `(batch_size, length, ...)`. Where a sentence is padded, the
        end tokens remain in the padding's place: mask them.
        """
        return tensor[:, self._start.size : tensor.size(1) - self._end.size]


class _Boundary(torch.nn.Module):
    """The tensors of the tokens on one side of a sentence: buffers, so that they are archived."""

    def __init__(self) -> None:
        super().__init__()
        self.is_known = False

    def index(self, tokens: Sequence[str], indexer: TokenIndexer, vocab: Vocabulary) -> None:
        indexed = indexer.tokens_to_indices([Token(token) for token in tokens], vocab)
        tensors = indexer.as_padded_tensor_dict(indexed, indexer.get_padding_lengths(indexed))
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)
        self.is_known = True

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._buffers[name]  # type: ignore[return-value]

    @property
    def size(self) -> int:
        """The number of tokens."""
        return next(iter(self.buffers())).size(0)

    def _load_from_state_dict(
        self, state_dict: Dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        if not self.is_known:
            for key in [key for key in state_dict if key.startswith(prefix)]:
                self.register_buffer(key[len(prefix) :], torch.empty_like(state_dict[key]))
                self.is_known = True
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


def _put_round(
    tensor: torch.Tensor, start: torch.Tensor, end: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """
    Puts the boundary tokens round sentences: `start` before, `end` right after the last word.

    # Parameters

    tensor : `torch.Tensor`
        Shape `(batch_size, length, ...)`.
    start, end : `torch.Tensor`
        Shape `(number of tokens, ...)`.
    lengths : `torch.Tensor`
        The number of words in each sentence. Shape `(batch_size, 1)`.
    """
    batch_size, _, *dims = tensor.size()

    def each(boundary: torch.Tensor) -> torch.Tensor:
        # A state dict's device may be another.
        return boundary.to(tensor).expand(batch_size, *boundary.size())

    bounded = torch.cat([each(start), tensor, torch.zeros_like(each(end))], dim=1)
    positions = start.size(0) + lengths + torch.arange(end.size(0), device=lengths.device)
    positions = positions.view(batch_size, end.size(0), *(1 for _ in dims))
    return bounded.scatter(1, positions.expand_as(each(end)), each(end))
