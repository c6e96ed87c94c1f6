"""The package's folders import each other in one direction only."""

import ast
from pathlib import Path
from typing import Iterator

import pytest

import allennlp_semfit

PACKAGE = Path(allennlp_semfit.__file__).parent
# A folder may import from those before it, and from itself. `compat` mends AllenNLP.
ORDER = (
    "common",
    "compat",
    "fasttext",
    "corpus",
    "subwords",
    "training",
    "data",
    "modules",
    "models",
    "pretrained",
    "senteval",
    "predictors",
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
