"""
The throughput of AllenNLP's data loader, from a file to padded tensors in the training process,
with the `fasttext` indexer and with AllenNLP's `single_id` and `elmo_characters`, with 0, 1 and 2
workers.

    python -m benchmarks.loader

All use the same reader and batches of sentences of similar length. Words include boundary tokens;
the time starts with the first batch, after the start of the workers. The cache of vectors is warm.
By default the words follow Zipf's law, and the vectors are trained on them.
"""

import json
import logging
import random
import statistics
import tempfile
import time
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any, Dict, List, Tuple

import torch
from allennlp.common import Params, Tqdm
from allennlp.common.plugins import import_plugins
from allennlp.data import TokenIndexer, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.samplers import BucketBatchSampler
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask
from allennlp.training.optimizers import Optimizer

from allennlp_semfit.data.dataset_readers.language_modeling import LanguageModelingReader
from allennlp_semfit.fasttext.train import train_fasttext
from benchmarks.reporting import argument_parser, parse_arguments, report
from benchmarks.timing import Timings

ROOT = Path(__file__).parent.parent
LANGUAGE_MODEL = ROOT / "training_config" / "one_billion_word" / "elmo_semfit.jsonnet"
DIM = 300
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
        max_instances_in_memory=8 * batch_size,
        num_workers=num_workers,
        quiet=True,
    )
    loader.index_with(vocab)
    return loader


def count_tokens(batch: Any) -> int:
    """The number of words in a batch, without padding."""
    return int(get_text_field_mask(batch["source"]).sum())


def time_loader(loader: MultiProcessDataLoader) -> float:
    """The seconds for `UNIT` words, from the first batch to the last."""
    start, num_words = 0.0, 0
    for batch in loader:
        if start:
            num_words += count_tokens(batch)
        else:
            start = time.perf_counter()
    return (time.perf_counter() - start) * UNIT / num_words


def time_training_step(
    loader: MultiProcessDataLoader, sizes: Tuple[int, int], vectors: Path, repeats: int
) -> List[float]:
    """The seconds that training steps of the paper's model take for `UNIT` words."""
    cell_size, hidden_dim = sizes
    overrides = {
        "model.contextualizer.cell_size": cell_size,
        "model.contextualizer.hidden_dim": hidden_dim,
        "model.head.input_dim": hidden_dim,
    }
    variables = {"ONE_BILLION_WORD": "", "FASTTEXT_MODEL_PATH": str(vectors)}
    params = Params.from_file(LANGUAGE_MODEL, json.dumps(overrides), variables)
    embedders = params["model"]["text_field_embedder"]["token_embedders"]
    embedders["words"] = embedders.pop("fasttext")
    model = Model.from_params(params["model"], vocab=Vocabulary.empty()).train()
    optimizer = Optimizer.from_params(
        params["trainer"]["optimizer"], model_parameters=list(model.named_parameters())
    )
    batch = next(iter(loader))
    num_words = count_tokens(batch)
    seconds = []
    for _ in Tqdm.tqdm(range(repeats + 1), desc="steps"):
        start = time.perf_counter()
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        optimizer.step()
        seconds.append((time.perf_counter() - start) * UNIT / num_words)
    return seconds[1:]


def main() -> None:
    parser = argument_parser("loader", __doc__)
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
            sizes = args.cell_size, args.projection_dim
            loader = build_loader(indexers["fasttext"], corpus, vocab, args.batch_size, 0)
            step = time_training_step(loader, sizes, vectors, args.repeats)

    speeds = {name: UNIT / statistics.median(seconds) for name, seconds in timings.items()}
    one, two = (speeds[f"fasttext, workers: {num_workers}"] for num_workers in (1, 2))
    facts: Dict[str, Any] = {"words_per_second_8_workers_extrapolated": one + 7 * (two - one)}
    if step:
        facts["words_per_second_training_step"] = UNIT / statistics.median(step)
        facts["training_steps_per_worker"] = one * statistics.median(step) / UNIT
    report(
        timings,
        "single_id, workers: 1",
        args.out,
        device=torch.device("cpu"),
        measures={name: {"words_per_second": speed} for name, speed in speeds.items()},
        seconds_are_for_words=UNIT,
        training_step_seconds=step,
        **facts,
        corpus="given" if args.corpus else f"{args.num_words} words of {args.num_types} types",
        batch_size=args.batch_size,
        embedding_dim=DIM,
    )
    logger.info("\n%s", "\n".join(f"{name}: {value:,.0f}" for name, value in facts.items()))


if __name__ == "__main__":
    main()
