"""How long a run has taken, of what `train`, beside this, has noted: it may have been interrupted."""

from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

__all__ = ["Sitting", "read_sittings", "seconds_until"]


@dataclass(frozen=True)
class Sitting:
    """From `began` to `ended`, in seconds of Unix time; `None` if it was killed. The commit is Git's."""

    began: float
    ended: Optional[float]
    commit: str


def read_sittings(directory: Path) -> List[Sitting]:
    """
    # Parameters

    directory : `Path`
        Of a run; its sittings are in the file beside it with `.sittings` after the name.
    """
    sittings: List[Sitting] = []
    for line in Path(f"{directory}.sittings").read_text("utf-8").splitlines():
        what, time, commit = line.split()
        if what == "began":
            sittings.append(Sitting(float(time), None, commit))
        else:
            sittings[-1] = Sitting(sittings[-1].began, float(time), commit)
    return sittings


def seconds_until(directory: Path, time: float) -> float:
    """
    The seconds that a run had sat by some moment.

    # Parameters

    directory : `Path`
    time : `float`
        In seconds of Unix time.

    # Raises

    `ValueError`
        If a sitting before that was killed, so that nobody knows how long it was.
    """
    total = 0.0
    sittings = [sitting for sitting in read_sittings(directory) if sitting.began <= time]
    for sitting in sittings:
        if sitting.ended is None and sitting is not sittings[-1]:
            raise ValueError(
                f"{directory}.sittings: a sitting that began at {sitting.began:.0f} was killed, so "
                "how long the run has taken is not known."
            )
        total += min(time, sitting.ended or time) - sitting.began
    return total
