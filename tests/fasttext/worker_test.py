import os
import subprocess
import sys

import numpy
import pytest

from allennlp_semfit.fasttext.worker import (
    CHUNK_ROWS,
    count_faulty_rows,
    is_initialised,
)


class TestCountFaultyRows:
    def test_counts_each_kind(self):
        matrix = numpy.random.default_rng(7).uniform(-1, 1, (13, 7)).astype(numpy.float32)
        assert count_faulty_rows(matrix) == 0
        matrix[2, 3] = numpy.nan
        matrix[4, 0] = -numpy.inf
        matrix[6] = 0
        matrix[12] = 1e-41
        assert count_faulty_rows(matrix) == 4

    def test_takes_a_zero_among_other_values(self):
        assert count_faulty_rows(numpy.array([[0, 0, 0.5]], dtype=numpy.float32)) == 0

    def test_checks_every_chunk(self):
        matrix = numpy.ones((2 * CHUNK_ROWS + 3, 1), dtype=numpy.float32)
        matrix[[0, CHUNK_ROWS - 1, CHUNK_ROWS, len(matrix) - 1]] = 0
        assert count_faulty_rows(matrix) == 4


class TestIsInitialised:
    @pytest.mark.parametrize("threads", [1, 2, 9, 10, 11, 16, 19])
    def test_agrees_with_the_blocks_that_the_threads_fill(self, threads):
        for num_values in range(1, 400):
            filled = set()
            block = num_values // 10
            for thread in range(threads):
                filled.update(range(block * thread, min(block * (thread + 1), num_values)))
            assert is_initialised(num_values, threads) == (len(filled) == num_values), num_values

    def test_eleven_threads_fill_all_but_the_smallest_matrices(self):
        assert all(is_initialised(num_values, 11) for num_values in range(90, 10_000))
        assert not is_initialised(159_537, 10)

    def test_is_what_fasttext_does(self, tmp_path):
        """The defect that calls for all this. If it is gone, the threads need no minimum."""
        corpus = tmp_path / "corpus.txt"
        corpus.write_text("a small corpus has few words\n" * 50)
        # In a process of its own: memory that was used before need not be zero.
        script = """
import sys, fasttext, numpy
for threads in [1, 2, 9, 10]:
    model = fasttext.train_unsupervised(
        sys.argv[1], dim=20, bucket=20000, epoch=1, thread=threads, verbose=0
    )
    largest = numpy.abs(model.get_input_matrix()).max(axis=1)
    print(threads, (numpy.isnan(largest) | (largest == 0)).sum())
"""
        # With it, memory that was not used before is not zero either.
        environment = {name: os.environ[name] for name in os.environ if name != "MALLOC_PERTURB_"}
        output = subprocess.run(
            [sys.executable, "-c", script, str(corpus)],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        faulty_rows = dict(map(int, line.split()) for line in output.stdout.splitlines())
        assert faulty_rows[10] == 0
        # What is left as it was need not be zero, so not each of them has to show it.
        assert max(faulty_rows[1], faulty_rows[2], faulty_rows[9]) > 1000
