"""
The time from the start of Python to the first vector of a sentence: imports, reading the model, and
embedding.

    python -m benchmarks.first_vector

Each candidate runs in a fresh process, with its files in the page cache. The models have random
weights: ELMo-S at the paper's size, as an archive and as a folder of `allennlp export-model`, which
is also opened as in an environment without AllenNLP; AllenNLP's ELMo with LSTMs of this size; and a
BERT of the size of MiniLM-L6 in sentence-transformers.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List

from allennlp.models.archival import archive_model
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

from allennlp_semfit.export.model_folder import export_model
from benchmarks.models import SIZES
from benchmarks.ner_step import write_language_models
from benchmarks.reporting import argument_parser, parse_arguments, report, time_interleaved
from benchmarks.synthetic import word_for_class

REFERENCE = "ELMo-S, archive"
OURS = (
    "from allennlp_semfit import SentenceEmbedder",
    "SentenceEmbedder(path).embed_sentence(words)",
)
# As in an environment without AllenNLP, where the package does not import its plugin.
WITHOUT_ALLENNLP = """import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "allennlp" else find_spec(name)
"""
# The path of the model, the imports, and what computes the vectors.
CANDIDATES = {
    REFERENCE: ("elmo_semfit/model.tar.gz", *OURS),
    "ELMo-S, folder": ("folder", *OURS),
    "ELMo-S, folder, no AllenNLP": ("folder", WITHOUT_ALLENNLP + OURS[0], OURS[1]),
    "ELMo": (
        "elmo",
        "from allennlp.modules.elmo import Elmo, batch_to_ids",
        "Elmo(path + '/options.json', path + '/weights.hdf5', 1)(batch_to_ids([words]))",
    ),
    "sentence-transformers": (
        "bert",
        "from sentence_transformers import SentenceTransformer",
        "SentenceTransformer(path, device='cpu').encode(' '.join(words))",
    ),
}
SCRIPT = """
import sys, time
path, *words = sys.argv[1:]
start = time.perf_counter()
{imports}
print(time.perf_counter() - start)
{embed}
"""


def write_bert(directory: Path) -> None:
    """Writes a sentence-transformer of the size of MiniLM-L6, whose vocabulary is letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    subwords = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    subwords += [f"##{letter}" for letter in letters]
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    # One for each row of the embeddings.
    subwords += map(word_for_class, range(config.vocab_size - len(subwords)))
    part = directory / "parts"
    part.mkdir()
    (part / "vocab.txt").write_text("\n".join(subwords))
    BertTokenizerFast(str(part / "vocab.txt")).save_pretrained(part)
    BertModel(config).save_pretrained(part)
    modules = [Transformer(str(part)), Pooling(config.hidden_size)]
    SentenceTransformer(modules=modules, device="cpu").save(str(directory / "bert"))


def size_of(path: Path) -> int:
    """The bytes of a file, or of the files in a directory."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    parser = argument_parser("first_vector", __doc__, is_on_cpu=True)
    parser.add_argument("--size", choices=SIZES, default="paper", help="size of the LSTMs")
    args = parse_arguments(parser)
    words = list(map(word_for_class, range(1000, 1020)))
    seconds: Dict[str, List[float]] = {name: [] for name in CANDIDATES}

    def process(name: str, directory: Path) -> Callable[[], None]:
        path, imports, embed = CANDIDATES[name]
        script = SCRIPT.format(imports=imports, embed=embed)
        command = [sys.executable, "-W", "ignore", "-c", script, str(directory / path), *words]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}

        def run() -> None:
            output = subprocess.check_output(command, env=environment, stderr=subprocess.DEVNULL)
            seconds[name].append(float(output.split()[0]))

        return run

    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        write_language_models(directory, args.size)
        archive_model(directory / "elmo_semfit", weights="best.th")
        export_model(directory / "elmo_semfit" / "model.tar.gz", directory / "folder")
        write_bert(directory)
        processes = {name: process(name, directory) for name in CANDIDATES}
        timings = time_interleaved(processes, repeats=args.repeats, device=args.device)
        measures = {
            name: {
                # Without the warm-up.
                "import_seconds": statistics.median(seconds[name][1:]),
                "model_bytes": size_of(directory / path),
            }
            for name, (path, *_) in CANDIDATES.items()
        }
        fasttext_bytes = size_of(directory / "vectors.bin")
    report(args, timings, REFERENCE, measures, fasttext_bytes=fasttext_bytes)


if __name__ == "__main__":
    main()
