import copy
import gc
import glob
import json
import multiprocessing
import os
import shutil
import sys
import time
from argparse import Namespace
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from allennlp.commands.train import TrainModel, train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing import requires_gpu
from allennlp.common.util import int_to_device, prepare_environment
from allennlp.data.data_loaders.data_collator import allennlp_collate
from allennlp.models import SimpleTagger, load_archive
from allennlp.training import GradientDescentTrainer

from allennlp_semfit.data import watched_data_loader
from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.training import resumable
from allennlp_semfit.training.fused_adam import FusedAdam
from allennlp_semfit.training.resumable import ResumableCheckpointer, ResumableTrainer
from tests import FIXTURES
from tests.processes import fork, run_in_two_processes
from tests.tagging import tagging_config

CONFIG = FIXTURES / "language_model.jsonnet"


@pytest.fixture(autouse=True)
def _directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


SENTENCES = ["a###D cat###N sleeps###V", "the###D old###A dog###N barks###V loudly###R"] * 4


def train(*, recover=False, num_epochs=3, data_loader=None, **trainer):
    """Trains a tagger for epochs of two batches, and returns the last training state."""
    config = tagging_config(
        Path(),
        {"tokens": {"type": "single_id"}},
        {"tokens": {"type": "embedding", "embedding_dim": 3}},
        {"type": "lstm", "input_size": 3, "hidden_size": 4},
        "\n".join(SENTENCES) + "\n",
    )
    # Its order of batches is random.
    sampler = {"type": "bucket", "batch_size": 4}
    config["data_loader"] = {"batch_sampler": sampler, **(data_loader or {})}
    config["validation_data_loader"] = {"batch_size": 4, "shuffle": True}
    config["trainer"] = {
        "type": "resumable",
        "checkpointer": "resumable",
        "num_epochs": num_epochs,
        "cuda_device": -1,
        "optimizer": {"type": "sgd", "lr": 0.1},
        "validation_metric": "+accuracy",
        "learning_rate_scheduler": {"type": "exponential", "gamma": 0.5},
        **trainer,
    }
    train_model(Params(config), "run", recover=recover)
    return torch.load(max(glob.glob("run/training_state_*.th")), weights_only=False)


# The score of each epoch. The patience ends when it falls.
SCORES = {"last": [0.3, 0.5], "first": [0.5, 0.4, 0.9]}


def train_with_scores(best, monkeypatch, **kwargs):
    validate = GradientDescentTrainer._validation_loss

    def note_epoch(self, epoch):
        self.model.epoch = epoch
        return validate(self, epoch)

    def get_metrics(self, reset=False):
        return {"accuracy": SCORES[best][getattr(self, "epoch", 0)]}

    with monkeypatch.context() as patch:
        patch.setattr(GradientDescentTrainer, "_validation_loss", note_epoch)
        patch.setattr(SimpleTagger, "get_metrics", get_metrics)
        train(num_epochs=len(SCORES[best]), patience=1, **kwargs)


