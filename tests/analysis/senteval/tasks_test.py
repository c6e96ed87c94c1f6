import hashlib
import os
from collections import Counter
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.analysis.senteval.tasks import TASKS, read_tasks
from allennlp_semfit.common.errors import InvalidFileError
from tests.analysis.senteval.data import write_data


@pytest.fixture
def root(tmp_path):
    return write_data(tmp_path)


def read(root, name, folds=2):
    return read_tasks(root, [name], folds=folds)[name]


def examples(root, name, split="train"):
    return [(*example.sentences, example.label) for example in read(root, name).splits[split]]


def test_all_tasks_in_their_order(root):
    data = read_tasks(root, folds=2)
    assert list(data) == list(TASKS)
    assert len(data) == 10
    assert list(data["MR"].splits) == ["train"]
    assert list(data["TREC"].splits) == list(data["MRPC"].splits) == ["train", "test"]
    assert list(data["SST-2"].splits) == list(data["SICK-R"].splits) == ["train", "dev", "test"]
    assert list(read_tasks(root, ["TREC", "CR"], folds=2)) == ["CR", "TREC"]


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


def test_a_file_with_too_few_examples_is_named(root, caplog):
    (root / "SUBJ/subj.objective").write_text("It is so .\n" * 4600)
    (root / "SUBJ/subj.subjective").write_text("I like it .\n" * 10)
    read(root, "SUBJ")
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{root}/SUBJ/subj.subjective has 10 examples instead of the 5,000 of SUBJ. If it is not "
        "data of your own, fetch it again; the score is not comparable with others."
    )


@pytest.mark.skipif("SEMFIT_DATA" not in os.environ, reason="SEMFIT_DATA is not set")
def test_sentevals_own_files_have_their_numbers_of_examples(caplog):
    data = Path(os.environ["SEMFIT_DATA"]) / "senteval" / "downstream"
    for name, task_data in read_tasks(data).items():
        sizes = Counter()
        for file in TASKS[name].files:
            sizes[file.split] += file.size
        assert sizes == {split: len(examples) for split, examples in task_data.splits.items()}
    assert not caplog.records


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])),
        ),
        min_size=1,
    )
)
def test_any_text(tmp_path_factory, lines):
    root = tmp_path_factory.mktemp("senteval")
    (root / "SST/fine").mkdir(parents=True)
    for split in ("train", "dev"):
        (root / f"SST/fine/sentiment-{split}").write_text("0 a\n1 b\n")
    text = "".join(f"{label} {sentence}\n" for label, sentence in lines)
    (root / "SST/fine/sentiment-test").write_bytes(text.encode("utf-8"))
    found = examples(root, "SST-5", "test")
    assert sorted(found) == sorted((tuple(sentence.split()), label) for label, sentence in lines)
    assert [len(words) for words, _ in found] == sorted(len(words) for words, _ in found)


@pytest.mark.parametrize(
    ("name", "path", "line", "found"),
    [
        ("SST-2", "SST/binary/sentiment-dev", b"no label", "'no label'; expected a phrase, a tab"),
        ("SST-2", "SST/binary/sentiment-dev", b"a\t2", "'a\\t2'; expected a phrase, a tab, and"),
        ("SST-2", "SST/binary/sentiment-dev", b"", "''; expected a phrase"),
        ("SST-2", "SST/binary/sentiment-dev", b"caf\xe9\t1", "; expected utf-8"),
        ("SST-5", "SST/fine/sentiment-test", b"5 good", "'5 good'; expected a class from 0 to 4"),
        ("TREC", "TREC/train_5500.label", b"WHO:ind Who ?", "expected CLASS:kind and a question"),
        ("MRPC", "MRPC/msr_paraphrase_train.txt", b"1\t2\t3\ta", "expected five fields"),
        ("MRPC", "MRPC/msr_paraphrase_train.txt", b"2\t2\t3\ta\tb", "expected five fields"),
        ("SICK-E", "SICK/SICK_trial.txt", b"1\ta\tb\t2\tMAYBE", "which is one of CONTRADICTION"),
        ("SICK-R", "SICK/SICK_trial.txt", b"1\ta\tb\t5.1\tNEUTRAL", "the score from 1 to 5"),
        ("SICK-R", "SICK/SICK_trial.txt", b"1\ta\tb\tnan\tNEUTRAL", "the score from 1 to 5"),
    ],
)
def test_a_malformed_line_is_named(root, name, path, line, found):
    file = root / path
    number = file.read_bytes().count(b"\n") + 1
    file.write_bytes(file.read_bytes() + line + b"\n")
    with pytest.raises(InvalidFileError) as error:
        read(root, name)
    assert str(error.value).startswith(f"{file} is malformed in line {number}: ")
    assert found in str(error.value)
    assert "\n" not in str(error.value)


def test_errors_shorten_the_line_and_require_a_header(root):
    (root / "SST/fine/sentiment-dev").write_text("x" * 1000)
    with pytest.raises(InvalidFileError, match=r"line 1: 'x{80}'…; expected"):
        read(root, "SST-5")
    (root / "SICK/SICK_trial.txt").write_text("1\ta\tb\t2\tNEUTRAL\n")
    with pytest.raises(InvalidFileError, match="line 1: .*; expected a header .* pair_ID"):
        read(root, "SICK-E")


def test_a_missing_file_is_named_before_any_is_read(root):
    (root / "MR/rt-polarity.pos").write_text("")
    (root / "SICK/SICK_trial.txt").unlink()
    with pytest.raises(
        InvalidFileError, match=r"SICK_trial.txt does not exist, and SICK-E needs it"
    ):
        read_tasks(root, folds=2)
    assert read_tasks(root, ["TREC"], folds=2)


def test_too_few_examples(root):
    (root / "CR/custrev.neg").write_text("bad\n" * 5)
    assert read(root, "CR", folds=2)
    with pytest.raises(ConfigurationError, match="CR has a class of 5 examples.*needs 6"):
        read(root, "CR", folds=3)
    (root / "CR/custrev.neg").write_text("")
    with pytest.raises(InvalidFileError, match=r"custrev.neg has no example. Fetch"):
        read(root, "CR")
    with pytest.raises(ConfigurationError, match="TREC has a class of 8 examples.*needs 9"):
        read(root, "TREC", folds=9)
    (root / "TREC/train_5500.label").write_text("DESC:manner How did it snow ?\n" * 9)
    with pytest.raises(
        InvalidFileError, match=r"train_5500.label has examples of 1 class. At least"
    ):
        read(root, "TREC")
    (root / "SST/fine/sentiment-dev").write_text("")
    with pytest.raises(InvalidFileError, match="sentiment-dev has no .* leave SST-5 out"):
        read(root, "SST-5")


def test_options_are_checked(root):
    with pytest.raises(ConfigurationError, match="STS: there is no such task"):
        read_tasks(root, ["STS"])
    with pytest.raises(ConfigurationError, match="--folds: 1; it takes 2 or more"):
        read_tasks(root, ["MR"], folds=1)


def test_the_hash_covers_all_files(root):
    before = read(root, "SICK-E").sha256
    assert read(root, "SICK-R").sha256 == before
    assert before != hashlib.sha256(b"").hexdigest()
    for path in sorted((root / "SICK").iterdir()):
        lines = path.read_text()
        path.write_text(lines.replace("the", "an", 1))
        assert read(root, "SICK-E").sha256 != before
        path.write_bytes(lines.encode())
