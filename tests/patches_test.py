"""The functions of AllenNLP that the plugin changes work. `imports_test.py` has their names."""

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.tokenizers import PretrainedTransformerTokenizer
from allennlp.models import Model
from allennlp.training import Checkpointer
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from transformers import BertConfig, BertModel, BertTokenizerFast

from tests import FIXTURES


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


def test_workers_may_come_from_a_server():
    reader = DatasetReader.from_params(Params({"type": "language_modeling"}))
    loader = MultiProcessDataLoader(
        reader,
        str(FIXTURES / "corpus" / "validation.txt"),
        batch_size=4,
        num_workers=1,
        start_method="forkserver",
    )
    loader.index_with(Vocabulary())
    assert sum(len(batch["source"]["tokens"]["tokens"]) for batch in loader) == 8


@pytest.fixture
def bert(tmp_path, monkeypatch):
    # A process that has used the threads of `tokenizers` prints a warning at each later fork.
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    path = tmp_path / "bert"
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] a b the cat sleep ##s 1 2"
    (tmp_path / "vocab.txt").write_text("\n".join(words.split()))
    tokenizer = BertTokenizerFast(str(tmp_path / "vocab.txt"))
    tokenizer.save_pretrained(path)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    BertModel(config).save_pretrained(path)
    return str(path)


@pytest.mark.parametrize("add_special_tokens", [True, False])
def test_a_tokenizer_adds_special_tokens_where_it_is_told_to(bert, add_special_tokens):
    tokenizer = PretrainedTransformerTokenizer(bert, add_special_tokens)
    subwords = [token.text for token in tokenizer.tokenize("the cat sleeps")]
    expected = ["the", "cat", "sleep", "##s"]
    assert subwords == (["[CLS]", *expected, "[SEP]"] if add_special_tokens else expected)


def test_a_pretrained_transformer_can_be_an_embedder(bert):
    embedder = {"type": "pretrained_transformer_mismatched", "model_name": bert}
    model = {
        "type": "simple_tagger",
        "text_field_embedder": {"token_embedders": {"bert": embedder}},
        "encoder": {"type": "pass_through", "input_dim": 8},
    }
    vocab = Vocabulary()
    vocab.add_token_to_namespace("N", "labels")
    assert Model.from_params(Params(model), vocab=vocab)
