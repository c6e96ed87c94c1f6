"""The package's folders import each other in one direction only."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest

import allennlp_semfit

PACKAGE = Path(allennlp_semfit.__file__).parent
# A folder may import from those before it, and from itself.
ORDER = (
    "functional",
    "common",
    "patches",
    "archives",
    "fasttext",
    "corpus",
    "subwords",
    "static_vectors",
    "training",
    "data",
    "modules",
    "models",
    "mimick",
    "pretrained",
    "analysis",
    "integrations",
    "commands",
    "__init__",
)
MODULES = sorted(PACKAGE.rglob("*.py"))


def folder_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].replace(".py", "")


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


def test_each_folder_has_a_place_in_the_order():
    assert {folder_of(path) for path in MODULES} == set(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path):
    allowed = ORDER[: ORDER.index(folder_of(path)) + 1]
    assert set(imported_folders(path)) <= set(allowed)


def test_the_functions_need_nothing_but_pytorch():
    tree = ast.parse((PACKAGE / "functional.py").read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert modules == {"math", "torch", "torch.nn", "typing"}


def test_the_plugin_imports_without_what_only_some_commands_need():
    script = """
import sys

# `None` makes an import fail.
sys.modules["allennlp"] = None
try:
    import allennlp_semfit
except ImportError as error:
    assert "pip install --no-deps allennlp==" in str(error)
else:
    raise AssertionError
del sys.modules["allennlp"]

# AllenNLP itself imports scikit-learn and spaCy.
optional = ("datasets", "fasttext", "gensim", "matplotlib", "mwparserfromhell", "triton")
for name in (*optional, "sentence_transformers"):
    sys.modules[name] = None

import allennlp_semfit

print(*(name for name in sys.modules if name.startswith("allennlp_semfit.")))

# What `--include-package` does.
from allennlp.common.util import import_module_and_submodules

import_module_and_submodules("allennlp_semfit")
"""
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=PACKAGE.parent
    )
    assert process.returncode == 0, process.stderr
    imported = set(process.stdout.split())
    assert "allennlp_semfit.commands.senteval" in imported
    # These import scikit-learn and spaCy.
    assert not imported & {
        "allennlp_semfit.analysis.senteval.protocols",
        "allennlp_semfit.corpus.sentences",
    }
    assert not any(name.startswith("allennlp_semfit.integrations") for name in imported)
