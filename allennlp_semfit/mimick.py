"""
MIMICK ([Pinter et al. 2017, "Mimicking Word Embeddings using Subword
RNNs"](https://aclanthology.org/D17-1010), section 3): vectors of words that a table lacks.
"""

import unicodedata
from typing import Any, Dict, Iterable, Iterator, List, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import (
    DatasetReader,
    Field,
    Instance,
    TextFieldTensors,
    TokenIndexer,
    Tokenizer,
    Vocabulary,
)
from allennlp.data.fields import TensorField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import CharacterTokenizer
from allennlp.models import Model
from allennlp.modules import FeedForward, Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.archives.archive import Archive
from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.common.errors import InvalidFileError, check_choice, check_dims
from allennlp_semfit.common.opened import OpenedOnce
from allennlp_semfit.common.parallel import use_one_thread_in_forks
from allennlp_semfit.data.fasttext_indexer import WordVectorIndexer
from allennlp_semfit.functional import cosine_distance, squared_l2_distance, unit_vectors
from allennlp_semfit.static_vectors.table import read_table
from allennlp_semfit.training.token_averages import TokenAverage

# Longer words, such as URLs, are truncated, to bound the memory for a batch.
_MAX_CHARACTERS = 100
_MAX_WORDS_PER_BATCH = 1024
# The number of predictions to cache in each process.
_CACHE_SIZE = 2**16


@DatasetReader.register("word_vectors")
class WordVectorsReader(DatasetReader, NamesConfigKey):
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

    # Raises

    `ConfigurationError`
        If `subset` is unknown or, while reading, there are too few words for this
        `validation_fraction`.
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
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        check_choice("word_vectors: `subset`", subset, ("all", "train", "validation"))
        self._tokenizer = tokenizer or CharacterTokenizer(start_tokens=["<w>"], end_tokens=["</w>"])
        self._token_indexers = token_indexers or {
            "characters": SingleIdTokenIndexer(namespace="characters")
        }
        self._max_words = max_words
        self._subset = subset
        self._validation_fraction = validation_fraction

    def _read(self, file_path: str) -> Iterator[Instance]:
        words, vectors = read_table(str(file_path), max_words=self._max_words)
        for row in self.shard_iterable(self._rows(str(file_path), len(words))):
            yield self.text_to_instance(words[row], vectors[row])

    def _rows(self, file_path: str, num_words: int) -> Iterable[int]:
        if self._subset == "all":
            return range(num_words)
        shuffled = numpy.random.default_rng(13).permutation(num_words)
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
        """The characters of `"word"` and, if it is given, its `"vector"`, of shape `(dim,)`."""
        fields: Dict[str, Field] = {"word": TextField(self._tokenizer.tokenize(word))}
        if vector is not None:
            fields["vector"] = TensorField(vector)
        return Instance(fields)

    def apply_token_indexers(self, instance: Instance) -> None:
        instance["word"].token_indexers = self._token_indexers  # type: ignore[attr-defined]


