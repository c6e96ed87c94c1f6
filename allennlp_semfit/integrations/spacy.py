"""The pipeline component `semfit_vectors` for spaCy. Importing this module registers it."""

from typing import Iterable, Iterator, List, Sequence, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch

from allennlp_semfit.pretrained.pooling import check_pooling, pool_layers, pool_words
from allennlp_semfit.pretrained.sentence_embedder import DEFAULT_BATCH_SIZE, SentenceEmbedder


@Language.factory("semfit_vectors", assigns=["doc.tensor"])
class SemfitVectors:
    """
    A component of a spaCy pipeline that sets `doc.tensor`, shape `(len(doc), dim)`, to a language
    model's vectors of spaCy's tokens. `token.vector` is a row of it, `doc.vector` and `span.vector`
    are means of rows, and `similarity` is the cosine. White space has zero vectors, which do not
    count in the means, and its `has_vector` is false.

    Documents from other processes (`n_process`) or from `Doc.to_disk` have only `doc.tensor`,
    because spaCy does not save hooks. Those from a `DocBin` do not have `doc.tensor` either.

    Each sentence is embedded by itself if an earlier component sets the sentences. Otherwise the
    document is one sentence. [`blank_pipeline`](#blank_pipeline) splits text as `prepare-corpus`
    does for the training text; other pipelines may split it differently.

    Registered as a spaCy factory with name "semfit_vectors", once this module is imported.

    # Parameters

    archive_file : `str`
        The language model's `model.tar.gz`, serialization directory or exported folder.
    layers : `str`, optional (default = `"all"`)
        See `SentenceEmbedder.sentence_vectors`.
    batch_size : `int`, optional (default = `64`)
        The maximum number of sentences in a batch.
    cuda_device : `Union[int, str]`, optional (default = `-1`)
        See [`SentenceEmbedder`](#sentenceembedder), also for `bf16`.
    bf16 : `bool`, optional (default = `False`)

    # Raises

    `ConfigurationError`
        If `layers` is unknown; also, what `SentenceEmbedder` raises.

    # Example

    ```python
    nlp = blank_pipeline("en")
    nlp.add_pipe("semfit_vectors", config={"archive_file": "output/elmo_semfit/model.tar.gz"})
    doc = nlp("The cat sat. A dog barked.")
    ```
    """

    def __init__(
        self,
        nlp: Language,
        name: str,
        archive_file: str,
        layers: str = "all",
        batch_size: int = DEFAULT_BATCH_SIZE,
        cuda_device: Union[int, str] = -1,
        bf16: bool = False,
    ) -> None:
        check_pooling(layers)
        self.layers = layers
        self.batch_size = batch_size
        self._embedder = SentenceEmbedder(archive_file, cuda_device, bf16)

    def __call__(self, doc: Doc) -> Doc:
        self._set_vectors([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], batch_size: int = DEFAULT_BATCH_SIZE) -> Iterator[Doc]:
        for docs in minibatch(stream, batch_size):
            self._set_vectors(docs)
            yield from docs

    def _set_vectors(self, docs: Sequence[Doc]) -> None:
        dim = self._embedder.get_sentence_dim(self.layers)
        sentences: List[List[Token]] = []
        for doc in docs:
            doc.tensor = numpy.zeros((len(doc), dim), numpy.float32)
            # Override the pipeline's static vectors, which spaCy would prefer.
            for hooks in (doc.user_hooks, doc.user_span_hooks):
                hooks.update(vector=_mean_vector, has_vector=_has_words, similarity=_similarity)
            doc.user_token_hooks.update(
                vector=_token_vector, has_vector=_is_word, similarity=_similarity
            )
            spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
            sentences += [words for words in map(_words, spans) if words]
        texts = ([word.text for word in words] for words in sentences)
        for words, layers in zip(sentences, self._embedder.embed_sentences(texts, self.batch_size)):
            vectors = pool_layers(layers, self.layers)
            words[0].doc.tensor[[word.i for word in words]] = vectors


def _words(tokens: Union[Doc, Span]) -> List[Token]:
    return list(filter(_is_word, tokens))


def _is_word(token: Token) -> bool:
    return not token.is_space


def _has_words(tokens: Union[Doc, Span]) -> bool:
    return any(map(_is_word, tokens))


def _mean_vector(tokens: Union[Doc, Span]) -> numpy.ndarray:
    return pool_words(tokens.doc.tensor[[word.i for word in _words(tokens)]], "mean")


def _token_vector(token: Token) -> numpy.ndarray:
    return token.doc.tensor[token.i]


def _similarity(one: Union[Doc, Span, Token], other: Union[Doc, Span, Token]) -> float:
    # spaCy's own similarity is 1 for the same word in any context, and its norms are those of the
    # first vectors that a document had.
    a, b = numpy.asarray(one.vector), numpy.asarray(other.vector)
    norms = numpy.linalg.norm(a) * numpy.linalg.norm(b)
    return float(a @ b / norms) if norms else 0.0
