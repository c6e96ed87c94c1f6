"""
Writes the tables of gathered results into a page:

    python -m experiments.pages RESULTS.json PAGE.md

Each stands between `<!-- table: NAME -->` and `<!-- end -->`, where NAME is one of `TABLES`, or
`speed`, the figures of `benchmarks/results`.
What is around them is left as it is.
"""

import logging
import re
import sys
from pathlib import Path

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json
from experiments.results import Results
from experiments.speed import speed_table
from experiments.tables import TABLES

__all__ = ["fill_page"]

_MARKED = re.compile(r"(<!-- table: (.*?) -->\n)(?:(?!<!-- table:).)*?(<!-- end -->)", re.DOTALL)

logger = logging.getLogger("experiments")


def fill_page(page: str, results: Results, *, name: str) -> str:
    """
    # Parameters

    page : `str`
        In Markdown.
    results : `Mapping[str, List[Dict[str, Any]]]`
        What `experiments.gather` gives.
    name : `str`
        Of the page, for errors.

    # Returns

    `str`
        The page with the tables of these results: the same again, if it has them already.

    # Raises

    `InvalidFileError`
        If a mark names no table, or the ends of tables are not as many.
    """
    marks = page.count("<!-- table:")
    if len(_MARKED.findall(page)) != marks or page.count("<!-- end -->") != marks:
        raise InvalidFileError(
            f"{name}: each `<!-- table: NAME -->` takes a line of its own, and `<!-- end -->` "
            "after it"
        )

    def replace(match: "re.Match[str]") -> str:
        if match[2] == "speed":
            table = speed_table()
        elif match[2] in TABLES:
            table = TABLES[match[2]](results)
        else:
            raise InvalidFileError(
                f"{name}: `<!-- table: {match[2]} -->` names none of the tables "
                f"{', '.join([*TABLES, 'speed'])}"
            )
        return f"{match[1]}\n{table}\n\n{match[3]}"

    return _MARKED.sub(replace, page)


def _new_page(title: str) -> str:
    """One with all tables, and nothing said of them."""
    return f"# {title}\n" + "".join(
        f"\n## {name.capitalize()}\n\n<!-- table: {name} -->\n<!-- end -->\n" for name in TABLES
    )


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    if len(sys.argv) != 3:
        sys.exit("python -m experiments.pages RESULTS.json PAGE.md")
    results, page = map(Path, sys.argv[1:])
    try:
        before = page.read_text("utf-8") if page.exists() else _new_page(results.stem)
        text = fill_page(before, read_json(results), name=str(page))
    except (InvalidFileError, OSError) as error:
        sys.exit(str(error))
    page.write_text(text, "utf-8")
    logger.info("%s has the tables of %s", page, results)


if __name__ == "__main__":
    main()
