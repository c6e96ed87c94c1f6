"""
Turns AllenNLP's form of docstring into what Markdown shows well. `# Parameters` and its like become
bold, so that they are no headings of the page, and `name : type` with an indented text becomes an
item of a list.
"""

import re

import griffe

_SECTION = re.compile(r"^# (\w+)$")
_ITEMS = {"Parameters", "Returns", "Raises"}
# A link to the documentation of AllenNLP's form, which this site has not.
_LINK = re.compile(r"\[(`[^`]+`)\]\((?!\w+:)[^)]*\)")


class AllenNlpDocstrings(griffe.Extension):
    """A Griffe extension, for `mkdocs.yml`."""

    def on_object(self, *, obj: griffe.Object, **kwargs: object) -> None:
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(docstring: str) -> str:
    """
    # Parameters

    docstring : `str`
        Without indentation.

    # Returns

    `str`
    """
    lines = []
    section = ""
    for line in _LINK.sub(r"\1", docstring).splitlines():
        heading = _SECTION.match(line)
        if heading:
            section = heading[1]
            lines.append(f"**{section}**")
        elif section in _ITEMS and re.match(r"`?\**\w.*", line):
            lines += ["", f"- {_item(line)}", ""]
        else:
            lines.append(line)
    return "\n".join(lines)


def _item(line: str) -> str:
    name, colon, rest = line.partition(" : ")
    if not colon:
        return line
    names = ", ".join(f"`{each.strip()}`" for each in name.split(","))
    return f"{names} : {rest}"
