"""Draws lines of text: python -m experiments.sample NUMBER OUT FILE…"""

import random
import sys
from pathlib import Path
from typing import List


def sample(files: List[Path], number: int, out: Path) -> None:
    """
    Writes so many lines of the files, in an order that is random and always the same.

    # Parameters

    files : `List[Path]`
    number : `int`
        All of them, if they have no more.
    out : `Path`
    """
    lines: List[bytes] = []
    for file in sorted(files):
        lines.extend(line + b"\n" for line in file.read_bytes().split(b"\n") if line.strip())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(b"".join(random.Random(1).sample(lines, min(number, len(lines)))))


def main() -> None:
    if len(sys.argv) < 4 or not sys.argv[1].isdecimal():
        sys.exit("python -m experiments.sample NUMBER OUT FILE…")
    try:
        sample([Path(name) for name in sys.argv[3:]], int(sys.argv[1]), Path(sys.argv[2]))
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}; is SEMFIT_DATA the directory with the text?")


if __name__ == "__main__":
    main()
