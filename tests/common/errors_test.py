import json
import os
import pickle
from unittest.mock import Mock

import huggingface_hub
import pytest
import requests
from allennlp.common import Params, file_utils
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.common.errors import InvalidFileError, check_bounds, resolve_path


class Reading(NamesConfigKey):
    def __init__(self, path: str) -> None:
        raise InvalidFileError(path, "does not exist", "Train one.")


def test_the_error_says_where_the_file_is_named_and_how_to_name_another():
    params = Params({"dataset_reader": {"vectors": {"path": "gone.bin"}}})
    inner = params["dataset_reader"]["vectors"]
    with pytest.raises(InvalidFileError) as raised:
        Reading.from_params(inner)
    assert raised.value.key == "dataset_reader.vectors.path"
    message = str(raised.value)
    assert message.startswith("gone.bin does not exist. Train one. ")
    assert "`dataset_reader.vectors.path`" in message
    # If there are several -o, AllenNLP uses only the last.
    assert "all in one -o" in message
    override = message.partition("-o '")[2].partition("'")[0]
    assert json.loads(override) == {"dataset_reader.vectors.path": "/path/to/it"}


@pytest.mark.parametrize("key", [None, "model.path"])
def test_a_pickled_copy_has_the_same_fields(key):
    error = InvalidFileError("a.bin", "is empty", "Give another.", "model", key)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is InvalidFileError
    assert vars(copied) == vars(error)
    assert str(copied) == str(error)


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (-1, {}, "at least 0"),
        (float("nan"), {}, "at least 0"),
        (float("inf"), {}, "at least 0 and finite"),
        (0, {"but_not": 0}, "greater than 0"),
        (float("inf"), {"but_not": 0}, "greater than 0 and finite"),
        (1.0, {"at_most": 1, "but_not": 1}, "at least 0 and less than 1"),
        (1.5, {"at_most": 1}, "at least 0 and at most 1"),
    ],
)
def test_a_value_out_of_bounds(value, options, expected):
    check_bounds({"a": 0.5, "b": None}, at_least=0, **options)
    with pytest.raises(ConfigurationError) as raised:
        check_bounds({"a": 0.5, "--lr": value}, at_least=0, **options)
    assert raised.value.message == f"--lr must be {expected}, got {value}"


class TestResolvePath:
    def test_a_pipe_or_a_device(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", "/dev/zero"):
            with pytest.raises(InvalidFileError, match=f"^model {path} is not a regular file. W"):
                resolve_path(path, "Train one.", "model")

    def test_a_missing_file(self, tmp_path):
        file = tmp_path / "gone.bin"
        with pytest.raises(InvalidFileError) as raised:
            resolve_path(file, "Train one.", "model")
        message = f"model {file} does not exist (working directory: {os.getcwd()}). Train one."
        assert str(raised.value) == message

    @pytest.mark.parametrize("url", ["hf://nobody/model", "hf://nobody/model/vectors.bin"])
    def test_without_the_hub(self, url, tmp_path, monkeypatch, request):
        monkeypatch.setattr(file_utils, "CACHE_DIRECTORY", str(tmp_path))
        # The Hub's client would retry for half a minute.
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        # Close the sessions of other tests, which are not offline, and that of this one.
        huggingface_hub.configure_http_backend()
        request.addfinalizer(huggingface_hub.configure_http_backend)
        with pytest.raises(InvalidFileError) as raised:
            resolve_path(url, "Train one.", "model")
        message = str(raised.value)
        assert message.startswith(f"model {url} cannot be fetched (Cannot reach https://hugg")
        assert "offline mode is enabled" in message
        assert message.endswith("Try again, or give a local copy.")
        assert "\n" not in message

    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (FileNotFoundError("model.bin"), "does not exist. Train one.$"),
            (
                requests.ConnectionError("no route\nto host"),
                r"cannot be fetched \(no route to host",
            ),
        ],
    )
    def test_a_url_that_cannot_be_read(self, error, message, monkeypatch):
        # AllenNLP would retry for half a minute.
        monkeypatch.setattr(file_utils, "cached_path", Mock(side_effect=error))
        with pytest.raises(InvalidFileError, match=f"^model https://localhost/m.bin {message}"):
            resolve_path("https://localhost/m.bin", "Train one.", "model")

    def test_a_local_path_needs_no_cache(self, tmp_path, monkeypatch):
        # AllenNLP's cache is in the home directory, which may be read-only.
        monkeypatch.setattr(file_utils, "cached_path", Mock(side_effect=PermissionError))
        monkeypatch.setenv("HOME", str(tmp_path))
        assert resolve_path("~", "Train one.", "model") == str(tmp_path)
        with pytest.raises(InvalidFileError, match="^model ~/gone.bin does not exist "):
            resolve_path("~/gone.bin", "Train one.", "model")
