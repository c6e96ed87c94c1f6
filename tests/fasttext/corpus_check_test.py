import io
import re

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from allennlp_semfit.fasttext.train import read_corpus

TEXT = "The river froze .\nNo boat left the harbour .\n" * 5


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
        full.write_text(TEXT)
        empty.write_text("\n")
        read_corpus([full, empty], io.BytesIO(), min_count=5)
        assert f"{empty} contains no words" in caplog.text

    def test_refuses_a_dictionary_of_fewer_than_two_words(self, tmp_path):
        path = tmp_path / "corpus.txt"
        path.write_text("one two two three three three\n" * 2)
        assert read_corpus([path], io.BytesIO(), min_count=4) == 12
        with pytest.raises(ConfigurationError, match="two words occur --min-count = 5 times"):
            read_corpus([path], io.BytesIO(), min_count=5)
