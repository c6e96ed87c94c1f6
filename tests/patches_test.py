"""The functions of AllenNLP that the plugin changes work. `imports_test.py` has their names."""

import pytest
import torch
from allennlp.common import Params
from allennlp.data.tokenizers import PretrainedTransformerTokenizer
from allennlp.training import Checkpointer
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from transformers import BertTokenizerFast


@pytest.mark.parametrize("verbose", [{}, {"verbose": True}])
def test_reduce_on_plateau_halves_the_learning_rate(verbose):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.8)
    params = {"type": "reduce_on_plateau", "factor": 0.5, "mode": "max", "patience": 0}
    scheduler = LearningRateScheduler.from_params(
        Params({**params, **verbose}), optimizer=optimizer
    )
    learning_rates = []
    for metric in [0.3, 0.2, 0.4, 0.4]:
        scheduler.step(metric)
        learning_rates.append(optimizer.param_groups[0]["lr"])
    assert learning_rates == pytest.approx([0.8, 0.4, 0.4, 0.2])


def test_a_training_state_may_have_any_type(tmp_path):
    torch.save({"weight": torch.zeros(1)}, tmp_path / "model_state_e1_b0.th")
    torch.save({"best": complex(1, 2), "path": tmp_path}, tmp_path / "training_state_e1_b0.th")
    checkpoint = Checkpointer(tmp_path).load_checkpoint()
    assert checkpoint.trainer_state["path"] == tmp_path
    assert checkpoint.model_state == {"weight": torch.zeros(1)}


@pytest.mark.parametrize("add_special_tokens", [True, False])
def test_a_tokenizer_adds_special_tokens_where_it_is_told_to(
    add_special_tokens, tmp_path, monkeypatch
):
    # A process that has used the threads of `tokenizers` prints a warning at each later fork.
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] a b the cat sleep ##s 1 2"
    (tmp_path / "vocab.txt").write_text("\n".join(words.split()))
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "bert")
    tokenizer = PretrainedTransformerTokenizer(str(tmp_path / "bert"), add_special_tokens)
    subwords = [token.text for token in tokenizer.tokenize("the cat sleeps")]
    expected = ["the", "cat", "sleep", "##s"]
    assert subwords == (["[CLS]", *expected, "[SEP]"] if add_special_tokens else expected)
