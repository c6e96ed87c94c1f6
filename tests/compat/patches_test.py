import importlib
import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict

import numpy
import pytest
import torch
from allennlp.commands import train as train_module
from allennlp.common import Params
from allennlp.data import DatasetReader, Instance, Token
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import TextField
from allennlp.data.samplers import MaxTokensBatchSampler
from allennlp.data.tokenizers import PretrainedTransformerTokenizer
from allennlp.models import SimpleTagger, load_archive
from allennlp.training.callbacks import TrainerCallback
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.optimizers import SgdOptimizer
from transformers import BertConfig, BertModel, BertTokenizerFast

from allennlp_semfit import compat
from tests import FIXTURES
from tests.compat.tagger import train


class TestReduceOnPlateau:
    @pytest.mark.parametrize("verbose", [{}, {"verbose": False}, {"verbose": True}])
    def test_halves_the_learning_rate_on_a_plateau(self, verbose):
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

    def test_passes_everything_on(self):
        parameters = {
            "mode": "max",
            "factor": 0.3,
            "patience": 4,
            "threshold": 0.02,
            "threshold_mode": "abs",
            "cooldown": 3,
            "eps": 1e-6,
        }
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.8)
        scheduler = LearningRateScheduler.from_params(
            Params({"type": "reduce_on_plateau", "min_lr": 0.01, **parameters}), optimizer=optimizer
        )
        assert scheduler.lr_scheduler.min_lrs == [0.01]
        assert {key: getattr(scheduler.lr_scheduler, key) for key in parameters} == parameters


@TrainerCallback.register("scaler_on_the_cpu")
class ScalerOnTheCpu(TrainerCallback):
    def on_start(self, trainer, is_primary=True, **kwargs):
        trainer._scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)


@pytest.mark.parametrize("steps", [2, 3])
def test_scaled_gradients_are_accumulated_as_others(steps, directory):
    """Also in an epoch of two batches, fewer than the steps."""
    weights = []
    for callbacks in ([], ["scaler_on_the_cpu"]):
        train(None, num_gradient_accumulation_steps=steps, callbacks=callbacks)
        weights.append(torch.load("run/best.th"))
        shutil.rmtree("run")
    torch.testing.assert_close(*weights)


def test_may_be_imported_and_applied_again():
    mends = importlib.reload(compat)
    mends.apply_patches()
    mends.apply_patches()
    TestReduceOnPlateau().test_halves_the_learning_rate_on_a_plateau({})


def test_batches_of_so_many_tokens_wait_in_a_queue_with_an_end():
    sampler = MaxTokensBatchSampler(max_tokens=200, sorting_keys=["source"])
    loader = MultiProcessDataLoader(
        DatasetReader(), "none", batch_sampler=sampler, num_workers=2, max_instances_in_memory=80
    )
    # Of 8 sentences each.
    assert loader._max_batch_queue_size == 2 * 2 * 80 // 8


def test_no_batch_of_so_many_tokens_is_empty():
    fields = [TextField([Token("a")] * length) for length in (5, 6, 7)]
    sampler = MaxTokensBatchSampler(max_tokens=4, sorting_keys=["source"], padding_noise=0)
    batches = sampler.get_batch_indices([Instance({"source": field}) for field in fields])
    assert sorted(batches) == [[0], [1], [2]]


class TestCpuAmp:
    @pytest.fixture
    def observed(self, monkeypatch):
        """The type of a matrix product in each forward pass and each update."""
        found = {"forward": set(), "update": set()}

        def observe(owner, method, where):
            original = getattr(owner, method)

            def observing(self, *args, **kwargs):
                found[where].add((torch.ones(1, 1) @ torch.ones(1, 1)).dtype)
                return original(self, *args, **kwargs)

            monkeypatch.setattr(owner, method, observing)

        observe(SimpleTagger, "forward", "forward")
        # AllenNLP's optimizers are subclasses of PyTorch's, whose `step` PyTorch wraps.
        observe(SgdOptimizer, "step", "update")
        return found

    def test_it_trains_in_bfloat16(self, directory, observed, monkeypatch):
        monkeypatch.setattr(compat, "has_bfloat16_instructions", lambda: True)
        train(None, use_amp=True)
        assert observed == {"forward": {torch.bfloat16}, "update": {torch.float32}}
        assert "no instructions for bfloat16" not in Path("run/out.log").read_text()
        model = load_archive("run/model.tar.gz").model
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
        metrics = json.loads(Path("run/metrics.json").read_text())
        assert metrics["training_loss"] > 0

    def test_it_is_off_by_default(self, directory, observed):
        train(None)
        assert observed == {"forward": {torch.float32}, "update": {torch.float32}}

    def test_it_warns_where_it_is_slow(self, directory, monkeypatch):
        monkeypatch.setattr(compat, "has_bfloat16_instructions", lambda: False)
        train(None, use_amp=True)
        assert Path("run/out.log").read_text().count("no instructions for bfloat16") == 1


class TestPretrainedTransformer:
    @pytest.fixture
    def bert(self, tmp_path, monkeypatch):
        # A process that has used the threads of `tokenizers` prints a warning at each later fork.
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
        path = tmp_path / "bert"
        words = "[PAD] [UNK] [CLS] [SEP] [MASK] a b the cat dog sleep ##s bark loud ##ly 1 2"
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
    def test_the_tokenizer_adds_special_tokens_where_it_is_told_to(self, bert, add_special_tokens):
        tokenizer = PretrainedTransformerTokenizer(bert, add_special_tokens)
        subwords = [token.text for token in tokenizer.tokenize("the cat sleeps")]
        expected = ["the", "cat", "sleep", "##s"]
        assert subwords == (["[CLS]", *expected, "[SEP]"] if add_special_tokens else expected)

    @pytest.mark.parametrize("suffix", ["", "_mismatched"])
    def test_bert_trains_beside_elmo(self, suffix, bert, directory, tmp_path, lm_archive):
        # The language model looks for its vectors by a relative path.
        (tmp_path / FIXTURES.name).symlink_to(FIXTURES)
        both: Dict[str, Any] = {
            "bert": {"type": f"pretrained_transformer{suffix}", "model_name": bert},
            "elmo": {"type": "elmo_semfit", "archive_file": lm_archive},
        }
        params = {
            "dataset_reader": {"type": "sequence_tagging", "token_indexers": deepcopy(both)},
            "train_data_path": "tagged.tsv",
            "model": {
                "type": "simple_tagger",
                "text_field_embedder": {"token_embedders": both},
                # BERT's 8 dimensions, and the language model's 12.
                "encoder": {"type": "pass_through", "input_dim": 20},
            },
            "data_loader": {"batch_size": 8},
            "trainer": {
                "num_epochs": 1,
                "cuda_device": -1,
                "optimizer": {"type": "sgd", "lr": 0.1},
            },
        }
        model = train_module.train_model(Params(params), "run")
        name = "embeddings.word_embeddings.weight"
        before = BertModel.from_pretrained(bert).state_dict()[name]
        (after,) = [value for key, value in model.state_dict().items() if key.endswith(name)]
        assert not torch.equal(after, before)
        archive = load_archive("run/model.tar.gz")
        instance = next(iter(archive.dataset_reader.read("tagged.tsv")))
        expected = model.eval().forward_on_instance(instance)["logits"]
        actual = archive.model.eval().forward_on_instance(instance)["logits"]
        numpy.testing.assert_array_equal(actual, expected)
