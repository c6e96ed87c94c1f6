import logging
import re
from functools import partial

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from tests import VECTORS
from tests.commands import running

run = partial(running.run, "train-svd")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("rain fell on the quiet harbour all night\nthe night fell\n" * 40)
    return path


def test_trains_and_says_what_is_next(corpus, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="allennlp_semfit")
    out, vocabulary = tmp_path / "the table.txt", tmp_path / "vocabulary"
    options = ["--dim", 4, "--vocabulary-dir", vocabulary, "--num-workers", 2]
    run(corpus, corpus, out, *options)
    shown = re.search(
        rf"{out}: 880 words in the corpus, 10 vectors, (\d+) nonzeros, 4 dimensions with "
        r"\d\d\.\d% of the matrix's squared Frobenius norm, \d+\.\d seconds\.",
        caplog.text,
    )
    assert shown

    following = re.search(
        "Next: give (.*) as the `pretrained_file` of the .* and (.*) as the `directory` of the "
        "vocabulary, as in training_config/language_models/elmo_semfit_svd.jsonnet",
        caplog.text,
    )
    vocab = Vocabulary.from_params(Params({"type": "from_files", "directory": following[2]}))
    target_embedder = {
        "type": "embedding",
        "embedding_dim": 4,
        "pretrained_file": following[1],
        "trainable": False,
    }
    params = {
        "type": "semfit",
        "input_dim": 3,
        "embedding_dim": 4,
        "target_embedder": target_embedder,
        "target_indexer": "tokens",
    }
    head = LmHead.from_params(Params(params), vocab=vocab)
    fell = torch.tensor([[vocab.get_token_index("fell")]])
    targets = head.target_vectors({"tokens": {"tokens": fell}}, torch.zeros(1, 1, 5))
    # The row of "fell" in the table.
    row = out.read_text().split("\nfell ")[1].split("\n")[0].split(" ")
    assert targets[0, 0].tolist() == pytest.approx(list(map(float, row)))


def test_pca_has_no_nonzeros(corpus, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="allennlp_semfit")
    run(corpus, tmp_path / "out.txt", "--pca-of", VECTORS, "--dim", 2)
    assert re.search(
        r"440 words in the corpus, 10 vectors, 2 dimensions with \d\d\.\d% of the variance, ",
        caplog.text,
    )
    assert "and the directory of --vocabulary-dir as the `directory`" in caplog.text


def test_a_matrix_and_pca_exclude_each_other(corpus, capsys):
    with pytest.raises(SystemExit):
        run(corpus, "out.txt", "--matrix", "conditional", "--pca-of", VECTORS)
    assert "not allowed with argument --matrix" in capsys.readouterr().err
