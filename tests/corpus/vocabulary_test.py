import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.corpus.vocabulary import (
    check_vocabulary_path,
    count_vocabulary,
    write_vocabulary,
)

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
    lambda text: text.split() == [text]
)


@given(
    st.lists(words, min_size=1, unique=True), st.sampled_from(["tokens", "sub-words_2", "wörter"])
)
def test_the_words_come_back_in_their_order(tmp_path_factory, words, namespace):
    directory = tmp_path_factory.mktemp("made") / "new" / "vocabulary"
    write_vocabulary(directory, namespace, words)
    assert names(directory) == sorted([f"{namespace}.txt", "non_padded_namespaces.txt"])
    assert read(directory, namespace) == expected(words)


def test_the_corpus_is_not_replaced(tmp_path):
    (tmp_path / "tokens.txt").write_text("a b\n")
    with pytest.raises(ConfigurationError, match="tokens.txt: the output would replace it"):
        count_vocabulary([tmp_path / "tokens.txt"], tmp_path, num_workers=1, force=True)
    assert (tmp_path / "tokens.txt").read_text() == "a b\n"


@pytest.mark.parametrize("name", ["vocabulary", "link"])
def test_an_empty_directory_is_filled_and_a_vocabulary_replaced(tmp_path, name):
    (tmp_path / "vocabulary").mkdir()
    (tmp_path / "link").symlink_to("vocabulary")
    check_vocabulary_path(tmp_path / name, "tokens", force=False)
    write_vocabulary(tmp_path / name, "tokens", ["other"])
    # The lock that AllenNLP leaves is no obstacle.
    assert read(tmp_path / name) == expected(["other"])
    (tmp_path / name / ".lock").touch()
    with pytest.raises(ConfigurationError, match="it is not empty; give another .*--force"):
        check_vocabulary_path(tmp_path / name, "tokens", force=False)
    check_vocabulary_path(tmp_path / name, "tokens", force=True)
    write_vocabulary(tmp_path / name, "tokens", WORDS)
    assert read(tmp_path / name) == expected(WORDS)
    assert names(tmp_path / "vocabulary") == [".lock", *FILES]
    assert names(tmp_path) == ["link", "vocabulary"]


def test_other_files_are_never_in_danger(tmp_path):
    (tmp_path / "subwords.txt").touch()
    for force in (False, True):
        with pytest.raises(ConfigurationError, match="it contains another file, subwords.txt;"):
            check_vocabulary_path(tmp_path, "tokens", force=force)


@pytest.mark.parametrize("name", ["pos_tags", "labels", "", "a/b", "a.txt", ".hidden", "a\n"])
def test_a_namespace_that_would_not_come_back_is_refused(tmp_path, name):
    with pytest.raises(ConfigurationError, match="--namespace must have only letters, digits, _"):
        count_vocabulary([], tmp_path, namespace=name)
