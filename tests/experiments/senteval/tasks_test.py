import os
from collections import Counter
from pathlib import Path

import pytest

from experiments.senteval.tasks import TASKS, read_task
from tests.experiments.senteval.data import write_data

BOY, DOGS, CATS = (
    (("A", "boy", "runs"), ("A", "man")),
    (("Two", "dogs"), ("Dogs",)),
    (("Two", "dogs"), ("Cats",)),
)
SICK = (
    b"pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
    b"6\tA boy runs\tA man\t3.3\tNEUTRAL\r\n8\tTwo dogs\tDogs\t5\tENTAILMENT\r\n"
    b"9\tTwo dogs\tCats\t1.25\tCONTRADICTION\r\n"
)


@pytest.mark.parametrize(
    ("name", "path", "content", "expected"),
    [
        (
            "SST-2",
            "SST/binary/sentiment-test",
            "a crème brûlée \t1\n\t0\n".encode(),
            [((), 0), (("a", "crème", "brûlée"), 1)],
        ),
        (
            "SST-5",
            "SST/fine/sentiment-test",
            b"4 a b\n0 2\tc d\n3 \n",
            [((), 3), (("a", "b"), 4), (("2", "c", "d"), 0)],
        ),
        (
            "TREC",
            "TREC/TREC_10.label",
            b"NUM:dist How far : is it ?\nHUM:ind Who was S\xe3o ?\n",
            [(("Who", "was", "São", "?"), 3), (("How", "far", ":", "is", "it", "?"), 5)],
        ),
        (
            "MRPC",
            "MRPC/msr_paraphrase_test.txt",
            b'Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe said " so\tHe did\n',
            [(("He", "said", '"', "so"), ("He", "did"), 1)],
        ),
        ("SICK-E", "SICK/SICK_test_annotated.txt", SICK, [(*CATS, 0), (*DOGS, 2), (*BOY, 1)]),
        ("SICK-R", "SICK/SICK_test_annotated.txt", SICK, [(*CATS, 1.25), (*DOGS, 5), (*BOY, 3.3)]),
    ],
)
def test_examples_are_ordered_by_length_and_label(name, path, content, expected, tmp_path):
    (write_data(tmp_path) / path).write_bytes(content)
    examples = read_task(name, tmp_path)["test"]
    assert [(*example.sentences, example.label) for example in examples] == expected


@pytest.mark.skipif("SEMFIT_DATA" not in os.environ, reason="SEMFIT_DATA is not set")
def test_sentevals_own_files_have_their_numbers_of_examples(caplog):
    data = Path(os.environ["SEMFIT_DATA"]) / "senteval" / "downstream"
    for name, task in TASKS.items():
        sizes = Counter()
        for file in task.files:
            sizes[file.split] += file.size
        found = {split: len(examples) for split, examples in read_task(name, data).items()}
        assert sizes == found
    assert not caplog.records
