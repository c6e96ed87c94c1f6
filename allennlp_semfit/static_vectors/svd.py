"""Word vectors of a corpus by singular value decomposition, as targets of a language model."""

import logging
import operator
import os
import time
from contextlib import ExitStack
from functools import partial, reduce
from itertools import chain, repeat
from pathlib import Path
from typing import Dict, List, Literal, NamedTuple, Optional, Sequence, Tuple, Union

import numpy
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN, NAMESPACE_PADDING_FILE
from scipy.sparse import coo_matrix, csr_matrix, vstack

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.common.parallel import number_of_workers
from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN, find_text_files
from allennlp_semfit.corpus.word_counts import count_words, map_chunks, sort_by_frequency
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.static_vectors.table import write_table

logger = logging.getLogger(__name__)

_VOCABULARY_FILES = ("tokens.txt", NAMESPACE_PADDING_FILE)


class SvdTrainingResult(NamedTuple):
    """
    `num_words` is the number of words in the corpus, `table_size` the number of vectors, including
    those of `@@UNKNOWN@@` and `</s>`, and `num_nonzeros` the number of nonzeros of the matrix
    (`None` with `pca_of`). `explained_share` is the share of the matrix's squared Frobenius norm
    that the dimensions explain, or of the variance with `pca_of`.
    """

    num_words: int
    table_size: int
    num_nonzeros: Optional[int]
    explained_share: float
    seconds: float


