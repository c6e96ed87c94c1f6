import io
import os
import random
import re
import signal
import subprocess
from collections import Counter

import fasttext
import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from allennlp_semfit.fasttext import train
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.fasttext.train import read_corpus, train_fasttext
from tests.processes import fork, is_running, wait_until

SMALL = {"dim": 20, "bucket": 1000, "epoch": 1}


@pytest.fixture
def corpus(tmp_path):
    subjects = ["the miller", "a heron", "our neighbor", "the old ferry", "every child"]
    verbs = ["crosses", "watches", "mends", "forgets", "paints"]
    objects = ["the bridge", "a wooden gate", "the reeds", "its shadow", "two lanterns"]
    choose = random.Random(3).choice
    lines = [f"{choose(subjects)} {choose(verbs)} {choose(objects)} .\n" for _ in range(300)]
    path = tmp_path / "corpus.txt"
    path.write_text("".join(lines))
    return path


@pytest.fixture
def out(tmp_path):
    return tmp_path / "made" / "for this" / "vectors.bin"


class TestTrainFastText:
    @pytest.mark.parametrize(("words_read", "passes"), [(1, 5), (20_000, 11), (10**9, 50)])
    def test_a_small_text_is_read_more_often(self, words_read, passes, corpus, out, monkeypatch):
        monkeypatch.setattr(train, "_WORDS_READ", words_read)
        num_words = len(corpus.read_text().split())
        assert 1818 < num_words < 2000
        result = train_fasttext([corpus], out, dim=5, bucket=100)
        arguments = fasttext.load_model(str(out)).f.getArgs()
        assert result.epoch == arguments.epoch == passes
        assert result.file_size == out.stat().st_size
        assert arguments.model.name == "skipgram"

    @pytest.mark.parametrize("limit", [2_000_000, 50])
    def test_there_are_rows_for_all_ngrams(self, limit, corpus, out, monkeypatch):
        monkeypatch.setattr(train, "_MAX_BUCKET", limit)
        train_fasttext([corpus], out, dim=20, epoch=1, minn=2, maxn=3)
        words = {f"<{word}>" for word in corpus.read_text().split()}
        ngrams = {w[i : i + n] for w in words for n in (2, 3) for i in range(len(w) - n + 1)}
        bucket = fasttext.load_model(str(out)).f.getArgs().bucket
        assert bucket == min(len(ngrams), limit)

    @pytest.mark.parametrize("threads", [10, 16])
    def test_no_row_is_uninitialized(self, threads, corpus, out):
        # No n-gram falls into most of so many rows: they keep what they were initialized with. Ten
        # threads would miss the last values, because their number is not a multiple of ten.
        train_fasttext([corpus], out, dim=7, bucket=20_001, epoch=1, threads=threads)
        matrix = fasttext.load_model(str(out)).get_input_matrix()
        assert matrix.size % 10
        assert numpy.isfinite(matrix).all()
        assert (matrix != 0).all()

    def test_trains_without_ngrams(self, corpus, out):
        train_fasttext([corpus], out, dim=20, epoch=1, maxn=0, bucket=0)
        trained = fasttext.load_model(str(out))
        assert trained.get_input_matrix().shape == (len(trained.get_words()), 20)
        assert not trained.get_word_vector("unseen").any()

    @pytest.mark.parametrize("maxn", [0, 3])
    def test_whitens_the_words(self, maxn, corpus, out):
        train_fasttext([corpus], out, dim=5, epoch=50, maxn=maxn, bucket=1000, whiten=True)
        model = FastTextModel(out)
        counts = Counter(word for word in corpus.read_text().split() if word in model)
        vectors = numpy.stack([model.get_word_vector(word) for word in counts.elements()])
        assert numpy.allclose(vectors.mean(axis=0), 0, atol=1e-5)
        assert numpy.allclose(numpy.cov(vectors, rowvar=False, ddof=0), numpy.eye(5), atol=1e-4)

    def test_a_word_may_begin_like_a_label(self, corpus, out):
        corpus.write_text(corpus.read_text() + "__label__x and so on\n" * 9)
        train_fasttext([corpus], out, **SMALL)
        assert "__label__x" in fasttext.load_model(str(out)).get_words()

    def test_does_not_take_what_it_makes_for_the_corpus(self, corpus):
        out = corpus.with_name("vectors.bin")
        for _ in range(2):
            train_fasttext([corpus.parent], out, force=True, **SMALL)
        assert sorted(os.listdir(corpus.parent)) == ["corpus.txt", "vectors.bin"]
        with pytest.raises(ConfigurationError, match=r"vectors\.bin: the output would replace it"):
            train_fasttext([corpus, out], out, force=True, **SMALL)

    def test_keeps_the_former_file_when_the_training_diverges(self, corpus, out):
        out.parent.mkdir(parents=True)
        out.write_bytes(b"former")
        with pytest.raises(ConfigurationError, match=r"vectors\.bin: .*diverged: lower --lr"):
            train_fasttext([corpus, corpus], out, lr=1e6, force=True, **SMALL)
        assert out.read_bytes() == b"former"
        assert os.listdir(out.parent) == [out.name]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            *(
                ({option: 0}, f"--{option} must be .*, got 0")
                for option in ("dim", "threads", "bucket", "lr", "epoch", "ws", "neg")
            ),
            ({"minn": 5, "maxn": 4}, "--minn must be at least 0 and at most 4, got 5"),
            ({"min_count": 0}, "--min-count must be .*, got 0"),
            ({"lr": float("nan")}, "--lr must be .*, got nan"),
        ],
    )
    def test_refuses_an_option_before_it_trains(self, options, message, corpus, out, monkeypatch):
        monkeypatch.setattr(train, "_run_worker", None)
        with pytest.raises(ConfigurationError, match=message):
            train_fasttext([corpus], out, **{**SMALL, **options})


