import glob
import importlib
import inspect
import json
import logging
import multiprocessing
import os
import shutil
import sys
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict

import numpy
import pytest
import torch
from allennlp.commands import train as train_module
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance, Token, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import TextField
from allennlp.data.samplers import MaxTokensBatchSampler
from allennlp.data.tokenizers import PretrainedTransformerTokenizer
from allennlp.models import SimpleTagger, load_archive
from allennlp.training import GradientDescentTrainer
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.optimizers import SgdOptimizer
from transformers import BertConfig, BertModel, BertTokenizerFast

from allennlp_semfit import compat
from allennlp_semfit.common.output import lock_output
from tests import FIXTURES
from tests.processes import error_in_fork

SENTENCES = ["a###D cat###N sleeps###V", "the###D old###A dog###N barks###V loudly###R"] * 4


@pytest.fixture(autouse=True)
def _mended() -> None:
    compat.apply_patches()


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tagged.tsv").write_text("\n".join(SENTENCES) + "\n")
    root, hook = logging.getLogger(), sys.excepthook
    handlers, level = root.handlers[:], root.level
    yield
    # `train_model` replaces them for the whole process.
    root.handlers[:], sys.excepthook = handlers, hook
    root.setLevel(level)


def train(
    scheduler: Any,
    *,
    recover: bool = False,
    force: bool = False,
    num_epochs: int = 3,
    **trainer: Any,
) -> Dict[str, Any]:
    """Trains for epochs of two batches, and returns the last training state."""
    params = Params(
        {
            "dataset_reader": {"type": "sequence_tagging"},
            "train_data_path": "tagged.tsv",
            "validation_data_path": "tagged.tsv",
            "model": {
                "type": "simple_tagger",
                "text_field_embedder": {
                    "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}
                },
                "encoder": {"type": "lstm", "input_size": 3, "hidden_size": 4},
            },
            "data_loader": {"batch_size": 4},
            "trainer": {
                "num_epochs": num_epochs,
                "cuda_device": -1,
                "optimizer": {"type": "sgd", "lr": 0.1},
                "validation_metric": "+accuracy",
                "learning_rate_scheduler": scheduler,
                **trainer,
            },
        }
    )
    train_module.train_model(params, "run", recover=recover, force=force)
    return torch.load(max(glob.glob("run/training_state_*.th")), weights_only=False)


def stop_in_epoch(epoch_to_stop_in: int, monkeypatch, error=InterruptedError) -> None:
    train_epoch = GradientDescentTrainer._train_epoch

    def stop(self: GradientDescentTrainer, epoch: int) -> Dict[str, float]:
        if epoch == epoch_to_stop_in:
            raise error
        return train_epoch(self, epoch)

    monkeypatch.setattr(GradientDescentTrainer, "_train_epoch", stop)


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

    def test_leaves_a_pytorch_alone_that_takes_verbose(self, monkeypatch):
        class WithVerbose:
            def __init__(self, optimizer, verbose=False) -> None:
                pass

        kind = compat.ReduceOnPlateauLearningRateScheduler
        original = object()
        monkeypatch.setattr(torch.optim.lr_scheduler, "ReduceLROnPlateau", WithVerbose)
        monkeypatch.setattr(kind, "__init__", original)
        compat.apply_patches()
        assert inspect.getattr_static(kind, "__init__") is original


# Of each epoch. The patience runs out when it falls.
SCORES = {"last": [0.3, 0.5], "first": [0.5, 0.4, 0.9]}


def train_with_scores(best: str, monkeypatch, *, recover: bool = False, **trainer) -> None:
    scores = SCORES[best]
    validate = GradientDescentTrainer._validation_loss

    def note_epoch(self, epoch):
        self.model.epoch = epoch
        return validate(self, epoch)

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return {"accuracy": scores[getattr(self, "epoch", 0)]}

    with monkeypatch.context() as patch:
        patch.setattr(GradientDescentTrainer, "_validation_loss", note_epoch)
        patch.setattr(SimpleTagger, "get_metrics", get_metrics)
        train(None, recover=recover, num_epochs=len(scores), patience=1, **trainer)


