import gc
import logging
import os
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import DatasetReader, Instance, Token, TokenIndexer, Tokenizer
from allennlp.data.dataset_readers.dataset_reader import DatasetReaderInput
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import WhitespaceTokenizer

from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.common.text_files import (
    DEFAULT_BOUNDARY_TOKEN,
    FOLDER_WEIGHTS,
    find_text_files,
    read_lines,
)
from allennlp_semfit.data.fasttext_indexer import SentenceField

logger = logging.getLogger(__name__)


@DatasetReader.register("language_modeling")
class LanguageModelingReader(DatasetReader, NamesConfigKey):
    """
    Reads text with one sentence per line, from any number of files, for a language model. The lines
    are sharded over the processes of distributed training and the workers of the data loader: each
    line is tokenized and indexed by only one of them.

    Registered as a `DatasetReader` with name "language_modeling".

    # Parameters

    tokenizer : `Tokenizer`, optional (default = `WhitespaceTokenizer()`)
    token_indexers : `Dict[str, TokenIndexer]`, optional (default = `{"tokens": SingleIdTokenIndexer()}`)
    start_tokens : `List[str]`, optional (default = `["</s>"]`)
        The boundary tokens before each sentence. Every fastText model contains a vector for the
        default: fastText counts each line end as this word.
    end_tokens : `List[str]`, optional (default = `["</s>"]`)
        The boundary tokens after each sentence.
    max_sequence_length : `int`, optional (default = `512`)
        The maximum length, including boundary tokens. A longer line is split into several
        sentences, so no words are dropped. `null` for no limit.

    # Example

    ```json
    "dataset_reader": {
        "type": "language_modeling",
        "token_indexers": {"fasttext": {"type": "fasttext", "model_path": "vectors.bin"}}
    },
    "train_data_path": "corpus/train"
    ```

    To stream a corpus with two worker processes, in batches of sentences of similar length with at
    most 2,000 words including the padding:

    ```json
    "data_loader": {
        "type": "watched",
        "batch_sampler": {
            "type": "max_tokens_sampler", "max_tokens": 2000, "sorting_keys": ["source"]
        },
        "max_instances_in_memory": 2000,
        "num_workers": 2
    }
    ```

    `max_tokens` must be at least `max_sequence_length`. For a fixed number of sentences per batch,
    use `{"type": "bucket", "batch_size": 64, "sorting_keys": ["source"]}`.

    A data path is a file, a directory (all files in it), a glob such as `corpus/*.txt`, or a list
    of these. URLs are not supported.

    # Raises

    `ConfigurationError`
        If `start_tokens` or `end_tokens` is a string, or `max_sequence_length` is too short for a
        word; while reading, if a data path matches no file, a line is not UTF-8 or the files
        contain no words.
    """  # noqa: E501

    def __init__(
        self,
        tokenizer: Optional[Tokenizer] = None,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        start_tokens: Optional[List[str]] = None,
        end_tokens: Optional[List[str]] = None,
        max_sequence_length: Optional[int] = 512,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        self.start_tokens = [DEFAULT_BOUNDARY_TOKEN] if start_tokens is None else start_tokens
        self.end_tokens = [DEFAULT_BOUNDARY_TOKEN] if end_tokens is None else end_tokens
        self._tokenizer = tokenizer or WhitespaceTokenizer()
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self._splits_on_whitespace = type(self._tokenizer) is WhitespaceTokenizer
        self._start, self._end = (
            tokens if self._splits_on_whitespace else [Token(token) for token in tokens]
            for tokens in (self.start_tokens, self.end_tokens)
        )
        self._max_words = None
        if max_sequence_length is not None:
            self._max_words = max_sequence_length - len(self._start) - len(self._end)
            if self._max_words < 1:
                raise ConfigurationError(
                    f"language_modeling: `max_sequence_length` is {max_sequence_length}; it must "
                    "be greater than the number of start and end tokens."
                )

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "LanguageModelingReader":
        # AllenNLP's `load_archive` passes the directory, but does not resolve file names in it.
        directory = extras.get("serialization_dir")
        if directory is not None and os.path.exists(os.path.join(directory, FOLDER_WEIGHTS)):
            raise ConfigurationError(
                f"{directory}: it is a folder of `allennlp export-model`, which AllenNLP's own "
                "`evaluate` and `predict` do not take; give them the `model.tar.gz` of the training"
            )
        for name in ("start_tokens", "end_tokens"):
            # AllenNLP would make a list of its characters.
            if isinstance(params.get(name), str):
                raise ConfigurationError(
                    f"language_modeling: `{name}` is the string {params.get(name)!r}; it must be a "
                    "list."
                )
        return super().from_params(params, *args, **extras)

    def _read(self, file_path: DatasetReaderInput) -> Iterator[Instance]:
        if self.get_worker_info() is not None:
            # The worker's initial objects are never freed: exclude them from garbage collection.
            gc.freeze()
        paths = list(file_path.values()) if isinstance(file_path, dict) else file_path
        lines = _read_lines(find_text_files(paths))
        info = self.get_distributed_info()
        if info is not None and not is_distributed():
            # `shard_iterable` needs the process group, which a spawned worker does not belong to.
            lines = islice(lines, info.global_rank, None, info.world_size)
        # Each process reads all lines, but splits only those of its shard.
        for line in self.shard_iterable(lines):
            words = self._split(line)
            max_words = self._max_words or max(len(words), 1)
            for start in range(0, len(words), max_words):
                yield self._make_instance(words[start : start + max_words])

    def text_to_instance(self, sentence: str) -> Instance:
        """
        An instance with the field `"source"` for one sentence, which is not split, however long it
        is: a `TextField` of the words and boundary tokens; with a `WhitespaceTokenizer`, a
        `SentenceField`, which is faster.
        """
        return self._make_instance(self._split(sentence))

    def apply_token_indexers(self, instance: Instance) -> None:
        instance["source"].token_indexers = self._token_indexers  # type: ignore[attr-defined]

    def _split(self, sentence: str) -> List[Any]:
        return (
            sentence.split() if self._splits_on_whitespace else self._tokenizer.tokenize(sentence)
        )

    def _make_instance(self, words: List[Any]) -> Instance:
        field = SentenceField if self._splits_on_whitespace else TextField
        return Instance({"source": field(self._start + words + self._end)})


def _read_lines(files: List[Path]) -> Iterator[str]:
    has_words = False
    for path in files:
        logger.info("Reading %s", path)
        # Skip empty lines: if every second line is empty, one of two shards would be empty.
        for line in filter(str.strip, read_lines(path)):
            has_words = True
            yield line
    if not has_words:
        names = ", ".join(map(str, files))
        raise ConfigurationError(
            f"{names[:200]}: no words found; give text with one sentence per line, as written by "
            "`allennlp prepare-corpus`"
        )
