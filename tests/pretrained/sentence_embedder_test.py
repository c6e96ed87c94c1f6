import itertools
import os
import pickle
import shutil
from unittest import mock

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing import requires_gpu
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.common.parallel import use_one_thread_in_forks
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.pretrained import sentence_embedder
from allennlp_semfit.pretrained.elmo_semfit import ElmoSemfitEmbedder, ElmoSemfitIndexer
from allennlp_semfit.pretrained.folder_language_model import FolderLanguageModel
from allennlp_semfit.pretrained.sentence_embedder import batches_by_length
from tests import VECTORS
from tests.language_models import KINDS, tensors_of
from tests.processes import threads_in_a_fork
from tests.tolerance import assert_same_but_for_rounding

SENTENCES = [
    "The heron stood on the bridge .",
    "Snow .",
    "",
    "Nobody watered the roses on Thursday , zxqv жук 漢字 .",
    "and so on , " * 10,
]
WORDS = [*map(str.split, SENTENCES), ["Snow", "", "."]]


@pytest.mark.parametrize("kind", list(KINDS))
def test_gives_what_the_token_embedder_gives_to_a_model(kind, language_models):
    archive_file = language_models[kind]
    token_embedder = ElmoSemfitEmbedder(archive_file, scalar_mix_parameters=[1, 2, 3]).eval()
    # The one without words among them is not for a task.
    sentences = [words for words in WORDS if words]
    expected = token_embedder(**tensors_of(ElmoSemfitIndexer(archive_file), sentences))
    embedder = SentenceEmbedder(archive_file)
    weights = torch.tensor([1.0, 2, 3]).softmax(dim=0).numpy()
    given = dict(zip(map(" ".join, WORDS), embedder.embed_batch(WORDS)))
    assert given[""].shape == (3, 0, 12)
    assert embedder.embed_batch([]) == []
    for words, of_words in zip(sentences, expected):
        mixed = numpy.einsum("l,lnd->nd", weights, given[" ".join(words)])
        assert mixed.shape == (len(words), 12)
        assert_same_but_for_rounding(mixed, of_words[: len(words)])
        alone = embedder.embed_sentence(words)
        assert_same_but_for_rounding(given[" ".join(words)], alone)


def test_a_fork_has_no_threads_to_wait_for(lm_archive):
    assert threads_in_a_fork(SentenceEmbedder, lm_archive) == 1


def test_bf16_changes_the_vectors_a_little(embedder, lm_archive):
    rough = SentenceEmbedder(lm_archive, bf16=True)
    sentence = ["The", "captain", "sleeps", "."]
    vectors, expected = rough.embed_sentence(sentence), embedder.embed_sentence(sentence)
    assert vectors.dtype == numpy.float32
    assert 0 < numpy.linalg.norm(vectors - expected) < 0.03 * numpy.linalg.norm(expected)


def test_sentence_vectors(embedder):
    alone = [embedder.embed_sentence(words) for words in WORDS]
    assert embedder.get_sentence_dim("average") == embedder.get_sentence_dim("top") == 12
    assert embedder.get_sentence_dim() == 36

    def check(found, expected):
        assert found.dtype == numpy.float32
        assert_same_but_for_rounding(found, numpy.stack(expected))

    zeros = numpy.zeros(12)
    check(
        embedder.sentence_vectors(iter(WORDS), layers="average"),
        [each.mean(axis=0).mean(axis=0) if each.size else zeros for each in alone],
    )
    check(
        embedder.sentence_vectors(WORDS, "max", "top", batch_size=2),
        [each[-1].max(axis=0) if each.size else zeros for each in alone],
    )
    check(
        embedder.sentence_vectors(WORDS, "max"),
        [each.max(axis=1).reshape(36) if each.size else zeros.repeat(3) for each in alone],
    )
    assert embedder.sentence_vectors([]).shape == (0, 36)
    assert not embedder.sentence_vectors([[], []]).any()


