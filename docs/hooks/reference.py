"""
Fills the reference pages from the code, between `<!-- docstring: OBJECT, METHOD… -->` or
`<!-- help: COMMAND -->` and `<!-- end -->`:

    make reference
"""

import inspect
import pydoc
import re
from functools import partial
from pathlib import Path
from typing import Any, Sequence

from allennlp.commands import ArgumentParserWithDefaults
from allennlp.commands.subcommand import Subcommand

import allennlp_semfit  # noqa: F401 (registers the commands)

PAGES = sorted((Path(__file__).parents[1] / "reference").glob("*.md"))
_MARK = re.compile(r"(<!-- (docstring|help): ([^\n]*) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
_SECTION = re.compile(r"^# (\w+)\n", flags=re.MULTILINE)
_ITEMS = {"Parameters", "Returns", "Raises"}
# The first line of a parameter, and the indented lines below.
_ENTRY = re.compile(r"^(\S.*)\n((?: .*\n|\n)*)", flags=re.MULTILINE)
_DEFAULT = re.compile(r"optional \(default = (.*)\)$")
# A link to the documentation of AllenNLP's form, which these pages do not have.
_LINK = re.compile(r"\[(`[^`]+`)\]\((?!\w+:)[^)]*\)")


def fill_page(page: str) -> str:
    """A page with the present docstrings and helps."""

    def fill(mark: "re.Match[str]") -> str:
        names = mark[3].split(", ")
        text = command_help(*names) if mark[2] == "help" else describe(names[0], names[1:])
        return f"{mark[1]}\n{text.strip()}\n\n{mark[4]}"

    return _MARK.sub(fill, page)


def command_help(name: str) -> str:
    subparsers = ArgumentParserWithDefaults(prog="allennlp").add_subparsers()
    parser = Subcommand.by_name(name)().add_subparser(subparsers)
    # As in a terminal of 80 columns, whatever the width of this one.
    parser.formatter_class = partial(parser.formatter_class, width=78)
    return f"```text\n{parser.format_help().strip()}\n```"


def describe(path: str, methods: Sequence[str] = ()) -> str:
    """The path and the docstring of a class or function, with some methods of a class."""
    found: Any = pydoc.locate(path)
    parts = [f"`{path}{'' if isinstance(found, type) else _arguments(found)}`", _docstring(found)]
    for name in methods:
        method = getattr(found, name)
        parts.append(f"#### `{name}`")
        if not isinstance(method, property):
            parts.append(f"`{name}{_arguments(method)}`")
        parts.append(_docstring(method))
    return "\n\n".join(parts)


def _docstring(found: Any) -> str:
    return to_markdown(inspect.getdoc(found) or "")


def _arguments(function: Any) -> str:
    """Without types, which the docstring has."""
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
        if each.name not in ("self", "cls")
    ]
    return str(inspect.Signature(parameters))


def to_markdown(docstring: str) -> str:
    """
    A docstring in AllenNLP's form, with bold names of sections, which are no headings of the page,
    and with a list item for each `name : type` and its indented text.
    """
    text, *sections = _SECTION.split(_LINK.sub(r"\1", docstring) + "\n")
    parts = [text]
    for name, body in zip(sections[::2], sections[1::2]):
        parts += [f"**{name}**", _ENTRY.sub(_item, body) if name in _ITEMS else body]
    return "\n\n".join(part.strip() for part in parts if part)


def _item(entry: "re.Match[str]") -> str:
    names, _, kind = _DEFAULT.sub(r"default \1", entry[1]).partition(" : ")
    if not names.startswith("`"):
        names = ", ".join(f"**{name}**" for name in names.split(", "))
    text = entry[2].strip()
    item = f"- {names}{f' ({kind})' if kind else ''}{f': {text}' if text else ''}\n"
    # What follows an item with paragraphs must be separate, or it becomes one of them.
    return f"{item}\n" if "\n\n" in text else item


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(fill_page(page.read_text("utf-8")), "utf-8")
