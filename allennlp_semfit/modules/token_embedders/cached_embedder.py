import inspect
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.token_embedders import TokenEmbedder

__all__ = ["CachedEmbedder"]


@TokenEmbedder.register("cached")
class CachedEmbedder(TokenEmbedder):
    """
    Caches the vectors of another embedder. Use it for a slow, frozen embedder that does not depend
    on the context, such as `elmo_character_cnn`: most of a text consists of few distinct words.

    The wrapped embedder runs in evaluation mode, without gradients and outside of autocast, so the
    cached vectors have full precision. The cache is not archived. It is cleared when weights are
    loaded or moved to another device or type. Call `clear_cache()` after changing weights in
    place.

    Registered as a `TokenEmbedder` with name "cached".

    # Parameters

    embedder : `TokenEmbedder`
        It must be frozen, and a word's vector must not depend on its context.
    max_words : `int`, optional (default = `100000`)
        The maximum number of cached vectors. When the cache is full, the oldest are evicted. The
        vectors take up to `4 * max_words * get_output_dim()` bytes on the device of the inputs, 205
        MB at 512 dimensions and the default. The keys take main memory, 53 MB for the default with
        `elmo_characters`: the bytes of a word's tensors and about 130 more.

    # Raises

    `ConfigurationError`
        If the embedder has a trainable parameter, or `max_words` is less than 1.

    # Example

    ```json
    "token_embedders": {
        "characters": {
            "type": "cached",
            "embedder": {
                "type": "elmo_character_cnn",
                "options_file": "options.json",
                "pretrained_file": "weights.hdf5"
            }
        }
    }
    ```
    """

    def __init__(self, embedder: TokenEmbedder, max_words: int = 100_000) -> None:
        super().__init__()
        if max_words < 1:
            raise ConfigurationError(f"cached: `max_words` is {max_words}; it must be at least 1")
        trainable = [name for name, p in embedder.named_parameters() if p.requires_grad]
        if trainable:
            raise ConfigurationError(
                f"cached: the `embedder` is a {type(embedder).__name__} whose `{trainable[0]}` "
                "is trainable, so cached vectors would become outdated. Freeze it, for instance an "
                '`embedding` with "trainable": false, or remove `cached` around it.'
            )
        self.embedder = embedder.eval()
        self._cache = _VectorCache(max_words)

    def get_output_dim(self) -> int:
        return int(self.embedder.get_output_dim())

    def clear_cache(self) -> None:
        """Removes all vectors from the cache."""
        self._cache = _VectorCache(self._cache.max_words)

    def train(self, mode: bool = True) -> "CachedEmbedder":
        super().train(mode)
        self.embedder.eval()
        return self

    def _apply(self, *args: Any, **kwargs: Any) -> "CachedEmbedder":
        self.clear_cache()
        return super()._apply(*args, **kwargs)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self.clear_cache()
        super()._load_from_state_dict(*args, **kwargs)

    def forward(self, *args: torch.Tensor, **tensors: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        args, tensors : `torch.Tensor`
            The embedder's inputs, each of shape `(batch_size, length, ...)`. If the embedder has
            only one argument, the name of a single tensor is ignored, as in
            `BasicTextFieldEmbedder`.

        # Returns

        `torch.Tensor`
            The embedder's output, without a gradient. Shape
            `(batch_size, length, get_output_dim())`.

        # Raises

        `ConfigurationError`
            If a tensor does not have the shape `(batch_size, length, ...)`.
        """
        num_arguments = len(inspect.signature(self.embedder.forward).parameters)
        if len(tensors) == num_arguments == 1 and not args:
            args, tensors = tuple(tensors.values()), {}
        names = sorted(tensors)
        inputs = [*args, *(tensors[name] for name in names)]
        shape = _batch_and_length([*map(str, range(len(args))), *names], inputs)
        if shape.numel() == 0:
            return torch.zeros(*shape, self.get_output_dim(), device=inputs[0].device)

        def embed(words: List[torch.Tensor]) -> torch.Tensor:
            # The words as one sentence.
            sentence = [tensor.unsqueeze(0) for tensor in words]
            named = dict(zip(names, sentence[len(args) :]))
            return self.embedder(*sentence[: len(args)], **named).squeeze(0)

        # Tensors made in inference mode cannot be used in training later.
        with torch.inference_mode(False), torch.no_grad():
            words = [tensor.flatten(0, 1) for tensor in inputs]
            if not self._cache.is_on(words[0].device):
                self.clear_cache()
            with torch.autocast(words[0].device.type, enabled=False):
                vectors = self._cache.lookup(words, embed)
            return vectors.view(*shape, self.get_output_dim())


def _batch_and_length(names: List[str], inputs: List[torch.Tensor]) -> torch.Size:
    if not inputs:
        raise ConfigurationError("cached: there is no input tensor; it needs those of an indexer")
    shape = inputs[0].shape[:2]
    for name, tensor in zip(names, inputs):
        if tensor.dim() < 2 or tensor.shape[:2] != shape:
            raise ConfigurationError(
                f"cached: the indexer's tensor `{name}` has the shape {tuple(tensor.shape)}; all "
                "tensors must have the shape (batch, length, ...), with the same batch and length."
            )
    return shape


class _VectorCache:
    """
    A thread-safe cache of word vectors. It is not a `Module` with a buffer, because it must not be
    archived, nor broadcast to the other processes at each step. Copying it gives an empty cache.
    """

    def __init__(self, max_words: int) -> None:
        self.max_words = max_words
        self._slots: Dict[bytes, int] = {}
        self._table: Optional[torch.Tensor] = None
        # The word of each slot. Slots are reused in turn.
        self._words: List[bytes] = []
        self._next_slot = 0
        self._layouts: Dict[Any, bytes] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _VectorCache, (self.max_words,)

    def is_on(self, device: torch.device) -> bool:
        return self._table is None or self._table.device == device

    def lookup(
        self, inputs: List[torch.Tensor], embed: Callable[[List[torch.Tensor]], torch.Tensor]
    ) -> torch.Tensor:
        """
        The vectors, shape `(num_words, dim)`, for inputs of shape `(num_words, ...)` with at least
        one word. `embed` computes those of some of the words from their rows of `inputs`.
        """
        with self._lock:
            words = self._keys(inputs)
            first_positions: Dict[bytes, int] = {}
            for position, word in enumerate(words):
                first_positions.setdefault(word, position)
            cached = [word for word in first_positions if word in self._slots]
            new = [word for word in first_positions if word not in self._slots]
            rows = {word: row for row, word in enumerate(cached + new)}

            # Copy all indices before the embedder runs, because each copy waits for the device.
            def to_device(numbers: List[int]) -> torch.Tensor:
                return torch.tensor(numbers, dtype=torch.long, device=inputs[0].device)

            rows_of_words = to_device([rows[word] for word in words])
            cached_slots = to_device([self._slots[word] for word in cached])
            new_positions = to_device([first_positions[word] for word in new])
            stop = self._next_slot + min(len(new), self.max_words)
            new_slots = to_device([i % self.max_words for i in range(self._next_slot, stop)])

            vectors = []
            if cached:
                assert self._table is not None
                vectors.append(self._table[cached_slots])
            if new:
                vectors.append(embed([tensor[new_positions] for tensor in inputs]))
                self._table = self._grow(self._table, vectors[-1])
                self._table[new_slots] = vectors[-1][: self.max_words]
                self._insert(new[: self.max_words])
            return torch.cat(vectors)[rows_of_words]

    def _grow(self, table: Optional[torch.Tensor], vectors: torch.Tensor) -> torch.Tensor:
        """The table, grown by at least a factor of 2 if `vectors` do not fit."""
        size = 0 if table is None else len(table)
        needed = min(self.max_words, len(self._words) + len(vectors))
        if table is not None and needed <= size:
            return table
        larger = vectors.new_empty(min(self.max_words, max(needed, 2 * size)), vectors.size(-1))
        if table is not None:
            larger[:size] = table
        return larger

    def _insert(self, words: List[bytes]) -> None:
        for word in words:
            if self._next_slot < len(self._words):
                del self._slots[self._words[self._next_slot]]
                self._words[self._next_slot] = word
            else:
                self._words.append(word)
            self._slots[word] = self._next_slot
            self._next_slot = (self._next_slot + 1) % self.max_words

    def _keys(self, inputs: List[torch.Tensor]) -> List[bytes]:
        """
        The bytes of each word's tensors. This waits for the device. So would `torch.unique`, which
        takes ten times as long on a CPU.
        """
        # Bytes alone identify a word only among tensors of the same types and shapes.
        layout = tuple((tensor.dtype, tensor.shape[1:]) for tensor in inputs)
        layout_id = self._layouts.setdefault(layout, len(self._layouts).to_bytes(4, "big"))
        columns = [x.reshape(len(x), -1).contiguous().view(torch.uint8) for x in inputs]
        table = torch.cat(columns, dim=1).cpu().numpy()
        words: List[bytes] = table.view(f"V{table.shape[1]}").ravel().tolist()
        return [word + layout_id for word in words]
