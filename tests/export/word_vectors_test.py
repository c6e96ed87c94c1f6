import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.export.word_vectors import word_vectors


def test_words_and_contexts_are_lists(embedder):
    # The letters of a string are no words: otherwise, no word would occur in them.
    with pytest.raises(ConfigurationError, match="'the cat .' is a str; give a list of its words"):
        word_vectors(embedder, ["cat"], ["the cat ."])
    with pytest.raises(ConfigurationError, match="'cat' is a string; give a list of words"):
        word_vectors(embedder, "cat")
    assert word_vectors(embedder, ["cat", "dog"], [["the", "cat"]])[0] == ["cat"]
