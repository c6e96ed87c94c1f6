"""The package's folders import each other in one direction only."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import allennlp_semfit
from tests import ROOT

PACKAGE = Path(allennlp_semfit.__file__).parent
# A folder may import from those before it in the table of CONTRIBUTING.md, and from itself.
TABLE = re.findall(r"^\| (`.*?) \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
ORDER = [*re.findall(r"`(\w+)", " ".join(TABLE)), "plugin", "__init__"]
MODULES = sorted(PACKAGE.rglob("*.py"))
# What the plugin changes in AllenNLP.
CHANGED = [
    "allennlp.common.cached_transformers.get_tokenizer",
    "allennlp.data.data_loaders.multiprocess_data_loader.MultiProcessDataLoader._start_batch_workers",
    "allennlp.data.data_loaders.multiprocess_data_loader.MultiProcessDataLoader._start_instance_workers",
    "allennlp.training.checkpointer.Checkpointer.load_checkpoint",
    "allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers."
    "ReduceOnPlateauLearningRateScheduler.__init__",
]


def imported_folders(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("allennlp_semfit."))


def test_imports_go_down():
    for path in MODULES:
        folder = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        allowed = ORDER[: ORDER.index(folder) + 1]
        assert set(imported_folders(path)) <= set(allowed), path


SCRIPT = """
import inspect, json, sys

# `None` makes an import fail.
sys.modules["allennlp_models"] = None
try:
    import allennlp_semfit
except ImportError as error:
    assert "pip install --no-deps allennlp-models==" in str(error)
else:
    raise AssertionError
for name in [name for name in sys.modules if name.startswith("allennlp")]:
    del sys.modules[name]

# AllenNLP itself imports scikit-learn and spaCy.
optional = ("datasets", "fasttext", "gensim", "matplotlib", "mwparserfromhell", "triton")
for name in (*optional, "sentence_transformers"):
    sys.modules[name] = None

import allennlp.commands, allennlp.models, allennlp.predictors
import allennlp.common.cached_transformers
from allennlp.common.util import import_module_and_submodules

def functions():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] != "allennlp":
            continue
        for key, value in vars(module).items():
            if getattr(value, "__module__", None) != name:
                continue
            found[f"{name}.{key}"] = value
            if inspect.isclass(value):
                for member, attribute in vars(value).items():
                    if member not in ("_registry", "__doc__") and not member.startswith("_abc"):
                        found[f"{name}.{key}.{member}"] = attribute
    return found

before = functions()
import allennlp_semfit
from allennlp.modules import Seq2SeqEncoder
# That of a shipped config.
Seq2SeqEncoder.by_name("bidirectional_language_model_transformer")
imported = [name for name in sys.modules if name.startswith("allennlp_semfit.")]
# What `--include-package` does.
import_module_and_submodules("allennlp_semfit")
after = functions()
changed = sorted(name for name in before if before[name] is not after.get(name))
print(json.dumps({"imported": imported, "changed": changed}))
"""


def test_the_plugin_imports_without_what_only_some_commands_need_and_changes_four_things():
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=PACKAGE.parent
    )
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout.splitlines()[-1])
    assert found["changed"] == CHANGED
    assert "allennlp_semfit.commands.export" in found["imported"]
    assert not any(name.startswith("allennlp_semfit.integrations.") for name in found["imported"])
