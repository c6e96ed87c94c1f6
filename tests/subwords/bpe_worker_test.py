import re
import sys
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.subwords.bpe_worker import PYTHON_WHITESPACE, WORDS_AT_A_TIME, repeated


def test_white_space_is_pythons():
    is_space = re.compile(f"[{PYTHON_WHITESPACE}]").fullmatch
    for character in map(chr, range(sys.maxunicode + 1)):
        assert bool(is_space(character)) == (character.split() == [])


@given(st.lists(st.tuples(st.text(), st.integers(0, 3 * WORDS_AT_A_TIME))))
def test_each_word_is_repeated_as_often_as_it_occurs(counts):
    texts = list(repeated(counts))
    assert list(chain(*texts)) == [word for word, count in counts for _ in range(count)]
    assert all(len(text) == WORDS_AT_A_TIME for text in texts[:-1])
    assert all(texts)
