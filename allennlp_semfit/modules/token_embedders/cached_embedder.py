from itertools import chain
from typing import Any, Dict, List

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.token_embedders import TokenEmbedder


@TokenEmbedder.register("cached")
class CachedEmbedder(TokenEmbedder):
    """
    Caches the vectors of another embedder. Use it for a slow, frozen embedder that does not depend
    on the context, such as `elmo_character_cnn`: most of a text consists of few distinct words.

    The wrapped embedder runs in evaluation mode, without gradients and outside of autocast, so the
    cached vectors have full precision. The cache is not archived. It is emptied when the weights
    change.

    Registered as a `TokenEmbedder` with name "cached".

    # Parameters

    embedder : `TokenEmbedder`
        It must be frozen and read one tensor; a word's vector must not depend on its context.
    max_words : `int`, optional (default = `100000`)
        The maximum number of cached vectors. When the cache is full, it is emptied. The vectors
        take up to `4 * max_words * get_output_dim()` bytes on the device of the inputs, 205 MB at
        512 dimensions and the default, and about 112 MB of main memory with `elmo_characters`.

    # Raises

    `ConfigurationError`
        If the embedder has a trainable parameter.

    # Example

    ```json
    "token_embedders": {
        "characters": {
            "type": "cached",
            "embedder": {
                "type": "elmo_character_cnn",
                "options": import "options.json",
                "pretrained_file": "weights.hdf5"
            }
        }
    }
    ```
    """

    def __init__(self, embedder: TokenEmbedder, max_words: int = 100_000) -> None:
        super().__init__()
        trainable = [name for name, p in embedder.named_parameters() if p.requires_grad]
        if trainable:
            raise ConfigurationError(
                f"cached: the `embedder` is a {type(embedder).__name__} whose `{trainable[0]}` "
                "is trainable, so cached vectors would become outdated. Freeze it, for instance an "
                '`embedding` with "trainable": false, or remove `cached` around it.'
            )
        self.embedder = embedder.eval()
        self.max_words = max_words
        # Not a buffer, because it must not be archived.
        self._cache: Dict[bytes, torch.Tensor] = {}
        self._weights: List[Any] = []

    def get_output_dim(self) -> int:
        return int(self.embedder.get_output_dim())

    def train(self, mode: bool = True) -> "CachedEmbedder":
        super().train(mode)
        self.embedder.eval()
        return self

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """
        The embedder's output, without a gradient: shape `(batch_size, length, get_output_dim())`.
        `tokens` is the embedder's input, of shape `(batch_size, length, ...)`.
        """
        # Inference tensors have no version counter.
        weights = [
            (weight.data_ptr(), weight.dtype, 0 if weight.is_inference() else weight._version)
            for weight in chain(self.embedder.parameters(), self.embedder.buffers())
        ]
        if weights != self._weights:
            # A new dictionary: other threads may still read the old one.
            self._cache, self._weights = {}, weights
        shape, words = tokens.shape[:2], tokens.flatten(0, 1)
        if not len(words):
            return torch.zeros(*shape, self.get_output_dim(), device=tokens.device)
        # Inference tensors cannot be used in training later.
        with (
            torch.inference_mode(False),
            torch.no_grad(),
            torch.autocast(tokens.device.type, enabled=False),
        ):
            # Like `torch.unique`, this waits for the device, but it is ten times as fast on a CPU.
            rows = words.reshape(len(words), -1).contiguous().view(torch.uint8).cpu().numpy()
            keys = rows.view(f"V{rows.shape[1]}").ravel().tolist()
            cache = self._cache
            new = {key: position for position, key in enumerate(keys) if key not in cache}
            if new:
                # Embed the new words as one sentence.
                positions = torch.tensor(list(new.values()), device=tokens.device)
                vectors = self.embedder(words[positions].unsqueeze(0)).squeeze(0)
                cache.update(zip(new, vectors.unbind()))
            if len(cache) > self.max_words:
                self._cache = {}
            return torch.stack([cache[key] for key in keys]).view(*shape, -1)
