import json
import random
from collections import Counter
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from tokenizers import Tokenizer

from allennlp_semfit.subwords import train
from allennlp_semfit.subwords.train import train_bpe
from tests import FIXTURES
from tests.processes import is_running, wait_until
from tests.subwords.naive_bpe import BYTES, encode, train_merges

TRAIN = FIXTURES / "corpus" / "train"


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("low lower lowest new newer\nwide wider widest newest </s>\n" * 5, "utf-8")
    return path


@pytest.fixture
def out(tmp_path):
    return tmp_path / "made" / "for this"


def model_in(directory: Path):
    return json.loads((directory / "tokenizer.json").read_text("utf-8"))["model"]


def merges_in(directory: Path):
    return [tuple(pair) for pair in model_in(directory)["merges"]]


def contents(directory: Path):
    return {
        str(path.relative_to(directory)): sorted(path.read_bytes().splitlines())
        for path in directory.rglob("*")
        if path.is_file()
    }


def random_words(seed: int) -> Counter:
    choose = random.Random(seed)
    letters = choose.choice(["a", "ab", "a\0é😀", "abcdefgh"])
    longest = choose.choice([4, 12, 25])
    return Counter(
        {
            "".join(choose.choices(letters, k=choose.randint(1, longest))): choose.randint(1, 9)
            for _ in range(40)
        }
    )


class TestTrainBpe:
    def test_merges_are_those_of_the_definition(self, out):
        words = (word for path in TRAIN.iterdir() for word in path.read_text("utf-8").split())
        counts = Counter(words)
        result = train_bpe([TRAIN], out, merges=300)
        expected = train_merges(counts, merges=300, min_frequency=2, boundary_tokens=["</s>"])
        assert merges_in(out) == expected
        num_subwords = sum(count * len(encode(word, expected)) for word, count in counts.items())
        num_words = sum(counts.values())
        assert result[:4] == (num_words, 300, pytest.approx(num_subwords / num_words), 557)

    @pytest.mark.parametrize("seed", range(6))
    def test_merges_of_overlapping_repeated_and_equally_frequent_pairs(self, seed, tmp_path):
        counts = random_words(seed)
        corpus = tmp_path / "corpus.txt"
        corpus.write_text("\n".join(counts.elements()), "utf-8")
        options = {"merges": 60, "min_frequency": 1 + seed % 3, "boundary_tokens": ["<x>"]}
        train_bpe([corpus], tmp_path / "out", **options)
        assert merges_in(tmp_path / "out") == train_merges(counts, **options)

    def test_the_vocabulary_has_the_subwords_in_the_order_of_their_ids(self, corpus, out):
        result = train_bpe([corpus], out, merges=10, boundary_tokens=["<S>", "</S>", "<S>"])
        tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
        subwords = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
        assert subwords[: 2 + 256] == ["<S>", "</S>", *sorted(BYTES)]
        assert subwords[2 + 256 :] == [a + b for a, b in merges_in(out)]
        assert result.vocabulary_size == len(subwords) == 268
        vocabulary = Vocabulary.from_files(out / "vocabulary")
        indices = vocabulary.get_index_to_token_vocabulary("subwords")
        expected = ["@@PADDING@@", "@@UNKNOWN@@", *subwords]
        assert [indices[i] for i in range(len(indices))] == expected
        assert set(vocabulary.get_namespaces()) == {"subwords"}
        added = tokenizer.get_added_tokens_decoder()
        assert {i: (t.content, t.special) for i, t in added.items()} == {
            0: ("<S>", True),
            1: ("</S>", True),
        }

    def test_neither_workers_nor_order_change_the_result(self, tmp_path):
        lines = [line for path in TRAIN.iterdir() for line in path.read_text("utf-8").split("\n")]
        made = []
        for i, num_workers in enumerate((1, 2, 3)):
            random.Random(i).shuffle(lines)
            corpus = tmp_path / f"{i}.txt"
            corpus.write_text("\n".join(lines), "utf-8")
            train_bpe([corpus], tmp_path / f"{i}", merges=200, num_workers=num_workers)
            made.append(contents(tmp_path / f"{i}"))
        assert made[0] == made[1] == made[2]
        assert sorted(made[0]) == [
            "tokenizer.json",
            "vocabulary/non_padded_namespaces.txt",
            "vocabulary/subwords.txt",
        ]

    def test_merges_end_when_no_pair_is_frequent_enough(self, corpus, out):
        # Memory for so many merges would not be found.
        result = train_bpe([corpus], out, merges=2**31 - 1, min_frequency=5)
        counts = Counter(word for word in corpus.read_text().split() if word != "</s>")
        expected = train_merges(counts, merges=1000, min_frequency=5, boundary_tokens=["</s>"])
        assert merges_in(out) == expected
        assert result.num_merges == len(expected)
        # Each word is one subword.
        assert result.subwords_per_word == 1

    # "Ã©t" is the byte-level form of "ét".
    @pytest.mark.parametrize("reserved", ["</s>", "Ã©t", "@@UNKNOWN@@"])
    def test_no_merge_yields_a_token_with_a_meaning(self, reserved, tmp_path, out):
        corpus = tmp_path / "corpus.txt"
        corpus.write_text(f"{reserved} x{reserved}y ({reserved}) été rain\n" * 9, "utf-8")
        boundaries = ["</s>", "Ã©t"]
        train_bpe([corpus], out, boundary_tokens=boundaries)
        subwords = list(model_in(out)["vocab"])
        assert [subword for subword in subwords if reserved in subword] == [
            token for token in boundaries if token == reserved
        ]
        assert "Ġrain" in subwords
        indices = Vocabulary.from_files(out / "vocabulary").get_token_to_index_vocabulary(
            "subwords"
        )
        assert [indices[subword] for subword in subwords] == list(range(2, len(subwords) + 2))

    def test_very_long_words_are_trained_on_in_parts(self, tmp_path, out, monkeypatch):
        monkeypatch.setattr(train, "MAX_WORD_LENGTH", 4)
        corpus = tmp_path / "corpus.txt"
        corpus.write_text("abcdabcdab")
        train_bpe([corpus], out, min_frequency=1)
        parts = Counter({"abcd": 2, "ab": 1})
        assert merges_in(out) == train_merges(
            parts, merges=100, min_frequency=1, boundary_tokens=["</s>"]
        )

    def test_a_corpus_of_boundaries_gives_bytes(self, tmp_path, out):
        corpus = tmp_path / "corpus.txt"
        corpus.write_text("</s> </s>")
        assert train_bpe([corpus], out)[:4] == (2, 0, 1.0, 257)


