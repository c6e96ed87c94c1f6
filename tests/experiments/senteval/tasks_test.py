import os
from collections import Counter
from pathlib import Path

import pytest

from experiments.senteval.tasks import TASKS, read_task
from tests.experiments.senteval.data import write_data


@pytest.fixture
def root(tmp_path):
    return write_data(tmp_path)


def examples(root, name, split="train"):
    return [(*example.sentences, example.label) for example in read_task(name, root)[split]]


@pytest.mark.parametrize(
    ("name", "positive", "negative"),
    [
        ("MR", "MR/rt-polarity.pos", "MR/rt-polarity.neg"),
        ("CR", "CR/custrev.pos", "CR/custrev.neg"),
        ("SUBJ", "SUBJ/subj.objective", "SUBJ/subj.subjective"),
        ("MPQA", "MPQA/mpqa.pos", "MPQA/mpqa.neg"),
    ],
)
def test_two_classes(root, name, positive, negative):
    # By length, then by label, then as they were; a sentence may have no words.
    (root / positive).write_bytes(b"un caf\xe9 . \nso\xa0fine it is\ngood\nnice\n")
    (root / negative).write_bytes(b"\nbad\nno good\nnone of it\n")
    assert examples(root, name) == [
        ((), 0),
        (("bad",), 0),
        (("good",), 1),
        (("nice",), 1),
        (("no", "good"), 0),
        (("none", "of", "it"), 0),
        (("un", "café", "."), 1),
        (("so", "fine", "it", "is"), 1),
    ]


def test_sst(root):
    (root / "SST/binary/sentiment-dev").write_text("a crème brûlée \t1\n\t0\n", "utf-8")
    assert examples(root, "SST-2", "dev") == [((), 0), (("a", "crème", "brûlée"), 1)]
    (root / "SST/fine/sentiment-test").write_text("4 a b\n0 2\tc d\n3 \n", "utf-8")
    assert examples(root, "SST-5", "test") == [((), 3), (("a", "b"), 4), (("2", "c", "d"), 0)]


def test_trec(root):
    (root / "TREC/TREC_10.label").write_bytes(
        b"NUM:dist How far : is it ?\nHUM:ind Who was S\xe3o ?\n"
    )
    assert examples(root, "TREC", "test") == [
        (("Who", "was", "São", "?"), 3),
        (("How", "far", ":", "is", "it", "?"), 5),
    ]


def test_mrpc(root):
    (root / "MRPC/msr_paraphrase_test.txt").write_text(
        '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe said " so\tHe did\n'
        "0\t7\t8\tHe did it .\tNo .\n",
        "utf-8",
    )
    assert examples(root, "MRPC", "test") == [
        (("He", "did", "it", "."), ("No", "."), 0),
        (("He", "said", '"', "so"), ("He", "did"), 1),
    ]


def test_sick(root):
    (root / "SICK/SICK_test_annotated.txt").write_bytes(
        b"pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
        b"6\tA boy runs\tA man\t3.3\tNEUTRAL\r\n8\tTwo dogs\tDogs\t5\tENTAILMENT\r\n"
        b"9\tTwo dogs\tCats\t1.25\tCONTRADICTION\r\n"
    )
    boy, dogs, cats = (
        (("A", "boy", "runs"), ("A", "man")),
        (("Two", "dogs"), ("Dogs",)),
        (("Two", "dogs"), ("Cats",)),
    )
    assert examples(root, "SICK-E", "test") == [(*cats, 0), (*dogs, 2), (*boy, 1)]
    assert examples(root, "SICK-R", "test") == [(*cats, 1.25), (*dogs, 5), (*boy, 3.3)]


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


def test_a_file_with_too_few_examples_is_named(root, caplog):
    (root / "SUBJ/subj.objective").write_text("It is so .\n" * 4600)
    read_task("SUBJ", root)
    (record,) = caplog.records
    assert "subj.subjective has 13 examples instead of 5000" in record.getMessage()


@pytest.mark.parametrize(
    ("name", "path", "line"),
    [
        ("SST-2", "SST/binary/sentiment-dev", "a\t2"),
        ("SST-5", "SST/fine/sentiment-test", "5 good"),
        ("TREC", "TREC/train_5500.label", "WHO:ind Who ?"),
        ("MRPC", "MRPC/msr_paraphrase_train.txt", "1\t2\t3\ta"),
        ("SICK-E", "SICK/SICK_trial.txt", "1\ta\tb\t2\tMAYBE"),
        ("SICK-R", "SICK/SICK_trial.txt", "1\ta\tb\t5.1\tNEUTRAL"),
    ],
)
def test_a_malformed_line_is_named(root, name, path, line):
    with (root / path).open("a") as file:
        file.write(line + "\n")
    number = (root / path).read_bytes().count(b"\n")
    with pytest.raises(ValueError, match=f"is malformed in line {number}: "):
        read_task(name, root)
