"""
A training step of the named entity recognition config with ELMo-S, compared with AllenNLP's ELMo of
the same LSTM size and with the forward pass of the frozen language model alone.

    python -m benchmarks.ner_step

Language models have random weights and sentences are random words, which do not affect the time.
The step does not include reading and indexing.
"""

import json
import random
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict

import torch
from _jsonnet import evaluate_file
from allennlp.common import Params
from allennlp.common.plugins import import_plugins
from allennlp.data import Batch, DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.nn.util import move_to_device
from allennlp.training.optimizers import Optimizer

from allennlp_semfit.fasttext.train import train_fasttext
from allennlp_semfit.pretrained.embedder import ElmoSemfitEmbedder
from benchmarks.language_models import lstm_overrides, read_config
from benchmarks.reporting import argument_parser, parse_arguments, report
from benchmarks.timing import time_interleaved
from tests.elmo_weights import ORIGINAL_SIZES, write_elmo

ROOT = Path(__file__).parent.parent
TASK = ROOT / "training_config" / "tasks" / "ner.jsonnet"
FASTTEXT_DIM = 300
# That of the task's config.
LANGUAGE_MODEL_DIM = 2 * 128


def write_language_model(directory: Path, vectors: Path, cell_size: int, hidden_dim: int) -> Path:
    """Writes a serialization directory of a `bidirectional_lm` with random weights."""
    overrides = lstm_overrides(cell_size, hidden_dim)
    config = read_config("elmo_semfit", "paper", overrides, FASTTEXT_MODEL_PATH=str(vectors))
    params = Params(config)
    directory.mkdir()
    params.to_file(str(directory / "config.json"))
    vocab = Vocabulary()
    vocab.save_to_files(str(directory / "vocabulary"))
    model = Model.from_params(params["model"].duplicate(), vocab=vocab)
    torch.save(model.state_dict(), directory / "best.th")
    return directory


def write_sentences(path: Path, num_sentences: int, num_words: int) -> None:
    """Writes sentences of random words in the CoNLL-2003 format."""
    corpus = ROOT / "test_fixtures" / "corpus" / "train"
    words = " ".join(file.read_text() for file in sorted(corpus.iterdir())).split()
    choice = random.Random(1).choice
    path.write_text(
        "\n\n".join(
            "\n".join(f"{choice(words)} X O {choice(['O', 'I-PER'])}" for _ in range(num_words))
            for _ in range(num_sentences)
        )
        + "\n"
    )


def build_step(
    representation: str, variables: Dict[str, str], dim: int, device: torch.device
) -> Any:
    """
    The model of the task with a word representation of dimension `dim`, a batch, and a function
    that runs a training step.
    """
    config = json.loads(evaluate_file(str(TASK), ext_vars=variables))
    config["model"]["encoder"]["input_size"] += dim - LANGUAGE_MODEL_DIM
    if representation == "elmo":
        indexers = config["dataset_reader"]["token_indexers"]
        embedders = config["model"]["text_field_embedder"]["token_embedders"]
        del indexers["elmo_semfit"], embedders["elmo_semfit"]
        indexers["elmo"] = {"type": "elmo_characters"}
        embedders["elmo"] = {
            "type": "elmo_token_embedder",
            "options_file": variables["ELMO_OPTIONS_PATH"],
            "weight_file": variables["ELMO_WEIGHTS_PATH"],
            "dropout": 0.0,
        }
    params = Params(config)
    reader = DatasetReader.from_params(params["dataset_reader"].duplicate())
    instances = list(reader.read(variables["NER_TRAIN_DATA_PATH"]))
    vocab = Vocabulary.from_instances(instances)
    for instance in instances:
        reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(vocab)
    tensors = move_to_device(batch.as_tensor_dict(), device)
    model = Model.from_params(params["model"].duplicate(), vocab=vocab).to(device)
    trainable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    optimizer = Optimizer.from_params(
        params["trainer"]["optimizer"].duplicate(), model_parameters=trainable
    )
    max_norm = params["trainer"]["grad_norm"]

    def step() -> None:
        optimizer.zero_grad()
        model(**tensors)["loss"].backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in trainable], max_norm)
        optimizer.step()

    return model.train(), tensors, step


def build_forward_passes(model: Model, tensors: Dict[str, Any]) -> Dict[str, Callable[[], Any]]:
    """
    The forward pass of the embedder in `model`, and the forward pass of its language model without
    the head, for the same words.
    """
    (embedder,) = (m for m in model.modules() if isinstance(m, ElmoSemfitEmbedder))
    words = tensors["tokens"]["elmo_semfit"]
    contextualizer = embedder._language_model._contextualizer
    # The embedder adds boundary tokens.
    vectors = torch.nn.functional.pad(words["vectors"], (0, 0, 1, 1))
    mask = torch.nn.functional.pad(words["word_mask"], (1, 1), value=True)

    def language_model_pass() -> None:
        with torch.no_grad():
            contextualizer(vectors, mask)

    return {
        "elmo_semfit: embedder": lambda: embedder(**words),
        "elmo_semfit: language model": language_model_pass,
    }


def main() -> None:
    parser = argument_parser("ner_step", __doc__)
    parser.add_argument("--cell-size", type=int, default=4096)
    parser.add_argument("--projection-dim", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=64, help="sentences")
    parser.add_argument("--num-words", type=int, default=15, help="words per sentence")
    args = parse_arguments(parser)
    import_plugins()
    torch.manual_seed(1)

    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        vectors = directory / "vectors.bin"
        corpus = ROOT / "test_fixtures" / "corpus" / "train"
        train_fasttext([corpus], vectors, dim=FASTTEXT_DIM, bucket=2000, min_count=1)
        language_model = write_language_model(
            directory / "language_model", vectors, args.cell_size, args.projection_dim
        )
        options, weights = write_elmo(
            directory / "elmo",
            **{
                **ORIGINAL_SIZES,
                "cell_size": args.cell_size,
                "projection_dim": args.projection_dim,
            },
        )
        write_sentences(directory / "ner.conll", args.batch_size, args.num_words)
        paths = {
            "NER_TRAIN_DATA_PATH": directory / "ner.conll",
            "NER_DEV_DATA_PATH": directory / "ner.conll",
            "NER_TEST_DATA_PATH": directory / "ner.conll",
            "LM_ARCHIVE_PATH": language_model,
            "ELMO_OPTIONS_PATH": options,
            "ELMO_WEIGHTS_PATH": weights,
        }
        variables = {name: str(path) for name, path in paths.items()}
        dim = 2 * args.projection_dim
        model, tensors, elmo_semfit_step = build_step("elmo_semfit", variables, dim, args.device)
        _, _, elmo_step = build_step("elmo", variables, dim, args.device)
        timings = time_interleaved(
            {
                "elmo": elmo_step,
                "elmo_semfit": elmo_semfit_step,
                **build_forward_passes(model, tensors),
            },
            repeats=args.repeats,
            device=args.device,
        )
    report(
        timings,
        "elmo",
        args.out,
        device=args.device,
        cell_size=args.cell_size,
        projection_dim=args.projection_dim,
        batch_size=args.batch_size,
        num_words=args.num_words,
    )


if __name__ == "__main__":
    main()
