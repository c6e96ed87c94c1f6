import os
from collections import Counter
from pathlib import Path

import pytest

from experiments.senteval.tasks import TASKS, read_task


@pytest.mark.skipif("SEMFIT_DATA" not in os.environ, reason="SEMFIT_DATA is not set")
def test_sentevals_own_files_have_their_numbers_of_examples(caplog):
    data = Path(os.environ["SEMFIT_DATA"]) / "senteval" / "downstream"
    for name, task in TASKS.items():
        sizes = Counter()
        for file in task.files:
            sizes[file.split] += file.size
        found = {split: len(examples) for split, examples in read_task(name, data).items()}
        assert sizes == found
    assert not caplog.records
