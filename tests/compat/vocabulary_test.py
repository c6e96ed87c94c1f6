import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "OOV token not found!"),
        (b"the\na\n", "OOV token not found!"),
        (b"@@UNKNOWN@@\n\xff\n", "'utf-8' codec can't decode byte 0xff"),
        (b"@@UNKNOWN@@\nthe\na\nthe\n", "it has a word twice"),
        (b"@@UNKNOWN@@\n@@PADDING@@\n", "it has a word twice"),
        (None, "Is a directory"),
    ],
)
def test_a_damaged_vocabulary_is_named(tmp_path, content, found):
    Vocabulary(tokens_to_add={"tokens": ["the", "a"]}).save_to_files(tmp_path)
    path = tmp_path / "tokens.txt"
    if content is None:
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError) as error:
        Vocabulary.from_files(tmp_path)
    assert str(error.value).startswith(f"vocabulary file {path} cannot be read (")
    assert found in str(error.value)


@pytest.mark.parametrize("content", [b"\xff", b"*tags\n\n"])
def test_a_damaged_list_of_namespaces_is_named(tmp_path, content):
    Vocabulary(tokens_to_add={"tokens": ["the", "a"]}).save_to_files(tmp_path)
    path = tmp_path / "non_padded_namespaces.txt"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"^vocabulary file {path} cannot be read"):
        Vocabulary.from_files(tmp_path)


def test_a_missing_vocabulary_is_the_error_that_hosts_expect(tmp_path):
    with pytest.raises(FileNotFoundError):
        Vocabulary.from_files(tmp_path / "no_vocabulary")


def test_a_file_is_read_with_positional_arguments_too(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("@@UNKNOWN@@\nthe\n")
    vocabulary = Vocabulary.empty()
    vocabulary.set_from_file(str(path), True, "@@UNKNOWN@@", "words")
    assert vocabulary.get_token_index("the", "words") == 2
