import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common import text_files
from allennlp_semfit.export.sentences_file import SentencesFile


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


@given(text=st.text(st.sampled_from("ab \n\x85\u3000ж\ufeff漢"), max_size=30))
def test_the_summary_does_not_depend_on_the_chunks_that_are_read(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("sentences") / "sentences.txt"
    path.write_text("first " + text, "utf-8")
    sentences = SentencesFile(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "CHUNK_SIZE", 5)
        num_sentences, num_words = sentences.summarize()
    lines = list(sentences)
    assert num_sentences == len(lines)
    assert num_words == sum(len(line.split()) for line in lines)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf\n"])
def test_no_word(tmp_path, content):
    with pytest.raises(ConfigurationError, match="sentences.txt: it has no words"):
        write(tmp_path, content).summarize()


def test_no_file(tmp_path):
    for path, found in ((tmp_path, "not a regular"), (tmp_path / "missing.txt", "no such")):
        with pytest.raises(ConfigurationError, match=f"{found} file; give text"):
            SentencesFile(path)