def train_svd(
    corpus: Sequence[Union[str, os.PathLike]],
    out_file: Union[str, os.PathLike],
    *,
    matrix: Literal["ppmi", "conditional"] = "ppmi",
    pca_of: Union[str, os.PathLike, None] = None,
    dim: int = 300,
    window: Optional[int] = None,
    alpha: float = 0.5,
    min_count: int = 5,
    max_words: int = 100_000,
    vocabulary_dir: Union[str, os.PathLike, None] = None,
    num_workers: Optional[int] = None,
    force: bool = False,
) -> SvdTrainingResult:
    """
    Writes a table of word vectors in word2vec's text format, by singular value decomposition of a
    matrix of words and their contexts. Its first row is `@@UNKNOWN@@`, counted wherever a word
    without a row occurs; then come the words, the most frequent first. The boundary token `</s>` is
    counted at both ends of each line. The same text always gives the same table.

    The vectors are `Σ^α V`, from the truncated SVD of a matrix `M = U Σ Vᵀ` with a row for each
    context and a column for each word. Li et al. 2019, "Efficient Contextual Representation
    Learning Without Softmax Layer", section 4.2, argue that with `M = P(w|c)` these are the best
    targets of their dimension: of all matrices of this rank, `U Σ Vᵀ` is the closest to `M` (Eckart
    and Young 1936). The vector of `@@UNKNOWN@@` is zero if all words have a row.

    The table does not depend on `num_workers`, but may differ between machines by rounding.

    Memory: about 70 bytes for each distinct pair of words while the matrix is computed, then 16 for
    each pair and `12 · dim` for each word. There are at most `max_words` squared pairs, and at most
    `window` for each word of the corpus: lower either if memory runs out.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        UTF-8 text with one tokenized sentence per line: files, directories (all files in them), or
        globs.
    out_file : `Union[str, os.PathLike]`
        The table, whose name must end in `.txt` or `.vec`.

        Its directory is created if missing. See `write_table` for the format.
    matrix : `Literal["ppmi", "conditional"]`, optional (default = `"ppmi"`)
        The positive pointwise mutual information of words and contexts (ppmi, the default), or the
        probability of each word given the previous word and given the next one (conditional).

        See `positive_pmi` and `conditional_probabilities`.
    pca_of : `Union[str, os.PathLike]`, optional (default = `None`)
        Use this fastText model's vectors of the corpus's words, reduced to `dim` dimensions by PCA,
        instead of a matrix.

        `@@UNKNOWN@@` then has the mean vector of the words that have no row, weighted by their
        frequency.
    dim : `int`, optional (default = `300`)
        The dimension of the vectors.
    window : `int`, optional (default = `None`)
        The number of context words on each side; by default, 2 for `"ppmi"` and 1 for
        `"conditional"`. Not for `pca_of`.
    alpha : `float`, optional (default = `0.5`)
        The exponent of the singular values that scale the dimensions. Not for `pca_of`.
    min_count : `int`, optional (default = `5`)
        Count words that occur less often as `@@UNKNOWN@@`.
    max_words : `int`, optional (default = `100000`)
        Keep at most this many words, the most frequent, including `</s>` but not `@@UNKNOWN@@`.
    vocabulary_dir : `Union[str, os.PathLike]`, optional (default = `None`)
        Where to write the table's words as an AllenNLP vocabulary.

        Use it with an `embedding` with the table as its `pretrained_file`, which would give random
        vectors to other words.
    num_workers : `int`, optional (default = `None`)
        The number of processes that count; by default, one per CPU.
    force : `bool`, optional (default = `False`)
        Whether to replace an existing table and vocabulary.

    # Raises

    `ConfigurationError`
        If an option or an output is invalid, or the corpus is not UTF-8 or has too few words.
        Nothing is written then.
    `InvalidFileError`
        If `pca_of` is not an unsupervised fastText model.
    """
    started = time.monotonic()
    workers = number_of_workers(num_workers)
    check_bounds({"--window": window, "--dim": dim, "--min-count": min_count}, at_least=1)
    check_bounds({"--max-words": max_words}, at_least=1)
    check_bounds({"--alpha": alpha}, at_least=0)
    fasttext = None if pca_of is None else FastTextModel.open(pca_of)
    if fasttext is not None and dim > fasttext.dim:
        raise ConfigurationError(
            f"--dim must be at most {fasttext.dim}, the dimension of {pca_of}, got {dim}"
        )
    out = Path(out_file)
    if out.suffix not in (".txt", ".vec"):
        raise ConfigurationError(f"{out}: the name of the table must end in .txt or .vec")
    check_output_path(out, force=force, inputs=[] if pca_of is None else [pca_of])
    vocabulary = None if vocabulary_dir is None else Path(vocabulary_dir)
    if vocabulary is not None:
        table, folder = out.resolve(), vocabulary.resolve()
        if folder in (table, *table.parents) or table in folder.parents:
            raise ConfigurationError(
                f"{out} and {vocabulary_dir}: one is in the other; give the table another name"
            )
        check_output_path(vocabulary, contents=_VOCABULARY_FILES, force=force)
    files = find_text_files(corpus, outputs=[out, *([vocabulary] if vocabulary else [])])

    counts, num_sentences = count_words(files, num_workers=workers)
    num_words = sum(counts.values())
    counts[DEFAULT_BOUNDARY_TOKEN] += 2 * num_sentences
    del counts[DEFAULT_OOV_TOKEN]
    words = sort_by_frequency(counts, min_count=min_count)[:max_words]
    if dim >= len(words):
        raise ConfigurationError(
            f"--dim must be less than the number of words in the table, {len(words)}, got {dim}; "
            "lower it or --min-count, raise --max-words, or give more text"
        )
    num_nonzeros = None
    if fasttext is None:
        cooccurrences = count_cooccurrences(
            files,
            [DEFAULT_OOV_TOKEN, *words],
            window=window or (2 if matrix == "ppmi" else 1),
            num_workers=workers,
        )
        del counts
        function = positive_pmi if matrix == "ppmi" else conditional_probabilities
        decomposed = function(cooccurrences)
        del cooccurrences
        num_nonzeros = decomposed.nnz
        vectors, explained_share = _truncated_svd(decomposed, dim, alpha=alpha)
    else:
        vectors, explained_share = _pca(fasttext, words, counts, dim)
    with ExitStack() as stack:
        if vocabulary is not None:
            new = stack.enter_context(write_directory(vocabulary, _VOCABULARY_FILES))
            Vocabulary(tokens_to_add={"tokens": words}).save_to_files(str(new))
        write_table(out, [DEFAULT_OOV_TOKEN, *words], vectors)
    return SvdTrainingResult(
        num_words=num_words,
        table_size=len(vectors),
        num_nonzeros=num_nonzeros,
        explained_share=explained_share,
        seconds=time.monotonic() - started,
    )