def is_killed_at(step, function):
    """
    Calls a function in a forked process, which kills itself at the given step of writing
    checkpoints or what follows them. Returns whether it came so far.
    """
    save = torch.save
    steps = 0

    def count(state, path):
        nonlocal steps
        save(state, path)
        steps += 1
        if steps == step:
            os.truncate(path, os.path.getsize(path) // 2)
            os._exit(1)

    def watch(event, args):
        nonlocal steps
        writes = event in ("os.rename", "os.link", "os.remove") or (
            event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        )
        # Not the logs.
        if steps and writes and "run/" in str(args) and ".log" not in str(args):
            steps += 1
            if steps == step:
                os._exit(1)

    def call():
        torch.save = count
        sys.addaudithook(watch)
        function()

    process = fork(call)
    process.join()
    return process.exitcode == 1


def metrics_of_epochs():
    """Without what differs between two runs."""
    return [
        {
            name: value
            for name, value in json.loads(path.read_text()).items()
            if not name.endswith(("_duration", "_memory_MB"))
        }
        for path in sorted(Path("run").glob("metrics_epoch_*.json"))
    ]


def results():
    """The metrics and the weights in the archive."""
    metrics = {
        name: value
        for name, value in json.loads(Path("run/metrics.json").read_text()).items()
        if name.startswith(("best_", "validation_")) or name in ("epoch", "training_loss")
    }
    weights = load_archive("run/model.tar.gz").model.state_dict()
    return metrics, {name: tensor.tolist() for name, tensor in weights.items()}


def checkpoints():
    return {
        path: torch.load(path.replace("training", "model"))
        for path in glob.glob("run/training_state_*.th")
    }


@pytest.mark.parametrize(("best", "kept"), [("last", 2), ("first", 1)])
def test_a_run_killed_anywhere_has_the_result_of_an_uninterrupted_one(best, kept, monkeypatch):
    train_with_scores(best, monkeypatch)
    expected, weights = results(), checkpoints()
    checkpointer = {"type": "resumable", "keep_most_recent_by_count": kept}
    run = partial(train_with_scores, best, monkeypatch, checkpointer=checkpointer)
    step = 1
    while True:
        shutil.rmtree("run")
        if not is_killed_at(step, run):
            break
        run(recover=True)
        assert results() == expected, step
        for path, state in checkpoints().items():
            torch.testing.assert_close(state, weights[path], rtol=0, atol=0)
        step += 1
    assert step > 5


WORKER = {"type": "watched", "num_workers": 1, "max_instances_in_memory": 8}


def interruption_after(steps):
    """A method that raises an error after it was called that many times."""
    left = iter(range(steps))

    def stop(self, *args):
        if next(left, None) is None:
            raise InterruptedError

    return stop


SCHEDULE = {
    "learning_rate_scheduler": {"type": "large_batch", "num_replicas": 2},
    "num_gradient_accumulation_steps": 2,
}


@pytest.mark.parametrize(
    ("data_loader", "options"),
    # Two batches are a pass over the sentences.
    [
        ({}, {}),
        (WORKER, {}),
        ({"batches_per_epoch": 3}, {}),
        ({**WORKER, "num_workers": 2, "batches_per_epoch": 3}, {}),
        ({"batch_sampler": {"type": "bucket", "batch_size": 2}}, SCHEDULE),
    ],
    ids=["alone", "worker", "batches_per_epoch", "workers", "schedule"],
)
def test_a_run_killed_in_an_epoch_has_the_same_weights(data_loader, options, monkeypatch):
    """The batches come in the same random order, at the same learning rates."""
    trainer = {"checkpointer": {"type": "resumable", "save_every_num_batches": 1}, **options}
    run = partial(train, data_loader=data_loader, **trainer)
    run()
    expected = torch.load("run/model_state_e3_b0.th")
    metrics = metrics_of_epochs()
    for batches in range(1, 6):
        shutil.rmtree("run")
        with monkeypatch.context() as patch:
            patch.setattr(GradientDescentTrainer, "clip_gradient", interruption_after(batches))
            with pytest.raises(InterruptedError):
                run()
        collate = Mock(wraps=allennlp_collate)
        with monkeypatch.context() as patch:
            patch.setattr(watched_data_loader, "allennlp_collate", collate)
            run(recover=True)
        weights = torch.load("run/model_state_e3_b0.th")
        torch.testing.assert_close(weights, expected, rtol=0, atol=0)
        length = data_loader.get("batches_per_epoch", 2)
        if "num_workers" not in data_loader:
            # Without the batches that it skips.
            steps = options.get("num_gradient_accumulation_steps", 1)
            assert collate.call_count == (3 * length - batches) * steps
        resumed, in_epoch = divmod(batches, length)
        expected_metrics = copy.deepcopy(metrics)
        if in_epoch:
            for name in ("loss", "accuracy", "accuracy3"):
                del expected_metrics[resumed][f"training_{name}"]
        assert metrics_of_epochs() == expected_metrics
        log = Path("run/out.log").read_text()
        assert (f"Epoch {resumed} resumes after batch {in_epoch}" in log) == bool(in_epoch)


def test_a_run_killed_in_a_validation_has_the_same_weights(monkeypatch):
    """The last step of an epoch has one batch, not two, and workers build the next epoch's."""
    run = partial(
        train,
        data_loader={**WORKER, "num_workers": 2, "batches_per_epoch": 3},
        checkpointer={"type": "resumable", "save_every_num_batches": 1},
        num_gradient_accumulation_steps=2,
    )
    run()
    expected = torch.load("run/model_state_e3_b0.th")
    shutil.rmtree("run")
    with monkeypatch.context() as patch:
        patch.setattr(ResumableTrainer, "_validation_loss", interruption_after(0))
        with pytest.raises(InterruptedError):
            run()
    run(recover=True)
    torch.testing.assert_close(torch.load("run/model_state_e3_b0.th"), expected, rtol=0, atol=0)


@pytest.mark.parametrize("steps", [4, 8])
def test_the_workers_end_with_the_training(steps, monkeypatch):
    """Also if an error in its second epoch is kept, as in a notebook."""
    monkeypatch.setattr(GradientDescentTrainer, "clip_gradient", interruption_after(steps))
    gc.disable()
    try:
        with pytest.raises(InterruptedError) if steps == 4 else nullcontext() as _kept:
            train(num_epochs=2, data_loader={**WORKER, "num_workers": 2, "batches_per_epoch": 3})
        assert not multiprocessing.active_children()
    finally:
        gc.enable()


def test_a_renamed_directory_resumes():
    train(num_epochs=2)
    os.rename("run", "old")
    shutil.copytree("old", "run")
    shutil.rmtree("old")
    assert train(recover=True, num_epochs=2)["epochs_completed"] == 2
    assert Path("run/model.tar.gz").exists()


class _Interruption:
    def __reduce__(self):
        raise KeyboardInterrupt


def test_a_run_interrupted_while_it_saves_a_checkpoint_resumes(monkeypatch):
    def save_interrupted(state, path, save=torch.save):
        interruption = {"": _Interruption()} if "training_state_e2_b0" in str(path) else {}
        save({**state, **interruption}, path)

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", save_interrupted)
        with pytest.raises(KeyboardInterrupt):
            train()
    assert train(recover=True)["epochs_completed"] == 3


def test_only_the_checkpoint_itself_is_removed(tmp_path):
    for batches in (50, 500, 5000):
        for kind in ("model", "training"):
            for shard in ("", "_w0"):
                (tmp_path / f"{kind}_state_e0_b{batches}{shard}.th").touch()
    ResumableCheckpointer(tmp_path)._remove_checkpoint(0, 500)
    left = {path.stem.split("_")[3] for path in tmp_path.glob("*.th")}
    assert left == {"b50", "b5000"}
    assert len(list(tmp_path.glob("*.th"))) == 8


def check_agreement(rank, world_size, device, batches):
    trainer = Namespace(
        _start_after_epochs_completed=1,
        _start_after_batches_in_epoch_completed=batches[rank],
        cuda_device=int_to_device(device),
        _serialization_dir="run",
    )
    ResumableTrainer._check_agreement(trainer)


def test_all_processes_resume_from_one_checkpoint():
    run_in_two_processes(check_agreement, [3, 3])
    with pytest.raises(Exception, match="run: the last checkpoints of .* differ .e1_b3, e1_b4.*"):
        run_in_two_processes(check_agreement, [3, 4])


def train_in_a_process(rank, world_size, device, directory, stop_at):
    """Of three sentences, the first process has two, and so skips one more in each epoch."""
    config = Params.from_file(
        CONFIG,
        {
            "train_data_path": str(directory / "text"),
            "validation_data_path": str(directory / "text"),
            "data_loader": {"batch_size": 1},
            "trainer.num_epochs": 6,
            "trainer.optimizer": {"type": "sgd", "lr": 0.1},
            "trainer.learning_rate_scheduler": {"type": "large_batch", "num_replicas": 4},
            "trainer.distributed": True,
            "trainer.world_size": world_size,
            "trainer.cuda_device": device,
        },
    )
    prepare_environment(config)
    trainer = TrainModel.from_params(
        params=config, serialization_dir=directory / "run", local_rank=rank
    ).trainer
    validate, save = trainer._validation_loss, trainer._save_model_state

    def stop(epoch):
        if epoch == stop_at:
            raise InterruptedError
        return validate(epoch)

    def save_slowly(path):
        time.sleep(0.5)
        save(path)

    trainer._validation_loss, trainer._save_model_state = stop, save_slowly
    trainer._metric_tracker.is_best_so_far = lambda: True
    with suppress(InterruptedError):
        trainer.train()
    torch.save(trainer.model.state_dict(), directory / f"{rank}.th")


def test_two_processes_remain_the_same_when_resumed(tmp_path):
    (tmp_path / "text").write_text("a b c d\ne f g h\ni j k l\n")
    (tmp_path / "run").mkdir()
    # The last run resumes after the last epoch.
    for stop_at in (4, None, None):
        run_in_two_processes(train_in_a_process, tmp_path, stop_at)
        weights = [torch.load(tmp_path / f"{rank}.th") for rank in (0, 1)]
        torch.testing.assert_close(*weights, rtol=0, atol=0)


def train_language_model(overrides=None, directory="run"):
    return train_model(Params.from_file(CONFIG, overrides), directory)


@pytest.mark.filterwarnings("error::FutureWarning", "error::UserWarning")
def test_no_warning_breaks_the_progress_bar():
    train_language_model()


@requires_gpu
@pytest.mark.parametrize("key", ["bf16", "use_amp"])
def test_mixed_precision_on_a_gpu(key, monkeypatch):
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation
    )
    found = set()
    forward = BidirectionalLm.forward

    def observing(self, *args, **kwargs):
        found.add((torch.ones(1, 1, device="cuda") @ torch.ones(1, 1, device="cuda")).dtype)
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(BidirectionalLm, "forward", observing)
    train_language_model({f"trainer.{key}": True})
    assert found == {torch.bfloat16 if key == "bf16" else torch.float16}
    log = Path("run/out.log").read_text()
    assert ("this GPU has no instructions for bfloat16" in log) == (key == "bf16")


