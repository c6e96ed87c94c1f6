"""Links between the pages, and from them to other files of the repository. No network."""

import re

import pytest

from tests import ROOT
from tests.docs.pages import PAGES

LINK = re.compile(r"\[[^\[\]]*\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")


def without_blocks(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def without_code(text):
    # A link whose text is code stays one.
    return re.sub(r"(?<!\[)`[^`\n]+`", "", without_blocks(text))


def anchors_of(path):
    """As GitHub and MkDocs make them of headings."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(path.read_text("utf-8")), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


OTHERS = [
    ROOT / folder / "README.md" for folder in ("benchmarks", "experiments", "training_config/tasks")
]


@pytest.mark.parametrize("page", PAGES + OTHERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    for path, anchor in LINK.findall(without_code(page.read_text("utf-8"))):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor:
            assert anchor in anchors_of(target), f"{path}#{anchor}"


def test_all_pages_are_tested_and_in_the_navigation_of_the_site():
    assert set((ROOT / "docs").rglob("*.md")) <= set(PAGES)
