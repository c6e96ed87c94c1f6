"""
What `mkdocs.yml` adds to MkDocs:

* README.md is the home page, and some other Markdown files of the repository are pages.
* A file of the repository that a page links to becomes part of the site. What cannot, a directory
  or another Markdown file, is not linked.

In all pages, links are relative to the file that they stand in, so that they work in the repository
as well.
"""

import posixpath
import re
from pathlib import Path
from typing import Optional

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).parents[2]
_PAGES = {
    "index.md": "README.md",
    "howto/paper-tasks.md": "training_config/tasks/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
# The text, the path and the anchor of a relative link or image.
_LINK = re.compile(r"\[([^\[\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for uri, path in _PAGES.items():
        files.append(File.generated(config, uri, content=(_ROOT / path).read_text("utf-8")))
    for page in [file for file in files if file.is_documentation_page()]:
        for _, link, _ in _LINK.findall(page.content_string):
            uri = _uri_in_site(page, link)
            if uri and not files.get_file_from_path(uri) and (_ROOT / uri).is_file():
                files.append(File.generated(config, uri, abs_src_path=str(_ROOT / uri)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    def rewrite(match: "re.Match[str]") -> str:
        text, link, anchor = match.groups()
        uri = _uri_in_site(page.file, link)
        if uri is None:
            return text
        path = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
        return f"[{text}]({path}{anchor or ''})"

    return _LINK.sub(rewrite, markdown)


def _uri_in_site(file: File, link: str) -> Optional[str]:
    """Where the target of a link is in the site; `None` if it is not there."""
    source = _PAGES.get(file.src_uri, f"docs/{file.src_uri}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    for uri, page in _PAGES.items():
        if path == page:
            return uri
    if path.startswith("docs/"):
        return path[len("docs/") :]
    return None if path.endswith(".md") or (_ROOT / path).is_dir() else path
