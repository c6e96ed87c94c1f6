from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

import numpy
from allennlp.common.checks import ConfigurationError
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from allennlp_semfit.pretrained.sentence_embedder import DEFAULT_BATCH_SIZE, SentenceEmbedder

__all__ = ["SentenceVectorizer"]


class SentenceVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """
    A transformer for scikit-learn that turns sentences into vectors, for a `Pipeline` or
    `GridSearchCV`. Nothing is fitted.

    The language model is read when it is first needed. A clone or a pickled copy reads it again. To
    embed the same sentences only once in a search, give the `Pipeline` a `memory`.

    # Parameters

    archive_file : `str`
        The language model's `model.tar.gz`.
    pool : `str`, optional (default = `"mean"`)
        How the vectors of the words are pooled; this, `layers` and `batch_size` are as for
        [`sentence_vectors`](#sentence_vectors).
    layers : `str`, optional (default = `"average"`)
    batch_size : `int`, optional (default = `64`)
    cuda_device : `int`, optional (default = `-1`)
        This and the following are as for [`SentenceEmbedder`](#sentenceembedder).
    fasttext_model_path : `str`, optional (default = `None`)
    tokenizer_path : `str`, optional (default = `None`)
    sub_token_mode : `str`, optional (default = `"first"`)
    autocast : `bool`, optional (default = `False`)

    # Example

    ```python
    vectorizer = SentenceVectorizer("output/elmo_semfit/model.tar.gz")
    classifier = make_pipeline(vectorizer, LogisticRegression())
    classifier.fit(["A fine film .", "A dull film ."], [1, 0])
    ```
    """

    def __init__(
        self,
        archive_file: str,
        *,
        pool: str = "mean",
        layers: str = "average",
        batch_size: int = DEFAULT_BATCH_SIZE,
        cuda_device: int = -1,
        fasttext_model_path: Optional[str] = None,
        tokenizer_path: Optional[str] = None,
        sub_token_mode: str = "first",
        autocast: bool = False,
    ) -> None:
        self.archive_file = archive_file
        self.pool = pool
        self.layers = layers
        self.batch_size = batch_size
        self.cuda_device = cuda_device
        self.fasttext_model_path = fasttext_model_path
        self.tokenizer_path = tokenizer_path
        self.sub_token_mode = sub_token_mode
        self.autocast = autocast

    def fit(self, X: Any, y: Any = None) -> "SentenceVectorizer":  # noqa: N803
        """Does nothing."""
        return self

    def transform(self, X: Iterable[Union[str, Sequence[str]]]) -> numpy.ndarray:  # noqa: N803
        """
        # Parameters

        X : `Iterable[Union[str, Sequence[str]]]`
            The sentences: the words of each, as a list or separated by white space.

        # Returns

        `numpy.ndarray`
            Shape `(num_sentences, dim)`, `float32`.

        # Raises

        `ConfigurationError`
            If `X` is a string or a table, or has something other than sentences; and what
            `SentenceEmbedder` and `sentence_vectors` raise.
        """
        if isinstance(X, str):
            raise ConfigurationError(f"X is the string {X[:50]!r}; give a list of sentences.")
        num_dims = getattr(X, "ndim", 1)
        if num_dims != 1:
            raise ConfigurationError(
                f"X has {num_dims} dimensions; give one column, with a sentence in each row."
            )
        sentences: List[Sequence[str]] = []
        for row, sentence in enumerate(X):
            # A missing value of pandas is `None`, a float or `NA`.
            if isinstance(sentence, bytes) or not hasattr(sentence, "__len__"):
                raise ConfigurationError(
                    f"X has {sentence!r} in row {row}, counted from 0; give a string or a list of "
                    "words, such as '' where text is missing."
                )
            sentences.append(sentence.split() if isinstance(sentence, str) else sentence)
        return self._open().sentence_vectors(sentences, self.pool, self.layers, self.batch_size)

    def _open(self) -> SentenceEmbedder:
        arguments = (
            self.archive_file,
            self.cuda_device,
            self.fasttext_model_path,
            self.tokenizer_path,
            self.sub_token_mode,
            self.autocast,
        )
        # `set_params` may have changed them.
        if getattr(self, "_arguments", None) != arguments:
            self._embedder = SentenceEmbedder(*arguments)
            self._arguments = arguments
        return self._embedder

    @property
    def _n_features_out(self) -> int:
        return self._open().get_sentence_dim(self.layers)

    def __getstate__(self) -> Dict[str, Any]:
        opened = ("_embedder", "_arguments")
        return {key: value for key, value in super().__getstate__().items() if key not in opened}

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
