"""
The throughput of AllenNLP's data loader, from a file to padded tensors in the training process,
with the `fasttext` indexer and with AllenNLP's `single_id` and `elmo_characters`, with 0, 1 and 2
workers.

    python -m benchmarks.loader

All use the same reader and batches of sentences of similar length. Words include boundary tokens.
The time starts after the batches that workers read at their start, and ends with the last batch.
The cache of vectors is warm. By default the words follow Zipf's law, and the vectors are trained on
them.
"""

import logging
import random
import statistics
import tempfile
import time
from collections import Counter
from itertools import accumulate
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
from benchmarks.language_models import build_language_model, lstm_overrides
from benchmarks.reporting import argument_parser, parse_arguments, report
from benchmarks.timing import Timings, time_interleaved

ROOT = Path(__file__).parent.parent
DIM = 300
# That a loader, or each of its workers, sorts by length at once.
BATCHES_AT_ONCE = 8
# Timings are for this number of words, whatever the size of the text.
UNIT = 100_000

# `__name__` is "__main__" for the command.
logger = logging.getLogger("benchmarks.loader")


def write_text(path: Path, num_words: int, num_types: int) -> None:
    """Writes sentences of 5 to 45 words from the fixtures and random words."""
    rng = random.Random(1)
    corpus = ROOT / "test_fixtures" / "corpus" / "train"
    counts = Counter(" ".join(file.read_text() for file in sorted(corpus.iterdir())).split())
    types = dict.fromkeys(word for word, _ in counts.most_common(num_types))
    while len(types) < num_types:
        types["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(3, 12)))] = None
    weights = list(accumulate(1 / rank for rank in range(1, num_types + 1)))
    words = rng.choices(list(types), cum_weights=weights, k=num_words)
    with path.open("w") as file:
        while words:
            length = rng.randint(5, 45)
            file.write(" ".join(words[-length:]) + "\n")
            del words[-length:]


def count_words(path: Path) -> Vocabulary:
    """The vocabulary of the files at `path` for `single_id`."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    counts = Counter(word for file in files for word in file.read_text("utf-8").split())
    return Vocabulary({"tokens": counts})


def build_loader(
    indexer: TokenIndexer, corpus: Path, vocab: Vocabulary, batch_size: int, num_workers: int
) -> MultiProcessDataLoader:
    """A loader as in the config of the paper: lazy, with buckets of eight batches."""
    loader = MultiProcessDataLoader(
        LanguageModelingReader(token_indexers={"words": indexer}, max_sequence_length=100),
        str(corpus),
        batch_sampler=BucketBatchSampler(batch_size, ["source"]),
        max_instances_in_memory=BATCHES_AT_ONCE * batch_size,
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
    # Not the end of the loop, which waits for that of the workers.
    return (end - start) * UNIT / num_words


def time_training_step(
    loader: MultiProcessDataLoader, cell_size: int, hidden_dim: int, repeats: int
) -> List[float]:
    """The seconds that training steps of the paper's model take for `UNIT` words."""
    overrides = lstm_overrides(cell_size, hidden_dim)
    model = build_language_model("elmo_semfit", 1, "paper", overrides)
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
    parser.add_argument("--corpus", type=Path, help="text with one tokenised sentence per line")
    parser.add_argument("--vectors", type=Path, help="a fastText .bin of 300 dimensions")
    parser.add_argument(
        "--num-words", type=int, default=300_000, help="words in the default corpus"
    )
    parser.add_argument("--num-types", type=int, default=50_000, help="words in the default corpus")
    parser.add_argument("--batch-size", type=int, default=64, help="sentences")
    parser.add_argument(
        "--step", action="store_true", help="also time a training step of the paper's model"
    )
    parser.add_argument("--cell-size", type=int, default=4096, help="of that model")
    parser.add_argument("--projection-dim", type=int, default=512, help="of that model")
    args = parse_arguments(parser)
    import_plugins()

    with tempfile.TemporaryDirectory() as temporary:
        corpus = args.corpus or Path(temporary) / "text.txt"
        if args.corpus is None:
            write_text(corpus, args.num_words, args.num_types)
        vectors = args.vectors or Path(temporary) / "vectors.bin"
        if args.vectors is None:
            train_fasttext([corpus], vectors, dim=DIM, bucket=20000, min_count=1, epoch=1)
        vocab = count_words(corpus)
        indexers = {
            "fasttext": TokenIndexer.by_name("fasttext")(str(vectors)),
            "single_id": TokenIndexer.by_name("single_id")(),
            "elmo_characters": TokenIndexer.by_name("elmo_characters")(),
        }
        loaders = {
            f"{name}, workers: {num_workers}": build_loader(
                indexer, corpus, vocab, args.batch_size, num_workers
            )
            for num_workers in (0, 1, 2)
            for name, indexer in indexers.items()
        }
        timings: Timings = {name: [] for name in loaders}
        # The first round is a warm-up, which starts without workers.
        for _ in Tqdm.tqdm(range(args.repeats + 1), desc="rounds"):
            for name, loader in loaders.items():
                timings[name].append(time_loader(loader))
        timings = {name: seconds[1:] for name, seconds in timings.items()}
        step: List[float] = []
        if args.step:
            loader = build_loader(indexers["fasttext"], corpus, vocab, args.batch_size, 0)
            step = time_training_step(loader, args.cell_size, args.projection_dim, args.repeats)

    speeds = {name: UNIT / statistics.median(seconds) for name, seconds in timings.items()}
    facts: Dict[str, Any] = {}
    if step:
        facts["words_per_second_training_step"] = UNIT / statistics.median(step)
        logger.info("Training step: %.0f words/s", facts["words_per_second_training_step"])
    report(
        timings,
        "single_id, workers: 1",
        args.out,
        device=args.device,
        measures={name: {"words_per_second": speed} for name, speed in speeds.items()},
        seconds_are_for_words=UNIT,
        training_step_seconds=step,
        **facts,
        corpus="given" if args.corpus else f"{args.num_words} words of {args.num_types} types",
        batch_size=args.batch_size,
        embedding_dim=DIM,
    )


if __name__ == "__main__":
    main()
