"""
How much of the speed of its training steps `allennlp train` keeps: an epoch of ELMo-S with the
trainer and the data loader of the config, and the same training steps alone, on batches that are
already on the device.

    python -m benchmarks.training_loop

The text is random words, as many sentences as an epoch takes, and the vectors are trained on it.
The first epochs, which start workers, warm up the cache of vectors and capture CUDA graphs, do not
count. Epochs have no validation and no checkpoints. The file also lists the operations that take
the most time in one more epoch.
"""

import statistics
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Dict

import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.common.params import with_overrides
from allennlp.nn.util import move_to_device
from allennlp.training import GradientDescentTrainer
from torch.profiler import profile

from allennlp_semfit.data.watched_data_loader import WatchedDataLoader
from allennlp_semfit.fasttext.train import train_fasttext
from benchmarks.loader import BATCHES_AT_ONCE, write_text
from benchmarks.models import EMBEDDING_DIMS, SIZES, read_config
from benchmarks.reporting import argument_parser, parse_arguments, report, time_interleaved

LOOP = "allennlp train"
STEPS = "training steps"


def build_trainer(
    directory: Path, size: str, batch_size: int, num_batches: int, device: torch.device
) -> GradientDescentTrainer:
    """A trainer of the config's `size` on one device. An epoch reads each line of the text."""
    text, vectors = directory / "text.txt", directory / "vectors.bin"
    num_sentences = batch_size * num_batches
    # A sentence has 25 words on average.
    write_text(text, 40 * num_sentences)
    lines = text.read_text("utf-8").splitlines(keepends=True)[:num_sentences]
    text.write_text("".join(lines), "utf-8")
    train_fasttext([text], vectors, dim=EMBEDDING_DIMS[size], bucket=20_000, min_count=1, epoch=1)
    overrides = {
        "dataset_reader.token_indexers.fasttext.model_path": str(vectors),
        "train_data_path": str(text),
        "validation_data_path": str(text),
        "data_loader.batch_sampler.batch_size": batch_size,
        "data_loader.batches_per_epoch": num_batches,
        "trainer.cuda_device": -1 if device.type == "cpu" else device.index or 0,
        "trainer.callbacks": [],
        # The schedule's warm-up must not be longer than the training.
        "trainer.num_epochs": 1_000_000,
    }
    config = with_overrides(read_config("elmo_semfit", size), overrides)
    config.pop("distributed", None)
    # AllenNLP's own checkpointer saves nothing within an epoch.
    del config["trainer"]["checkpointer"]
    if "max_instances_in_memory" in config["data_loader"]:
        config["data_loader"]["max_instances_in_memory"] = BATCHES_AT_ONCE * batch_size
    output = str(directory / "output")
    training = TrainModel.from_params(
        Params(config), serialization_dir=output, local_rank=0, batch_weight_key=""
    )
    assert isinstance(training.trainer, GradientDescentTrainer)
    return training.trainer


def run_steps(trainer: GradientDescentTrainer, batches: Any) -> None:
    for batch in batches:
        trainer.optimizer.zero_grad()
        trainer.batch_outputs(batch, for_training=True)["loss"].backward()
        trainer.rescale_gradients()
        trainer.optimizer.step()


def longest_operations(profiler: profile, kind: str) -> Dict[str, float]:
    """The operations with the most self time on the CPU or the GPU, with their shares of it."""
    seconds = Counter(
        {event.key: getattr(event, f"self_{kind}_time_total") for event in profiler.key_averages()}
    )
    total = max(1, seconds.total())
    return {key: round(value / total, 4) for key, value in seconds.most_common(12) if value}


def main() -> None:
    parser = argument_parser("training_loop", __doc__)
    parser.add_argument("--size", choices=SIZES, default="small", help="size of the config")
    parser.add_argument("--batch-size", type=int, default=32, help="sentences")
    parser.add_argument("--num-batches", type=int, default=100, help="batches in an epoch")
    args = parse_arguments(parser)

    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        trainer = build_trainer(
            directory, args.size, args.batch_size, args.num_batches, args.device
        )
        loader = trainer.data_loader
        trainer.model.train()
        batches = [move_to_device(batch, args.device) for batch in loader]
        candidates = {
            STEPS: lambda: run_steps(trainer, batches),
            LOOP: lambda: trainer._train_epoch(0),
        }
        timings = time_interleaved(candidates, repeats=args.repeats, device=args.device)
        with profile() as profiler:
            trainer._train_epoch(0)
        if isinstance(loader, WatchedDataLoader):
            loader.stop_workers()
        num_words = len((directory / "text.txt").read_text("utf-8").split())

    measures: Dict[str, Dict[str, float]] = {
        name: {"words_per_second": num_words / statistics.median(seconds)}
        for name, seconds in timings.items()
    }
    facts = {f"{kind}_time": longest_operations(profiler, kind) for kind in ("cpu", "device")}
    report(args, timings, STEPS, measures, num_words=num_words, **facts)


if __name__ == "__main__":
    main()
