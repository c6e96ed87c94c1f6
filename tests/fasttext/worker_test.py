import numpy

from allennlp_semfit.fasttext.worker import count_faulty_rows


def test_it_counts_each_kind_of_faulty_row():
    matrix = numpy.random.default_rng(7).uniform(-1, 1, (13, 7)).astype(numpy.float32)
    matrix[0, :3] = 0
    assert count_faulty_rows(matrix) == 0
    matrix[2, 3] = numpy.nan
    matrix[4, 0] = -numpy.inf
    matrix[6] = 0
    matrix[12] = 1e-41
    assert count_faulty_rows(matrix) == 4
