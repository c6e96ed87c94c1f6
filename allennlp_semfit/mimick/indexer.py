import unicodedata
from typing import Dict, List, Optional

import numpy
from allennlp.common.util import lazy_groups_of
from allennlp.data import TokenIndexer

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.common.opened import OpenedOnce
from allennlp_semfit.common.parallel import use_one_thread_in_forks
from allennlp_semfit.data.fasttext_indexer import WordVectorIndexer
from allennlp_semfit.mimick.model import Mimick, MimickArchive
from allennlp_semfit.static_vectors.table import read_table

# Bounds the memory for a batch: longer words, such as URLs, are cut.
_MAX_CHARACTERS = 100
_MAX_WORDS_PER_BATCH = 1024
# The number of predictions to cache in each process.
_CACHE_SIZE = 2**16


@TokenIndexer.register("mimick")
class MimickIndexer(WordVectorIndexer):
    """
    Looks up the vector of each token in a table, such as GloVe's or word2vec's, while the data is
    read. A word that is in the table neither as it is nor in lower case gets the prediction of a
    `mimick` model, from its spelling. Use it with `"vocabulary": {"type": "empty"}` and the
    `mimick` embedder.

    The table is kept in memory: 4 bytes for each value, and about 120 for each word. To read it
    takes about 100 seconds for a million vectors of dimension 300. The forked workers of a data
    loader share it; every other process, such as those of distributed training, reads its own.
    Predictions are made for all words of a batch at once, and cached.

    Registered as a `TokenIndexer` with name "mimick".

    # Parameters

    archive_file : `str`
        The `model.tar.gz` of a `mimick` model, which `training_config/mimick.jsonnet`
        trains, or its serialization directory.
    table_path : `str`
        The table that the model was trained on.
    token_min_padding_length : `int`, optional (default = `0`)
        See `TokenIndexer`.

    # Raises

    `InvalidFileError`
        If a file is missing or invalid, or their vectors differ in dimension.

    # Example

    ```json
    "token_indexers": {
        "mimick": {
            "type": "mimick", "archive_file": "mimick/model.tar.gz", "table_path": "glove.txt"
        }
    }
    ```
    """

    file_parameter = "archive_file"

    def __init__(
        self, archive_file: str, table_path: str, token_min_padding_length: int = 0
    ) -> None:
        super().__init__(token_min_padding_length)
        self._vectors = _MimickVectors.open(archive_file, table_path)

    @property
    def embedding_dim(self) -> int:
        return self._vectors.dim

    @property
    def path(self) -> str:
        return self._vectors.table_path

    def get_word_vectors(self, words: List[str]) -> List[numpy.ndarray]:
        return self._vectors.get_word_vectors(words)


class _MimickVectors(OpenedOnce):
    """
    The vectors of a table, and predictions for other words.

    # Parameters

    archive_file : `str`
    table_path : `str`
    """

    def __init__(self, archive_file: str, table_path: str) -> None:
        super().__init__(archive_file, table_path)
        self.archive_file = str(archive_file)
        self.table_path = str(table_path)
        # The workers of a data loader are forks.
        use_one_thread_in_forks()
        archive = MimickArchive.open(self.archive_file)
        model = archive.build_model()
        assert isinstance(model, Mimick)
        # It is in float64, so that rounded to float32 a prediction does not depend on the other
        # words of its batch.
        self._model = model.double().eval()
        self._reader = archive.build_reader()
        words, self._table = read_table(self.table_path)
        if self.dim != model.get_output_dim():
            raise InvalidFileError(
                self.table_path,
                f"has vectors of dimension {self.dim}, but the MIMICK model {self.archive_file} "
                f"predicts vectors of dimension {model.get_output_dim()}",
                "Give the table that it was trained on.",
                "Table of word vectors",
            )
        self._table.setflags(write=False)
        self._rows = {word: row for row, word in enumerate(words)}
        self._predictions: Dict[str, numpy.ndarray] = {}

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._table.shape[1])

    def get_word_vectors(self, words: List[str]) -> List[numpy.ndarray]:
        """The vectors of any words, each of shape `(dim,)`, `float32`. They are read-only."""
        words = [
            word if word in self._rows else unicodedata.normalize("NFC", word) for word in words
        ]
        rows = [self._row(word) for word in words]
        unknown = [word for word, row in zip(words, rows) if row is None]
        predictions = self._predict(unknown) if unknown else {}
        return [
            predictions[word] if row is None else self._table[row] for word, row in zip(words, rows)
        ]

    def _row(self, word: str) -> Optional[int]:
        row = self._rows.get(word)
        return self._rows.get(word.lower()) if row is None else row

    def _predict(self, words: List[str]) -> Dict[str, numpy.ndarray]:
        """The predictions for `words`, among others."""
        # Another thread may replace `self._predictions`.
        predictions = self._predictions
        missing = sorted({*words} - predictions.keys(), key=len)
        if len(predictions) + len(missing) > _CACHE_SIZE:
            predictions = self._predictions = {}
            missing = sorted({*words}, key=len)
        for batch in lazy_groups_of(missing, _MAX_WORDS_PER_BATCH):
            instances = [self._reader.text_to_instance(word[:_MAX_CHARACTERS]) for word in batch]
            for instance in instances:
                self._reader.apply_token_indexers(instance)
            for word, output in zip(batch, self._model.forward_on_instances(instances)):
                vector = output["vectors"].astype(numpy.float32)
                vector.setflags(write=False)
                predictions[word] = vector
        return predictions
