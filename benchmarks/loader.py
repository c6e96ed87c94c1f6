"""
The throughput of AllenNLP's data loader, from a file to padded tensors in the training process,
with the `fasttext` indexer and with AllenNLP's `single_id` and `elmo_characters`, with 0, 1 and 2
workers.

    python -m benchmarks.loader

All use the same reader and batches of sentences of similar length. Words include boundary tokens.
The time starts after the batches that workers read at their start, and ends with the last batch.
The cache of vectors is warm. The words follow Zipf's law, and the vectors are trained on them.
"""

import logging
import random
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List

import torch
from allennlp.common import Tqdm
from allennlp.common.plugins import import_plugins
from allennlp.data import TokenIndexer, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.samplers import BucketBatchSampler
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.fasttext.train import train_fasttext
from benchmarks.models import EMBEDDING_DIMS, SIZES, build_language_model
from benchmarks.reporting import Timings, argument_parser, parse_arguments, report, time_interleaved
from benchmarks.synthetic import sample_classes, word_for_class

# The number of distinct words to sample the text from.
NUM_TYPES = 50_000
BATCH_SIZE = 64
# The number of batches that a loader, or each of its workers, sorts by length at once.
BATCHES_AT_ONCE = 8
# Timings are for this number of words, whatever the size of the text.
UNIT = 100_000

# `__name__` is "__main__" for the command.
logger = logging.getLogger("benchmarks.loader")


def write_text(path: Path, num_words: int) -> None:
    """Writes sentences of 5 to 45 random words."""
    rng = random.Random(1)
    words = list(map(word_for_class, sample_classes(NUM_TYPES, num_words).tolist()))
    with path.open("w") as file:
        while words:
            length = rng.randint(5, 45)
            file.write(" ".join(words[-length:]) + "\n")
            del words[-length:]


def build_loader(
    indexer: TokenIndexer, corpus: Path, vocab: Vocabulary, num_workers: int
) -> MultiProcessDataLoader:
    """A loader as in the config of the paper: lazy, with buckets of eight batches."""
    loader = MultiProcessDataLoader(
        LanguageModelingReader(token_indexers={"words": indexer}, max_sequence_length=100),
        str(corpus),
        batch_sampler=BucketBatchSampler(BATCH_SIZE, ["source"]),
        max_instances_in_memory=BATCHES_AT_ONCE * BATCH_SIZE,
        num_workers=num_workers,
        quiet=True,
    )
    loader.index_with(vocab)
    return loader


def count_tokens(batch: Any) -> int:
    """The number of words in a batch, without padding."""
    return int(get_text_field_mask(batch["source"]).sum())


def time_loader(loader: MultiProcessDataLoader) -> float:
    """The seconds for `UNIT` words, after the batches that workers read at their start."""
    num_started = BATCHES_AT_ONCE * max(1, loader.num_workers)
    start, end, num_words = 0.0, 0.0, 0
    for number, batch in enumerate(loader, 1):
        if number > num_started:
            num_words += count_tokens(batch)
        end = time.perf_counter()
        if number == num_started:
            start = end
    # The end of the loop does not count, because it waits for the workers to end.
    return (end - start) * UNIT / num_words


def time_training_step(loader: MultiProcessDataLoader, size: str, repeats: int) -> List[float]:
    """The seconds that training steps of ELMo-S take for `UNIT` words."""
    model = build_language_model("elmo_semfit", 1, size)
    optimizer = torch.optim.Adam(list(model.parameters()), lr=2e-4)
    batch: Any = next(iter(loader))
    num_words = count_tokens(batch)
    batch["source"]["fasttext"] = batch["source"].pop("words")

    def step() -> None:
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        optimizer.step()

    timings = time_interleaved({"step": step}, repeats=repeats, device=torch.device("cpu"))
    return [seconds * UNIT / num_words for seconds in timings["step"]]


def main() -> None:
    parser = argument_parser("loader", __doc__, is_on_cpu=True)
    parser.add_argument("--num-words", type=int, default=300_000, help="words in the text")
    parser.add_argument("--step", action="store_true", help="also time a training step of ELMo-S")
    parser.add_argument("--size", choices=SIZES, default="paper", help="size of that model")
    args = parse_arguments(parser)
    import_plugins()
    dim = EMBEDDING_DIMS[args.size]

    with tempfile.TemporaryDirectory() as temporary:
        corpus, vectors = Path(temporary) / "text.txt", Path(temporary) / "vectors.bin"
        write_text(corpus, args.num_words)
        train_fasttext([corpus], vectors, dim=dim, bucket=20000, min_count=1, epoch=1)
        vocab = Vocabulary({"tokens": Counter(corpus.read_text().split())})
        indexers = {
            "fasttext": TokenIndexer.by_name("fasttext")(str(vectors)),
            "single_id": TokenIndexer.by_name("single_id")(),
            "elmo_characters": TokenIndexer.by_name("elmo_characters")(),
        }
        loaders = {
            f"{name}, workers: {num_workers}": build_loader(indexer, corpus, vocab, num_workers)
            for num_workers in (0, 1, 2)
            for name, indexer in indexers.items()
        }
        timings: Timings = {name: [] for name in loaders}
        # The first round is a warm-up, in which the loaders without workers fill the cache first.
        for _ in Tqdm.tqdm(range(args.repeats + 1), desc="rounds"):
            for name, loader in loaders.items():
                timings[name].append(time_loader(loader))
        timings = {name: seconds[1:] for name, seconds in timings.items()}
        facts: Dict[str, Any] = {}
        if args.step:
            loader = build_loader(indexers["fasttext"], corpus, vocab, 0)
            step = time_training_step(loader, args.size, args.repeats)
            facts["training_step_seconds"] = step
            facts["words_per_second_training_step"] = UNIT / statistics.median(step)
            logger.info("Training step: %.0f words/s", facts["words_per_second_training_step"])

    speeds = {name: UNIT / statistics.median(seconds) for name, seconds in timings.items()}
    measures = {name: {"words_per_second": speed} for name, speed in speeds.items()}
    facts.update(batch_size=BATCH_SIZE, embedding_dim=dim, num_types=NUM_TYPES)
    report(args, timings, "single_id, workers: 1", measures, seconds_are_for_words=UNIT, **facts)


if __name__ == "__main__":
    main()
