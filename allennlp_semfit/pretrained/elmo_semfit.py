"""A trained language model in a task: the indexer and the embedder `elmo_semfit`."""

import gc
import os
from typing import Any, Dict, List, Optional, Sequence, Union
from weakref import WeakValueDictionary

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import pad_sequence_to_length
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.modules import ScalarMix
from allennlp.modules.token_embedders import TokenEmbedder
from torch.nn.functional import layer_norm

from allennlp_semfit.archives.language_model_archive import (
    FIRST_SUBWORDS,
    WORD_MASK,
    LanguageModelArchive,
)
from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.pretrained.layers import LanguageModelLayers

# The indexers that this process has built from a config, by `id`.
_built: "WeakValueDictionary[int, ElmoSemfitIndexer]" = WeakValueDictionary()


@TokenIndexer.register("elmo_semfit")
class ElmoSemfitIndexer(TokenIndexer, NamesConfigKey):
    """
    Indexes words for the `elmo_semfit` embedder with the same `archive_file`: with the indexer, the
    vocabulary and, for a subword model, the subwords of the trained language model. The words
    should be tokenized like the text that the language model was trained on.

    The weights are decompressed with the archive, at about 50 MB per second, and stay in memory
    until the embedder is built; a serialization directory or exported folder avoids both. Unless it
    is exported, the language model's fastText `.bin`, `tokenizer.json`, or table and MIMICK archive
    must still be where they were in training.

    Registered as a `TokenIndexer` with name "elmo_semfit".

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, serialization directory or exported folder.

    # Raises

    `InvalidFileError`
        If `archive_file` is missing or is not the archive of a language model, or if a file of
        the language model is missing.
    `ConfigurationError`
        If the language model does not have exactly one indexer whose embedder is not `empty`.

    # Example

    ```json
    "token_indexers": {"elmo": {"type": "elmo_semfit", "archive_file": "model.tar.gz"}}
    ```
    """

    def __init__(self, archive_file: Union[str, os.PathLike]) -> None:
        super().__init__()
        archive = LanguageModelArchive.open(archive_file)
        self.archive_file = archive.file
        self.archive_path = archive.path
        self.config_key = ""
        self._indexer = archive.open_indexer()
        # `Any`, because `Tokenizer` does not declare `intra_word_tokenize`.
        self._tokenizer: Any = archive.open_tokenizer()
        self._prefix = archive.prefix
        # An indexer without a prefix needs no vocabulary, which may be large in each worker.
        self._vocab = archive.vocabulary if self._prefix else Vocabulary.empty()

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "ElmoSemfitIndexer":
        key = params.history
        indexer = super().from_params(params, *args, **extras)
        indexer.config_key = key
        _built[id(indexer)] = indexer
        return indexer

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        # The language model has a vocabulary of its own.
        pass

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        """
        The output of the language model's indexer for words, without boundary tokens; for a subword
        model, that for their subwords, and `"first_subwords"`, the index of each word's first
        subword. The task's `vocabulary` is not used.
        """
        if self._tokenizer is None:
            return self._indexer.tokens_to_indices(tokens, self._vocab)
        subwords, spans = self._tokenizer.intra_word_tokenize(
            [token.ensure_text() for token in tokens]
        )
        first = [start for start, _ in spans]
        return {**self._indexer.tokens_to_indices(subwords, self._vocab), FIRST_SUBWORDS: first}

    def get_empty_token_list(self) -> IndexedTokenList:
        empty = self._indexer.get_empty_token_list()
        return empty if self._tokenizer is None else {**empty, FIRST_SUBWORDS: []}

    def get_padding_lengths(self, indexed_tokens: IndexedTokenList) -> Dict[str, int]:
        lengths = self._indexer.get_padding_lengths(indexed_tokens)
        if self._tokenizer is not None:
            # Without the indexer's `token_min_padding_length`, which counts subwords.
            lengths[FIRST_SUBWORDS] = len(indexed_tokens[FIRST_SUBWORDS])
        return lengths

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        The tensors of the language model's indexer, with words as the first dimension: `"vectors"`
        and `"word_mask"` of `fasttext` and `mimick`, `"elmo_tokens"` of `elmo_characters`. The
        names of other indexers get the prefix `lm_`, because AllenNLP interprets some of them:
        `"lm_tokens"` of `single_id`.

        For a subword model, the first dimension is subwords, all names get the prefix, and there
        are `"word_mask"` and `"first_subwords"`, shape `(num_words,)`, zero where padded.
        """
        indexed = dict(tokens)
        first = indexed.pop(FIRST_SUBWORDS, [])
        padded = self._indexer.as_padded_tensor_dict(indexed, padding_lengths)
        tensors = {self._prefix + name: tensor for name, tensor in padded.items()}
        if self._tokenizer is None:
            return tensors
        length = padding_lengths[FIRST_SUBWORDS]
        mask = torch.arange(length) < len(first)
        padded_first = torch.tensor(pad_sequence_to_length(first, length), dtype=torch.long)
        return {WORD_MASK: mask, FIRST_SUBWORDS: padded_first, **tensors}


@TokenEmbedder.register("elmo_semfit")
class ElmoSemfitEmbedder(TokenEmbedder, NamesConfigKey):
    """
    Embeds words with a trained language model: a weighted mean of its layers, `γ Σ_j s_j h_j`,
    with `γ` and `s = softmax(w)` learned by the task (Peters et al. 2018, "Deep contextualized word
    representations", equation 1). It replaces AllenNLP's `elmo_token_embedder`.
    Parameters of the same name mean the same, except for `do_layer_norm`.

    The indexer of the same name must be an `elmo_semfit` indexer with the same archive or, for a
    model without subwords, the language model's own `fasttext`, `mimick` or `elmo_characters`
    indexer. The language model's weights become part of the task's archive.

    A frozen language model runs without gradients and without dropout. If it reads characters, the
    vectors of 100,000 words are cached, which at 512 dimensions take 205 MB of the device's memory.

    Three mistakes are not detected: a `fasttext` or `mimick` indexer with other vectors of the same
    dimension; one of several dataset readers, as for validation or of `multitask`, with another
    language model; and an `initializer` of the task's model that overwrites the language model's
    weights. Exclude them with `"prevent_regexes": ["_language_model"]`.

    Registered as a `TokenEmbedder` with name "elmo_semfit".

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, serialization directory or exported folder.
    dropout : `float`, optional (default = `0.5`)
        The dropout probability of the representation, before the projection.
    do_layer_norm : `bool`, optional (default = `False`)
        Whether to normalize each layer before mixing (Peters et al. 2018, section 3.2), so that
        layers with longer vectors do not dominate. Each vector is normalized to mean 0 and variance
        1 by itself; AllenNLP's `ScalarMix` normalizes over the whole batch.
    requires_grad : `bool`, optional (default = `False`)
        Whether to fine-tune the language model. Parameters that its `model` config freezes stay
        frozen, but not those that its trainer's `no_grad` froze.
    projection_dim : `int`, optional (default = `None`)
        If given, the representation is projected to this dimension.
    scalar_mix_parameters : `List[float]`, optional (default = `None`)
        A fixed `w` for each layer, the projected input first. `γ` is then fixed too.

    # Raises

    `ConfigurationError`
        If `archive_file` is missing or is not the archive of a language model, if the `elmo_semfit`
        indexer of the same name has another language model, or if the number of
        `scalar_mix_parameters` is not that of the layers.

    # Example

    ```json
    "dataset_reader": {
        ...
        "token_indexers": {"elmo": {"type": "elmo_semfit", "archive_file": "model.tar.gz"}}
    },
    "model": {
        ...
        "text_field_embedder": {
            "token_embedders": {
                "elmo": {
                    "type": "elmo_semfit", "archive_file": "model.tar.gz", "do_layer_norm": true
                }
            }
        }
    }
    ```
    """

    def __init__(
        self,
        archive_file: Union[str, os.PathLike],
        dropout: float = 0.5,
        do_layer_norm: bool = False,
        requires_grad: bool = False,
        projection_dim: Optional[int] = None,
        scalar_mix_parameters: Optional[List[float]] = None,
    ) -> None:
        super().__init__()
        archive = LanguageModelArchive.open(archive_file)
        self._archive_file = archive.file
        self._archive_path = archive.path
        self._language_model = LanguageModelLayers(archive, archive.build_model())
        num_layers = self._language_model.num_layers
        if not requires_grad:
            self._language_model.freeze()
        self._requires_grad = requires_grad
        self._do_layer_norm = do_layer_norm
        self._scalar_mix = ScalarMix(
            num_layers,
            initial_scalar_parameters=scalar_mix_parameters,
            trainable=scalar_mix_parameters is None,
        )
        self._dropout = torch.nn.Dropout(dropout)
        self._projection: Optional[torch.nn.Linear] = None
        self._output_dim = self._language_model.get_output_dim()
        if projection_dim is not None:
            self._projection = torch.nn.Linear(self._output_dim, projection_dim)
            self._output_dim = projection_dim

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "ElmoSemfitEmbedder":
        key = params.history
        embedder = super().from_params(params, *args, **extras)
        # AllenNLP builds a task's indexers first. Forget those of earlier tasks in this process.
        gc.collect()
        name = _name_in(key)
        indexers = [each for each in _built.values() if name and _name_in(each.config_key) == name]
        paths = [each.archive_path for each in indexers]
        if indexers and embedder._archive_path not in paths:
            raise ConfigurationError(
                f"`{indexers[-1].config_key}archive_file` is {indexers[-1].archive_file}, but "
                f"`{key}archive_file` is {embedder._archive_file}. Give both the same language "
                "model; in Python, build a task's dataset reader before its model."
            )
        return embedder

    def get_output_dim(self) -> int:
        return self._output_dim

    def forward(
        self, word_mask: Optional[torch.BoolTensor] = None, **others: torch.Tensor
    ) -> torch.Tensor:
        """
        Takes the tensors of the `elmo_semfit` indexer by name; see its `as_padded_tensor_dict`. The
        output has the shape `(batch_size, length, get_output_dim())` and, without a projection, is
        zero where padded. Raises a `ConfigurationError` if the names of the tensors or the
        dimension of the vectors are not those that the language model was trained on.
        """
        # If there were only one parameter, AllenNLP would pass a single tensor without its name.
        tensors = others if word_mask is None else {WORD_MASK: word_mask, **others}
        self._check(tensors)
        with torch.set_grad_enabled(self._requires_grad and torch.is_grad_enabled()):
            layers = self._language_model(tensors)
        if self._do_layer_norm:
            layers = [layer_norm(layer, layer.shape[-1:]) for layer in layers]
        mixed = self._scalar_mix(layers)
        representation = self._dropout(self._language_model.select_words(mixed, tensors))
        return representation if self._projection is None else self._projection(representation)

    def _check(self, tensors: Dict[str, torch.Tensor]) -> None:
        expected = self._language_model.input_names
        remedy = (
            f'Use the indexer {{"type": "elmo_semfit", "archive_file": "{self._archive_file}"}} in '
            "each dataset reader."
        )
        if expected != set(tensors):
            raise ConfigurationError(
                f"The language model {self._archive_file} of the elmo_semfit embedder takes "
                f"{sorted(expected)}, but the indexer of the same name gave it {sorted(tensors)}. "
                f"{remedy}"
            )
        vectors = tensors.get("vectors")
        if vectors is not None and vectors.size(-1) != self._language_model.get_input_dim():
            raise ConfigurationError(
                f"The language model {self._archive_file} was trained on vectors of dimension "
                f"{self._language_model.get_input_dim()}, but those of the indexer of the same "
                f"name are of dimension {vectors.size(-1)}. {remedy}"
            )


class ArchivedLanguageModel(torch.nn.Module):
    """
    The layers of a language model of any kind, built by AllenNLP, with the interface of
    `FolderLanguageModel`. The parameters and errors are those of `SentenceEmbedder`.
    """

    def __init__(self, archive_file: Union[str, os.PathLike]) -> None:
        super().__init__()
        archive = LanguageModelArchive.open(archive_file)
        self._layers = LanguageModelLayers(archive, archive.build_model())
        self._layers.freeze()
        self._indexer = ElmoSemfitIndexer(archive_file)
        self.num_layers = self._layers.num_layers

    def get_output_dim(self) -> int:
        return self._layers.get_output_dim()

    def index(self, sentences: Sequence[Sequence[str]]) -> Dict[str, torch.Tensor]:
        indexers: Dict[str, TokenIndexer] = {"lm": self._indexer}
        fields = (TextField([Token(word) for word in words], indexers) for words in sentences)
        instances = Batch([Instance({"words": field}) for field in fields])
        # The indexer uses the language model's vocabulary.
        instances.index_instances(Vocabulary.empty())
        tensors: Dict[str, Any] = instances.as_tensor_dict()
        return tensors["words"]["lm"]

    def forward(self, tensors: Dict[str, torch.Tensor]) -> List[torch.Tensor]:
        return [self._layers.select_words(layer, tensors) for layer in self._layers(tensors)]


def _name_in(key: str) -> str:
    """The name of an indexer or embedder, given its place; empty if the place is unknown."""
    return key.rstrip(".").rpartition(".")[2]
