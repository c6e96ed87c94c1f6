import glob
import json
import multiprocessing
import os
import shutil
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import int_to_device
from allennlp.models import SimpleTagger, load_archive
from allennlp.training import Checkpointer, GradientDescentTrainer, gradient_descent_trainer

from allennlp_semfit.common.errors import DivergenceError
from allennlp_semfit.common.output import lock_output
from allennlp_semfit.compat import recovery
from tests.compat.tagger import train
from tests.processes import error_in_fork, run_in_two_processes


def stop_in_epoch(epoch_to_stop_in: int, monkeypatch, error=InterruptedError) -> None:
    train_epoch = GradientDescentTrainer._train_epoch

    def stop(self: GradientDescentTrainer, epoch: int) -> Dict[str, float]:
        if epoch == epoch_to_stop_in:
            raise error
        return train_epoch(self, epoch)

    monkeypatch.setattr(GradientDescentTrainer, "_train_epoch", stop)


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


def check_agreement(rank: int, world_size: int, device: int, batches: List[int]) -> None:
    trainer = Namespace(
        _start_after_epochs_completed=1,
        _start_after_batches_in_epoch_completed=batches[rank],
        cuda_device=int_to_device(device),
        _serialization_dir="run",
    )
    recovery._check_agreement(trainer)


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
        [
            ("last", {}),
            ("first", {"checkpointer": {"keep_most_recent_by_count": 1}}),
            ("last", {"moving_average": {"type": "exponential"}}),
        ],
    )
    def test_a_run_killed_anywhere_has_the_result_of_an_uninterrupted_one(
        self, best, trainer, directory, monkeypatch
    ):
        train_with_scores(best, monkeypatch, **trainer)
        expected = results()
        assert expected[0]["best_validation_accuracy"] == 0.5
        checkpoints = sorted(glob.glob("run/*_state_*.th"))
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
            assert sorted(glob.glob("run/*_state_*.th")) == checkpoints, step
            step += 1
        assert step > 5

    @pytest.mark.parametrize("batches", range(1, 6))
    def test_a_run_killed_in_an_epoch_has_the_same_weights(self, batches, directory, monkeypatch):
        """With a random order of batches, also in validation, dropout and samples of NumPy."""
        trainer = {"checkpointer": {"save_every_num_batches": 1}}
        forward = SimpleTagger.forward

        def weigh(self, *args, **kwargs):
            outputs = forward(self, *args, **kwargs)
            outputs["loss"] *= numpy.random.uniform(0.5, 1.5)
            return outputs

        monkeypatch.setattr(SimpleTagger, "forward", weigh)
        train(None, **trainer)
        expected = torch.load("run/model_state_e3_b0.th")
        shutil.rmtree("run")
        steps = 0

        def stop(self):
            nonlocal steps
            steps += 1
            if steps > batches:
                raise InterruptedError

        with monkeypatch.context() as patch:
            patch.setattr(GradientDescentTrainer, "clip_gradient", stop)
            with pytest.raises(InterruptedError):
                train(None, **trainer)
        train(None, recover=True, **trainer)
        found = torch.load("run/model_state_e3_b0.th")
        torch.testing.assert_close(found, expected, rtol=0, atol=0)

    @pytest.mark.parametrize("recover", [True, False])
    def test_a_run_killed_while_it_wrote_its_config_starts_again(self, recover, directory):
        partial_directory = Path("run/.config.json.partial-abc")
        partial_directory.mkdir(parents=True)
        (partial_directory / "config.json").write_text("{")
        Path("run/.config.json.lock").touch()
        train(None, recover=recover, num_epochs=1)
        assert Path("run/model.tar.gz").exists()
        assert not partial_directory.exists()

    def test_only_the_checkpoint_itself_is_removed(self, tmp_path):
        checkpointer = Checkpointer(str(tmp_path))
        for batches in (50, 500, 5000):
            for kind in ("model", "training"):
                for shard in ("", "_w0"):
                    (tmp_path / f"{kind}_state_e0_b{batches}{shard}.th").touch()
        checkpointer._remove_checkpoint(0, 500)
        left = {name.split("_")[3].partition(".")[0] for name in os.listdir(tmp_path)}
        assert left == {"b50", "b5000"}
        assert len(os.listdir(tmp_path)) == 8

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
        archived = load_archive("run/model.tar.gz").model.state_dict()
        torch.testing.assert_close(dict(archived), dict(torch.load("run/best.th")), rtol=0, atol=0)

    def test_ctrl_c_while_the_best_weights_are_replaced(self, directory, monkeypatch):
        def interrupt(*args):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(gradient_descent_trainer, "hardlink_or_copy", interrupt)
            with pytest.raises(KeyboardInterrupt):
                train(None)
        assert train(None, recover=True)["epochs_completed"] == 3

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
            {"type": "polynomial_decay"},
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
        expected_weights = torch.load(model_state)
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
        torch.testing.assert_close(torch.load(model_state), expected_weights, rtol=0, atol=0)

    def test_an_error_after_a_damaged_checkpoint_names_it(self, directory, monkeypatch):
        with monkeypatch.context() as patch:
            stop_in_epoch(1, patch)
            with pytest.raises(InterruptedError):
                train(None)
        stop_in_epoch(1, monkeypatch, DivergenceError("the loss is nan."))
        with pytest.raises(ConfigurationError, match="nan. The training had resumed from run. "):
            train(None, recover=True)
        stop_in_epoch(0, monkeypatch, DivergenceError("the loss is nan."))
        with pytest.raises(ConfigurationError, match="nan.$"):
            train(None, force=True)

    def test_the_training_loss_is_that_of_the_batches_since_the_resumption(
        self, directory, monkeypatch
    ):
        """An epoch has two batches, and the run is stopped in the second."""
        losses = []
        batch_outputs = GradientDescentTrainer.batch_outputs

        def record(self, batch, for_training):
            outputs = batch_outputs(self, batch, for_training)
            if for_training:
                losses.append(outputs["loss"].item())
                if len(losses) == 2:
                    raise InterruptedError
            return outputs

        monkeypatch.setattr(GradientDescentTrainer, "batch_outputs", record)
        checkpointer = {"save_every_num_batches": 1, "keep_most_recent_by_count": None}
        with pytest.raises(InterruptedError):
            train(None, checkpointer=checkpointer, num_epochs=1)
        train(None, checkpointer=checkpointer, num_epochs=1, recover=True)
        metrics = json.loads(Path("run/metrics.json").read_text())
        assert len(losses) == 3
        assert metrics["training_loss"] == pytest.approx(losses[2])

    def test_a_lack_of_memory_is_no_damage(self, directory, monkeypatch):
        train(None)
        files = sorted(glob.glob("run/*_state_*.th"))

        def load(*_, **__):
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

        monkeypatch.setattr(torch, "load", load)
        with pytest.raises(ConfigurationError, match="Could not recover"):
            train(None, recover=True)
        assert sorted(glob.glob("run/*_state_*.th")) == files

    def test_all_processes_resume_from_one_checkpoint(self):
        run_in_two_processes(check_agreement, [3, 3])
        with pytest.raises(
            Exception, match="run: the last checkpoints of .* differ .e1_b3, e1_b4.*"
        ):
            run_in_two_processes(check_agreement, [3, 4])

    def test_another_machine_hides_its_own_damaged_checkpoint(self, tmp_path):
        for point in ("e0_b2", "e0_b4"):
            for name in ("model", "training"):
                torch.save({"point": point}, tmp_path / f"{name}_state_{point}.th")
        os.truncate(tmp_path / "model_state_e0_b4.th", 100)
        checkpointer = Checkpointer(tmp_path)
        checkpointer._rank = 4
        assert checkpointer.load_checkpoint().model_state == {"point": "e0_b2"}
        assert not (tmp_path / "model_state_e0_b4.th").exists()

    def test_the_next_checkpoint_is_as_far_as_without_an_interruption(self, tmp_path, monkeypatch):
        for name in ("model", "training"):
            torch.save({}, tmp_path / f"{name}_state_e1_b5.th")
        checkpointer = Checkpointer(tmp_path, save_every_num_batches=3)
        monkeypatch.setattr(checkpointer, "save_checkpoint", lambda trainer: None)
        checkpointer.load_checkpoint()
        assert [checkpointer.maybe_save_checkpoint(None, 1, n) for n in (6, 7, 8)] == [0, 0, 1]

    def test_starts_if_nothing_was_written(self, directory):
        with pytest.raises(ConfigurationError, match="does not exist"):
            train(None, recover=True)
        os.mkdir("run")
        assert train(None, recover=True)["epochs_completed"] == 3

    def test_starts_again_if_no_checkpoint_is_complete(self, directory):
        train("constant")
        for path in glob.glob("run/training_state_*"):
            os.remove(path)
        assert train("constant", recover=True)["epochs_completed"] == 3
