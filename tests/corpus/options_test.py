import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.corpus.options import CorpusOptions


@pytest.mark.parametrize(
    "options",
    [
        {"num_shards": 0},
        {"num_shards": 501},
        {"validation_fraction": -0.1},
        {"validation_fraction": 0.6},
        {"validation_fraction": float("nan")},
        {"min_words": 0},
        {"max_sentences": 0},
    ],
)
def test_numbers_out_of_range(options):
    (name,) = options
    with pytest.raises(ConfigurationError, match=f"--{name.replace('_', '-')} must be .*, got "):
        CorpusOptions(**options)


def test_what_lines_are():
    with pytest.raises(ConfigurationError, match="--lines must be one of auto, .*, got 'sentence'"):
        CorpusOptions(lines="sentence")
    with pytest.raises(ConfigurationError, match="--lines wrapped: with --already-tokenized"):
        CorpusOptions(lines="wrapped", already_tokenized=True)