def killed_at(step: int, function: Callable) -> bool:
    """
    Calls a function in a forked process, which kills itself at the given step of writing
    checkpoints or what follows them. Returns whether it came so far.
    """
    save = torch.save
    steps = 0

    def count(state, path) -> None:
        nonlocal steps
        save(state, path)
        steps += 1
        if steps == step:
            os.truncate(path, os.path.getsize(path) // 2)
            os._exit(1)

    def watch(event: str, args: Any) -> None:
        nonlocal steps
        writes = event in ("os.rename", "os.link", "os.remove") or (
            event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        )
        # Not the logs.
        if steps and writes and "run/" in str(args) and ".log" not in str(args):
            steps += 1
            if steps == step:
                os._exit(1)

    def call() -> None:
        torch.save = count
        sys.addaudithook(watch)
        function()

    process = multiprocessing.get_context("fork").Process(target=call)
    process.start()
    process.join()
    return process.exitcode == 1


def results() -> Any:
    """The metrics and the weights in the archive."""
    metrics = {
        name: value
        for name, value in json.loads(Path("run/metrics.json").read_text()).items()
        if name.startswith(("best_", "validation_")) or name in ("epoch", "training_loss")
    }
    weights = load_archive("run/model.tar.gz").model.state_dict()
    return metrics, {name: tensor.tolist() for name, tensor in weights.items()}


class TestRecover:
    @pytest.mark.parametrize(
        ("best", "trainer"),
        [("last", {}), ("first", {}), ("last", {"moving_average": {"type": "exponential"}})],
    )
    def test_a_run_killed_anywhere_has_the_result_of_an_uninterrupted_one(
        self, best, trainer, directory, monkeypatch
    ):
        train_with_scores(best, monkeypatch, **trainer)
        expected = results()
        assert expected[0]["best_validation_accuracy"] == 0.5
        metrics = Path("run/metrics.json").read_bytes()
        train_with_scores(best, monkeypatch, recover=True, **trainer)
        assert results() == expected
        assert Path("run/metrics.json").read_bytes() == metrics
        step = 1
        while True:
            shutil.rmtree("run")
            run = partial(train_with_scores, best, monkeypatch, **trainer)
            if not killed_at(step, run):
                break
            train_with_scores(best, monkeypatch, recover=True, **trainer)
            assert results() == expected, step
            step += 1
        assert step > 5

    @pytest.mark.parametrize("damage", [os.remove, partial(os.truncate, length=0)])
    def test_damaged_best_weights_are_named(self, damage, directory, monkeypatch):
        train_with_scores("first", monkeypatch)
        damage("run/best.th")
        with pytest.raises(
            ConfigurationError, match=r"^run/best\.th is missing or damaged\. It .* 0"
        ):
            train_with_scores("first", monkeypatch, recover=True)
        for damaged in ("run/metrics_epoch_1.json", "run/config.json"):
            for text in ("", '{"epo', "[1]", "null"):
                Path(damaged).write_text(text)
                with pytest.raises(ConfigurationError, match=f"^{damaged} "):
                    train_with_scores("first", monkeypatch, recover=True)

    def test_ctrl_c_archives_the_best_weights(self, directory, monkeypatch):
        stop_in_epoch(1, monkeypatch, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            train(None)
        assert load_archive("run/model.tar.gz").model.state_dict().keys()

    @pytest.mark.parametrize("force", [False, True])
    def test_two_trainings_in_one_directory(self, force, directory):
        with lock_output(Path("run")):
            message = error_in_fork(train, None, force=force)
        assert "run: another process is writing it; wait for it to end" in message
        assert not os.path.exists("run")

    @pytest.mark.parametrize(
        "scheduler",
        [
            {"type": "reduce_on_plateau", "factor": 0.5, "mode": "max", "patience": 0},
            {"type": "cosine", "t_initial": 5},
            {"type": "combined", "schedulers": [[3, {"type": "cosine", "t_initial": 5}]]},
        ],
        ids=lambda scheduler: scheduler["type"],
    )
    def test_goes_on_as_if_never_stopped(self, scheduler, directory, monkeypatch):
        expected = train(scheduler)
        os.rename("run", "uninterrupted")
        with monkeypatch.context() as patch:
            stop_in_epoch(1, patch)
            with pytest.raises(InterruptedError):
                train(scheduler)
        assert glob.glob("run/training_state_*") == ["run/training_state_e1_b0.th"]

        actual = train(scheduler, recover=True)
        learning_rate = expected["optimizer"]["param_groups"][0]["lr"]
        assert actual["optimizer"]["param_groups"][0]["lr"] == pytest.approx(learning_rate)
        assert (
            actual["learning_rate_scheduler"].keys() == expected["learning_rate_scheduler"].keys()
        )

    def test_takes_a_metric_that_is_a_numpy_number(self, directory, monkeypatch):
        def get_metrics(self, reset: bool = False) -> Dict[str, Any]:
            return {"accuracy": numpy.float64(0.5)}

        monkeypatch.setattr(SimpleTagger, "get_metrics", get_metrics)
        with monkeypatch.context() as patch:
            stop_in_epoch(2, patch)
            with pytest.raises(InterruptedError):
                train({"type": "step", "step_size": 1})
        assert train({"type": "step", "step_size": 1}, recover=True)["epochs_completed"] == 3

    @pytest.mark.parametrize("killed", ["in model", "between", "in training state", "damaged"])
    def test_passes_over_a_checkpoint_that_is_incomplete(self, killed, directory):
        scheduler = {"type": "exponential", "gamma": 0.5}
        expected = train(scheduler)
        model_state, training_state = "run/model_state_e3_b0.th", "run/training_state_e3_b0.th"
        if killed == "damaged":
            damaged = bytearray(Path(model_state).read_bytes())
            damaged[len(damaged) // 2] ^= 1
            # Not into `best.th`, which is the same file.
            os.remove(model_state)
            Path(model_state).write_bytes(damaged)
        elif killed != "in training state":
            os.remove(training_state)
        if killed in ("in model", "in training state"):
            path = model_state if killed == "in model" else training_state
            os.truncate(path, os.path.getsize(path) - 100)

        actual = train(scheduler, recover=True)
        assert (
            f"{model_state} and {training_state} is incomplete" in Path("run/out.log").read_text()
        )
        assert glob.glob("run/*_state_e3_b0.th.incomplete")
        assert actual["optimizer"] == expected["optimizer"]
        assert torch.load(model_state).keys()

    def test_starts_again_if_no_checkpoint_is_complete(self, directory):
        train("constant")
        for path in glob.glob("run/training_state_*"):
            os.remove(path)
        assert train("constant", recover=True)["epochs_completed"] == 3


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


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "OOV token not found!"),
        (b"the\na\n", "OOV token not found!"),
        (b"@@UNKNOWN@@\n\xff\n", "'utf-8' codec can't decode byte 0xff"),
        (b"@@UNKNOWN@@\nthe\na\nthe\n", "it has a word twice"),
        (b"@@UNKNOWN@@\n@@PADDING@@\n", "it has a word twice"),
        (None, "Is a directory"),
    ],
)
def test_a_damaged_vocabulary_is_named(tmp_path, content, found):
    Vocabulary(tokens_to_add={"tokens": ["the", "a"]}).save_to_files(tmp_path)
    path = tmp_path / "tokens.txt"
    if content is None:
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError) as error:
        Vocabulary.from_files(tmp_path)
    assert str(error.value).startswith(f"vocabulary file {path} cannot be read (")
    assert found in str(error.value)


@pytest.mark.parametrize("content", [b"\xff", b"*tags\n\n"])
def test_a_damaged_list_of_namespaces_is_named(tmp_path, content):
    Vocabulary(tokens_to_add={"tokens": ["the", "a"]}).save_to_files(tmp_path)
    path = tmp_path / "non_padded_namespaces.txt"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"^vocabulary file {path} cannot be read"):
        Vocabulary.from_files(tmp_path)


def test_a_missing_vocabulary_is_the_error_that_hosts_expect(tmp_path):
    with pytest.raises(FileNotFoundError):
        Vocabulary.from_files(tmp_path / "no_vocabulary")
