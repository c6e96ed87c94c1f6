import os
import subprocess

from tests import FIXTURES


def test_the_makefile_trains_each_table(tmp_path):
    directory = FIXTURES.parent / "experiments"
    command = ["make", "-C", directory, f"OUT={tmp_path}", "--dry-run", "SEED=3"]
    environment = {**os.environ, "SEMFIT_DATA": "/data"}
    commands = subprocess.check_output([*command, "all"], env=environment, text=True)
    assert '"random_seed": 3, "numpy_seed": 3, "pytorch_seed": 3' in commands
    for run in ("coref.minilm", "bc5cdr.elmo_semfit.pubmed", "wol.elmo_semfit_fasttext.wol"):
        assert f"{tmp_path}/tasks/{run} starts" in commands
    assert f"FASTTEXT_MODEL_PATH={tmp_path}/novels/vectors.bin" in commands
