"""The records of a training run: duration, device, commit, config and checkpoints."""

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
    "find_checkpoints",
    "config_hash",
    "count_trainable_parameters",
    "device_name",
    "read_sessions",
    "replace_roots",
]

_SEEDS = {"random_seed", "numpy_seed", "pytorch_seed"}
_LOGGER = " - allennlp.common.util - "


def read_sessions(run: Path) -> Dict[str, Any]:
    """
    # Parameters

    run : `Path`
        The directory of a training. `experiments/train` writes `RUN.sessions` next to it.

    # Returns

    `Dict[str, Any]`
        `duration`, the seconds of all sessions with a recorded end; `duration_is_partial`, whether
        some session was killed and has none; `sessions`, the number of sessions; and `commit`, the
        commits of the code, separated by commas.

    # Raises

    `InvalidFileError`
        If the file is missing or invalid.
    """
    file = run.with_name(run.name + ".sessions")
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError as error:
        raise InvalidFileError(
            file, f"cannot be read ({error.strerror})", "experiments/train writes it."
        ) from None
    duration, sessions, is_partial = 0, 0, False
    began: Optional[int] = None
    commits = []
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(r"(began|ended) (\d+) (\S+)", line)
        if not match or (match[1] == "ended" and began is None):
            raise InvalidFileError(
                file,
                f"is malformed in line {number}: {line!r}",
                "Expected `began TIME COMMIT` followed by `ended TIME COMMIT`.",
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
        The weights of the model.
    updates : `int`
        The number of updates so far.
    seconds : `float`
        The time for that many updates, computed from the median interval between checkpoints.
        Pauses and temporary slowdowns of the machine do not count.
    """

    file: Path
    updates: int
    seconds: float


def find_checkpoints(run: Path) -> List[Checkpoint]:
    """
    # Parameters

    run : `Path`
        The directory of a training with `batches_per_epoch`. Its files must have their original
        modification times.

    # Returns

    `List[Checkpoint]`
        Ordered by the number of updates. Empty if there are fewer than two checkpoints.
    """
    batches_per_epoch = read_json(run / "config.json")["data_loader"].get("batches_per_epoch")
    written: Dict[int, Tuple[float, Path]] = {}
    for file in run.glob("model_state_e*_b*.th"):
        epoch, batch = map(int, re.findall(r"\d+", file.name))
        updates = epoch * (batches_per_epoch or 0) + batch
        # The checkpoint at the end of an epoch is written after validation. Prefer an earlier one.
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


def replace_roots(value: Any, roots: Mapping[str, str]) -> Any:
    """
    # Parameters

    value : `Any`
        A config or a part of it.
    roots : `Mapping[str, str]`
        The placeholder, such as `$OUT`, for each absolute path of a directory.

    # Returns

    `Any`
        The same value with the root of every absolute path replaced by its placeholder. For nested
        roots the innermost one applies.

    # Raises

    `InvalidFileError`
        If an absolute path is outside all roots.
    """
    if isinstance(value, dict):
        return {key: replace_roots(item, roots) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_roots(item, roots) for item in value]
    if not isinstance(value, str) or not value.startswith("/"):
        return value
    for root in sorted(roots, key=len, reverse=True):
        if value == root or value.startswith(root.rstrip(os.sep) + os.sep):
            return roots[root] + value[len(root) :]
    raise InvalidFileError(
        value,
        f"in the config.json of a run is outside {', '.join(sorted(roots))}",
        "Set SEMFIT_DATA to the value that it had during the run.",
    )


def config_hash(config: Dict[str, Any], roots: Mapping[str, str]) -> str:
    """
    Twelve hexadecimal digits that depend neither on the seeds nor on the location of the `roots`
    (see `replace_roots`).
    """
    general = replace_roots({k: v for k, v in config.items() if k not in _SEEDS}, roots)
    canonical = json.dumps(general, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def device_name(metrics: Mapping[str, Any]) -> str:
    """
    # Parameters

    metrics : `Mapping[str, Any]`
        The metrics of a training. They include the GPU memory if a GPU was used.

    # Returns

    `str`
        `cpu`, or the name of the GPU of this machine, because the training does not record its own,
        or `gpu` if this machine has none.
    """
    memory = (value for key, value in metrics.items() if re.search(r"gpu_\d+_memory_MB$", key))
    if not any(memory):
        return "cpu"
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "gpu"


def count_trainable_parameters(run: Path) -> Optional[int]:
    """
    # Parameters

    run : `Path`
        The directory of a training with the log of `allennlp train`, which lists the trainable
        parameters, and the best weights.

    # Returns

    `int`, or `None` if one of these files is missing.
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
    # Memory-mapped, because only the shapes are needed.
    state = torch.load(weights, map_location="cpu", mmap=True, weights_only=True)
    if not names or names - set(state):
        return None
    return sum(state[name].numel() for name in names)
