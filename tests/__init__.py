import os
import sys
from pathlib import Path
from typing import Dict

# Ignore the user's settings. tqdm reads its own when it is imported.
for _name in ("ALLENNLP_DEBUG", "ALLENNLP_LOG_LEVEL", "TQDM_DISABLE"):
    os.environ.pop(_name, None)

# Tests use a GPU only with `-m gpu`. pytest's worker processes inherit the variable.
if os.environ.setdefault("SEMFIT_TEST_ON_GPU", str("gpu" in sys.argv)) == "False":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch  # noqa: E402

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "test_fixtures"
TRAIN = FIXTURES / "corpus" / "train"
VALIDATION = FIXTURES / "corpus" / "validation.txt"
VECTORS = str(FIXTURES / "vectors.bin")
TABLE = str(FIXTURES / "table.txt")

if not torch.cuda.is_available():
    # Triton's interpreter runs the kernels on the CPU. Set it before anything imports Triton.
    os.environ.setdefault("TRITON_INTERPRET", "1")


def files_in(directory: Path) -> Dict[str, str]:
    """The text of each file in a directory and below it."""
    return {
        str(path.relative_to(directory)): path.read_bytes().decode()
        for path in directory.rglob("*")
        if path.is_file()
    }
