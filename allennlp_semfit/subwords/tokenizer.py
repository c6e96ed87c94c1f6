import json
import os
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Dict, List, Tuple, Union

from allennlp.common import Params
from allennlp.common.file_utils import cached_path
from allennlp.data.tokenizers import Token, Tokenizer
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers.pre_tokenizers import ByteLevel

from allennlp_semfit.common.errors import InvalidFileError, with_config_key

__all__ = ["SubwordTokenizer"]

_SPACE_MARK = "Ġ"
_LONGEST_CACHED_WORD = 32


@Tokenizer.register("subword")
class SubwordTokenizer(Tokenizer):
    """
    Cuts each word that white space separates into subwords which `allennlp train-bpe` has learnt:
    byte-level BPE (Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword
    Units", over bytes). A word's first subword begins with `Ġ`, which marks where words begin.
    Every byte is a subword, so that no word in any language is unknown. A word that is a boundary
    token is one subword; no boundaries are added.

    A subword is the same `Token` wherever it occurs: do not change it. What a word was cut into is
    remembered for the words that were last used, in 25 MB with words as they are in text, and a
    quarter of a gigabyte at worst.

    Registered as a `Tokenizer` with name "subword".

    # Parameters

    model_path : `str`
        The `tokenizer.json` that `allennlp train-bpe` has made, or anything that AllenNLP's
        `cached_path` resolves to one. It is read at once: copies of this object, in the workers of
        a data loader too, no longer need the file.
    cache_size : `int`, optional (default = `131072`)
        How many words are remembered, of those with 32 characters or fewer.

    # Raises

    `InvalidFileError`
        If the file is missing, damaged or no byte-level BPE that marks where words begin.

    # Example

    ```json
    "dataset_reader": {
        "type": "language_modeling",
        "tokenizer": {"type": "subword", "model_path": "subwords/tokenizer.json"},
        "token_indexers": {"tokens": {"type": "single_id", "namespace": "subwords"}}
    },
    "vocabulary": {"type": "from_files", "directory": "subwords/vocabulary"}
    ```
    """

    def __init__(self, model_path: Union[str, os.PathLike], cache_size: int = 2**17) -> None:
        self._path = str(model_path)
        self._cache_size = cache_size
        model = _read(self._path)
        try:
            self._set_up(model)
            marks_words = self._marks_words()
        # `tokenizers` has no class for its errors.
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise _error(
                self._path,
                f"is damaged, or no tokenizer.json at all ({reason[:200]})",
                "Make it again with `allennlp train-bpe`, or copy it again from where it is whole.",
            ) from None
        if not marks_words:
            raise _error(
                self._path,
                "is not made by `allennlp train-bpe`: not every byte is a subword of its own, or "
                "the subwords do not mark where words begin",
                "Make one with `allennlp train-bpe`.",
            )

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "SubwordTokenizer":
        with with_config_key(params, "model_path"):
            return super().from_params(params, *args, **extras)

    def __getstate__(self) -> Dict[str, Any]:
        return {"path": self._path, "cache_size": self._cache_size, "model": self._model}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._path = state["path"]
        self._cache_size = state["cache_size"]
        self._set_up(state["model"])

    def __deepcopy__(self, memo: Dict[int, Any]) -> "SubwordTokenizer":
        # Nothing about it changes but what it remembers.
        return self

    @property
    def subwords(self) -> List[str]:
        """All subwords, boundary tokens included, in the order of their ids in the file."""
        return list(self._tokens)

    def tokenize(self, text: str) -> List[Token]:
        """
        # Parameters

        text : `str`

        # Returns

        `List[Token]`
            The subwords of the words of `text.split()`.
        """
        return list(chain.from_iterable(map(self._subwords_of, text.split())))

    def intra_word_tokenize(
        self, string_tokens: List[str]
    ) -> Tuple[List[Token], List[Tuple[int, int]]]:
        """
        # Parameters

        string_tokens : `List[str]`
            Words, which may be any strings.

        # Returns

        `Tuple[List[Token], List[Tuple[int, int]]]`
            The subwords of all words, and for each word the indices of its first and of its last
            subword. A word without any, because it is empty or white space, has the subword
            `@@UNKNOWN@@`.
        """
        tokens: List[Token] = []
        offsets = []
        for word in string_tokens:
            start = len(tokens)
            tokens += self._subwords_of(word)
            offsets.append((start, len(tokens) - 1))
        return tokens, offsets

    def _set_up(self, model: str) -> None:
        # What is pickled: the object that it makes does not say whether it can be.
        self._model = model
        description = json.loads(model)
        # Without them, nothing in the middle of a word is taken for a boundary.
        added = {token["id"]: token["content"] for token in description.pop("added_tokens", [])}
        for part in ("truncation", "padding", "post_processor"):
            description.pop(part, None)
        self._tokenizer = HuggingFaceTokenizer.from_str(json.dumps(description))
        subwords = {index: subword for subword, index in self._tokenizer.get_vocab().items()}
        subwords.update(added)
        self._tokens = {subwords[index]: Token(subwords[index]) for index in sorted(subwords)}
        self._boundaries = {token: (self._tokens[token],) for token in added.values()}
        self._unknown = (Token(DEFAULT_OOV_TOKEN),)
        self._remembered = lru_cache(maxsize=self._cache_size)(self._cut)

    def _marks_words(self) -> bool:
        return self._tokens.keys() >= set(ByteLevel.alphabet()) and all(
            "".join(subword.ensure_text() for subword in self._cut(word)) == _SPACE_MARK + word
            for word in ("a", "A")
        )

    def _subwords_of(self, word: str) -> Tuple[Token, ...]:
        return self._remembered(word) if len(word) <= _LONGEST_CACHED_WORD else self._cut(word)

    def _cut(self, word: str) -> Tuple[Token, ...]:
        if word in self._boundaries:
            return self._boundaries[word]
        # A lone surrogate is the only thing in a string that UTF-8 cannot say.
        text = word.encode("utf-8", errors="replace").decode("utf-8")
        # Of one text, not of a batch: that takes threads, which do not live through a fork.
        subwords = self._tokenizer.encode(text, add_special_tokens=False).tokens
        return tuple(map(self._tokens.__getitem__, subwords)) or self._unknown


def _read(path: str) -> str:
    try:
        resolved = cached_path(path)
    except FileNotFoundError:
        raise _error(
            path,
            f"does not exist (working directory: {os.getcwd()})",
            "`allennlp train-bpe` makes such a file.",
        ) from None
    if os.path.isdir(resolved):
        raise _error(path, "is a directory", "The tokenizer.json in it is wanted.")
    try:
        return Path(resolved).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _error(
            path,
            f"cannot be read ({error})",
            "`allennlp train-bpe` makes a tokenizer.json, which is text in UTF-8.",
        ) from None


def _error(path: str, found: str, remedy: str) -> InvalidFileError:
    return InvalidFileError(path, found, remedy, kind="subword tokenizer")
