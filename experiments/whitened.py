"""
Whitens fastText vectors: over the words of a text, their mean becomes zero and their covariance the
identity.

    python -m experiments.whitened VECTORS.bin TEXT OUT.th
"""

import sys
from pathlib import Path

import numpy
import torch
from allennlp.modules import TokenEmbedder

from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.word_counts import count_words
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.modules.token_embedders.fasttext_embedder import FastTextEmbedder


def fit_whitening(vectors: numpy.ndarray, counts: numpy.ndarray) -> numpy.ndarray:
    """
    Returns the affine map that whitens the rows of `vectors`, which occur `counts` times: a matrix
    of the shape `(dim + 1, dim)`, whose last row is added.
    """
    mean = numpy.average(vectors, axis=0, weights=counts)
    values, directions = numpy.linalg.eigh(numpy.cov(vectors, rowvar=False, fweights=counts))
    matrix = directions / numpy.sqrt(values)
    return numpy.vstack([matrix, -mean @ matrix])


@TokenEmbedder.register("whitened_fasttext")
class WhitenedFastTextEmbedder(FastTextEmbedder):
    _matrix: torch.Tensor
    _bias: torch.Tensor

    def __init__(self, embedding_dim: int, whitening_path: str) -> None:
        super().__init__(embedding_dim)
        *matrix, bias = torch.load(whitening_path)
        self.register_buffer("_matrix", torch.stack(matrix))
        self.register_buffer("_bias", bias)

    def forward(self, vectors, word_mask=None, indices=None):
        return super().forward(vectors, word_mask, indices) @ self._matrix + self._bias


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    model = FastTextModel.open(sys.argv[1])
    counts, _ = count_words(find_text_files(sys.argv[2]))
    vectors = numpy.stack([model.get_word_vector(word) for word in counts])
    whitening = fit_whitening(vectors, numpy.fromiter(counts.values(), int))
    torch.save(torch.from_numpy(whitening).float(), Path(sys.argv[3]))


if __name__ == "__main__":
    main()
