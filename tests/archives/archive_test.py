import json
import shutil
import signal
import tempfile
from functools import partial
from pathlib import Path

import pytest
import torch

from allennlp_semfit.archives.archive import unpacked
from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.modules.kernels import projected_lstm
from tests.language_models import write_language_model
from tests.processes import error_in_fork


def test_a_signal_while_the_temporary_files_are_removed_leaves_none(
    lm_archive, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def interrupted(rmtree, *args, **kwargs):
        signal.raise_signal(signal.SIGINT)
        rmtree(*args, **kwargs)

    monkeypatch.setattr(shutil, "rmtree", partial(interrupted, shutil.rmtree))
    with pytest.raises(KeyboardInterrupt), unpacked(Path(lm_archive), "", "", ""):
        pass
    assert not list(tmp_path.iterdir())


def test_weights_that_are_loaded_are_not_initialised_first(lm_archive, monkeypatch):
    monkeypatch.setattr(torch.nn.init, "orthogonal_", None)
    assert LanguageModelArchive.open(lm_archive).build_model()
    with pytest.raises(TypeError):
        projected_lstm.ProjectedLstm(2, 3, False, None, None)


def test_a_component_of_a_package_that_was_not_imported_is_named_with_the_option(tmp_path):
    model = write_language_model(tmp_path / "lm", "words")
    config = json.loads((model / "config.json").read_text())
    config["model"]["contextualizer"] = {"type": "of_a_package"}
    (model / "config.json").write_text(json.dumps(config))
    error = "a configuration that does not work .of_a_package not in .* with --include-package"
    with pytest.raises(InvalidFileError, match=error):
        assert LanguageModelArchive.open(model).build_model()


def test_a_disk_without_room_for_the_contents_is_named(lm_archive, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    archive = shutil.copy(lm_archive, tmp_path)
    message = error_in_fork(LanguageModelArchive.open, archive, max_file_size=1000)
    assert message.startswith(f"{tmp_path}/")
    assert "it cannot be written (File too large); make room" in message
