import gc
import logging
import os
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance, Token, TokenIndexer, Tokenizer
from allennlp.data.dataset_readers.dataset_reader import DatasetReaderInput
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import WhitespaceTokenizer

from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.vocabulary import DEFAULT_BOUNDARY_TOKEN
from allennlp_semfit.data.fields.sentence_field import SentenceField

__all__ = ["LanguageModelingReader"]

logger = logging.getLogger(__name__)


@DatasetReader.register("language_modeling")
class LanguageModelingReader(DatasetReader):
    """
    Reads text of one sentence a line, from any number of files, for a language model. The lines are
    distributed over the processes of distributed training and the workers of each process's data
    loader; each line is decoded, split and indexed by one of them only.

    Registered as a `DatasetReader` with name "language_modeling".

    # Parameters

    tokenizer : `Tokenizer`, optional (default = `WhitespaceTokenizer()`)
    token_indexers : `Dict[str, TokenIndexer]`, optional (default = `{"tokens": SingleIdTokenIndexer()}`)
    start_tokens : `List[str]`, optional (default = `["</s>"]`)
        What stands before each sentence. The default is the one boundary that every fastText model
        knows: it counts each line end as that word.
    end_tokens : `List[str]`, optional (default = `["</s>"]`)
        What stands after each sentence.
    max_sequence_length : `int`, optional (default = `512`)
        The longest sequence, boundaries included. A longer line is read as several sentences;
        no word is dropped. `null` for no limit.

    # Example

    ```json
    "dataset_reader": {
        "type": "language_modeling",
        "token_indexers": {"fasttext": {"type": "fasttext", "model_path": "vectors.bin"}}
    },
    "train_data_path": "corpus/train"
    ```

    To stream a corpus in batches of sentences of like length, of at most 2,000 words with the
    padding, which two worker processes make ready:

    ```json
    "data_loader": {
        "batch_sampler": {
            "type": "max_tokens_sampler", "max_tokens": 2000, "sorting_keys": ["source"]
        },
        "max_instances_in_memory": 2000,
        "num_workers": 2
    }
    ```

    `max_tokens` must be at least `max_sequence_length`. For so many sentences a batch, take
    `{"type": "bucket", "batch_size": 64, "sorting_keys": ["source"]}`.

    A data path is a file, a directory (all files in it), a pattern such as `corpus/*.txt`,
    or a list of these; no URL.

    # Raises

    `ConfigurationError`
        If `start_tokens` or `end_tokens` is a string, or `max_sequence_length` leaves no room for a
        word; while reading, if a data path names no file, a line is not UTF-8 or there is no word.
    """  # noqa: E501

    def __init__(
        self,
        tokenizer: Optional[Tokenizer] = None,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        start_tokens: Optional[List[str]] = None,
        end_tokens: Optional[List[str]] = None,
        max_sequence_length: Optional[int] = 512,
        **kwargs,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        for name, tokens in (("start_tokens", start_tokens), ("end_tokens", end_tokens)):
            if isinstance(tokens, str):
                raise ConfigurationError(
                    f"language_modeling: `{name}` is the string {tokens!r}; it takes a list."
                )
        self.start_tokens = [DEFAULT_BOUNDARY_TOKEN] if start_tokens is None else start_tokens
        self.end_tokens = [DEFAULT_BOUNDARY_TOKEN] if end_tokens is None else end_tokens
        self._tokenizer = tokenizer or WhitespaceTokenizer()
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self._splits_at_spaces = type(self._tokenizer) is WhitespaceTokenizer
        self._start, self._end = (
            tokens if self._splits_at_spaces else [Token(token) for token in tokens]
            for tokens in (self.start_tokens, self.end_tokens)
        )
        self._max_words = None
        if max_sequence_length is not None:
            self._max_words = max_sequence_length - len(self._start) - len(self._end)
            if self._max_words < 1:
                raise ConfigurationError(
                    f"language_modeling: `max_sequence_length` is {max_sequence_length}; it takes "
                    "at least one more than there are start and end tokens."
                )

    def _read(self, file_path: DatasetReaderInput) -> Iterator[Instance]:
        if self.get_worker_info() is not None:
            # What a worker starts with stays to its end: no garbage collection need look at it.
            gc.freeze()
        # Each process reads all lines, and decodes its own.
        for line in self.shard_iterable(_lines(_find_files(file_path))):
            words = self._split(_decode(*line))
            step = self._max_words or max(len(words), 1)
            for start in range(0, len(words), step):
                yield self._instance(words[start : start + step])

    def text_to_instance(self, sentence: str) -> Instance:
        """
        # Parameters

        sentence : `str`
            However long it is, it becomes one instance.

        # Returns

        `Instance`
            `"source"`: a `TextField` of the words between the boundary tokens; where the tokenizer
            is `WhitespaceTokenizer`, a `SentenceField`, which is faster.
        """
        return self._instance(self._split(sentence))

    def apply_token_indexers(self, instance: Instance) -> None:
        instance["source"].token_indexers = self._token_indexers  # type: ignore[attr-defined]

    def _split(self, sentence: str) -> List[Any]:
        return sentence.split() if self._splits_at_spaces else self._tokenizer.tokenize(sentence)

    def _instance(self, words: List[Any]) -> Instance:
        field = SentenceField if self._splits_at_spaces else TextField
        return Instance({"source": field(self._start + words + self._end)})


def _find_files(file_path: DatasetReaderInput) -> List[Path]:
    if isinstance(file_path, (str, os.PathLike)):
        file_path = [file_path]
    paths = file_path.values() if isinstance(file_path, dict) else file_path
    try:
        return find_text_files(list(paths))
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error}. It is the config's `train_data_path` or `validation_data_path`; -o "
            '\'{"train_data_path": "…"}\' gives another'
        ) from None


def _lines(files: List[Path]) -> Iterator[Tuple[Path, int, bytes]]:
    has_words = False
    for path in files:
        logger.info("Reading %s", path)
        with path.open("rb") as file:
            if file.read(len(BOM_UTF8)) != BOM_UTF8:
                file.seek(0)
            for number, line in enumerate(file, start=1):
                has_words = has_words or bool(line.decode("utf-8", errors="replace").strip())
                yield path, number, line
    if not has_words:
        names = ", ".join(map(str, files))
        raise ConfigurationError(
            f"{names[:200]}: there is no word in it; give text with one sentence a line, which "
            "`allennlp prepare-corpus` makes"
        )


def _decode(path: Path, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path}: not UTF-8: byte 0x{line[error.start]:02x} in line {number}; convert the file "
            "(for instance with `iconv -t UTF-8`) or remove the line"
        ) from None
