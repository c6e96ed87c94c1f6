import json
import re
import sys

import pytest

from allennlp_semfit.subwords.worker import MAX_REPEATS, WHITESPACE, train


@pytest.mark.parametrize("count", [1, MAX_REPEATS, MAX_REPEATS + 1, 2 * MAX_REPEATS + 500])
def test_each_word_counts_as_often_as_it_occurs(count):
    options = {"vocab_size": 100, "show_progress": False}
    for min_frequency, merges in ((count, [["a", "b"]]), (count + 1, [])):
        tokenizer = json.loads(train({"ab": count}, {**options, "min_frequency": min_frequency}))
        assert tokenizer["model"]["merges"] == merges


def test_white_space_is_that_of_python():
    is_space = re.compile(WHITESPACE).fullmatch
    for character in map(chr, range(sys.maxunicode + 1)):
        assert bool(is_space(character)) == (character.split() == [])
