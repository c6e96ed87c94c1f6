import os
import re
import subprocess

from experiments.json_files import read_json
from experiments.results import RUNS
from tests import ROOT


def test_the_makefile_trains_what_is_recorded(tmp_path):
    directory = ROOT / "experiments"
    command = ["make", "-C", directory, f"OUT={tmp_path}", "--dry-run", "SEED=3"]
    environment = {**os.environ, "SEMFIT_DATA": "/data"}
    commands = subprocess.check_output([*command, "all"], env=environment, text=True)
    assert '"random_seed": 3, "numpy_seed": 3, "pytorch_seed": 3' in commands
    for run in read_json(RUNS)["tasks"]:
        name = ".".join(filter(None, (run["task"], run["representation"], run["corpus"])))
        assert f"{tmp_path}/tasks/{name} starts" in commands
    assert f"FASTTEXT_MODEL_PATH={tmp_path}/novels/vectors.bin" in commands
    (training,) = re.findall(rf".* -s {tmp_path}/tasks/bc5cdr_longer.fasttext.pubmed .*", commands)
    assert f"NER_TRAIN_DATA_PATH={tmp_path}/data/bc5cdr_train.conll" in training
    assert '"trainer.num_epochs": 24' in training
    # A language names a corpus and a task, and sets the steps of the language model only.
    (training,) = re.findall(rf".* -s {tmp_path}/tasks/wol.fasttext.wol .*", commands)
    assert "num_epochs" not in training
    (training,) = re.findall(rf".* -s {tmp_path}/tasks/ner.elmo_semfit_layer0.novels .*", commands)
    assert "WORD_REPRESENTATION=elmo_semfit_layer0" in training
    assert f"LM_ARCHIVE_PATH={tmp_path}/novels/models/elmo_semfit/model.tar.gz" in training
    vectors = re.escape(f"{tmp_path}/pubmed_300d_whitened/vectors.bin")
    assert re.search(f"train-fasttext .* {vectors} --dim 300 .*--whiten", commands)
    for table in ("svd.txt", "pca.txt"):
        assert re.search(f"train-svd .* {tmp_path}/novels/{table} ", commands)
    assert f"sample_lines 4000 {tmp_path}/novels_4000/train" in commands
    # One pass over many sentences, and no fewer steps than by default over few.
    for corpus, steps in (("pubmed_80000", 2500), ("pubmed_4000", 1500)):
        (training,) = re.findall(rf".* -s {tmp_path}/{corpus}/models/elmo_semfit .*", commands)
        assert f'"data_loader.batches_per_epoch": {steps}' in training
