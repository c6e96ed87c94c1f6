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

# Longer words, such as URLs, are truncated, to bound the memory for a batch.
_MAX_CHARACTERS = 100
_MAX_WORDS_PER_BATCH = 1024
# The number of predictions to cache in each process.
_CACHE_SIZE = 2**16


@TokenIndexer.register("mimick")
class MimickIndexer(WordVectorIndexer):
    """
    Looks up the vector of each token in a table, such as GloVe's or word2vec's, while the data is
    read. If neither the word nor its lower-case form is in the table, a `mimick` model predicts the
    vector from the spelling. Use this indexer with `"vocabulary": {"type": "empty"}` and the
    `mimick` embedder.

    The table is kept in memory: 4 bytes for each value, and about 120 for each word. Reading a
    million vectors of dimension 300 takes about 100 seconds. The forked workers of a data loader
    share the table; every other process, as in distributed training, reads its own copy. The
    vectors of all words of a batch are predicted at once, and cached.

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
        If a file is missing or invalid, or the vectors of the two differ in dimension.

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
    """The vectors of a table, and predictions for other words."""

    def __init__(self, archive_file: str, table_path: str) -> None:
        super().__init__(archive_file, table_path)
        self.archive_file = str(archive_file)
        self.table_path = str(table_path)
        # The workers of a data loader are forked.
        use_one_thread_in_forks()
        archive = MimickArchive.open(self.archive_file)
        model = archive.build_model()
        assert isinstance(model, Mimick)
        # In float64, so that a prediction, rounded to float32, does not depend on its batch.
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
        """The vectors of any words, each of shape `(dim,)`, `float32`, read-only."""
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
        """Returns predictions for `words` and possibly other words."""
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
