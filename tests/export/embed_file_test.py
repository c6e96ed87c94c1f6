import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import format_size

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.export import embed_file as module
from allennlp_semfit.export.embed_file import embed_file
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.pretrained import sentence_embedder
from tests import VECTORS
from tests.language_models import write_language_model
from tests.tolerance import assert_same_but_for_rounding

LINES = [
    "The heron stood on the bridge .",
    "  Snow\tfell . ",
    "",
    # A line ends at a line feed only.
    "zxqv\0 жук\u2028漢字/漢字 .",
    "Snow .",
    *(f"Nobody watered the {word} ." for word in ("roses", "road", "river", "bridge", "snow")),
    "Snow .",
]


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(LINES), "utf-8-sig")
    return path


@pytest.fixture
def out(tmp_path):
    return tmp_path / "vectors.h5"


@pytest.fixture
def _small_windows(monkeypatch):
    monkeypatch.setattr(sentence_embedder, "WINDOW_SENTENCES", 3)


@pytest.mark.usefixtures("_small_windows")
@pytest.mark.parametrize(
    ("layers", "dtype"),
    [("all", "float32"), ("top", "float16"), ("average", "float32"), ("normalized", "float16")],
)
def test_each_line_has_its_vectors(embedder, sentences, out, layers, dtype):
    summary = embed_file(embedder, sentences, out, layers=layers, dtype=dtype, batch_size=2)
    num_words = sum(len(line.split()) for line in LINES)
    assert summary[:3] == (len(LINES), num_words, out.stat().st_size)
    with h5py.File(out, "r") as file:
        assert set(file) == {*map(str, range(len(LINES))), "sentence_to_index"}
        for index, line in enumerate(LINES):
            expected = embedder.embed_sentence(line.split())
            if layers == "top":
                expected = expected[-1]
            elif layers == "average":
                expected = expected.sum(axis=0) / 3
            elif layers == "normalized":
                variance = expected.var(axis=-1, keepdims=True)
                centered = expected - expected.mean(axis=-1, keepdims=True)
                expected = (centered / (variance + 1e-5) ** 0.5).sum(axis=0) / 3
            vectors = file[str(index)]
            assert vectors.dtype == dtype
            assert vectors.shape == expected.shape
            if dtype == "float32":
                assert_same_but_for_rounding(vectors[...], expected)
            else:
                numpy.testing.assert_allclose(vectors, expected, atol=2e-3, rtol=2e-3)
        index = json.loads(file["sentence_to_index"][0])
    assert index == {line.strip(): str(number) for number, line in enumerate(LINES)}
    # The last of those that are alike.
    assert index["Snow ."] == "10"
    assert sorted(os.listdir(out.parent)) == ["sentences.txt", "vectors.h5"]


@pytest.mark.usefixtures("_small_windows")
@pytest.mark.parametrize(
    ("layers", "dtype", "pool"),
    [("all", "float32", "mean"), ("average", "float16", "max"), ("top", "float32", "max")],
)
def test_one_vector_for_each_sentence(embedder, sentences, out, layers, dtype, pool, monkeypatch):
    # 2 rows at most at a time.
    monkeypatch.setattr(module, "_CHUNK_ROWS", 2)
    npy = out.with_suffix(".npy")
    for path in (out, npy):
        options = {"layers": layers, "pool": pool, "dtype": dtype, "batch_size": 2}
        summary = embed_file(embedder, sentences, path, **options)
        assert summary[:3] == (len(LINES), len(" ".join(LINES).split()), path.stat().st_size)
    with h5py.File(out, "r") as file:
        assert list(file) == ["vectors"]
        vectors = file["vectors"][...]
    assert vectors.dtype == dtype
    numpy.testing.assert_array_equal(numpy.load(npy), vectors)
    mapped = numpy.load(npy, mmap_mode="r")
    assert mapped.shape == (len(LINES), embedder.get_sentence_dim(layers))
    numpy.testing.assert_array_equal(mapped, vectors)
    expected = embedder.sentence_vectors(map(str.split, LINES), pool, layers)
    if dtype == "float32":
        assert_same_but_for_rounding(vectors, expected)
    else:
        numpy.testing.assert_allclose(vectors, expected, atol=2e-3, rtol=2e-3)
    assert sorted(os.listdir(out.parent)) == ["sentences.txt", "vectors.h5", "vectors.npy"]


