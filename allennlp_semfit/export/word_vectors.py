import unicodedata
from itertools import tee
from typing import Iterable, List, Optional, Sequence, Tuple

import numpy
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.pretrained.pooling import Layers, pool_layers
from allennlp_semfit.pretrained.sentence_embedder import (
    DEFAULT_BATCH_SIZE,
    SentenceEmbedder,
    check_sentence,
)


def word_vectors(
    embedder: SentenceEmbedder,
    words: Iterable[str],
    contexts: Optional[Iterable[Sequence[str]]] = None,
    layers: Optional[Layers] = None,
    batch_size: int = DEFAULT_BATCH_SIZE,
) -> Tuple[List[str], numpy.ndarray]:
    """
    Computes one vector for each word: layer 0, the projected input, or, with `contexts`, the mean
    over the occurrences of the word (Bommasani et al. 2020, https://aclanthology.org/2020.acl-main.431).

    # Parameters

    embedder : `SentenceEmbedder`
    words : `Iterable[str]`
        They match words of `contexts` with the same Unicode normalization form C.
    contexts : `Optional[Iterable[Sequence[str]]]`, optional (default = `None`)
        Sentences, as lists of words.
    layers : `Literal["all", "top", "average", "normalized"]`, optional (default = `None`)
        With `contexts`, how the layers of an occurrence are pooled: concatenated (all), the last
        one (top), their mean (average, the default), or their mean after layer normalization of
        each (normalized).
    batch_size : `int`, optional (default = `64`)
        See `SentenceEmbedder.embed_sentences`.

    # Returns

    `List[str]`
        The words in form C, without duplicates or words that do not occur in `contexts`.
    `numpy.ndarray`
        Their vectors. Shape `(num_words, dim)`, `float32`.

    # Raises

    `ConfigurationError`
        If `words` is a string, or `layers` is unknown or given without `contexts`; also, what
        `embed_sentences` raises.
    """
    if isinstance(words, str):
        raise ConfigurationError(f"words: {words!r:.50} is a string; give a list of words")
    if contexts is None and layers is not None:
        raise ConfigurationError(
            f"layers: {layers!r} needs `contexts`; without them, vectors are those of layer 0"
        )
    layers = layers or "average"
    rows = {word: row for row, word in enumerate(dict.fromkeys(map(_normalize, words)))}
    sentences: Iterable[Sequence[str]] = ([word] for word in rows)
    if contexts is not None:
        sentences = (
            sentence
            for sentence in contexts
            if not rows.keys().isdisjoint(map(_normalize, check_sentence(sentence)))
        )
    given, read = tee(sentences)
    counts = numpy.zeros(len(rows), int)
    means = numpy.zeros((len(rows), embedder.get_sentence_dim(layers)), numpy.float32)
    pairs = zip(read, embedder.embed_sentences(given, batch_size))
    total = len(rows) if contexts is None else None
    for sentence, vectors in Tqdm.tqdm(pairs, desc="embedding", total=total, unit=" sentences"):
        pooled = vectors[0] if contexts is None else pool_layers(vectors, layers)
        for word, vector in zip(map(_normalize, sentence), pooled):
            if word in rows:
                row = rows[word]
                counts[row] += 1
                # A running mean loses less precision than a sum of millions of vectors.
                means[row] += (vector - means[row]) / counts[row]
    return [word for word, row in rows.items() if counts[row]], means[counts > 0]


def _normalize(word: str) -> str:
    return unicodedata.normalize("NFC", word)
