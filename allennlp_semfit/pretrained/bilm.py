import os
from typing import Any, Dict, List, Optional, Set, Tuple, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenCharactersEncoder
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.data.token_indexers.fasttext_indexer import FastTextIndexer
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.modules.token_embedders.cached_embedder import CachedEmbedder
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    ElmoCharacterCnnEmbedder,
)
from allennlp_semfit.pretrained.archive import load_language_model
from allennlp_semfit.pretrained.boundary_tokens import BoundaryTokens, add_boundary_tokens
from allennlp_semfit.pretrained.input_spec import InputSpec, strip_prefix

__all__ = ["PretrainedBiLm"]


class PretrainedBiLm(torch.nn.Module):
    """
    All layers of a trained language model, for sentences without boundaries: it puts round each
    sentence the boundary tokens that the model was trained with, and runs the model without its
    output layer. Where the model reads subwords, it joins their vectors.

    Build it with [`from_archive`](#from_archive).

    # Parameters

    model : `BidirectionalLm`
        Its head is left behind.
    indexer_name : `str`
        The name that the model's text field embedder knows the sentence's tensors by.
    tensor_prefix : `str`, optional (default = `""`)
        What the names of these tensors begin with, as the `elmo_semfit` indexer gives them.
    is_subword : `bool`, optional (default = `False`)
        Whether the model reads subwords.
    sub_token_mode : `str`, optional (default = `"first"`)
        What a word has of its subwords: `"first"`, the vector of the first; `"avg"`, their mean.

    # Raises

    `ConfigurationError`
        If `sub_token_mode` is something else.
    """

    def __init__(
        self,
        model: BidirectionalLm,
        indexer_name: str,
        *,
        tensor_prefix: str = "",
        is_subword: bool = False,
        sub_token_mode: str = "first",
    ) -> None:
        super().__init__()
        if sub_token_mode not in ("first", "avg"):
            raise ConfigurationError(
                f"`sub_token_mode` is {sub_token_mode!r}; it takes 'first' or 'avg'."
            )
        model.return_all_layers = True
        self.indexer_name = indexer_name
        self.tensor_prefix = tensor_prefix
        self.is_subword = is_subword
        self.sub_token_mode = sub_token_mode
        self.num_layers = model.num_layers()
        self._text_field_embedder = model._text_field_embedder
        self._contextualizer = model._contextualizer
        for module in self.modules():
            if isinstance(module, Embedding):
                # AllenNLP extends all embeddings of a model that it loads by the words of the
                # model's vocabulary, and that will be the task's.
                module._vocab_namespace = None
        self._input_names: Optional[Set[str]] = None
        self._start = BoundaryTokens()
        self._end = BoundaryTokens()
        self._missing_file: Optional[InvalidFileError] = None
        self._is_frozen = False
        # In a tuple: its parameters are the text field embedder's, and keep their names.
        self._cached_embedder: Optional[Tuple[CachedEmbedder]] = None

    @classmethod
    def from_archive(
        cls,
        archive_file: Union[str, os.PathLike],
        fasttext_model_path: Optional[str] = None,
        sub_token_mode: str = "first",
    ) -> "PretrainedBiLm":
        """
        # Parameters

        archive_file : `Union[str, os.PathLike]`
            The archive of a `bidirectional_lm`, or the directory of its training.
        fasttext_model_path : `str`, optional (default = `None`)
            The model's fastText file, if it is no longer where the archive says. If there is
            none, only a state dict that has the boundary tokens' vectors makes up for it.
        sub_token_mode : `str`, optional (default = `"first"`)
            See the class.

        # Raises

        `InvalidFileError`
            If there is no such archive, or it holds another model.
        `ConfigurationError`
            If none or several of its indexers have an embedder that is not `empty`, if the fastText
            file's vectors are of another dimension than those which the model was trained on, or
            one is given and the model reads none; or if `sub_token_mode` is unknown.
        """
        params, model = load_language_model(str(archive_file))
        model_input = InputSpec(archive_file, params)
        layers = cls(
            model,
            model_input.name,
            tensor_prefix=model_input.tensor_prefix,
            is_subword=model_input.is_subword,
            sub_token_mode=sub_token_mode,
        )
        try:
            indexer = model_input.open_indexer(fasttext_model_path)
        except InvalidFileError as error:
            layers._missing_file = error
            return layers
        if isinstance(indexer, FastTextIndexer) and (
            indexer.embedding_dim != layers.get_input_dim()
        ):
            raise ConfigurationError(
                f"The language model {archive_file} was trained on vectors of dimension "
                f"{layers.get_input_dim()}, but those of {indexer._model.path} have dimension "
                f"{indexer.embedding_dim}. Give the file that it was trained with as "
                "`fasttext_model_path`."
            )
        layers._input_names = {
            layers.tensor_prefix + name for name in indexer.get_empty_token_list()
        }
        if layers.is_subword:
            layers._input_names |= {"word_mask", "subword_spans"}
        layers._start.index(model_input.start_tokens, indexer, model.vocab)
        layers._end.index(model_input.end_tokens, indexer, model.vocab)
        return layers

    def input_names(self) -> Optional[Set[str]]:
        """The tensors that it takes; `None` if that is not known for want of the fastText file."""
        return self._input_names

    def get_input_dim(self) -> int:
        """The dimension of the word vectors that the language model was trained on."""
        return int(self._text_field_embedder.get_output_dim())

    def get_output_dim(self) -> int:
        return int(self._contextualizer.get_output_dim())

    def freeze(self) -> None:
        """
        Takes the gradients of all parameters, and dropout, for good. From here on, what a character
        CNN makes of a word is computed once and remembered, as by a `CachedEmbedder`, whose
        memory it takes; whoever changes weights but by loading them calls `clear_cache`.
        """
        self._is_frozen = True
        self.requires_grad_(False).eval()
        text_field_embedder = self._text_field_embedder
        embedder: Any = getattr(text_field_embedder, f"token_embedder_{self.indexer_name}", None)
        # Subclasses may do what they like; of these it is known that they look at nothing else.
        if type(text_field_embedder) is BasicTextFieldEmbedder and (
            type(embedder) in (TokenCharactersEncoder, ElmoCharacterCnnEmbedder)
        ):
            self._cached_embedder = (CachedEmbedder(embedder),)

    def train(self, mode: bool = True) -> "PretrainedBiLm":
        return super().train(mode and not self._is_frozen)

    def _apply(self, *args: Any, **kwargs: Any) -> "PretrainedBiLm":
        self.clear_cache()
        return super()._apply(*args, **kwargs)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self.clear_cache()
        super()._load_from_state_dict(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forgets what is remembered of words, where anything is."""
        if self._cached_embedder is not None:
            self._cached_embedder[0].clear_cache()

    def forward(
        self, tensors: Dict[str, torch.Tensor]
    ) -> Tuple[List[torch.Tensor], torch.BoolTensor]:
        """
        # Parameters

        tensors : `Dict[str, torch.Tensor]`
            What the `elmo_semfit` indexer emits for sentences without boundaries: each of shape
            `(batch_size, length, ...)`, where `length` is the most words or, where the language
            model reads these, the most subwords.

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
                f"but: {self._missing_file} In a configuration, that is a parameter of the "
                "embedder."
            )
        read = strip_prefix(tensors, self.tensor_prefix)
        lengths = get_text_field_mask({self.indexer_name: read}).sum(dim=1, keepdim=True)
        source = {
            self.indexer_name: {
                name: add_boundary_tokens(tensor, self._start[name], self._end[name], lengths)
                for name, tensor in read.items()
            }
        }
        mask = get_text_field_mask(source)
        if self._cached_embedder is None:
            embedded = self._text_field_embedder(source)
        else:
            embedded = self._cached_embedder[0](**source[self.indexer_name])
        return self._contextualizer(embedded, mask), mask

    def pool_to_words(self, tensor: torch.Tensor, tensors: Dict[str, torch.Tensor]) -> torch.Tensor:
        """
        # Parameters

        tensor : `torch.Tensor`
            A layer, or a mixture of them. Shape `(batch_size, start + length + end, dim)`.
        tensors : `Dict[str, torch.Tensor]`
            What the layers were made of.

        # Returns

        `torch.Tensor`
            What there is of each word: without the boundaries, and the subwords of a word joined.
            Shape `(batch_size, num_words, dim)`, zero where padded.
        """
        if self.is_subword:
            mask = tensors["word_mask"]
            spans = tensors["subword_spans"] + self._start.size
            words = _join_subwords(tensor, spans, self.sub_token_mode)
        else:
            mask = get_text_field_mask({self.indexer_name: tensors})
            words = tensor[:, self._start.size : tensor.size(1) - self._end.size]
        return words * mask.unsqueeze(-1)


def _join_subwords(tensor: torch.Tensor, spans: torch.Tensor, mode: str) -> torch.Tensor:
    """
    # Parameters

    tensor : `torch.Tensor`
        Shape `(batch_size, num_subwords, dim)`.
    spans : `torch.Tensor`
        Each word's first and last subword. Shape `(batch_size, num_words, 2)`.
    mode : `str`
        `"first"` or `"avg"`.

    # Returns

    `torch.Tensor`
        The first subword of each word, or the mean of its subwords. Shape
        `(batch_size, num_words, dim)`.
    """
    first, last = spans[..., :1], spans[..., 1:]
    if mode == "first":
        return tensor.gather(1, first.expand(-1, -1, tensor.size(-1)))
    subwords = torch.arange(tensor.size(1), device=tensor.device)
    # A product of matrices, and not a sum over spans padded to the longest: there are words of
    # hundreds of subwords.
    is_within = (first <= subwords) & (subwords <= last)
    return torch.bmm(is_within.to(tensor), tensor) / (last - first + 1)