def test_sentence_vectors_refuse_what_they_cannot_pool(embedder):
    with pytest.raises(ConfigurationError, match="pool must be one of mean, max, got None"):
        embedder.sentence_vectors(WORDS, pool=None)
    with pytest.raises(
        ConfigurationError, match="layers must be one of all, top, average, normalized, got 'last'"
    ):
        embedder.sentence_vectors(WORDS, layers="last")
    with pytest.raises(ConfigurationError, match="batch_size must be at least 1, got 0"):
        embedder.sentence_vectors(WORDS, batch_size=0)
    with pytest.raises(ConfigurationError, match="batch_size must be at least 1, got 0"):
        next(embedder.embed_sentences(WORDS, batch_size=0))
    with pytest.raises(ConfigurationError, match="is a str; give a list of its words"):
        embedder.sentence_vectors(["Snow ."])
    # A table with one column of texts
    with pytest.raises(ConfigurationError, match="'Snow .'.* a text as its only word; split it"):
        embedder.sentence_vectors(numpy.array([["Rain"], ["Snow ."]], dtype=object))
    embedder.sentence_vectors([["New York"], ["snow", "."]])
    embedder.sentence_vectors([["snow"], ["\n "]])


@pytest.mark.parametrize("words", [[["Snow", "."]], ["Snow", None]])
def test_a_word_must_be_a_string(embedder, words):
    with pytest.raises(ConfigurationError, match="a word must be a string, got (list|NoneType); "):
        embedder.embed_sentence(words)


@pytest.mark.parametrize("kind", ["fasttext", "subwords"])
def test_is_pickled_without_its_weights(kind, language_models, tmp_path, monkeypatch):
    embedder = SentenceEmbedder(os.path.relpath(language_models[kind]))
    pickled = pickle.dumps(embedder)
    assert len(pickled) < 1000
    expected = embedder.embed_sentence(WORDS[0])
    # Another process may have another working directory.
    monkeypatch.chdir(tmp_path)
    numpy.testing.assert_array_equal(pickle.loads(pickled).embed_sentence(WORDS[0]), expected)


def test_tensors_on_request(embedder, lm_archive):
    on_cpu = SentenceEmbedder(lm_archive, cuda_device="cpu")
    arrays, tensors = (
        [
            each.embed_sentence(WORDS[0], **options),
            *each.embed_batch([*WORDS, []], **options),
            *each.embed_sentences(WORDS, 2, **options),
            each.sentence_vectors(WORDS, **options),
        ]
        for each, options in ((embedder, {}), (on_cpu, {"convert_to_tensor": True}))
    )
    for array, tensor in zip(arrays, tensors, strict=True):
        assert tensor.device.type == "cpu"
        torch.testing.assert_close(tensor, torch.from_numpy(array), rtol=0, atol=0)


def test_progress_on_request(embedder, capsys):
    embedder.sentence_vectors(WORDS)
    assert "embedding" not in capsys.readouterr().err
    embedder.sentence_vectors(WORDS, batch_size=2, show_progress_bar=True)
    assert "embedding: 100%" in capsys.readouterr().err


def test_reads_no_more_sentences_than_it_must(embedder, monkeypatch):
    monkeypatch.setattr(sentence_embedder, "WINDOW_SENTENCES", 3)
    vectors = embedder.embed_sentences(itertools.cycle(WORDS[:2]))
    assert [next(vectors).shape[1] for _ in range(4)] == [7, 2, 7, 2]


def test_what_it_gives_is_neither_the_batch_nor_part_of_a_graph(embedder):
    vectors = embedder.embed_batch(WORDS)[1]
    assert vectors.base is None
    vectors += 1
    vectors = embedder.embed_batch(WORDS, convert_to_tensor=True)[1]
    assert vectors.untyped_storage().nbytes() == 4 * vectors.numel()
    weights = torch.ones(12, requires_grad=True)
    (vectors * weights).sum().backward()
    torch.testing.assert_close(weights.grad, vectors.sum(dim=(0, 1)))


@given(st.lists(st.integers(0, 12), max_size=20))
def test_a_window_is_as_large_as_the_limits_of_sentences_and_words_allow(lengths):
    sentences = [[str(index)] * length for index, length in enumerate(lengths)]
    with mock.patch.multiple(sentence_embedder, WINDOW_SENTENCES=4, WINDOW_WORDS=10):
        windows = list(sentence_embedder.windows_of(iter(sentences)))
    assert [*itertools.chain(*windows)] == sentences
    for window, following in itertools.zip_longest(windows, windows[1:]):
        num_words = sum(map(len, window))
        assert 1 <= len(window) <= 4
        assert num_words <= 10 or len(window) == 1
        # The next sentence was one too many.
        assert not following or len(window) == 4 or num_words + len(following[0]) > 10


