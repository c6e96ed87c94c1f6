from typing import Any, Dict, Iterable, Iterator, Optional

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, TokenIndexer, Tokenizer
from allennlp.data.fields import TensorField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import CharacterTokenizer

from allennlp_semfit.common.config_params import KnownParams
from allennlp_semfit.common.errors import check_choice
from allennlp_semfit.static_vectors.table import read_table

_SUBSETS = ("all", "train", "validation")


@DatasetReader.register("word_vectors")
class WordVectorsReader(DatasetReader, KnownParams):
    """
    Reads a table of word vectors, such as GloVe's or word2vec's, for a `mimick` model: the
    characters and the vector of each word. The data path is a text file, plain or compressed, or a
    file in an archive, `(glove.6B.zip)#glove.6B.100d.txt`.

    Registered as a `DatasetReader` with name "word_vectors".

    # Parameters

    tokenizer : `Tokenizer`, optional
        Splits a word into characters. The default is
        `CharacterTokenizer(start_tokens=["<w>"], end_tokens=["</w>"])`, so that no word is empty.
    token_indexers : `Dict[str, TokenIndexer]`, optional
        Indexes the characters. The default is
        `{"characters": SingleIdTokenIndexer(namespace="characters")}`.
    max_words : `int`, optional (default = `None`)
        Read only this many words from the beginning of the table.
    subset : `str`, optional (default = `"all"`)
        `"validation"`: words drawn at random; `"train"`: the other words.
    validation_fraction : `float`, optional (default = `0.1`)
        The fraction of words for validation.
    seed : `int`, optional (default = `13`)
        The random seed for the choice of these words.

    # Raises

    `ConfigurationError`
        If `subset` is unknown, `validation_fraction` is not between 0 and 1, or, while reading,
        there are too few words.
    `InvalidFileError`
        While reading, if the file is not a table of word vectors.

    # Example

    ```json
    "dataset_reader": {"type": "word_vectors", "subset": "train"},
    "validation_dataset_reader": {"type": "word_vectors", "subset": "validation"},
    "train_data_path": "glove.6B.100d.txt",
    "validation_data_path": "glove.6B.100d.txt"
    ```
    """

    def __init__(
        self,
        tokenizer: Optional[Tokenizer] = None,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        max_words: Optional[int] = None,
        subset: str = "all",
        validation_fraction: float = 0.1,
        seed: int = 13,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        check_choice("word_vectors: `subset`", subset, _SUBSETS)
        if not 0 < validation_fraction < 1:
            raise ConfigurationError(
                "word_vectors: `validation_fraction` must be between 0 and 1, "
                f"got {validation_fraction}."
            )
        self._tokenizer = tokenizer or CharacterTokenizer(start_tokens=["<w>"], end_tokens=["</w>"])
        self._token_indexers = token_indexers or {
            "characters": SingleIdTokenIndexer(namespace="characters")
        }
        self._max_words = max_words
        self._subset = subset
        self._validation_fraction = validation_fraction
        self._seed = seed

    def _read(self, file_path: str) -> Iterator[Instance]:
        words, vectors = read_table(str(file_path), max_words=self._max_words)
        for row in self.shard_iterable(self._rows(str(file_path), len(words))):
            yield self.text_to_instance(words[row], vectors[row])

    def _rows(self, file_path: str, num_words: int) -> Iterable[int]:
        if self._subset == "all":
            return range(num_words)
        shuffled = numpy.random.default_rng(self._seed).permutation(num_words)
        num_validation = round(self._validation_fraction * num_words)
        if not 0 < num_validation < num_words:
            raise ConfigurationError(
                f"{file_path}: {num_validation} of {num_words} words would be used for validation; "
                "give a larger table or another `validation_fraction`."
            )
        is_validation = self._subset == "validation"
        rows = shuffled[:num_validation] if is_validation else shuffled[num_validation:]
        return sorted(rows.tolist())

    def text_to_instance(self, word: str, vector: Optional[numpy.ndarray] = None) -> Instance:
        """
        # Parameters

        word : `str`
        vector : `numpy.ndarray`, optional (default = `None`)
            Shape `(dim,)`.

        # Returns

        `Instance`
            `"word"`: a `TextField` of the characters; `"vector"`: a `TensorField`, if it is given.
        """
        fields: Dict[str, Field] = {"word": TextField(self._tokenizer.tokenize(word))}
        if vector is not None:
            fields["vector"] = TensorField(vector)
        return Instance(fields)

    def apply_token_indexers(self, instance: Instance) -> None:
        instance["word"].token_indexers = self._token_indexers  # type: ignore[attr-defined]
