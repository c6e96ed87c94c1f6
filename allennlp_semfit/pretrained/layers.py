from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenEmbedder
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.archives.language_model_archive import (
    FIRST_SUBWORDS,
    WORD_MASK,
    LanguageModelArchive,
)
from allennlp_semfit.functional import vectors_differ
from allennlp_semfit.modules.token_embedders.cached_embedder import CachedEmbedder
from allennlp_semfit.pretrained.folder_language_model import add_boundary_tokens

# Embedders whose output depends only on the word, which may not hold for their subclasses.
_CHARACTER_CNNS = ("character_encoding", "elmo_character_cnn")


class LanguageModelLayers(torch.nn.Module):
    """
    The layers of a trained language model, the `archive`'s `model`, without its output layer. Adds
    the boundary tokens of its training to each sentence. In a subword model, the vector of a word
    is that of its first subword. Raises a `ConfigurationError` if the model does not fit the
    fastText file or does not have exactly one indexer whose embedder is not `empty`.
    """

    def __init__(self, archive: LanguageModelArchive, model: Any) -> None:
        super().__init__()
        self.indexer_name = archive.input_name
        self.prefix = archive.prefix
        self.is_subword = archive.is_subword
        self.num_layers = model.num_layers()
        self._text_field_embedder = model._text_field_embedder
        self._contextualizer = model._contextualizer
        self._contextualizer.return_all_layers = True
        for module in self.modules():
            if isinstance(module, Embedding):
                # Otherwise AllenNLP extends this embedding to the task's vocabulary when it loads
                # the task's model.
                module._vocab_namespace = None
        self._is_frozen = False
        # In a tuple, because its parameters are already registered by the text field embedder.
        self._cached_embedder: Optional[Tuple[CachedEmbedder]] = None
        indexer: Any = archive.open_indexer()
        # Only indexers that look up vectors have this attribute.
        vectors: Any = getattr(indexer, "vectors", None)
        if vectors is not None and vectors.dim != self.get_input_dim():
            raise ConfigurationError(
                f"The language model {archive.file} was trained on vectors of dimension "
                f"{self.get_input_dim()}, but those of {vectors.path} have dimension "
                f"{vectors.dim}. Restore the file that it was trained with."
            )
        self.input_names = {self.prefix + name for name in indexer.get_empty_token_list()}
        if self.is_subword:
            self.input_names |= {WORD_MASK, FIRST_SUBWORDS}
        self._start, self._end = (
            _BoundaryTokens(tokens, indexer, model.vocab, archive.file)
            for tokens in archive.boundary_tokens
        )
        for boundary in self._start.state_dict().values():
            if vectors_differ(boundary[:1], model.boundary_vector):
                raise archive.error(
                    f"was trained on other vectors than those of {vectors.path}",
                    "Restore the file that it was trained with.",
                )

    def get_input_dim(self) -> int:
        """The dimension of the word vectors that the language model was trained on."""
        return int(self._text_field_embedder.get_output_dim())

    def get_output_dim(self) -> int:
        return int(self._contextualizer.get_output_dim())

    def freeze(self) -> None:
        """
        Turns off gradients and dropout for good, and caches the vectors of a character CNN in a
        `CachedEmbedder`.
        """
        self._is_frozen = True
        self.requires_grad_(False).eval()
        text_field_embedder = self._text_field_embedder
        embedder: Any = getattr(text_field_embedder, f"token_embedder_{self.indexer_name}", None)
        if type(text_field_embedder) is BasicTextFieldEmbedder and (
            type(embedder) in map(TokenEmbedder.by_name, _CHARACTER_CNNS)
        ):
            self._cached_embedder = (CachedEmbedder(embedder),)

    def train(self, mode: bool = True) -> "LanguageModelLayers":
        return super().train(mode and not self._is_frozen)

    def forward(self, tensors: Dict[str, torch.Tensor]) -> List[torch.Tensor]:
        """
        The layers, the projected input first, including boundaries: `num_layers` tensors of shape
        `(batch_size, start + length + end, get_output_dim())`. `tensors` are those of the
        `elmo_semfit` indexer, shape `(batch_size, length, ...)`, where `length` counts words or, in
        a subword model, subwords.
        """
        # The user may have called `half()`.
        dtype = next(self._contextualizer.parameters()).dtype
        read = {
            name.removeprefix(self.prefix): (
                tensor.to(dtype) if tensor.is_floating_point() else tensor
            )
            for name, tensor in tensors.items()
            if name.startswith(self.prefix)
        }
        mask = get_text_field_mask({self.indexer_name: read})
        lengths = mask.sum(dim=1, keepdim=True)
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
            embedded = self._cached_embedder[0](*source[self.indexer_name].values())
        return self._contextualizer(embedded, mask)

    def select_words(self, tensor: torch.Tensor, tensors: Dict[str, torch.Tensor]) -> torch.Tensor:
        """
        Removes the boundaries of a layer or a mix of layers, the output of `forward(tensors)`, and
        all but the first subword of each word. Shape `(batch_size, num_words, dim)`, zero where
        padded.
        """
        if self.is_subword:
            mask = tensors[WORD_MASK]
            first = (tensors[FIRST_SUBWORDS] + self._start.size).unsqueeze(-1)
            words = tensor.gather(1, first.expand(-1, -1, tensor.size(-1)))
        else:
            mask = get_text_field_mask({self.indexer_name: tensors})
            words = tensor[:, self._start.size : tensor.size(1) - self._end.size]
        return words * mask.unsqueeze(-1)


class _BoundaryTokens(torch.nn.Module):
    """
    The tensors of the tokens on one side of a sentence, as buffers. Vectors are part of the state
    dict, so that a trained task detects other vectors than those that it was trained with.
    """

    def __init__(
        self, tokens: Sequence[str], indexer: TokenIndexer, vocab: Vocabulary, archive_file: str
    ) -> None:
        super().__init__()
        self._archive_file = archive_file
        # Add a token, because some indexers return wrong shapes for an empty list.
        indexed = indexer.tokens_to_indices([Token(token) for token in (".", *tokens)], vocab)
        tensors = indexer.as_padded_tensor_dict(indexed, indexer.get_padding_lengths(indexed))
        for name, tensor in tensors.items():
            # Skip masks, which `__getitem__` makes.
            if tensor.dtype != torch.bool:
                # Remove the padding of `token_min_padding_length`.
                boundary = tensor[1 : 1 + len(tokens)].clone()
                self.register_buffer(name, boundary, persistent=tensor.is_floating_point())

    def __getitem__(self, name: str) -> torch.Tensor:
        tensor = self._buffers.get(name)
        if tensor is not None:
            return tensor
        # Copying a mask to a GPU would wait for the GPU.
        device = next(self.buffers()).device
        return torch.ones(self.size, dtype=torch.bool, device=device)

    @property
    def size(self) -> int:
        """The number of tokens."""
        return next(iter(self.buffers())).size(0)

    def _load_from_state_dict(
        self, state_dict: Dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        for name, vectors in self.state_dict().items():
            trained = state_dict.get(prefix + name, vectors).to(vectors)
            if trained.shape == vectors.shape and vectors_differ(vectors, trained):
                raise ConfigurationError(
                    f"The language model {self._archive_file} has other word vectors than when "
                    "this task was trained: it is another language model, or its file of vectors "
                    "has been replaced. Restore the original."
                )
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
