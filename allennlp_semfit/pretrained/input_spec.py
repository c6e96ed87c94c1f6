"""The input of a trained language model, according to its configuration."""

import copy
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, TypeVar

import numpy
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, TokenIndexer, Tokenizer

from allennlp_semfit.archives.archive import Archive
from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN
from allennlp_semfit.pretrained.folder_language_model import type_of

T = TypeVar("T")

# AllenNLP derives a text field's mask from the first tensor with the fewest dimensions. It is not
# called "mask", because a text field can have only one.
WORD_MASK = "word_mask"
SUBWORD_SPANS = "subword_spans"

# A compact file rounds the vector of a word in its dictionary to a thousandth, and those of two
# trainings are farther apart than they are long.
_ROUNDING = 0.1


class TensorNames(NamedTuple):
    """
    The names of a language model's tensors in the text field of a task.

    # Parameters

    prefix : `str`
        What is before the names that the language model's own indexer gives them, because AllenNLP
        takes `tokens` for indices into the task's vocabulary, and interprets `offsets` and `mask`.
    is_subword : `bool`
        Whether there are also tensors of the words, because these are tensors of subwords.
    """

    prefix: str
    is_subword: bool

    def join(
        self, values: Mapping[str, Any], word_mask: Any = None, subword_spans: Any = None
    ) -> Dict[str, Any]:
        """What the task names them; `word_mask` and `subword_spans` only for a subword model."""
        named = {self.prefix + name: value for name, value in values.items()}
        if not self.is_subword:
            return named
        return {WORD_MASK: word_mask, SUBWORD_SPANS: subword_spans, **named}

    def split(self, values: Mapping[str, T]) -> Dict[str, T]:
        """Those of the language model, with its own names."""
        return {
            name[len(self.prefix) :]: value
            for name, value in values.items()
            if name.startswith(self.prefix)
        }


class InputSample(NamedTuple):
    """
    What differs between the inputs of two language models.

    # Parameters

    vector : `Optional[numpy.ndarray]`
        The vector of a word, if the input is vectors.
    vocabulary : `Optional[int]`
        A hash of the vocabulary, if the input is indices. It is that of this process.
    """

    vector: Optional[numpy.ndarray]
    vocabulary: Optional[int]

    def fits(self, other: "InputSample") -> bool:
        """Whether what both have may be that of one language model."""
        ours, theirs = self.vector, other.vector
        if ours is not None and theirs is not None and len(ours) == len(theirs):
            length = max(map(numpy.linalg.norm, (ours, theirs)))
            if numpy.linalg.norm(ours - theirs) > _ROUNDING * length:
                return False
        return None in (self.vocabulary, other.vocabulary) or self.vocabulary == other.vocabulary


class InputSpec:
    """
    The indexer, tokenizer and boundary tokens of a language model. Files are opened on demand.

    # Parameters

    archive : `Archive`
        The language model's. Its configuration is not changed.

    # Raises

    `ConfigurationError`
        If the language model does not have exactly one indexer whose embedder is not `empty`.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        reader_params = archive.config["dataset_reader"].duplicate()
        self._tokenizer_params = reader_params.pop("tokenizer", None)
        indexers = reader_params.pop("token_indexers", None) or Params({"tokens": {}})
        if not isinstance(indexers, Params):
            raise archive.error(f"has the token_indexers {indexers!r}", "They must be an object.")
        embedder = archive.config["model"].get("text_field_embedder")
        embedders = embedder.get("token_embedders", {}) if isinstance(embedder, Params) else {}
        names = sorted(
            name
            for name, indexer in indexers.items()
            if indexer is not None and type_of(embedders.get(name)) != "empty"
        )
        if len(names) != 1 or (embedders and not embedders.keys() & names):
            raise ConfigurationError(
                f"The language model {archive.file} has the indexers {names}; to be used as an "
                "embedder it must have exactly one, with an embedder that is not `empty`."
            )
        self.name: str = names[0]
        self._indexer_params = indexers[self.name]
        self.reads_fasttext = type_of(self._indexer_params) == "fasttext"
        # Without indexers and tokenizer, it opens no file.
        reader: Any = archive.build(DatasetReader, reader_params)
        self.start_tokens: List[str] = reader.start_tokens
        self.end_tokens: List[str] = reader.end_tokens
        is_subword = self._is_subword()
        # Indexers without a vocabulary keep their names, and so work with the embedder too.
        keeps_names = type_of(self._indexer_params) in ("fasttext", "mimick", "elmo_characters")
        self.names = TensorNames("" if keeps_names and not is_subword else "lm_", is_subword)

    def _is_subword(self) -> bool:
        if self._tokenizer_params is None:
            return False
        name = type_of(self._tokenizer_params) or Tokenizer.default_implementation
        tokenizer_class, _ = Tokenizer.resolve_class_name(name)
        return hasattr(tokenizer_class, "intra_word_tokenize")

    def open_indexer(self, fasttext_model_path: Optional[str] = None) -> TokenIndexer:
        """
        Opens the language model's indexer, with `fasttext_model_path` if the file has been moved.

        # Raises

        `InvalidFileError`
            If a file is missing or invalid; a fastText file's `parameter` is `fasttext_model_path`.
        `ConfigurationError`
            If a file is given, but the language model uses none.
        """
        parameter = "fasttext_model_path"
        params = self._with_path(
            self._indexer_params, self.reads_fasttext, parameter, fasttext_model_path
        )
        return self._archive.build(
            TokenIndexer,
            params,
            parameter=parameter if self.reads_fasttext else "",
        )

    def sample(self, indexer: TokenIndexer) -> InputSample:
        """A sample of the input that the language model's `indexer` makes."""
        vector = vocabulary = None
        if hasattr(indexer, "get_word_vectors"):
            vector = indexer.get_word_vectors([DEFAULT_BOUNDARY_TOKEN])[0]
        # An indexer without a prefix uses no vocabulary.
        if self.names.prefix:
            vocab = self._archive.vocabulary
            vocabulary = hash(
                tuple(
                    (namespace, *vocab.get_token_to_index_vocabulary(namespace))
                    for namespace in sorted(vocab.get_namespaces())
                )
            )
        return InputSample(vector, vocabulary)

    def open_tokenizer(self, tokenizer_path: Optional[str] = None) -> Optional[Tokenizer]:
        """Opens a subword model's tokenizer, like `open_indexer`; `None` for other models."""
        parameter = "tokenizer_path"
        params = self._with_path(
            self._tokenizer_params, self.names.is_subword, parameter, tokenizer_path
        )
        if not self.names.is_subword:
            return None
        return self._archive.build(Tokenizer, params, parameter=parameter)

    def _with_path(self, params: Any, reads_file: bool, parameter: str, path: Optional[str]) -> Any:
        """Copies `params`, with the file `path` if it is given."""
        if path is None:
            return copy.deepcopy(params)
        if not reads_file:
            raise ConfigurationError(
                f"`{parameter}` is {path}, but the language model {self._archive.file} uses no "
                "such file. Leave it out."
            )
        return Params({**params.as_dict(quiet=True), "model_path": path})
