from collections import Counter
from unittest.mock import patch

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import example, given
from hypothesis import strategies as st

from allennlp_semfit.common import text_files
from allennlp_semfit.corpus.word_counts import count_words, sort_by_frequency
from allennlp_semfit.data.language_modeling import LanguageModelingReader

# Characters at which some function of Python splits words or lines, and similar ones.
WHITE_SPACE = "\n\r\t\x0b\x0c\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u3000\u200b\u2060"
CHARACTERS = st.one_of(
    st.sampled_from("\n \r\ufeff"),
    st.sampled_from(WHITE_SPACE),
    st.sampled_from("abé三𐍈\x00"),
    st.characters(blacklist_categories=["Cs"]),
)


def counted_by_the_reader(path):
    reader = LanguageModelingReader(start_tokens=["<start>"], end_tokens=[])
    reader._max_words = None
    counts = Counter(
        token.text for instance in reader.read(path) for token in instance["source"].tokens
    )
    num_sentences = counts.pop("<start>")
    return counts, num_sentences


@given(st.lists(st.text(CHARACTERS, max_size=40), max_size=3), st.integers(1, 12))
@example(["\ufeff\ufeffone\n\ufefftwo"], 1)
@example(["one\rtwo\r\nthree\x85four\u2028five\x1csix"], 1)
def test_it_counts_what_the_reader_reads(tmp_path_factory, texts, chunk_bytes):
    directory = tmp_path_factory.mktemp("corpus")
    # At least one word, because the reader refuses text without words.
    for number, text in enumerate([*texts, "one"]):
        (directory / f"{number}.txt").write_bytes(text.encode("utf-8"))
    with patch.object(text_files, "CHUNK_SIZE", chunk_bytes):
        counts = count_words(sorted(directory.iterdir()))
    assert counts == counted_by_the_reader(directory)


@pytest.mark.parametrize("after", ["", "\n", "\nthe end", "\n\nthe end\n"])
@pytest.mark.parametrize("num_words", range(8, 14))
def test_parts_of_a_long_line_are_one_sentence(tmp_path, monkeypatch, num_words, after):
    for name in ("CHUNK_SIZE", "MAX_REST"):
        monkeypatch.setattr(text_files, name, 12)
    path = tmp_path / "one.txt"
    path.write_text("river " * num_words + after)
    counts = count_words([path, path])
    assert counts.counts["river"] == 2 * num_words
    assert counts.num_sentences == 2 + 2 * ("end" in after)


@pytest.mark.parametrize("text", ["", " \n\u3000\n", "\ufeff"])
def test_a_corpus_without_words_is_an_error(tmp_path, text):
    path = tmp_path / "blank.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match="blank.txt: no words found; give text"):
        count_words([path])
    with pytest.raises(ConfigurationError, match="blank.txt and the other files: no words"):
        count_words([path, path])


@given(st.dictionaries(st.text(max_size=2), st.integers(1, 5)), st.integers(1, 5))
def test_the_most_frequent_words_come_first_and_equals_in_order_of_code_points(counts, min_count):
    expected = sorted(counts.items(), key=lambda item: (-item[1], list(map(ord, item[0]))))
    words = sort_by_frequency(counts, min_count=min_count)
    assert words == [word for word, count in expected if count >= min_count]
