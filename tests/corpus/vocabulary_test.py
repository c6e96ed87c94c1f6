import os

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.corpus.vocabulary import NEWLINE, VocabularyWriter

WORDS = ["</s>", "the", "river"]
FILES = ["non_padded_namespaces.txt", "tokens.txt"]


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def read(directory, namespace="tokens"):
    return list(Vocabulary.from_files(directory).get_token_to_index_vocabulary(namespace).items())


def expected(words):
    return [("@@PADDING@@", 0), ("@@UNKNOWN@@", 1), *((w, i) for i, w in enumerate(words, 2))]


# A word, as the reader makes it.
words = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1).filter(
    lambda text: text.split() == [text] and NEWLINE not in text
)


@given(
    st.lists(words, min_size=1, unique=True), st.sampled_from(["tokens", "sub-words_2", "wörter"])
)
def test_the_words_come_back_in_their_order(tmp_path_factory, words, namespace):
    directory = tmp_path_factory.mktemp("made") / "new" / "vocabulary"
    VocabularyWriter(directory, namespace).write(words)
    assert names(directory) == sorted([f"{namespace}.txt", "non_padded_namespaces.txt"])
    assert read(directory, namespace) == expected(words)


def test_a_new_directory_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "other").mkdir()
    VocabularyWriter(tmp_path / "made", "tokens").write(WORDS)
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("name", ["vocabulary", "link"])
def test_an_empty_directory_is_filled_and_a_vocabulary_replaced(tmp_path, name):
    (tmp_path / "vocabulary").mkdir()
    (tmp_path / "link").symlink_to("vocabulary")
    files = VocabularyWriter(tmp_path / name, "tokens")
    files.check_vacant(force=False)
    files.write(["other"])
    # The lock that AllenNLP leaves is no obstacle.
    assert read(tmp_path / name) == expected(["other"])
    (tmp_path / name / ".lock").touch()
    with pytest.raises(ConfigurationError, match="there is a vocabulary; give another .*--force"):
        files.check_vacant(force=False)
    files.check_vacant(force=True)
    files.write(WORDS)
    assert read(tmp_path / name) == expected(WORDS)
    assert names(tmp_path / "vocabulary") == [".lock", *FILES]
    assert names(tmp_path) == ["link", "vocabulary"]


def test_other_files_are_never_in_danger(tmp_path):
    (tmp_path / "subwords.txt").touch()
    for force in (False, True):
        with pytest.raises(ConfigurationError, match="it holds something else, subwords.txt;"):
            VocabularyWriter(tmp_path, "tokens").check_vacant(force=force)


def test_it_needs_a_place(tmp_path):
    (tmp_path / "file").touch()
    for directory in ("file", "file/below/it"):
        with pytest.raises(ConfigurationError, match="file: it is a file; give the vocabulary a d"):
            VocabularyWriter(tmp_path / directory, "tokens").check_vacant(force=True)


def test_it_needs_a_place_that_can_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(ConfigurationError, match=f"^{tmp_path}: not writable"):
        VocabularyWriter(tmp_path / "new" / "vocabulary", "tokens").check_vacant(force=False)


@pytest.mark.parametrize("exists", [False, True])
def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch, exists):
    out = tmp_path / "vocabulary"
    files = VocabularyWriter(out, "tokens")
    if exists:
        files.write(["other"])
    before = sorted(tmp_path.rglob("*"))

    def fail(self, directory):
        os.makedirs(directory)
        (out.parent / directory / "tokens.txt").write_text("@@UNKNOWN@@\nthe\nri")
        raise OSError("No space left on device")

    monkeypatch.setattr(Vocabulary, "save_to_files", fail)
    with pytest.raises(OSError, match="No space left"):
        files.write(WORDS)
    assert sorted(tmp_path.rglob("*")) == before
    assert not exists or read(out) == expected(["other"])


@pytest.mark.parametrize(
    ("namespace", "message"),
    [
        ("pos_tags", "neither padding nor a word for the unknown"),
        ("labels", "neither padding nor a word for the unknown"),
        ("non_padded_namespaces", "it takes letters, digits, _ and -, and is not non_padded_name"),
        *((name, "it takes letters") for name in ["", "a/b", "a.txt", ".hidden", "a\n"]),
    ],
)
def test_a_namespace_that_would_not_come_back_is_refused(tmp_path, namespace, message):
    with pytest.raises(ConfigurationError, match=message):
        VocabularyWriter(tmp_path, namespace)