class Recorder:
    """An embedder that writes down what it embeds, and is interrupted after some batches."""

    def __init__(self, embedder, *, batches=None):
        self.embedder = embedder
        self.batches = batches
        self.embedded = []

    embed_sentences = SentenceEmbedder.embed_sentences

    def __getattr__(self, name):
        return getattr(self.embedder, name)

    def embed_batch(self, batch, **_):
        if self.batches == 0:
            raise KeyboardInterrupt
        self.batches = None if self.batches is None else self.batches - 1
        self.embedded += batch
        return self.embedder.embed_batch(batch)


def interrupt(embedder, batches, sentences, out, **options):
    with pytest.raises(KeyboardInterrupt):
        embed_file(Recorder(embedder, batches=batches), sentences, out, batch_size=2, **options)


@pytest.mark.usefixtures("_small_windows")
@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        (".h5", {}),
        (".h5", {"layers": "top"}),
        (".h5", {"pool": "mean"}),
        (".npy", {"pool": "max", "layers": "top", "dtype": "float16"}),
    ],
)
def test_resumes_after_an_interruption(embedder, sentences, tmp_path, suffix, options, caplog):
    caplog.set_level("INFO")
    out, whole = tmp_path / f"vectors{suffix}", tmp_path / f"whole{suffix}"
    embed_file(embedder, sentences, whole, batch_size=2, **options)
    # Windows of 3 sentences, each 2 batches: it is interrupted after the first half of the third.
    interrupt(embedder, 5, sentences, out, **options)
    assert sorted(os.listdir(tmp_path)) == ["sentences.txt", f"{out.name}.unfinished", whole.name]
    recorder = Recorder(embedder)
    embed_file(recorder, sentences, out, batch_size=2, **options)
    words = [line.split() for line in LINES]
    assert sorted(recorder.embedded) == sorted(words[6:])
    resumed, num_words = (len(" ".join(lines).split()) for lines in (LINES[:6], LINES))
    assert f"Resumed after {resumed} of {num_words} words." in caplog.text
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["sentences.txt", out.name, whole.name]