@given(st.lists(st.integers(0, 200), max_size=60), st.integers(1, 8))
def test_batches_have_similar_lengths_and_a_bounded_size(lengths, batch_size):
    batches = list(batches_by_length(lengths, batch_size))
    assert sorted(itertools.chain.from_iterable(batches)) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert len(batch) <= batch_size
        assert len(batch) == 1 or longest * len(batch) <= 50 * batch_size
    in_order = [lengths[index] for batch in batches for index in batch]
    assert in_order == sorted(lengths, reverse=True)


@requires_gpu
def test_a_gpu_gives_what_the_cpu_gives(embedder, lm_archive):
    on_gpu = SentenceEmbedder(lm_archive, cuda_device=0)
    for one, other in zip(on_gpu.embed_batch(WORDS), embedder.embed_batch(WORDS)):
        assert_same_but_for_rounding(one, other)
    vectors = on_gpu.sentence_vectors(WORDS, convert_to_tensor=True)
    assert on_gpu.embed_sentence(WORDS[0], convert_to_tensor=True).device == vectors.device
    assert vectors.device == torch.device("cuda", 0)


def test_a_folder_in_the_home_directory_is_read_as_data(lm_archive, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    export_model(lm_archive, tmp_path / "model", VECTORS)
    opened = SentenceEmbedder("~/model")
    assert isinstance(opened._layers, FolderLanguageModel)
    assert opened.identify()[0] == str(tmp_path / "model")


def test_the_default_device_is_not_used(lm_archive, tmp_path):
    export_model(lm_archive, tmp_path / "model", VECTORS)
    batch = [["The", "gate"], [], ["The"]]
    expected = SentenceEmbedder(tmp_path / "model").embed_batch(batch)
    with torch.device("meta"):
        found = SentenceEmbedder(tmp_path / "model").embed_batch(batch)
    for vectors, others in zip(found, expected):
        numpy.testing.assert_array_equal(vectors, others)


def test_training_mode_does_not_turn_dropout_on(lm_archive, tmp_path):
    export_model(lm_archive, tmp_path / "model", VECTORS)
    model = FolderLanguageModel.open(tmp_path / "model")
    assert not any(module.training for module in model.train().modules())


def test_sentences_that_are_no_lists_are_named(embedder, lm_archive):
    assert len(embedder.embed_batch(numpy.array([["a", "b"], ["c", "d"]]))) == 2
    for method in (embedder.sentence_vectors, embedder.embed_sentences, embedder.embed_batch):
        with pytest.raises(ConfigurationError, match="is a float; give a list of its words"):
            list(method([["a"], float("nan")]))
        # As of `datasets`.
        with pytest.raises(ConfigurationError, match="is a dict; give a list of its words"):
            list(method([{"words": ["a", "b"]}]))
    assert len(embedder.embed_batch(iter([["a"], ["b", "c"]]))) == 2
    for device in (-5, None, "mps", "meta", 99):
        with pytest.raises(ConfigurationError, match=f"device {device} cannot be used"):
            SentenceEmbedder(lm_archive, device)


@pytest.mark.parametrize(
    ("missing", "compact"), [(["posix_fadvise"], False), (["register_at_fork", "pread"], True)]
)
def test_opens_a_folder_without_what_macos_and_windows_lack(
    missing, compact, lm_archive, tmp_path, monkeypatch
):
    export_model(lm_archive, tmp_path / "model", VECTORS, compact=compact)
    expected = SentenceEmbedder(tmp_path / "model").embed_sentence(["the", "cat"])
    for name in [*missing, "posix_fadvise"]:
        monkeypatch.delattr(os, name, raising=False)
    use_one_thread_in_forks.cache_clear()
    # Not the fastText model that is open, whose lookups are cached.
    shutil.copytree(tmp_path / "model", tmp_path / "copy")
    vectors = SentenceEmbedder(tmp_path / "copy").embed_sentence(["the", "cat"])
    numpy.testing.assert_array_equal(vectors, expected)
