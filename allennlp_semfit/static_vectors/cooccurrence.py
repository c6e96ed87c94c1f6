"""Counts co-occurrences of words in a corpus, and computes the matrices that SVD decomposes."""

import operator
from functools import partial, reduce
from itertools import chain, repeat
from pathlib import Path
from typing import Dict, List, Sequence

import numpy
from scipy.sparse import coo_matrix, csr_matrix, vstack

from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN
from allennlp_semfit.corpus.word_counts import map_chunks


def count_cooccurrences(
    files: Sequence[Path],
    words: Sequence[str],
    *,
    window: int,
    num_workers: int = 1,
) -> csr_matrix:
    """
    Counts how often each word follows each other word within a distance of `window` in a line. A
    line with words begins and ends with the boundary token `</s>`, as for the `language_modeling`
    reader with its defaults, but is never split.

    This process stores 12 bytes for each distinct pair of words, and up to three times as much
    temporarily. There are at most `len(words) ** 2` pairs, and at most `window` for each word of
    the corpus. A worker stores one chunk: about 60 bytes for each word in it, and 40 more for each
    word of the window.

    # Parameters

    files : `Sequence[Path]`
    words : `Sequence[str]`
        All other words are counted as the first of these.
    window : `int`
    num_workers : `int`, optional (default = `1`)
        The maximum number of worker processes. With 1, none are started. The result does not depend
        on it.

    # Returns

    `csr_matrix`
        Shape `(len(words), len(words))`, of 64-bit integers. The element `(i, j)` is the number of
        times that the word `j` follows the word `i`.

    # Raises

    `ConfigurationError`
        As for `map_chunks`.
    """
    count = partial(_count_pairs, {word: index for index, word in enumerate(words)}, window)
    # Each sum is more than twice as large as the next, so that no pair is added many times.
    sums: List[csr_matrix] = []
    with map_chunks(
        count,
        files,
        num_workers=num_workers,
        description="counting pairs of words",
        whole_lines=True,
    ) as results:
        for result in results:
            sums.append(result)
            while len(sums) > 1 and sums[-2].nnz <= 2 * sums[-1].nnz:
                last = sums.pop()
                sums[-1] = sums[-1] + last
    return reduce(operator.add, reversed(sums))


def _count_pairs(indices: Dict[str, int], window: int, text: str) -> csr_matrix:
    boundary = [DEFAULT_BOUNDARY_TOKEN]
    sentences = [boundary + words + boundary for words in map(str.split, text.split("\n")) if words]
    lengths = numpy.fromiter(map(len, sentences), numpy.int32, len(sentences))
    words = map(indices.get, chain.from_iterable(sentences), repeat(0))
    word = numpy.fromiter(words, numpy.int32, lengths.sum())
    sentence = numpy.repeat(numpy.arange(len(sentences), dtype=numpy.int32), lengths)
    pairs = []
    for distance in range(1, min(window, lengths.max(initial=1) - 1) + 1):
        is_pair = sentence[:-distance] == sentence[distance:]
        pairs.append([word[:-distance][is_pair], word[distance:][is_pair]])
    rows, columns = numpy.concatenate(pairs, axis=1) if pairs else numpy.zeros((2, 0), numpy.int32)
    ones = numpy.ones(len(rows), numpy.int64)
    # `tocsr` sums duplicate pairs.
    return coo_matrix((ones, (rows, columns)), shape=(len(indices), len(indices))).tocsr()


def positive_pmi(cooccurrences: csr_matrix) -> csr_matrix:
    """
    The positive pointwise mutual information of words and contexts, `max(PMI(w, c), 0)`, where a
    word's contexts are the words around it, before and after. The contexts' counts are raised to
    the power of 0.75, which lowers the PMI of rare contexts: Levy, Goldberg and Dagan 2015,
    "Improving Distributional Similarity with Lessons Learned from Word Embeddings", section 3.1.

    # Parameters

    cooccurrences : `csr_matrix`
        From `count_cooccurrences`, shape `(num_words, num_words)`.

    # Returns

    `csr_matrix`
        Shape `(num_words, num_words)`, `float32`. The rows are contexts, the columns words.
    """
    ppmi = (cooccurrences + cooccurrences.T).tocsr().astype(numpy.float64)
    # The matrix is symmetric: a word occurs in pairs as often as a context does.
    counts = numpy.asarray(ppmi.sum(axis=0)).ravel()
    contexts = counts**0.75
    with numpy.errstate(divide="ignore"):
        log_words = numpy.log(counts)
        log_contexts = numpy.log(contexts / contexts.sum())
    numpy.log(ppmi.data, out=ppmi.data)
    ppmi.data -= log_words[ppmi.indices]
    ppmi.data -= numpy.repeat(log_contexts, numpy.diff(ppmi.indptr))
    numpy.maximum(ppmi.data, 0, out=ppmi.data)
    ppmi.eliminate_zeros()
    return ppmi.astype(numpy.float32)


def conditional_probabilities(cooccurrences: csr_matrix) -> csr_matrix:
    """
    The probability P(w|c) of each word in each context of a bidirectional language model whose
    context is one word: first of the next word given the previous word, then of the previous word
    given the next word. Li et al. 2019 argue that the SVD of P gives the best targets (section 4.2,
    where each row is a context).

    # Parameters

    cooccurrences : `csr_matrix`
        From `count_cooccurrences`, shape `(num_words, num_words)`. With a window of more than 1,
        the probabilities are those of a word in the window.

    # Returns

    `csr_matrix`
        Shape `(2 * num_words, num_words)`, `float32`. Rows sum to 1, except those of contexts that
        do not occur.
    """
    probabilities = vstack([cooccurrences, cooccurrences.T], format="csr").astype(numpy.float64)
    sums = numpy.asarray(probabilities.sum(axis=1)).ravel()
    probabilities.data /= numpy.repeat(sums, numpy.diff(probabilities.indptr))
    return probabilities.astype(numpy.float32)
