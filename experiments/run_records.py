"""What a training leaves beside its scores: when it ran, on what, which code and config."""

import hashlib
import json
import math
import os
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

import torch

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json

__all__ = [
    "Checkpoint",
    "checkpoints_of",
    "config_hash",
    "count_trainable_parameters",
    "device_of",
    "read_sittings",
    "without_places",
]

_SEEDS = {"random_seed", "numpy_seed", "pytorch_seed"}
_LOGGER = " - allennlp.common.util - "


def read_sittings(run: Path) -> Dict[str, Any]:
    """
    # Parameters

    run : `Path`
        The directory of a training. `train` has written `RUN.sessions` beside it.

    # Returns

    `Dict[str, Any]`
        `duration`, in seconds, of all sessions whose end is known; `duration_is_partial`, whether
        there are others: those that were killed; `sessions`, their number; and `commit`, that of
        the code, or several with commas between.

    # Raises

    `InvalidFileError`
        If the file is missing or is not as `train` writes it.
    """
    file = run.with_name(run.name + ".sessions")
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError as error:
        raise InvalidFileError(
            f"{file}: it cannot be read ({error.strerror}); experiments/train writes it"
        ) from None
    duration, sessions, is_partial = 0, 0, False
    began: Optional[int] = None
    commits = []
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(r"(began|ended) (\d+) (\S+)", line)
        if not match or (match[1] == "ended" and began is None):
            raise InvalidFileError(
                f"{file}: line {number} is {line!r}; `began TIME COMMIT` is wanted, and after it "
                "`ended TIME COMMIT`"
            )
        time = int(match[2])
        if match[1] == "began":
            is_partial = is_partial or began is not None
            began = time
            sessions += 1
        elif began is not None:
            duration += time - began
            began = None
        commits.append(match[3])
    return {
        "duration": duration,
        "duration_is_partial": is_partial or began is not None,
        "sessions": sessions,
        "commit": ", ".join(dict.fromkeys(commits)),
    }


@dataclass(frozen=True)
class Checkpoint:
    """
    # Parameters

    file : `Path`
        Of the model's weights.
    updates : `int`
        That had been made.
    seconds : `float`
        That so many take, by the median of the intervals between checkpoints: what else the machine
        had to do for a while is not counted, nor is a time when the run was not running.
    """

    file: Path
    updates: int
    seconds: float


def checkpoints_of(run: Path) -> List[Checkpoint]:
    """
    # Parameters

    run : `Path`
        The directory of a training with `batches_per_epoch`. Its files must have the times when
        they were written.

    # Returns

    `List[Checkpoint]`
        By the number of updates; the last may be that of the training's end. None, if there are
        not two, between which the time could be taken.
    """
    batches_per_epoch = read_json(run / "config.json")["data_loader"].get("batches_per_epoch")
    written: Dict[int, Tuple[float, Path]] = {}
    for file in run.glob("model_state_e*_b*.th"):
        epoch, batch = map(int, re.findall(r"\d+", file.name))
        updates = epoch * (batches_per_epoch or 0) + batch
        # The one of an epoch's end comes after validation; there may be one from before it.
        written[updates] = min((file.stat().st_mtime, file), written.get(updates, (math.inf, file)))
    order = sorted(written)
    intervals = [
        (written[later][0] - written[earlier][0]) / (later - earlier)
        for earlier, later in zip(order, order[1:])
    ]
    if not batches_per_epoch or not intervals:
        return []
    seconds = statistics.median(intervals)
    return [Checkpoint(written[updates][1], updates, updates * seconds) for updates in order]


def without_places(value: Any, places: Mapping[str, str]) -> Any:
    """
    # Parameters

    value : `Any`
        A config, or a part of one.
    places : `Mapping[str, str]`
        By the absolute path of a directory, what is to stand for it, such as `$OUT`.

    # Returns

    `Any`
        The same with every path in one of these directories begun with what stands for it; of
        directories inside of each other, the innermost.

    # Raises

    `InvalidFileError`
        If an absolute path is in none of them.
    """
    if isinstance(value, dict):
        return {key: without_places(item, places) for key, item in value.items()}
    if isinstance(value, list):
        return [without_places(item, places) for item in value]
    if not isinstance(value, str) or not value.startswith("/"):
        return value
    for place in sorted(places, key=len, reverse=True):
        if value == place or value.startswith(place.rstrip(os.sep) + os.sep):
            return places[place] + value[len(place) :]
    raise InvalidFileError(
        f"{value}, which a run's config.json names, is in none of {', '.join(sorted(places))}; set "
        "SEMFIT_DATA to what it was when the run was made"
    )


def config_hash(config: Dict[str, Any], places: Mapping[str, str]) -> str:
    """
    Twelve hexadecimal digits that are the same for configs that differ only in their seeds and in
    where the `places` (see `without_places`) are.
    """
    general = without_places({k: v for k, v in config.items() if k not in _SEEDS}, places)
    canonical = json.dumps(general, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def device_of(metrics: Mapping[str, Any]) -> str:
    """
    # Parameters

    metrics : `Mapping[str, Any]`
        Of a training, which has a GPU's memory among them if there was one.

    # Returns

    `str`
        `cpu`, if none was used. Otherwise the name of this machine's GPU, because the training does
        not tell its own, or `gpu`, if this machine has none.
    """
    memory = (value for key, value in metrics.items() if re.search(r"gpu_\d+_memory_MB$", key))
    if not any(memory):
        return "cpu"
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "gpu"


def count_trainable_parameters(run: Path) -> Optional[int]:
    """
    # Parameters

    run : `Path`
        The directory of a training, with the log in which `allennlp train` lists what it trains,
        and the best weights.

    # Returns

    `int`, or `None` if one of these files is not there.
    """
    logs, weights = sorted(run.glob("out*.log")), run / "best.th"
    if not logs or not weights.exists():
        return None
    names = set()
    is_listing = False
    with logs[0].open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            message = line.partition(_LOGGER)[2].strip()
            if message.endswith("Tunable (with gradient):"):
                is_listing = True
            elif is_listing and message:
                names.add(message)
            else:
                is_listing = False
    # Mapped: their sizes are wanted, and not the values.
    state = torch.load(weights, map_location="cpu", mmap=True, weights_only=True)
    if not names or names - set(state):
        return None
    return sum(state[name].numel() for name in names)
