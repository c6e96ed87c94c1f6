import os
from pathlib import Path

import torch

FIXTURES = Path(__file__).parent.parent / "test_fixtures"
VECTORS = str(FIXTURES / "vectors.bin")
TABLE = str(FIXTURES / "table.txt")

if not torch.cuda.is_available():
    # Triton's kernels then run on the CPU, if it is said before anything imports Triton.
    os.environ.setdefault("TRITON_INTERPRET", "1")