class TestOutput:
    def test_it_is_no_part_of_the_corpus(self, corpus):
        for _ in range(2):
            result = train_bpe([corpus.parent / "**"], corpus.parent, merges=10, force=True)
            assert result.num_words == len(corpus.read_text().split())

    def test_a_worker_that_dies_is_an_error(self, corpus, out, monkeypatch):
        script = corpus.with_name("worker.py")
        script.write_text("import os; os.kill(os.getpid(), 9)")
        monkeypatch.setattr(train.worker, "__file__", str(script))
        with pytest.raises(ConfigurationError, match="process died, .* memory; use fewer files"):
            train_bpe([corpus], out)
        assert not out.parent.exists()

    def test_the_encoding_of_pipes_does_not_matter(self, corpus, out, monkeypatch):
        monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
        train_bpe([corpus], out, merges=1)
        assert "Ġ" in model_in(out)["vocab"]

    def test_an_interruption_ends_the_worker(self, corpus, out, monkeypatch):
        pid = corpus.with_name("pid")
        script = corpus.with_name("worker.py")
        # Only the parent is interrupted, as by an IDE.
        script.write_text(
            "import os, pathlib, signal, time\n"
            f"pathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\n"
            "os.kill(os.getppid(), signal.SIGINT)\n"
            "time.sleep(300)\n"
        )
        monkeypatch.setattr(train.worker, "__file__", str(script))
        with pytest.raises(KeyboardInterrupt):
            train_bpe([corpus], out)
        # Killed, it can take a while to end on a busy machine.
        wait_until(lambda: not is_running(int(pid.read_text())))
        assert not out.parent.exists()


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"merges": -1}, "--merges must be at least 0, got -1"),
            ({"min_frequency": 0}, "--min-frequency must be at least 1, got 0"),
            ({"boundary_tokens": [""]}, "--boundary-tokens: ''; each must be a word"),
            ({"boundary_tokens": ["\ud800"]}, r"--boundary-tokens: '\\ud800'"),
            ({"boundary_tokens": ["Ġ"]}, r"'\\u0120'; each must be .* 2 or more"),
        ],
    )
    def test_options(self, options, message, corpus, out):
        with pytest.raises(ConfigurationError, match=message):
            train_bpe([corpus], out, **options)
        assert not out.parent.exists()

    def test_a_corpus_with_too_many_pairs(self, corpus, out, monkeypatch):
        # "we" in "lower", "lowest", "newer" and "newest", 5 times each.
        monkeypatch.setattr(train, "MAX_PAIR_COUNT", 19)
        with pytest.raises(ConfigurationError, match="too large: a pair .* more than 19 times"):
            train_bpe([corpus], out)
        assert not out.parent.exists()
        monkeypatch.setattr(train, "MAX_PAIR_COUNT", 20)
        train_bpe([corpus], out)
