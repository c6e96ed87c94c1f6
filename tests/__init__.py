import os
import sys
from pathlib import Path

# A user's settings. tqdm reads its own when it is imported.
for _name in ("ALLENNLP_DEBUG", "ALLENNLP_LOG_LEVEL", "TQDM_DISABLE"):
    os.environ.pop(_name, None)

# Tests use a GPU only with `-m gpu`, which the processes that pytest starts find here.
if os.environ.setdefault("SEMFIT_TEST_ON_GPU", str("gpu" in sys.argv)) == "False":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch  # noqa: E402

FIXTURES = Path(__file__).parent.parent / "test_fixtures"
VECTORS = str(FIXTURES / "vectors.bin")
TABLE = str(FIXTURES / "table.txt")

if not torch.cuda.is_available():
    # Triton's kernels then run on the CPU, if it is said before anything imports Triton.
    os.environ.setdefault("TRITON_INTERPRET", "1")
