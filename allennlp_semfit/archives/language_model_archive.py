import copy
from functools import cached_property
from typing import List, Optional, Self

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import TokenIndexer, Tokenizer

from allennlp_semfit.archives.archive import Archive
from allennlp_semfit.common.model_config import boundary_tokens, input_names, type_of

# AllenNLP derives a text field's mask from the first tensor with the fewest dimensions. Its name is
# not "mask", because only one indexer of a text field may have a "mask".
WORD_MASK = "word_mask"
FIRST_SUBWORDS = "first_subwords"


class LanguageModelArchive(Archive):
    """
    A trained language model of any kind, and its input: the indexer, the tokenizer and the boundary
    tokens. Their files are opened on demand.
    """

    kind = "Language model"
    models = ("bidirectional_lm", "masked_lm")
    reader = "language_modeling"
    remedy = "`allennlp train` makes it with a config such as training_config/elmo_semfit.jsonnet."

    @cached_property
    def input_name(self) -> str:
        """
        The name of the indexer that the model reads. Raises a `ConfigurationError` if there is not
        exactly one.
        """
        embedder = self.config["model"].get("text_field_embedder")
        embedders = embedder.get("token_embedders", {}) if isinstance(embedder, Params) else {}
        names = input_names(self._indexers, embedders)
        if len(names) != 1 or (embedders and not embedders.keys() & names):
            raise ConfigurationError(
                f"The language model {self.file} has the indexers {names}; to be used as an "
                "embedder it must have exactly one, with an embedder that is not `empty`."
            )
        return names[0]

    @property
    def _indexers(self) -> Params:
        indexers = self.config["dataset_reader"].get("token_indexers") or Params({"tokens": {}})
        if not isinstance(indexers, Params):
            raise self.error(f"has the token_indexers {indexers!r}", "They must be an object.")
        return indexers

    @cached_property
    def is_subword(self) -> bool:
        """Whether the tokenizer splits words into subwords."""
        tokenizer = self.config["dataset_reader"].get("tokenizer")
        if tokenizer is None:
            return False
        name = type_of(tokenizer) or Tokenizer.default_implementation
        tokenizer_class, _ = Tokenizer.resolve_class_name(name)
        return hasattr(tokenizer_class, "intra_word_tokenize")

    @cached_property
    def prefix(self) -> str:
        """
        The prefix of the names of the indexer's tensors in a task. Without it, AllenNLP would take
        `tokens` for indices into the task's vocabulary, and interpret `offsets` and `mask`. An
        indexer of words without a vocabulary has no prefix, so a task can also use it directly.
        """
        unprefixed = ("fasttext", "mimick", "elmo_characters")
        is_unprefixed = type_of(self._indexers[self.input_name]) in unprefixed
        return "" if is_unprefixed and not self.is_subword else "lm_"

    @property
    def boundary_tokens(self) -> List[List[str]]:
        """The start tokens and the end tokens of a sentence."""
        return boundary_tokens(self.config["dataset_reader"])

    def open_indexer(self) -> TokenIndexer:
        """
        Opens the language model's indexer. Raises an `InvalidFileError` if a file is missing or
        invalid.
        """
        return self.build(TokenIndexer, copy.deepcopy(self._indexers[self.input_name]))

    def open_tokenizer(self) -> Optional[Tokenizer]:
        """Opens a subword model's tokenizer, like `open_indexer`; `None` for other models."""
        if not self.is_subword:
            return None
        return self.build(Tokenizer, copy.deepcopy(self.config["dataset_reader"]["tokenizer"]))

    def with_files(self, fasttext_model_path: Optional[str], tokenizer_path: Optional[str]) -> Self:
        """
        The same language model, with the paths of its files replaced by those that are given.
        Raises a `ConfigurationError` if it reads no such file.
        """
        moved = copy.copy(self)
        # Only the copy builds the model, and then releases the weights.
        self._weights = None
        moved.config = copy.deepcopy(self.config)
        if fasttext_model_path is not None:
            indexer = moved._indexers[self.input_name]
            is_fasttext = type_of(indexer) == "fasttext"
            self._check_reads("--fasttext-model-path", fasttext_model_path, is_fasttext)
            indexer["model_path"] = fasttext_model_path
        if tokenizer_path is not None:
            self._check_reads("--tokenizer-path", tokenizer_path, self.is_subword)
            moved.config["dataset_reader"]["tokenizer"]["model_path"] = tokenizer_path
        return moved

    def _check_reads(self, option: str, path: str, reads_file: bool) -> None:
        if not reads_file:
            raise ConfigurationError(
                f"{option} is {path}, but the language model {self.file} reads no such file. "
                "Leave it out."
            )
