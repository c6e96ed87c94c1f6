"""
A training step of the named entity recognition config with ELMo-S, compared with AllenNLP's ELMo of
the same LSTM size.

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

from benchmarks.models import EMBEDDING_DIMS, SIZES, read_config
from benchmarks.reporting import argument_parser, parse_arguments, report, time_interleaved
from benchmarks.synthetic import sample_classes, word_for_class, write_fasttext
from tests.elmo_weights import ORIGINAL_SIZES, write_elmo

TASK = Path(__file__).parent.parent / "training_config" / "tasks" / "ner.jsonnet"
# The dimension in the task's config.
LANGUAGE_MODEL_DIM = 2 * 128


def write_sentences(path: Path, num_sentences: int, num_words: int) -> None:
    """Writes sentences of random words in the CoNLL-2003 format."""
    words = map(word_for_class, sample_classes(50_000, num_sentences * num_words).tolist())
    lines = [f"{word} X O {random.choice(['O', 'I-PER'])}\n" for word in words]
    sentences = (lines[start : start + num_words] for start in range(0, len(lines), num_words))
    path.write_text("\n".join(map("".join, sentences)))


def write_language_models(directory: Path, size: str) -> Dict[str, Any]:
    """Writes an ELMo-S and an ELMo with random weights, and returns the sizes of their LSTMs."""
    vectors = directory / "vectors.bin"
    write_fasttext(vectors, 50_000, 2000, EMBEDDING_DIMS[size])
    config = read_config("elmo_semfit", size)
    config["dataset_reader"]["token_indexers"]["fasttext"]["model_path"] = str(vectors)
    lstm = config["model"]["contextualizer"]
    sizes = {"cell_size": lstm["cell_size"], "projection_dim": lstm["hidden_dim"]}
    (directory / "elmo_semfit").mkdir()
    (directory / "elmo_semfit" / "config.json").write_text(json.dumps(config))
    vocab = Vocabulary()
    vocab.save_to_files(str(directory / "elmo_semfit" / "vocabulary"))
    model = Model.from_params(Params(config["model"]), vocab=vocab)
    torch.save(model.state_dict(), directory / "elmo_semfit" / "best.th")
    write_elmo(directory / "elmo", **{**ORIGINAL_SIZES, **sizes})
    return sizes


def build_step(
    representation: str, directory: Path, dim: int, device: torch.device
) -> Callable[[], None]:
    """A training step of the task with a word representation of dimension `dim`."""
    variables = {f"NER_{part}_DATA_PATH": "" for part in ("TRAIN", "VALIDATION", "TEST")}
    variables["LM_ARCHIVE_PATH"] = str(directory / "elmo_semfit")
    config = json.loads(evaluate_file(str(TASK), ext_vars=variables))
    config["model"]["encoder"]["input_size"] += dim - LANGUAGE_MODEL_DIM
    if representation == "elmo":
        indexers = config["dataset_reader"]["token_indexers"]
        embedders = config["model"]["text_field_embedder"]["token_embedders"]
        del indexers["elmo_semfit"], embedders["elmo_semfit"]
        indexers["elmo"] = {"type": "elmo_characters"}
        embedders["elmo"] = {
            "type": "elmo_token_embedder",
            "options_file": str(directory / "elmo" / "options.json"),
            "weight_file": str(directory / "elmo" / "weights.hdf5"),
            "dropout": 0.0,
        }
    params = Params(config)
    reader = DatasetReader.from_params(params["dataset_reader"])
    instances = list(reader.read(directory / "ner.conll"))
    vocab = Vocabulary.from_instances(instances)
    for instance in instances:
        reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(vocab)
    tensors = move_to_device(batch.as_tensor_dict(), device)
    model = Model.from_params(params["model"], vocab=vocab).to(device).train()
    trainable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    trainer = params["trainer"]
    optimizer = Optimizer.from_params(trainer["optimizer"], model_parameters=trainable)
    max_norm = trainer["grad_norm"]

    def step() -> None:
        optimizer.zero_grad()
        model(**tensors)["loss"].backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in trainable], max_norm)
        optimizer.step()

    return step


def main() -> None:
    parser = argument_parser("ner_step", __doc__)
    parser.add_argument("--size", choices=SIZES, default="paper", help="size of the LSTMs")
    parser.add_argument("--batch-size", type=int, default=64, help="sentences")
    parser.add_argument("--num-words", type=int, default=15, help="words per sentence")
    args = parse_arguments(parser)
    import_plugins()
    torch.manual_seed(1)
    random.seed(1)

    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        write_sentences(directory / "ner.conll", args.batch_size, args.num_words)
        sizes = write_language_models(directory, args.size)
        dim = 2 * sizes["projection_dim"]
        steps = {
            name: build_step(name, directory, dim, args.device) for name in ("elmo", "elmo_semfit")
        }
        timings = time_interleaved(steps, repeats=args.repeats, device=args.device)
    report(args, timings, "elmo", **sizes)


if __name__ == "__main__":
    main()
