import json

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_semfit.common.errors import InvalidFileError, with_config_key


def test_the_error_says_where_the_file_is_named_and_how_to_name_another():
    params = Params({"dataset_reader": {"vectors": {"path": "gone.bin"}}})
    inner = params["dataset_reader"]["vectors"]
    with pytest.raises(InvalidFileError) as raised, with_config_key(inner, "path"):
        raise InvalidFileError("gone.bin does not exist.")
    message = str(raised.value)
    assert message.startswith("gone.bin does not exist. ")
    assert "`dataset_reader.vectors.path`" in message
    override = message.partition("-o '")[2].partition("'")[0]
    assert json.loads(override) == {"dataset_reader.vectors.path": "/path/to/it"}
    assert raised.value.__cause__ is None


def test_other_errors_pass_unchanged():
    with pytest.raises(ConfigurationError, match="^another$"), with_config_key(Params({}), "path"):
        raise ConfigurationError("another")


@pytest.mark.parametrize("key", ["dataset_reader", "validation_dataset_reader"])
def test_an_indexer_is_located_in_either_reader(key):
    indexer = {"type": "fasttext", "model_path": "gone.bin"}
    reader = {"type": "language_modeling", "token_indexers": {"words": indexer}}
    params = Params({key: reader})
    with pytest.raises(InvalidFileError, match=f'-o .*"{key}.token_indexers.words.model_path"'):
        DatasetReader.from_params(params.pop(key))
