import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.export.embed_file import SentencesFile


def write(tmp_path, content):
    path = tmp_path / "sentences.txt"
    path.write_bytes(content)
    return SentencesFile(path)


@pytest.mark.parametrize(
    ("content", "lines", "num_words"),
    [
        (b"a b\nc\n", ["a b", "c"], 3),
        (b"a b\nc", ["a b", "c"], 3),
        (b"\xef\xbb\xbfa b\r\n\r\n  c \n", ["a b", "", "c"], 3),
        # Only a line feed ends a line; these are spaces.
        ("a\u2028b\x0cc\u3000d\n\n".encode(), ["a\u2028b\x0cc\u3000d", ""], 4),
    ],
)
def test_lines_and_words(tmp_path, content, lines, num_words):
    sentences = write(tmp_path, content)
    assert list(sentences) == lines
    assert sentences.summarize() == (len(lines), num_words)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf\n"])
def test_no_word(tmp_path, content):
    with pytest.raises(ConfigurationError, match="sentences.txt: it has no words"):
        write(tmp_path, content).summarize()
