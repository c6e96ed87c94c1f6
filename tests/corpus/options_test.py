import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.corpus.options import CorpusOptions


def test_what_lines_are():
    with pytest.raises(ConfigurationError, match="--lines must be one of auto, .*, got 'sentence'"):
        CorpusOptions(lines="sentence")
