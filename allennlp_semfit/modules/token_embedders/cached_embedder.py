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
    Computes the vector of each word once, and remembers it: for a frozen embedder that takes its
    time and whose vector of a word depends on nothing but that word's own tensors, such as
    `elmo_character_cnn`. Few words make up most of a text.

    The embedder runs without a gradient, in evaluation mode, and outside of autocast: what is
    remembered has full precision. What is remembered is not archived, and is forgotten where
    weights are loaded, or moved to another device or type. Whoever changes the embedder's weights
    in another way calls `clear_cache`.

    Registered as a `TokenEmbedder` with name "cached".

    # Parameters

    embedder : `TokenEmbedder`
        It must be frozen, and must not look at a word's context.
    max_words : `int`, optional (default = `100000`)
        How many vectors are remembered. They take `4 * max_words * get_output_dim()` bytes on the
        device of the inputs, at 512 dimensions and the default 205 MB, or while there are fewer at
        most twice what these take. The words themselves are held in main memory: each takes the
        bytes of its tensors and about 130 more, so that with `elmo_characters` the default is
        53 MB. When there are more words, those that came first are forgotten first.

    # Raises

    `ConfigurationError`
        If the embedder has a trainable parameter, or `max_words` is not positive.

    # Example

    ```json
    "token_embedders": {
        "characters": {
            "type": "cached",
            "embedder": {
                "type": "elmo_character_cnn",
                "options_file": "options.json",
                "weight_file": "weights.hdf5"
            }
        }
    }
    ```
    """

    def __init__(self, embedder: TokenEmbedder, max_words: int = 100_000) -> None:
        super().__init__()
        if max_words < 1:
            raise ConfigurationError(f"cached: `max_words` is {max_words}; it takes 1 or more")
        trainable = [name for name, p in embedder.named_parameters() if p.requires_grad]
        if trainable:
            raise ConfigurationError(
                f"cached: the `embedder` is a {type(embedder).__name__} whose `{trainable[0]}`"
                " is trainable, so that what is remembered would grow old. Freeze it: an "
                '`embedding` with "trainable": false, or none of `cached` around it.'
            )
        self.embedder = embedder.eval()
        self._cache = _VectorCache(max_words)

    def get_output_dim(self) -> int:
        return int(self.embedder.get_output_dim())

    def clear_cache(self) -> None:
        """Forgets all words."""
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
            What the embedder takes, each of shape `(batch_size, length, ...)`. A single one reaches
            an embedder with a single argument whatever its name, as in `BasicTextFieldEmbedder`.

        # Returns

        `torch.Tensor`
            What the embedder gives: shape `(batch_size, length, get_output_dim())`. It takes no
            gradient.

        # Raises

        `ConfigurationError`
            If a tensor has not a part for each word.
        """
        if len(tensors) == 1 and not args and _num_arguments(self.embedder) == 1:
            args, tensors = tuple(tensors.values()), {}
        names = sorted(tensors)
        inputs = [*args, *(tensors[name] for name in names)]
        shape = _shape_of_words([*map(str, range(len(args))), *names], inputs)
        if shape.numel() == 0:
            return torch.zeros(*shape, self.get_output_dim(), device=inputs[0].device)

        def embed(words: List[torch.Tensor]) -> torch.Tensor:
            # They are the words of one sentence.
            sentence = [tensor.unsqueeze(0) for tensor in words]
            named = dict(zip(names, sentence[len(args) :]))
            return self.embedder(*sentence[: len(args)], **named).squeeze(0)

        # What is made in inference mode is of no use outside of it.
        with torch.inference_mode(False), torch.no_grad():
            words = [tensor.flatten(0, 1) for tensor in inputs]
            if not self._cache.is_on(words[0].device):
                self.clear_cache()
            with torch.autocast(words[0].device.type, enabled=False):
                vectors = self._cache.lookup(words, embed)
            return vectors.view(*shape, self.get_output_dim())


def _num_arguments(embedder: TokenEmbedder) -> int:
    return len(inspect.signature(embedder.forward).parameters)


def _shape_of_words(names: List[str], inputs: List[torch.Tensor]) -> torch.Size:
    if not inputs:
        raise ConfigurationError("cached: there is no tensor; it takes those of an indexer")
    shape = inputs[0].shape[:2]
    for name, tensor in zip(names, inputs):
        if tensor.dim() < 2 or tensor.shape[:2] != shape:
            raise ConfigurationError(
                f"cached: of the indexer's tensors, `{name}` has the shape "
                f"{tuple(tensor.shape)}; it takes the shape (batch, length, ...), the same batch "
                "and length for all of them."
            )
    return shape


