import json
import os
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Dict, List, Tuple, Union

from allennlp.data.tokenizers import Token, Tokenizer
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers.pre_tokenizers import ByteLevel

from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.common.errors import InvalidFileError, first_line, resolve_file

_KIND = "subword tokenizer"
_WORD_START = "Ġ"
_CACHE_SIZE = 2**17


@Tokenizer.register("subword")
class SubwordTokenizer(Tokenizer, NamesConfigKey):
    """
    Splits text at white space, and words into subwords with byte-level BPE (Sennrich et al. 2016,
    "Neural Machine Translation of Rare Words with Subword Units", over bytes), using Hugging Face's
    `tokenizers`. The first subword of each word starts with `Ġ`. Every byte is a subword, so no
    word is unknown in any language. A boundary token, which is a special token of the file, is one
    subword; this tokenizer does not add it.

    The subwords of recently used words are cached, which takes about 25 MB for ordinary text. All
    occurrences of a subword share one `Token`: do not modify it.

    Registered as a `Tokenizer` with name "subword".

    # Parameters

    model_path : `str`
        A `tokenizer.json`, as a path or URL for AllenNLP's `cached_path`. "Prepare a corpus" in the
        documentation shows how to train one. Its truncation and padding are ignored. Pickled
        copies, as in the workers of a data loader, do not need the file.

    # Raises

    `InvalidFileError`
        If the file is missing, damaged, or not byte-level BPE that marks the start of words.

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

    def __init__(self, model_path: Union[str, os.PathLike]) -> None:
        self._path = str(model_path)
        remedy = "Train one as docs/howto/corpus.md shows."
        file = resolve_file(self._path, remedy, _KIND)
        try:
            self._set_up(Path(file).read_text(encoding="utf-8"))
            marks_words = self._marks_words()
        # `tokenizers` does not define error types.
        except Exception as error:
            found = f"is damaged, or is not a tokenizer.json ({first_line(error)[:200]})"
            raise InvalidFileError(self._path, found, remedy, _KIND) from None
        if not marks_words:
            found = "lacks subwords for some bytes, or does not mark the start of words"
            raise InvalidFileError(self._path, found, remedy, _KIND)

    def __getstate__(self) -> Dict[str, Any]:
        return {"path": self._path, "model": self._model}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._path = state["path"]
        self._set_up(state["model"])

    def tokenize(self, text: str) -> List[Token]:
        """Returns the subwords of the words of `text.split()`."""
        return list(chain.from_iterable(map(self._encode, text.split())))

    def intra_word_tokenize(
        self, string_tokens: List[str]
    ) -> Tuple[List[Token], List[Tuple[int, int]]]:
        """
        Returns the subwords of all words, and for each word the indices of its first and last
        subword. A word that is empty or white space has the single subword `@@UNKNOWN@@`.
        """
        tokens: List[Token] = []
        offsets = []
        for word in string_tokens:
            start = len(tokens)
            tokens += self._encode(word)
            offsets.append((start, len(tokens) - 1))
        return tokens, offsets

    def _set_up(self, model: str) -> None:
        self._model = model
        description = json.loads(model)
        added = [token["content"] for token in description.get("added_tokens", [])]
        # `tokenizers` would also find the added tokens inside words, and truncate or pad each word.
        kept = {name: description.get(name) for name in ("normalizer", "pre_tokenizer", "model")}
        self._tokenizer = HuggingFaceTokenizer.from_str(json.dumps(kept))
        subwords = {*self._tokenizer.get_vocab(), *added}
        self._tokens = {subword: Token(subword) for subword in subwords}
        self._boundaries = {token: (self._tokens[token],) for token in added}
        self._unknown = (Token(DEFAULT_OOV_TOKEN),)
        self._encode = lru_cache(maxsize=_CACHE_SIZE)(self._encode_word)

    def _marks_words(self) -> bool:
        return self._tokens.keys() >= set(ByteLevel.alphabet()) and all(
            "".join(subword.ensure_text() for subword in self._encode(word)) == _WORD_START + word
            for word in ("a", "A")
        )

    def _encode_word(self, word: str) -> Tuple[Token, ...]:
        if word in self._boundaries:
            return self._boundaries[word]
        # UTF-8 cannot encode lone surrogates; they become question marks.
        text = word.encode("utf-8", errors="replace").decode("utf-8")
        # Do not use `encode_batch`: its threads do not survive a fork.
        subwords = self._tokenizer.encode(text, add_special_tokens=False).tokens
        return tuple(map(self._tokens.__getitem__, subwords)) or self._unknown
