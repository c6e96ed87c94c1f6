import shutil
from functools import partial

from allennlp.common import Params

from allennlp_semfit.commands import copy_configs
from tests import ROOT, files_in
from tests.commands import running

run = partial(running.run, "copy-configs")

CONFIGS = ROOT / "training_config"


def test_a_config_of_ones_own_can_import_a_copy(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO", logger="allennlp_semfit")
    run()
    line = "(import 'training_config/elmo_semfit.jsonnet') + { corpus:: 'data/mine' }"
    assert line in caplog.text
    assert files_in(tmp_path / "training_config") == files_in(CONFIGS)
    mine = tmp_path / "mine.jsonnet"
    config = "(import 'training_config/language_models/elmo_semfit_l2.jsonnet')"
    mine.write_text(f"{config} + {{ train_data_path: 'train' }}")
    assert Params.from_file(str(mine))["train_data_path"] == "train"


def test_the_copy_of_a_read_only_installation_can_be_changed(tmp_path, monkeypatch):
    shutil.copytree(CONFIGS, tmp_path / "package" / "training_config")
    monkeypatch.setattr(copy_configs, "_PACKAGE", tmp_path / "package")
    (tmp_path / "package" / "training_config" / "tasks").chmod(0o500)
    run(tmp_path / "copy")
    assert (tmp_path / "copy" / "tasks").stat().st_mode & 0o200