class _VectorCache:
    """
    Vectors of words. It is no `Module` and its table no buffer, for it is neither archived nor, as
    buffers are, sent from one process to the others at each step. A copy of it is empty.
    Of several threads, one at a time recalls.
    """

    def __init__(self, max_words: int) -> None:
        self.max_words = max_words
        self._slots: Dict[bytes, int] = {}
        self._table: Optional[torch.Tensor] = None
        # By slot. They are taken one after the other, again and again.
        self._words: List[bytes] = []
        self._next_slot = 0
        self._layouts: Dict[Any, bytes] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _VectorCache, (self.max_words,)

    def is_on(self, device: torch.device) -> bool:
        return self._table is None or self._table.device == device

    def lookup(
        self,
        inputs: List[torch.Tensor],
        embed: Callable[[List[torch.Tensor]], torch.Tensor],
    ) -> torch.Tensor:
        """
        # Parameters

        inputs : `List[torch.Tensor]`
            Each of shape `(num_words, ...)`, and one word at least.
        embed : `Callable[[List[torch.Tensor]], torch.Tensor]`
            Gives the vectors of some of the words, of shape `(num_some_words, dim)`, for their part
            of `inputs`.

        # Returns

        `torch.Tensor`
            Shape `(num_words, dim)`.
        """
        with self._lock:
            words = self._read(inputs)
            first_places: Dict[bytes, int] = {}
            for place, word in enumerate(words):
                first_places.setdefault(word, place)
            known = [word for word in first_places if word in self._slots]
            others = [word for word in first_places if word not in self._slots]
            rows = {word: row for row, word in enumerate(known + others)}

            # The device is idle until it has these, and is to have all before the embedder runs.
            def send(numbers: List[int]) -> torch.Tensor:
                return torch.tensor(numbers, dtype=torch.long, device=inputs[0].device)

            row_of_each = send([rows[word] for word in words])
            slots_of_known = send([self._slots[word] for word in known])
            places_of_others = send([first_places[word] for word in others])
            slots_of_others = send(
                [
                    (self._next_slot + i) % self.max_words
                    for i in range(min(len(others), self.max_words))
                ]
            )

            vectors = []
            if known:
                assert self._table is not None
                vectors.append(self._table[slots_of_known])
            if others:
                vectors.append(embed([tensor[places_of_others] for tensor in inputs]))
                self._table = self._with_room(self._table, vectors[-1])
                self._table[slots_of_others] = vectors[-1][: self.max_words]
                self._enter(others[: self.max_words])
            return torch.cat(vectors)[row_of_each]

    def _with_room(self, table: Optional[torch.Tensor], vectors: torch.Tensor) -> torch.Tensor:
        """The table with slots for these too, as far as there may be: it doubles at least."""
        size = 0 if table is None else len(table)
        wanted = min(self.max_words, len(self._words) + len(vectors))
        if table is not None and wanted <= size:
            return table
        larger = vectors.new_empty(min(self.max_words, max(wanted, 2 * size)), vectors.size(-1))
        if table is not None:
            larger[:size] = table
        return larger

    def _enter(self, words: List[bytes]) -> None:
        for word in words:
            if self._next_slot < len(self._words):
                del self._slots[self._words[self._next_slot]]
                self._words[self._next_slot] = word
            else:
                self._words.append(word)
            self._slots[word] = self._next_slot
            self._next_slot = (self._next_slot + 1) % self.max_words

    def _read(self, inputs: List[torch.Tensor]) -> List[bytes]:
        """
        The bytes of each word. Here the device waits. Finding the distinct words where the inputs
        are, by `torch.unique`, makes it wait as well, and takes ten times as long on a CPU.
        """
        # Word for word of this form, bytes are equal if and only if the words are.
        layout = tuple((tensor.dtype, tensor.shape[1:]) for tensor in inputs)
        mark = self._layouts.setdefault(layout, len(self._layouts).to_bytes(4, "big"))
        columns = [
            tensor.reshape(len(tensor), -1).contiguous().view(torch.uint8) for tensor in inputs
        ]
        table = torch.cat(columns, dim=1).cpu().numpy()
        words: List[bytes] = table.view(f"V{table.shape[1]}").ravel().tolist()
        return [word + mark for word in words]
