import pytest
from gensim.models.fasttext import ft_ngram_hashes
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.fasttext.model import ngram_hashes

texts = st.text(st.characters(exclude_categories=["Cs"]))
LARGER_THAN_ANY_HASH = 2**32


@given(word=texts, shortest=st.integers(0, 7), longest=st.integers(0, 7))
def test_they_are_the_same_as_gensims(word, shortest, longest):
    expected = list(ft_ngram_hashes(word, shortest, longest, LARGER_THAN_ANY_HASH))
    assert ngram_hashes(word.encode(), shortest, longest) == expected


# By hand: FNV-1a of one byte, which is sign-extended if it is not ASCII.
@pytest.mark.parametrize(
    ("word", "expected"),
    [("a", [0xE40C292C]), ("", []), ("ab", [0xE40C292C, 0xE70C2DE5])],
)
def test_the_brackets_alone_are_not_ngrams(word, expected):
    assert ngram_hashes(word.encode(), 1, 1) == expected
