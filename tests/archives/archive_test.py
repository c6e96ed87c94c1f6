import json
import os
import tarfile

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models.archival import archive_model, load_archive

from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.modules.kernels import projected_lstm
from tests.language_models import rewritten, write_language_model


def test_weights_that_are_loaded_are_not_initialised_first(lm_archive, monkeypatch):
    monkeypatch.setattr(torch.nn.init, "orthogonal_", None)
    assert LanguageModelArchive.open(lm_archive).build_model()
    with pytest.raises(TypeError):
        projected_lstm.ProjectedLstm(2, 3, False, None, None)


def test_a_model_that_continued_another_has_its_own_weights_and_the_vocabulary_of_both(tmp_path):
    first = write_language_model(tmp_path / "lm", "words")
    second = tmp_path / "other"
    config = json.loads((first / "config.json").read_text())
    config["model"] = {"type": "from_archive", "archive_file": str(archive_model(first))}
    (tmp_path / "text.txt").write_text("harbour ferry ferry captain captain captain\n")
    config.update(
        dict.fromkeys(("train_data_path", "validation_data_path"), f"{tmp_path}/text.txt")
    )
    config.update(data_loader={"batch_size": 1}, trainer={"num_epochs": 1, "optimizer": "adam"})
    train_model(Params(config), str(second))
    expected = load_archive(second).model
    model = LanguageModelArchive.open(second).build_model()
    torch.testing.assert_close(dict(model.state_dict()), dict(expected.state_dict()))
    vocabularies = [each.vocab.get_token_to_index_vocabulary() for each in (model, expected)]
    assert vocabularies[0] == vocabularies[1]
    assert Vocabulary.from_files(second / "vocabulary").get_token_index("captain") == 2


def test_a_component_of_a_package_that_was_not_imported_is_named_with_the_option(tmp_path):
    def change(config):
        config["model"]["contextualizer"] = {"type": "of_a_package"}

    model = rewritten(write_language_model(tmp_path / "lm", "words"), tmp_path / "other", change)
    error = "a configuration that does not work .of_a_package not in .* with --include-package"
    with pytest.raises(InvalidFileError, match=error):
        LanguageModelArchive.open(model).build_model()


def test_what_is_no_folder_of_a_language_model_is_not_called_damaged(tmp_path):
    # As `export-task` writes it.
    (tmp_path / "config.json").write_text("local folder = std.thisFile; {}")
    with pytest.raises(InvalidFileError, match="It must be .* or a folder of `export-model`"):
        LanguageModelArchive.open(tmp_path)


def test_a_packed_file_outside_of_the_archive_is_refused(tmp_path):
    file = tmp_path / "model.tar.gz"
    (tmp_path / "evil").write_text("evil")
    with tarfile.open(file, "w:gz") as tar:
        tar.add(tmp_path / "evil", f"../{tmp_path.name}.evil")
    with pytest.raises(InvalidFileError, match="cannot be unpacked .*outside"):
        LanguageModelArchive.open(file)


def test_weights_that_would_run_code_are_refused(tmp_path):
    class Code:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    model = write_language_model(tmp_path / "lm", "words")
    torch.save({"weights": Code()}, model / "best.th")
    with pytest.raises(InvalidFileError, match="weights that are not only tensors, and is not"):
        LanguageModelArchive.open(model).build_model()
    assert not (tmp_path / "made").exists()
