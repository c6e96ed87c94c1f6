"""The pages of reference have every component and every command, and show what is in the code."""

import importlib.util
import re

import pytest
from allennlp.commands.subcommand import Subcommand
from allennlp.common import Registrable

from allennlp_semfit import functional
from tests import ROOT

COMPONENTS = (ROOT / "docs" / "reference" / "components.md").read_text("utf-8")
COMMANDS = (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8")
PYTHON = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")


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
        for text in (f"`{name}`", f"<!-- docstring: {cls.__module__}.{cls.__qualname__} -->\n"):
            assert text in COMPONENTS, f"add {text} to docs/reference/components.md"


def test_it_has_every_command():
    marks = re.findall(r"^<!-- help: (\S+) -->$", COMMANDS, flags=re.MULTILINE)
    names = [name for base, name, _ in registered() if base is Subcommand]
    assert sorted(marks) == sorted(names), "add `<!-- help: … -->` to docs/reference/commands.md"


def test_it_has_every_loss():
    for name in functional.__all__:
        assert f"<!-- docstring: allennlp_semfit.functional.{name} -->\n" in PYTHON


@pytest.mark.parametrize("page", [COMPONENTS, PYTHON], ids=["components", "python"])
def test_it_has_the_docstrings_of_the_code(page, reference):
    assert reference.fill_page(page) == page, "run `make reference`"


def test_it_has_the_help_of_the_commands(reference):
    # Python's versions break the lines of a usage at different places.
    assert reference.fill_page(COMMANDS).split() == COMMANDS.split(), "run `make reference`"


def test_the_help_does_not_depend_on_the_terminal(monkeypatch, reference):
    monkeypatch.setenv("COLUMNS", "40")
    narrow = reference.fill_page(COMMANDS)
    monkeypatch.setenv("COLUMNS", "200")
    assert reference.fill_page(COMMANDS) == narrow
