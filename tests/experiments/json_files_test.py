import pytest

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json, write_json


def test_json_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "half.json").write_text('{"a":')
    with pytest.raises(InvalidFileError, match=r"half\.json is invalid JSON"):
        read_json(tmp_path / "half.json")
    with pytest.raises(InvalidFileError, match=r"none\.json cannot be read"):
        read_json(tmp_path / "none.json")


def test_what_is_written_is_read(tmp_path):
    file = tmp_path / "new" / "rows.json"
    write_json(file, [{"representation": "naïve", "score": 0.1}])
    assert read_json(file) == [{"representation": "naïve", "score": 0.1}]
    assert "naïve" in file.read_text("utf-8")
