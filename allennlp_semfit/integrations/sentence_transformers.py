import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch.nn.utils.rnn import pad_sequence

from allennlp_semfit.common.errors import ConfigurationError, absolute_path
from allennlp_semfit.pretrained.pooling import check_pooling, pool_layers
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder


# Not a subclass of sentence-transformers' `Module`, so that this package does not require it.
class ContextualWordEmbeddings(torch.nn.Module):
    """
    The first module of a `SentenceTransformer`: it computes a language model's word vectors, which
    a `Pooling` module combines into the vector of a text. Texts are split into words at white
    space. An empty text has one word, whose vector is zero. The module is for encoding only:
    sentence-transformers cannot train the modules after it.

    `SentenceTransformer.save` saves the paths of the language model's files instead of copies.

    # Parameters

    archive_file : `str`
        The language model's `model.tar.gz`, serialization directory or exported folder.
    layers : `str`, optional (default = `"all"`)
        See `SentenceEmbedder.sentence_vectors`.
    bf16 : `bool`, optional (default = `False`)
        See [`SentenceEmbedder`](#sentenceembedder).

    # Raises

    `ConfigurationError`
        If `layers` is unknown; also, what `SentenceEmbedder` raises.

    # Example

    ```python
    words = ContextualWordEmbeddings("output/elmo_semfit/model.tar.gz")
    model = SentenceTransformer(modules=[words, Pooling(words.get_embedding_dimension(), "mean")])
    vectors = model.encode(["The cat sat .", "A dog barked ."])
    ```
    """

    def __init__(self, archive_file: str, layers: str = "all", bf16: bool = False) -> None:
        super().__init__()
        check_pooling(layers)
        self.layers = layers
        self._config = {
            "archive_file": absolute_path(archive_file),
            "layers": layers,
            "bf16": bf16,
        }
        self._embedder = SentenceEmbedder(archive_file, bf16=bf16)
        # Registered as a submodule, so that `SentenceTransformer` moves it to its device.
        self._language_model = self._embedder._layers

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), tuple(self._config.values())

    def get_embedding_dimension(self) -> int:
        """The dimension of a word's vector."""
        return self._embedder.get_sentence_dim(self.layers)

    def preprocess(
        self, inputs: List[str], prompt: Optional[str] = None, **kwargs: Any
    ) -> Dict[str, Any]:
        for text in inputs:
            # Otherwise sentence-transformers reports that the module has no `tokenize`.
            if not isinstance(text, str):
                raise ConfigurationError(
                    f"The text {text!r:.50} is a {type(text).__name__}; give a string or a list of "
                    "strings."
                )
        start = (prompt or "").split()
        features: Dict[str, Any] = {"words": [[*start, *text.split()] for text in inputs]}
        if start:
            # `Pooling` may leave these words out.
            features["prompt_length"] = len(start)
        return features

    def forward(self, features: Dict[str, Any], **kwargs: Any) -> Dict[str, Any]:
        """
        Adds `"token_embeddings"`, shape `(batch_size, length, dim)`, and `"attention_mask"`, shape
        `(batch_size, length)`.
        """
        device = next(self.parameters()).device
        texts = [
            torch.from_numpy(pool_layers(layers, self.layers))
            if layers.shape[1]
            else torch.zeros(1, self.get_embedding_dimension())
            for layers in self._embedder.embed_batch(features["words"])
        ]
        masks = [torch.ones(len(words), dtype=torch.long) for words in texts]
        features["token_embeddings"] = pad_sequence(texts, batch_first=True).to(device)
        features["attention_mask"] = pad_sequence(masks, batch_first=True).to(device)
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        Path(output_path, "config.json").write_text(json.dumps(self._config, indent=2), "utf-8")

    @classmethod
    def load(
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        trust_remote_code: bool = True,
        **kwargs: Any,
    ) -> "ContextualWordEmbeddings":
        # Before version 6, sentence-transformers calls this for any model that names the class.
        if not trust_remote_code:
            raise ConfigurationError(
                f"{model_name_or_path} names a language model, which may run code when it is "
                "opened. If you trust its author, pass trust_remote_code=True."
            )
        config = Path(model_name_or_path, subfolder, "config.json").read_text("utf-8")
        return cls(**json.loads(config))