def count_cooccurrences(
    files: Sequence[Path],
    words: Sequence[str],
    *,
    window: int,
    num_workers: int = 1,
) -> csr_matrix:
    """
    Counts how often each word follows each other word within a distance of `window` in a line: the
    element `(i, j)` is the number of times that the word `j` follows the word `i`. Other words
    count as the first of `words`. A line with words begins and ends with the boundary token `</s>`,
    as for the `language_modeling` reader with its defaults, but is never split.

    This process stores 12 bytes for each distinct pair of words, and up to three times as much
    temporarily. A worker stores about 60 bytes for each word in a chunk of text, and 40 more for
    each word of the window.
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
    The rows are contexts, the columns words.
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
    where each row is a context). With a window of more than 1, it is the probability of a word in
    the window. Rows sum to 1, except those of contexts that do not occur.
    """
    probabilities = vstack([cooccurrences, cooccurrences.T], format="csr").astype(numpy.float64)
    sums = numpy.asarray(probabilities.sum(axis=1)).ravel()
    probabilities.data /= numpy.repeat(sums, numpy.diff(probabilities.indptr))
    return probabilities.astype(numpy.float32)


def _truncated_svd(matrix: csr_matrix, dim: int, *, alpha: float) -> Tuple[numpy.ndarray, float]:
    """
    Returns `Σ^α V`, shape `(num_words, dim)`, the leading dimension first, and the share of the
    squared norm of `matrix` that the dimensions explain.
    """
    # This import takes a second.
    from sklearn.decomposition import TruncatedSVD

    logger.info(
        "Decomposing a matrix of %s x %s with %s nonzeros.",
        *(f"{number:,}" for number in (*matrix.shape, matrix.nnz)),
    )
    # ARPACK is exact; a randomized SVD underestimates the last singular values.
    svd = TruncatedSVD(dim, algorithm="arpack", random_state=0).fit(matrix)
    # Rounding can make a zero negative.
    values = numpy.maximum(svd.singular_values_, 0)
    vectors = svd.components_.T * values**alpha
    # Clear the rounding errors of zero columns, because a cosine would only see their direction.
    vectors[matrix.getnnz(axis=0) == 0] = 0
    norm = numpy.square(matrix.data, dtype=float).sum()
    return vectors, float(numpy.square(values, dtype=float).sum() / norm)


def _pca(
    model: FastTextModel, words: Sequence[str], counts: Dict[str, int], dim: int
) -> Tuple[numpy.ndarray, float]:
    """
    Returns the principal components of the vectors of `@@UNKNOWN@@` and the words, shape
    `(1 + len(words), dim)`, and the share of the variance that they explain.
    """
    from sklearn.decomposition import PCA

    vectors = numpy.empty((len(words), model.dim), numpy.float32)
    kept = set(words)
    rare_sum, rare_count = numpy.zeros(model.dim), 0
    with Tqdm.tqdm(total=len(counts), desc="looking up vectors") as progress:
        for index, word in enumerate(words):
            vectors[index] = model.get_word_vector(word)
            progress.update()
        for word, count in counts.items():
            if word not in kept:
                rare_sum += count * model.get_word_vector(word)
                rare_count += count
                progress.update()
    pca = PCA(dim, svd_solver="full").fit(vectors)
    reduced = numpy.zeros((1 + len(words), dim), numpy.float32)
    reduced[1:] = pca.transform(vectors)
    if rare_count:
        reduced[0] = pca.transform((rare_sum / rare_count)[None])
    return reduced, float(pca.explained_variance_ratio_.sum())