class TestInterruptions:
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
    def test_a_killed_run_leaves_no_file_and_no_process(
        self, number, corpus, out, tmp_path, monkeypatch
    ):
        pid_file = tmp_path / "pid"

        class RecordedPopen(subprocess.Popen):
            def __init__(self, *args, **kwargs) -> None:
                super().__init__(*args, **kwargs)
                pid_file.write_text(f"{self.pid}\n")

        monkeypatch.setattr(train.subprocess, "Popen", RecordedPopen)
        run = fork(train_fasttext, [corpus, corpus], out, **{**SMALL, "epoch": 10**6})
        wait_until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
        worker = int(pid_file.read_text())
        assert is_running(worker)
        assert list(out.parent.glob(".vectors.bin.partial/corpus"))
        os.kill(run.pid, number)
        run.join()
        wait_until(lambda: not is_running(worker))
        assert not out.exists()

        train_fasttext([corpus], out, **SMALL)
        assert os.listdir(out.parent) == [out.name]


class TestProgress:
    def test_shows_how_far_it_is_and_for_how_long(self, capfd, tmp_path):
        messages = tmp_path / "messages"
        messages.write_text(
            "Read 0M words\nNumber of words:  30\n"
            "\rProgress:  41.5% words/sec/thread:   10 lr:  0.02 avg.loss:  2.71 ETA:   0h 0m 3s"
            "\rProgress: 100.0% words/sec/thread:   10 lr:  0.00 avg.loss:  2.25 ETA:   0h 0m 0s\n"
            "a last word"
        )
        with messages.open() as file:
            assert train._show_progress(file) == "a last word"
        shown = capfd.readouterr().err
        assert "training fastText: 100.0%" in shown
        assert "loss 2.25" in shown

    def test_says_how_the_training_was_cut_off(self, corpus, out, monkeypatch, tmp_path):
        worker = tmp_path / "worker.py"
        worker.write_text("import os; os.kill(os.getpid(), 9)")
        monkeypatch.setattr(train.worker, "__file__", str(worker))
        with pytest.raises(ConfigurationError, match="signal 9; if memory .* --min-count"):
            train_fasttext([corpus], out, **SMALL)
        worker.write_text("import no_such_library")
        with pytest.raises(ConfigurationError, match=r"failed: ModuleNotFoundError: .*library"):
            train_fasttext([corpus], out, **SMALL)

    def test_says_what_to_lower_when_memory_runs_out(self, corpus, out):
        with pytest.raises(ConfigurationError, match="memory .*: lower --dim .* --min-count"):
            # More than fits into an address space.
            train_fasttext([corpus], out, dim=2**20, bucket=2**31 - 1)


class TestReadCorpus:
    def test_counts_words_and_joins_files(self, tmp_path):
        first, second = tmp_path / "1.txt", tmp_path / "2.txt"
        first.write_text("ein größeres\tWort\r\n\n  zwei", encoding="utf-8")
        second.write_text("drei 三\u00a0つ\n", encoding="utf-8")
        copy = io.BytesIO()
        assert read_corpus([first, second], copy, min_count=1) == 7
        assert copy.getvalue().decode() == "ein größeres Wort\n\n  zwei\ndrei 三 つ\n"

    @example("nul\0nul")
    @given(st.text(st.characters(codec="utf-8", exclude_characters="\ufeff")))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_fasttext_reads_the_words_that_are_counted(self, tmp_path, text):
        path = tmp_path / "corpus.txt"
        path.write_text("\ufeffa a a b b " + text, "utf-8", newline="")
        copy = io.BytesIO()
        num_words = read_corpus([path], copy, min_count=1)
        # fastText knows no other white space.
        words = re.split(rb"[ \n\r\t\v\f\0]+", copy.getvalue())
        # Python does not know the last one of it.
        expected = ["a", "a", "a", "b", "b", *text.replace("\0", " ").split()]
        assert [word.decode() for word in words if word] == expected
        assert num_words == len(expected)

    def test_warns_of_an_empty_file_among_others(self, tmp_path, caplog):
        full, empty = tmp_path / "full.txt", tmp_path / "empty.txt"
        full.write_text("two words\n" * 5)
        empty.write_text("\n")
        read_corpus([full, empty], io.BytesIO(), min_count=5)
        assert f"{empty} contains no words" in caplog.text

    def test_refuses_a_dictionary_of_fewer_than_two_words(self, tmp_path):
        path = tmp_path / "corpus.txt"
        path.write_text("one two two three three three\n" * 2)
        assert read_corpus([path], io.BytesIO(), min_count=4) == 12
        with pytest.raises(ConfigurationError, match="two words occur --min-count = 5 times"):
            read_corpus([path], io.BytesIO(), min_count=5)
