"""
Writes the tables of collected results into Markdown pages:

    python -m experiments.pages RESULTS.json PAGE.md…

Replaces the text between `<!-- table: NAME -->` and `<!-- end -->`, where NAME is a key of
`experiments.tables.TABLES` or `benchmarks.tables.TABLES`.
"""

import re
import sys
from pathlib import Path
from typing import Any, Mapping

from benchmarks.tables import TABLES as BENCHMARK_TABLES
from benchmarks.tables import read_benchmarks
from experiments.json_files import read_json
from experiments.tables import TABLES

__all__ = ["fill_page"]

_TABLES = {**TABLES, **BENCHMARK_TABLES}
_MARKED = re.compile(r"(<!-- table: (.*) -->\n)[^<]*(<!-- end -->)")


def fill_page(page: str, results: Mapping[str, Any]) -> str:
    """
    The page with the tables of `results`: those of `experiments.collect_results`, and the
    benchmarks as `"benchmarks"`.
    """
    return _MARKED.sub(lambda mark: f"{mark[1]}\n{_TABLES[mark[2]](results)}\n\n{mark[3]}", page)


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    file, *pages = map(Path, sys.argv[1:])
    results = {**read_json(file), "benchmarks": read_benchmarks()}
    for page in pages:
        page.write_text(fill_page(page.read_text("utf-8"), results), "utf-8")


if __name__ == "__main__":
    main()
