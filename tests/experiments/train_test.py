import fcntl
import subprocess
from pathlib import Path

TRAIN = Path(__file__).parents[2] / "experiments" / "train"


def test_no_two_train_in_one_directory(tmp_path):
    run = tmp_path / "run"
    with (tmp_path / "run.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        second = subprocess.run(
            [TRAIN, tmp_path / "none.jsonnet", run], capture_output=True, text=True
        )
    assert second.returncode == 1
    assert second.stdout == (
        f"{run} is locked by another training process; wait for it or stop it\n"
    )
    # Nothing was begun.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run.lock"]
