"""The pages of reference have every component and every command, and show what is in the code."""

import importlib
import importlib.util
import re

from allennlp.commands.subcommand import Subcommand
from allennlp.common import Registrable

from tests.docs.pages import ROOT

COMPONENTS = (ROOT / "docs" / "reference" / "components.md").read_text("utf-8")
COMMANDS = (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8")


def load_hook(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "hooks" / f"{name}.py")
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
        assert f"::: {cls.__module__}.{cls.__qualname__}\n" in COMPONENTS


def test_every_entry_is_in_the_code():
    entries = re.findall(r"^::: (\S+)\.(\w+)$", COMPONENTS, flags=re.MULTILINE)
    for module, name in entries:
        assert getattr(importlib.import_module(module), name).__doc__, name


def test_it_has_every_command_and_its_help():
    marks = re.findall(r"^<!-- help: (\S+) -->$", COMMANDS, flags=re.MULTILINE)
    help_texts = load_hook("command_help").command_help()
    assert sorted(marks) == sorted(help_texts)
    assert sorted(marks) == sorted(name for base, name, _ in registered() if base is Subcommand)
    assert help_texts["embed"].startswith("usage: allennlp embed ")
    assert "--dtype {float32,float16}" in help_texts["embed"]
