from collections import Counter

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.subwords import bpe_words
from allennlp_semfit.subwords.bpe_words import LONGEST_WORD, to_byte_level
from tests.subwords.naive_bpe import spell


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("words") / "words"


def lines_in(path):
    return path.read_text("utf-8").split("\n")[:-1]


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 1000)))
def test_each_byte_has_its_character(path, counts):
    counts = {word: n for word, n in counts.items() if word.split() == [word] and "x" not in word}
    spelled = to_byte_level(counts, path, boundary_tokens=["x"])
    assert lines_in(path) == [f"{''.join(spell(word))} {count}" for word, count in counts.items()]
    assert spelled.num_words == sum(counts.values())
    assert spelled.distinct_bytes == sum(1 + len(word.encode()) for word in counts)


def test_words_with_what_must_be_no_piece_are_left_out(path):
    # The boundary "Ã©t" would be a subword of "été", though it is not in it.
    words = ["</s>", "a</s>b", "été", "Ã©t", "@@NEWLINE@@s", "x@@UNKNOWN@@", "@@PADDING@@", "rain"]
    spelled = to_byte_level(dict.fromkeys(words, 2), path, boundary_tokens=["</s>", "Ã©t"])
    assert lines_in(path) == ["Ġrain 2"]
    assert spelled == (2, 5)


def test_a_very_long_word_is_several(path):
    word = "ab" * LONGEST_WORD + "c"
    to_byte_level({word: 3}, path, boundary_tokens=[])
    half = "Ġ" + "ab" * (LONGEST_WORD // 2)
    assert lines_in(path) == [f"{half} 3", f"{half} 3", "Ġc 3"]


@given(st.dictionaries(st.text("abc", min_size=1), st.integers(1, 50), min_size=1))
def test_pairs_beyond_the_limit_are_refused_and_no_others(path, counts):
    pairs = Counter()
    for word, count in counts.items():
        letters = spell(word)
        for pair in zip(letters, letters[1:]):
            pairs[pair] += count
    most = max(pairs.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpe_words, "COUNT_LIMIT", most + 1)
        to_byte_level(counts, path, boundary_tokens=[])
        patch.setattr(bpe_words, "COUNT_LIMIT", most)
        with pytest.raises(ConfigurationError, match=f"side by side {most:,} times"):
            to_byte_level(counts, path, boundary_tokens=[])
