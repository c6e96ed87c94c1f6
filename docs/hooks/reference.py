"""
Fills the reference pages from the code, between `<!-- docstring: OBJECT, METHOD… -->` or
`<!-- help: COMMAND -->` and `<!-- end -->`:

    make reference
"""

import inspect
import os
import pydoc
import re
from pathlib import Path
from typing import Any, List, Sequence

from allennlp.commands import ArgumentParserWithDefaults
from allennlp.commands.subcommand import Subcommand

import allennlp_semfit  # noqa: F401 (registers the commands)

PAGES = sorted((Path(__file__).parents[1] / "reference").glob("*.md"))
_MARK = re.compile(r"(<!-- (docstring|help): ([^\n]*) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
_SECTION = re.compile(r"^# (\w+)$")
_ITEMS = {"Parameters", "Returns", "Raises"}
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
    os.environ["COLUMNS"] = "80"
    subparsers = ArgumentParserWithDefaults(prog="allennlp").add_subparsers()
    text = Subcommand.by_name(name)().add_subparser(subparsers).format_help()
    return f"```text\n{text.strip()}\n```"


def describe(path: str, methods: Sequence[str] = ()) -> str:
    """The path and the docstring of a class or function, with some methods of a class."""
    found: Any = pydoc.locate(path)
    parts = [f"`{path}{'' if isinstance(found, type) else _arguments(found)}`", _docstring(found)]
    for name in methods:
        method = getattr(found, name)
        parts.append(f"#### {name}")
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
    A docstring in AllenNLP's form, with bold sections, which are no headings of the page, and with
    list items for `name : type` and the indented lines below.
    """
    lines: List[str] = []
    section = ""
    is_item = is_named = has_paragraphs = False
    for line in _LINK.sub(r"\1", docstring).splitlines():
        heading = _SECTION.match(line)
        if heading:
            section = heading[1]
            is_item = is_named = has_paragraphs = False
            lines.append(f"**{section}**")
        elif section in _ITEMS and re.match(r"`?\**\w.*", line):
            name, colon, rest = line.partition(" : ")
            if colon or re.fullmatch(r"[\w, ]+", line):
                name = ", ".join(f"`{each.strip()}`" for each in name.split(","))
            # A list starts after a blank line, and goes on after one if an item has paragraphs.
            if lines[-1] and (not is_item or has_paragraphs):
                lines.append("")
            lines.append(f"- {name}{colon}{rest}")
            has_paragraphs = False
            is_item = is_named = True
        elif is_named and line:
            lines[-1] += f" — {line.strip()}"
            is_named = False
        else:
            lines.append(line)
            is_named, has_paragraphs = False, has_paragraphs or not line
    return "\n".join(lines)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(fill_page(page.read_text("utf-8")), "utf-8")
