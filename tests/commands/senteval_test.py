import gzip
import json
import os
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.analysis.senteval.sentence_vectors import FastTextVectors, LanguageModelVectors
from allennlp_semfit.analysis.senteval.tasks import TASKS
from tests import FIXTURES, VECTORS
from tests.analysis.senteval.data import write_data
from tests.commands import running

run = partial(running.run, "senteval")
error_of = partial(running.error_of, "senteval")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("downstream"))


def test_only_one_process_writes_the_results(data_dir, tmp_path):
    out = tmp_path / "out.json"
    lock = FileLock(str(tmp_path / ".out.json.lock"))
    with lock, pytest.raises(SystemExit, match="out.json: another process is writing"):
        run(VECTORS, data_dir, "--output-file", out)
    assert not out.exists()


def test_a_language_model_on_all_tasks(lm_archive, data_dir, tmp_path, caplog):
    caplog.set_level("INFO")
    out = tmp_path / "out.json"
    options = f"--folds 2 --seed 3 --batch-size 5 --output-file {out}".split()
    run(lm_archive, data_dir, *options, "--fasttext-model-path", VECTORS)
    contents = json.loads(out.read_text())
    assert f"| average | {contents['average']:.2f} |" in caplog.text
    # A line for each of the model's parameters would hide the rest.
    assert "model.contextualizer" not in caplog.text
    caplog.clear()
    embedder = SentenceEmbedder(lm_archive, fasttext_model_path=VECTORS)
    assert contents["model"] == {
        "archive": lm_archive,
        "vectors": f"mean over the words of the mean of {embedder.num_layers} layers",
        "dim": embedder.get_output_dim(),
        **LanguageModelVectors(embedder).identity._asdict(),
    }
    assert (contents["folds"], contents["seed"]) == (2, 3)
    assert list(contents["tasks"]) == list(TASKS)
    run(lm_archive, data_dir, *options, "--fasttext-model-path", VECTORS)
    assert "SICK-R: already evaluated." in caplog.text
    assert json.loads(out.read_text()) == contents
    with pytest.raises(SystemExit, match="out.json: it has results of another model"):
        run(VECTORS, data_dir, *options)
    run(VECTORS, data_dir, *options, "--force", "--tasks", "CR")
    assert list(json.loads(out.read_text())["tasks"]) == ["CR"]


def test_fasttext_without_a_file(data_dir, tmp_path, caplog, monkeypatch):
    caplog.set_level("INFO")
    monkeypatch.chdir(tmp_path)
    run(VECTORS, data_dir, "--folds", 2, "--tasks", "TREC", "MR")
    assert caplog.text.index("| MR |") < caplog.text.index("| TREC |")
    assert "average" not in caplog.text
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.tar.gz", "DATA"], "Language model no.tar.gz does not exist"),
        (["no.bin", "DATA"], "fastText model no.bin does not exist"),
        ([str(FIXTURES / "supervised.bin"), "DATA"], "is a supervised model"),
        # What can be said without the model is said first.
        (["no.bin", "no"], "no/MR/rt-polarity.pos does not exist"),
        (["no.tar.gz", "DATA", "--batch-size", "-3"], "--batch-size: -3; it takes 1 or more"),
        ([VECTORS, "DATA", "--normalized"], "--normalized is for language models"),
        (["no.bin", "DATA", "--output-file", "text"], "text: it has something other"),
        ([VECTORS, "DATA", "--fasttext-model-path", "x"], "--fasttext-model-path is for language"),
        ([VECTORS, "DATA", "--tokenizer-path", "x"], "--tokenizer-path is for language models"),
        ([VECTORS, "DATA", "--autocast"], "--autocast is for language models"),
        (["no.bin", "DATA", "--seed", "-1"], "--seed: -1; it takes 0 to 4294967295"),
        (["text", "DATA", "--output-file", "text"], "text: it is an input; give the output"),
    ],
)
def test_an_error_is_one_line(data_dir, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("mine")
    arguments = [str(data_dir) if each == "DATA" else each for each in arguments]
    assert message in error_of(*arguments, "--folds", "2", "--tasks", "MR")
    assert os.listdir(tmp_path) == ["text"]


def test_a_compressed_model_says_so(data_dir, tmp_path):
    path = tmp_path / "vectors.bin.gz"
    path.write_bytes(gzip.compress(Path(VECTORS).read_bytes()))
    message = f"fastText model {path} is compressed; decompress it with `gunzip`."
    assert message in error_of(path, data_dir, "--folds", "2", "--tasks", "MR")


def test_an_interruption_is_no_traceback(data_dir, tmp_path, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FastTextVectors, "__call__", interrupt)
    with pytest.raises(SystemExit, match="^130$"):
        run(VECTORS, data_dir, "--folds", "2", "--output-file", "out.json")
    assert "the same command resumes with the next task" in capsys.readouterr().err
