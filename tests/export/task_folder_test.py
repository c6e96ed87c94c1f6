import copy
import json
import shutil
import tarfile
from pathlib import Path

import numpy
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

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
    # Here, the labels have another order.
    Path(config["train_data_path"]).write_text("The###D\nThe###D snow###V\nA###D gate###N\n")
    train_model(Params(copy.deepcopy(config)), str(home / "continued"))
    trained_labels = labels(home / "tagger")
    assert (home / "continued/vocabulary/labels.txt").read_text().split() != trained_labels
    config["model"] = {"type": "from_archive", "archive_file": str(home / "continued")}
    train_model(Params(config), str(home / "again"))
    expected = predict(home / "again" / "model.tar.gz")
    assert export_task(home / "again", tmp_path / "folder") == "semfit_tagger"
    shutil.rmtree(home)
    assert predict(tmp_path / "folder") == expected
    assert labels(tmp_path / "folder") == trained_labels


def test_a_task_that_continued_a_folder_is_given_one_path_of_its_language_model(home, tmp_path):
    export_task(home / "tagger", tmp_path / "first")
    config = json.loads((home / "tagger" / "config.json").read_text())
    config["model"] = {"type": "from_archive", "archive_file": str(tmp_path / "first")}
    train_model(Params(config), str(home / "continued"))
    expected = predict(home / "continued")
    with pytest.raises(InvalidFileError, match="other paths .* give the right one"):
        export_task(home / "continued", tmp_path / "folder")
    export_task(home / "continued", tmp_path / "folder", str(home / "lm"))
    assert predict(tmp_path / "folder") == expected


def labels(archive_file):
    vocab = load_archive(archive_file).model.vocab
    return list(vocab.get_index_to_token_vocabulary("labels").values())


def test_a_part_that_is_an_archive_is_refused(home, tmp_path):
    path = home / "tagger" / "config.json"
    config = json.loads(path.read_text())
    part = {"type": "from_archive", "archive_file": str(home / "tagger" / "model.tar.gz")}
    config["model"] = {"type": "mean_of_taggers", "taggers": [part]}
    path.write_text(json.dumps(config))
    with pytest.raises(InvalidFileError, match="has a part of type `from_archive`. If that arc"):
        export_task(home / "tagger", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


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


def test_a_language_model_whose_fasttext_file_has_been_moved_is_exported_first(
    lm_archive, tmp_path
):
    vectors = shutil.copy(VECTORS, tmp_path / "old.bin")
    language_model = with_vectors(vectors, lm_archive, tmp_path / "lm")
    lm = {"type": "elmo_semfit", "archive_file": str(language_model)}
    config = tagging_config(
        tmp_path, {"lm": lm}, {"lm": lm}, {"type": "pass_through", "input_dim": 12}
    )
    train_model(Params(config), str(tmp_path / "tagger"))
    expected = predict(tmp_path / "tagger")
    moved = shutil.move(vectors, tmp_path / "new.bin")
    error = error_of("export-task", tmp_path / "tagger", tmp_path / "out")
    assert f"export-model {language_model} FOLDER --fasttext-model-path PATH`, and use" in error
    folder = str(tmp_path / "folder")
    export_model(language_model, folder, fasttext_model_path=str(moved))
    export_task(tmp_path / "tagger", tmp_path / "out", language_model=folder)
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


def test_the_paths_of_the_training_data_are_left_out(home, tmp_path):
    path = home / "tagger" / "config.json"
    config = json.loads(path.read_text())
    config["vocabulary"] = {"type": "from_files", "directory": str(home / "vocabulary")}
    path.write_text(json.dumps(config))
    export_task(home / "tagger", tmp_path / "out")
    text = (tmp_path / "out" / "config.json").read_text()
    assert "from_files" in text
    assert "_data_path" not in text
    assert str(home) not in text


def test_a_task_is_no_language_model(home, tmp_path):
    export_task(home / "tagger", tmp_path / "out")
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


def test_what_is_no_archive_is_named(home, tmp_path):
    (tmp_path / "model.tar.gz").write_bytes(b"no archive")
    with pytest.raises(InvalidFileError, match=r"task model .*model.tar.gz cannot be unpacked"):
        export_task(tmp_path / "model.tar.gz", tmp_path / "out")
    (tmp_path / "best.th").touch()
    with pytest.raises(InvalidFileError, match="has no vocabulary"):
        export_task(tmp_path, tmp_path / "out")
    shutil.copytree(home / "tagger" / "vocabulary", tmp_path / "vocabulary")
    for text in ("no config", "{}"):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(InvalidFileError, match="cannot be read"):
            export_task(tmp_path, tmp_path / "out")
    (tmp_path / "vocabulary" / "tokens.txt").write_text("no unknown word")
    (tmp_path / "config.json").write_text('{"model": {}}')
    with pytest.raises(InvalidFileError, match="cannot be read .OOV token not found"):
        export_task(tmp_path, tmp_path / "out")