@Model.register("mimick")
class Mimick(Model, NamesConfigKey):
    """
    Learns to predict the vectors of a table from the spelling of the words ([Pinter et al.
    2017](https://aclanthology.org/D17-1010), section 3):

        f(w) = O_T tanh(T_h [h_f; h_b] + b_h) + b_T

    `h_f` and `h_b` are the last states of an LSTM over the characters in each direction.

    The loss is the squared Euclidean distance to the table's vector, `‖f(w) − e(w)‖²`, averaged
    over the words. `training_config/mimick.jsonnet` trains the model; the `mimick` indexer uses it.

    Registered as a `Model` with name "mimick".

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
        Embeds the characters.
    seq2vec_encoder : `Seq2VecEncoder`
        Encodes the characters: a bidirectional `lstm` in the paper.
    feedforward : `FeedForward`
        Its output is the vector: a layer with `tanh` and a `linear` layer in the paper.
    initializer : `InitializerApplicator`, optional (default = `None`)

    # Raises

    `ConfigurationError`
        If the dimensions of two modules, or of the table and the model, do not match.

    # Example

    ```json
    "dataset_reader": {"type": "word_vectors"},
    "model": {
        "type": "mimick",
        "text_field_embedder": {
            "token_embedders": {
                "characters": {
                    "type": "embedding", "embedding_dim": 20, "vocab_namespace": "characters"
                }
            }
        },
        "seq2vec_encoder": {
            "type": "lstm", "input_size": 20, "hidden_size": 50, "bidirectional": true
        },
        "feedforward": {
            "input_dim": 100, "num_layers": 2, "hidden_dims": [300, 300],
            "activations": ["tanh", "linear"]
        }
    }
    ```
    """

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        seq2vec_encoder: Seq2VecEncoder,
        feedforward: FeedForward,
        initializer: InitializerApplicator = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        check_dims(
            "mimick: the text_field_embedder's output",
            text_field_embedder.get_output_dim(),
            "the seq2vec_encoder's input",
            seq2vec_encoder.get_input_dim(),
        )
        check_dims(
            "mimick: the seq2vec_encoder's output",
            seq2vec_encoder.get_output_dim(),
            "the feedforward's `input_dim`",
            feedforward.get_input_dim(),
        )
        self._text_field_embedder = text_field_embedder
        self._seq2vec_encoder = seq2vec_encoder
        self._feedforward = feedforward
        self._cosine = TokenAverage()
        self._baseline_cosine = TokenAverage()
        if initializer is not None:
            initializer(self)

    def get_output_dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._feedforward.get_output_dim())

    def forward(
        self, word: TextFieldTensors, vector: Optional[torch.Tensor] = None
    ) -> Dict[str, torch.Tensor]:
        """
        The `"vectors"` predicted for words, whose characters are the rows of `word`; if the table's
        vectors are given, also the `"loss"`. Vectors have the shape `(batch_size, dim)`.
        """
        mask = get_text_field_mask(word)
        encoded = self._seq2vec_encoder(self._text_field_embedder(word), mask)
        vectors = self._feedforward(encoded)
        outputs = {"vectors": vectors}
        if vector is not None:
            if vector.size(-1) != self.get_output_dim():
                raise ConfigurationError(
                    f"mimick: the table's vectors have dimension {vector.size(-1)}, but the last "
                    f"of the feedforward's `hidden_dims` is {self.get_output_dim()}; set it to "
                    f"{vector.size(-1)}."
                )
            outputs["loss"] = squared_l2_distance(vectors, vector).mean()
            with torch.no_grad():
                directions = unit_vectors(vector)  # (batch_size, dim)
                self._cosine(-cosine_distance(vectors, directions))
                self._baseline_cosine(directions)
        return outputs

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """
        `"cosine"`: the mean cosine of the predictions and the table's vectors.
        `"baseline_cosine"`: that of the best constant prediction, which is the mean direction.
        """
        return {
            "cosine": self._cosine.get_metric(reset),
            "baseline_cosine": self._baseline_cosine.get_metric(reset),
        }


class MimickArchive(Archive):
    """A trained MIMICK model."""

    kind = "MIMICK model"
    models = ("mimick",)
    reader = "word_vectors"
    remedy = "`allennlp train` makes it with training_config/mimick.jsonnet."


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

    def __init__(
        self, archive_file: str, table_path: str, token_min_padding_length: int = 0
    ) -> None:
        super().__init__(_MimickVectors.open(archive_file, table_path), token_min_padding_length)


class _MimickVectors(OpenedOnce):
    """The vectors of a table, and predictions for other words."""

    def __init__(self, archive_file: str, table_path: str) -> None:
        super().__init__(archive_file, table_path)
        self.path = str(table_path)
        # The workers of a data loader are forked.
        use_one_thread_in_forks()
        archive = MimickArchive.open(archive_file)
        model = archive.build_model()
        assert isinstance(model, Mimick)
        # In float64, so that a prediction, rounded to float32, does not depend on its batch.
        self._model = model.double().eval()
        self._reader = archive.build_reader()
        words, self._table = read_table(self.path)
        self.dim = self._table.shape[1]
        if self.dim != model.get_output_dim():
            raise InvalidFileError(
                self.path,
                f"has vectors of dimension {self.dim}, but the MIMICK model {archive_file} "
                f"predicts vectors of dimension {model.get_output_dim()}",
                "Give the table that it was trained on.",
                "Table of word vectors",
            )
        self._table.setflags(write=False)
        self._rows = {word: row for row, word in enumerate(words)}
        self._predictions: Dict[str, numpy.ndarray] = {}

    def get_word_vectors(self, words: List[str]) -> List[numpy.ndarray]:
        """The vectors of any words, each of shape `(dim,)`, `float32`, read-only."""
        words = [
            word if word in self._rows else unicodedata.normalize("NFC", word) for word in words
        ]
        rows = [self._rows.get(word, self._rows.get(word.lower())) for word in words]
        unknown = [word for word, row in zip(words, rows) if row is None]
        predictions = self._predict(unknown) if unknown else {}
        return [
            predictions[word] if row is None else self._table[row] for word, row in zip(words, rows)
        ]

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