@pytest.mark.usefixtures("_small_windows")
def test_resumes_after_an_interruption_at_the_end(embedder, sentences, out, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for name, is_written in (("_write_word_vectors", False), ("os.remove", True)):
        with monkeypatch.context() as patch:
            patch.setattr(f"{module.__name__}.{name}", interrupt)
            with pytest.raises(KeyboardInterrupt):
                embed_file(embedder, sentences, out)
        assert out.exists() == is_written
    recorder = Recorder(embedder)
    embed_file(recorder, sentences, out, force=True)
    assert not recorder.embedded
    assert sorted(os.listdir(out.parent)) == ["sentences.txt", "vectors.h5"]


@pytest.mark.usefixtures("_small_windows")
def test_an_unfinished_file_of_other_vectors(embedder, sentences, out):
    interrupt(embedder, 3, sentences, out, layers="top")
    before = (out.parent / "vectors.h5.unfinished").read_bytes()
    message = "vectors.h5.unfinished: it has vectors of a run with other options; .*--force"
    with pytest.raises(ConfigurationError, match=message):
        embed_file(embedder, sentences, out)
    assert (out.parent / "vectors.h5.unfinished").read_bytes() == before
    # With --force it is replaced, or resumed if it has the same vectors.
    interrupt(embedder, 3, sentences, out, force=True)
    recorder = Recorder(embedder)
    embed_file(recorder, sentences, out, batch_size=2, force=True)
    assert sorted(recorder.embedded) == sorted(line.split() for line in LINES[3:])


@pytest.mark.usefixtures("_small_windows")
def test_unfinished_vectors_of_other_arguments_are_told_apart(embedder, lm_archive, sentences, out):
    interrupt(embedder, 3, sentences, out)

    def differences(embedder, **options):
        with pytest.raises(ConfigurationError) as error:
            embed_file(embedder, sentences, out, **options)
        return str(error.value).partition("a run with other ")[2].partition("; ")[0]

    of_model = "language model or options of it"
    path = shutil.copy(lm_archive, out.parent / "other.tar.gz")
    assert differences(SentenceEmbedder(path)) == of_model
    assert differences(SentenceEmbedder(lm_archive, bf16=True)) == of_model
    for options in ({"layers": "top"}, {"dtype": "float16"}, {"pool": "max"}):
        assert differences(embedder, **options) == "options"
    sentences.write_text("Something else .\n")
    assert differences(embedder) == "sentences"


def test_errors_before_anything_is_written(embedder, sentences, out, monkeypatch):
    def complaint(**options):
        with pytest.raises(ConfigurationError) as error:
            embed_file(embedder, sentences, out, **options)
        assert "\n" not in str(error.value)
        assert os.listdir(out.parent) == ["sentences.txt"]
        return str(error.value)

    assert "layers must be one of all, top, average, normalized, got 'last'" in complaint(
        layers="last"
    )
    assert "dtype must be one of float32, float16, got 'int8'" in complaint(dtype="int8")
    assert "pool must be one of mean, max, got 'sum'" in complaint(pool="sum")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: SimpleNamespace(free=100))
    message = complaint()
    needed = format_size(2 * 4 * 3 * 12 * len(" ".join(LINES).split()))
    assert f"the vectors and their copy need {needed} more, and 100B are free" in message
    needed = format_size(2 * 4 * 3 * 12 * len(LINES))
    assert f"need {needed} more" in complaint(pool="mean")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="There is no /dev/full.")
def test_an_unfinished_file_that_cannot_be_written_is_named(embedder, sentences, out):
    unfinished = out.with_name(f"{out.name}.unfinished")
    unfinished.mkdir()
    with pytest.raises(ConfigurationError, match=f"{unfinished}: it is a directory"):
        embed_file(embedder, sentences, out, force=True)
    unfinished.rmdir()
    opened = Path.open

    def open_full(path, mode="r", *args, **kwargs):
        return opened(Path("/dev/full") if "+" in mode else path, mode, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(Path, "open", open_full)
        with pytest.raises(ConfigurationError, match=f"{unfinished}: it cannot be written .No spa"):
            embed_file(embedder, sentences, out)


@pytest.mark.usefixtures("_small_windows")
def test_a_resumed_run_needs_less_room(embedder, sentences, out, monkeypatch):
    interrupt(embedder, 3, sentences, out)
    written = sum(len(line.split()) for line in LINES[:3])
    needed = 4 * 3 * 12 * (2 * len(" ".join(LINES).split()) - written)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: SimpleNamespace(free=needed))
    embed_file(embedder, sentences, out)


def test_the_vectors_may_lie_in_a_new_directory_in_that_of_the_model(
    lm_archive, sentences, tmp_path
):
    export_model(lm_archive, tmp_path / "model", VECTORS)
    embedder = SentenceEmbedder(tmp_path / "model")
    before = embedder.identify()
    embed_file(embedder, sentences, tmp_path / "model" / "new" / "vectors.h5")
    assert embedder.identify() == before


@pytest.mark.parametrize("weights", ["", "best.th"])
def test_other_weights_are_another_model(weights, tmp_path):
    # A further training writes other weights, and not the configuration.
    archive = write_language_model(tmp_path / "lm", "fasttext", archive=not weights)
    embedder = SentenceEmbedder(archive)
    before = embedder.identify()
    os.utime(archive / weights, (0, 2_000_000_000))
    assert embedder.identify() != before
