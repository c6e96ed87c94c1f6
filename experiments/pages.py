"""
Writes the tables of collected results into a Markdown page:

    python -m experiments.pages RESULTS.json PAGE.md…

Replaces the text between `<!-- table: NAME -->` and `<!-- end -->`, where NAME is a key of
`experiments.tables.TABLES`, `benchmarks.tables.TABLES` or `stress.report.TABLES`. The rest of the
page stays as it is.
"""

import logging
import re
import sys
from pathlib import Path
from typing import Any, Mapping

from allennlp_semfit.common.errors import InvalidFileError
from benchmarks.tables import TABLES as BENCHMARK_TABLES
from benchmarks.tables import read_benchmarks
from experiments.json_files import read_json
from experiments.tables import TABLES
from stress.report import RESULTS as STRESS_RESULTS
from stress.report import TABLES as STRESS_TABLES

__all__ = ["fill_page"]

_MARKED = re.compile(r"(<!-- table: (.*?) -->\n)(?:(?!<!-- table:).)*?(<!-- end -->)", re.DOTALL)

logger = logging.getLogger("experiments")


def fill_page(page: str, results: Mapping[str, Any], *, name: str) -> str:
    """
    # Parameters

    page : `str`
        Markdown.
    results : `Mapping[str, Any]`
        From `experiments.collect_results`, with the results of the benchmarks as `"benchmarks"` and
        the report of the stress test as `"stress"` if the page has tables of them.
    name : `str`
        The name of the page, for error messages.

    # Returns

    `str`
        The page with the tables of these results.

    # Raises

    `InvalidFileError`
        If a mark names an unknown table or has no end.
    """
    tables = {**TABLES, **BENCHMARK_TABLES, **STRESS_TABLES}
    marks = page.count("<!-- table:")
    if len(_MARKED.findall(page)) != marks or page.count("<!-- end -->") != marks:
        raise InvalidFileError(
            name,
            "has a mark of a table without its end, or not on a line of its own",
            "Write each `<!-- table: NAME -->` on a line of its own, followed by `<!-- end -->`.",
        )

    def replace(match: "re.Match[str]") -> str:
        if match[2] not in tables:
            raise InvalidFileError(
                name,
                f"has the unknown table `<!-- table: {match[2]} -->`",
                f"Use one of {', '.join(tables)}.",
            )
        return f"{match[1]}\n{tables[match[2]](results)}\n\n{match[3]}"

    return _MARKED.sub(replace, page)


def _new_page(title: str) -> str:
    """A page with all tables and no text."""
    return f"# {title}\n" + "".join(
        f"\n## {name.capitalize()}\n\n<!-- table: {name} -->\n<!-- end -->\n" for name in TABLES
    )


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    if len(sys.argv) < 3:
        sys.exit("python -m experiments.pages RESULTS.json PAGE.md…")
    file, *pages = map(Path, sys.argv[1:])
    try:
        results = {
            **read_json(file),
            "benchmarks": read_benchmarks(),
            "stress": read_json(STRESS_RESULTS),
        }
        for page in pages:
            before = page.read_text("utf-8") if page.exists() else _new_page(file.stem)
            page.write_text(fill_page(before, results, name=str(page)), "utf-8")
            logger.info("Wrote the tables of %s", page)
    except (InvalidFileError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
