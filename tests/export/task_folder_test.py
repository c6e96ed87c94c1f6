import copy
import json
import shutil
import tarfile

import numpy
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.export.task_folder import export_task
from tests import VECTORS
from tests.commands.running import error_of, run
from tests.language_models import with_vectors, write_language_model
from tests.tagging import predict, tagging_config


@pytest.fixture
def home(lm_archive, tmp_path):
    """The directory of a language model's folder, fastText's vectors, and a tagger with both."""
    home = tmp_path / "home"
    home.mkdir()
    export_model(lm_archive, home / "lm", VECTORS)
    vectors = str(shutil.copy(VECTORS, home / "words.bin"))
    lm = {"type": "elmo_semfit", "archive_file": str(home / "lm")}
    config = tagging_config(
        home,
        {"lm": lm, "words": {"type": "fasttext", "model_path": vectors}},
        {"lm": lm, "words": {"type": "fasttext", "embedding_dim": 10}},
        {"type": "pass_through", "input_dim": 22},
    )
    # AllenNLP predicts with the reader of the validation data.
    config["validation_dataset_reader"] = copy.deepcopy(config["dataset_reader"])
    train_model(Params(config), str(home / "tagger"))
    return home


def test_a_moved_folder_predicts_the_same_without_the_files_of_its_training(home, tmp_path):
    expected = predict(home / "tagger" / "model.tar.gz")
    export_task(home / "tagger" / "model.tar.gz", tmp_path / "first")
    # Another folder can be made from a folder.
    export_task(tmp_path / "first", tmp_path / "exported")
    shutil.rmtree(tmp_path / "first")
    shutil.rmtree(home)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    folder = (tmp_path / "exported").rename(moved / "my tagger")
    assert predict(folder) == expected

    # AllenNLP deletes what it unpacks as soon as the model is loaded.
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as tar:
        tar.add(folder, "")
    shutil.rmtree(folder)
    assert predict(tmp_path / "model.tar.gz") == expected


def test_a_task_that_continued_another_can_be_moved(home, tmp_path):
    config = json.loads((home / "tagger" / "config.json").read_text())
    config["model"] = {"type": "from_archive", "archive_file": str(home / "tagger/model.tar.gz")}
    train_model(Params(config), str(home / "continued"))
    expected = predict(home / "continued" / "model.tar.gz")
    assert export_task(home / "continued", tmp_path / "folder") == "semfit_tagger"
    shutil.rmtree(home)
    assert predict(tmp_path / "folder") == expected


def test_a_language_model_that_has_been_moved_is_given_once(home, tmp_path):
    expected = predict(home / "tagger")
    lm = shutil.move(home / "lm", tmp_path / "moved")
    error = error_of("export-task", home / "tagger", tmp_path / "out")
    assert f"{home / 'lm'} does not exist" in error
    assert "--language-model" in error
    assert not (tmp_path / "out").exists()
    run("export-task", home / "tagger", tmp_path / "out", "--language-model", lm)
    assert predict(tmp_path / "out") == expected


def test_each_of_two_language_models_is_in_the_folder(tmp_path):
    home = tmp_path / "home"
    models = {
        kind: {
            "type": "elmo_semfit",
            "archive_file": str(write_language_model(home / kind, kind, archive=True)),
        }
        for kind in ("words", "characters")
    }
    config = tagging_config(home, models, models, {"type": "pass_through", "input_dim": 24})
    train_model(Params(config), str(home / "tagger"))
    expected = predict(home / "tagger")
    export_task(home / "tagger", tmp_path / "out")
    shutil.rmtree(home)
    assert predict(tmp_path / "out") == expected


def test_a_fasttext_file_that_has_been_moved_is_given_once(lm_archive, tmp_path):
    vectors = shutil.copy(VECTORS, tmp_path / "old.bin")
    language_model = with_vectors(vectors, lm_archive, tmp_path / "lm")
    lm = {"type": "elmo_semfit", "archive_file": str(language_model)}
    config = tagging_config(
        tmp_path, {"lm": lm}, {"lm": lm}, {"type": "pass_through", "input_dim": 12}
    )
    train_model(Params(config), str(tmp_path / "tagger"))
    expected = predict(tmp_path / "tagger")
    moved = shutil.move(vectors, tmp_path / "new.bin")
    export_task(tmp_path / "tagger", tmp_path / "out", fasttext_model_path=str(moved))
    # A further training may write the weights in place.
    (tmp_path / "tagger" / "best.th").write_bytes(b"")
    assert predict(tmp_path / "out") == expected


def test_compact_vectors(home, tmp_path):
    export_task(home / "tagger", tmp_path / "out", compact=True)
    assert (tmp_path / "out" / "language_model" / "vectors.safetensors").is_file()
    numpy.testing.assert_allclose(predict(tmp_path / "out"), predict(home / "tagger"), atol=0.01)


def test_a_missing_file_is_named(home, tmp_path):
    (home / "words.bin").unlink()
    error = error_of("export-task", home / "tagger", tmp_path / "out")
    assert f"{home / 'words.bin'} does not exist" in error
    assert not (tmp_path / "out").exists()


def test_another_language_model_is_refused(home, tmp_path):
    other = write_language_model(tmp_path / "other", "characters")
    error = error_of("export-task", home / "tagger", tmp_path / "out", "--language-model", other)
    assert "cannot be loaded" in error
    assert "--language-model" in error
    assert not (tmp_path / "out").exists()


def test_a_task_is_no_language_model(home, tmp_path):
    export_task(home / "tagger", tmp_path / "out")
    assert "_data_path" not in (tmp_path / "out" / "config.json").read_text()
    inner = tmp_path / "out" / "language_model"
    with pytest.raises(InvalidFileError, match=f"is a folder of `export-task`.* in it, {inner}"):
        export_model(tmp_path / "out", tmp_path / "lm")


def test_the_directory_of_another_archive_is_refused(home, tmp_path):
    config = json.loads((home / "tagger" / "config.json").read_text())
    mimick = {"type": "mimick", "archive_file": str(home / "lm")}
    config["dataset_reader"]["token_indexers"]["mimick"] = mimick
    (home / "tagger" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigurationError, match=f"{home / 'lm'}: it is a directory"):
        export_task(home / "tagger", tmp_path / "out")


def test_what_is_no_archive_is_named(tmp_path):
    (tmp_path / "model.tar.gz").write_bytes(b"no archive")
    with pytest.raises(InvalidFileError, match=r"task model .*model.tar.gz cannot be unpacked"):
        export_task(tmp_path / "model.tar.gz", tmp_path / "out")
    for text in ("no config", "{}"):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(InvalidFileError, match="has no configuration"):
            export_task(tmp_path, tmp_path / "out")
    (tmp_path / "config.json").write_text('{"model": {}}')
    with pytest.raises(InvalidFileError, match="has no best.th"):
        export_task(tmp_path, tmp_path / "out")
