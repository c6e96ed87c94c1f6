from functools import partial

import pytest
from allennlp.common import Params

from tests import FIXTURES
from tests.commands import running

run = partial(running.run, "copy-configs")

CONFIGS = FIXTURES.parent / "training_config"


def files(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_copies_what_a_config_of_ones_own_imports(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO", logger="allennlp_semfit")
    run()
    assert "import 'training_config/lib/elmo_semfit.libsonnet' in a config" in caplog.text
    assert files(tmp_path / "training_config") == files(CONFIGS)
    mine = tmp_path / "mine.jsonnet"
    mine.write_text("""
        local elmo_semfit = import 'training_config/lib/elmo_semfit.libsonnet';
        elmo_semfit(
          train_data_path='train', validation_data_path='heldout.txt', model_path='vectors.bin',
          embedding_dim=100, hidden_dim=128, cell_size=512, num_epochs=4, num_updates=100,
          learning_rate=4e-4, warmup_steps=20, data_loader={ batch_size: 16 }, trainer={},
        )
    """)
    assert Params.from_file(str(mine))["train_data_path"] == "train"


def test_replaces_nothing(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(SystemExit, match="mine exists"):
        run(str(tmp_path / "mine"))


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match="copy-configs: .*file"):
        run(str(tmp_path / "file" / "mine"))
