import shutil
import signal
import tempfile
from functools import partial

import pytest

from allennlp_semfit.models.language_model_archive import LANGUAGE_MODEL
from allennlp_semfit.modules.kernels import projected_lstm


def test_a_signal_while_the_temporary_files_are_removed_leaves_none(
    lm_archive, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def interrupted(rmtree, *args, **kwargs):
        signal.raise_signal(signal.SIGINT)
        rmtree(*args, **kwargs)

    monkeypatch.setattr(shutil, "rmtree", partial(interrupted, shutil.rmtree))
    with pytest.raises(KeyboardInterrupt):
        LANGUAGE_MODEL.read(lm_archive)
    assert not list(tmp_path.iterdir())


def test_weights_that_are_loaded_are_not_initialised_first(lm_archive, monkeypatch):
    monkeypatch.setattr(projected_lstm, "block_orthogonal", None)
    assert LANGUAGE_MODEL.read(lm_archive).model
    with pytest.raises(TypeError):
        projected_lstm.ProjectedLstm(2, 3, False, None, None)
