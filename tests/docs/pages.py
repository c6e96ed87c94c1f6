"""The pages of the documentation."""

import re

from tests import ROOT

_NAVIGATION = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
_FILES = (ROOT / "docs" / name for name in re.findall(r": (\S+\.md)$", _NAVIGATION, re.MULTILINE))
# In the order in which a reader meets them. The site makes some from files in the root.
PAGES = [ROOT / "README.md", *(file for file in _FILES if file.exists()), ROOT / "CONTRIBUTING.md"]
