"""The pages of reference have every component and every command, and show what is in the code."""

import importlib.util
import re
import sys

import pytest
from allennlp.commands.subcommand import Subcommand
from allennlp.common import Registrable

from tests.docs.pages import ROOT

COMPONENTS = (ROOT / "docs" / "reference" / "components.md").read_text("utf-8")
COMMANDS = (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8")


@pytest.fixture(scope="module")
def reference():
    path = ROOT / "docs" / "hooks" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def registered():
    """Whatever the package registers: its base class, name and class."""
    for base, classes in Registrable._registry.items():
        for name, (cls, _) in classes.items():
            if cls.__module__.startswith("allennlp_semfit."):
                yield base, name, cls


def test_it_has_every_component():
    found = {(name, cls) for base, name, cls in registered() if base is not Subcommand}
    assert len(found) >= 19
    for name, cls in found:
        assert f"`{name}`" in COMPONENTS
        assert f"<!-- docstring: {cls.__module__}.{cls.__qualname__} -->\n" in COMPONENTS


def test_it_has_every_command():
    marks = re.findall(r"^<!-- help: (\S+) -->$", COMMANDS, flags=re.MULTILINE)
    assert sorted(marks) == sorted(name for base, name, _ in registered() if base is Subcommand)


@pytest.mark.parametrize("name", ["components", "python", "commands"])
def test_it_is_that_of_the_code(name, reference):
    page = (ROOT / "docs" / "reference" / f"{name}.md").read_text("utf-8")
    filled = reference.fill_page(page)
    # Since Python 3.13, argparse breaks the lines of a usage elsewhere.
    if name == "commands" and sys.version_info >= (3, 13):
        filled, page = filled.split(), page.split()
    assert filled == page, "run `make reference`"


def test_a_docstring_becomes_markdown(reference):
    docstring = """
A thing, see [`Model`](../models/model.md) and [the paper](https://arxiv.org).

# Parameters

size : `int`, optional (default = `1`)
    Its size.
    In words.

    More.
vocab : `Vocabulary`
a, b
    See `Other`.

# Returns

`str`
"""
    assert (
        reference.to_markdown(docstring.strip())
        == """
A thing, see `Model` and [the paper](https://arxiv.org).

**Parameters**

- **size** (`int`, default `1`): Its size.
    In words.

    More.

- **vocab** (`Vocabulary`)
- **a**, **b**: See `Other`.

**Returns**

- `str`
""".strip()
    )
