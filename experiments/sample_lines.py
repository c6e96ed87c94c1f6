"""Samples lines of text files: python -m experiments.sample_lines NUMBER OUT FILE…"""

import random
import sys
from pathlib import Path
from typing import List


def sample_lines(files: List[Path], number: int, out: Path) -> None:
    """
    Writes a random sample of `number` lines, or of all if there are fewer, in random order. The
    seed is fixed.
    """
    lines: List[bytes] = []
    for file in sorted(files):
        lines.extend(line + b"\n" for line in file.read_bytes().split(b"\n") if line.strip())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(b"".join(random.Random(1).sample(lines, min(number, len(lines)))))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sample_lines([Path(name) for name in sys.argv[3:]], int(sys.argv[1]), Path(sys.argv[2]))