@requires_gpu
def test_on_a_gpu_the_metrics_of_an_epoch_are_those_of_all_its_batches():
    metrics = {}
    for device in (0, -1):
        overrides = {"trainer.cuda_device": device, "model.contextualizer.dropout": 0.0}
        train_language_model(overrides, str(device))
        metrics[device] = json.loads(Path(str(device), "metrics.json").read_text())
    for name in ("training_cosine", "training_baseline_cosine", "best_validation_cosine"):
        assert metrics[0][name] == pytest.approx(metrics[-1][name], abs=1e-3)


@pytest.mark.parametrize(("bf16", "is_fast"), [(False, False), (True, False), (True, True)])
def test_bf16_on_a_cpu(bf16, is_fast, monkeypatch):
    """The type of a matrix product in each forward pass and each optimizer step."""
    monkeypatch.setattr(resumable, "has_bfloat16_instructions", lambda: is_fast)
    found = {BidirectionalLm: set(), FusedAdam: set()}

    def observe(owner, method):
        original = getattr(owner, method)

        def observing(self, *args, **kwargs):
            found[owner].add((torch.ones(1, 1) @ torch.ones(1, 1)).dtype)
            return original(self, *args, **kwargs)

        monkeypatch.setattr(owner, method, observing)

    observe(BidirectionalLm, "forward")
    observe(FusedAdam, "step")
    overrides = {"trainer.bf16": bf16, "trainer.cuda_device": -1, "trainer.num_epochs": 1}
    model = train_language_model(overrides)
    dtype = torch.bfloat16 if bf16 else torch.float32
    assert found == {BidirectionalLm: {dtype}, FusedAdam: {torch.float32}}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    log = Path("run/out.log").read_text()
    assert ("no instructions for bfloat16" in log) == (bf16 and not is_fast)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bf16": True, "use_amp": True}, "`bf16` and `use_amp` are both set"),
        ({"bf16": "false"}, "`bf16` must be true or false, got 'false'"),
        ({"moving_average": {"type": "exponential"}}, "`moving_average` cannot be resumed"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ConfigurationError, match=message):
        train_language_model({f"trainer.{key}": value for key, value in options.items()})


XEON = """vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) CPU
flags\t\t: fpu avx512f {} avx512vl
"""


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        (XEON.format(""), False),
        (XEON.format("avx512_bf16"), True),
        (XEON.format("amx_bf16 amx_tile"), True),
        ("Features\t: fp asimd bf16 i8mm\n", True),
        ("Features\t: fp asimd\n", False),
    ],
)
def test_bfloat16_instructions(monkeypatch, tmp_path, cpuinfo, expected):
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo)
    monkeypatch.setattr(resumable, "_CPUINFO", path)
    assert resumable.has_bfloat16_instructions() is expected
