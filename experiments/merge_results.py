"""What is kept of results that were gathered before, where the runs themselves are no more."""

from typing import Any, Dict, List, Mapping, Tuple

from allennlp_semfit.common.errors import InvalidFileError

__all__ = ["with_kept"]

# By what a row of each part is known. Of tasks, a run that was made again is another row.
_IDENTITY = {
    "language_models": ("corpus", "name"),
    "in_time": ("corpus", "name"),
    "tasks": ("task", "seed", "representation", "config_hash", "commit", "duration"),
    "senteval": ("representation",),
    "curves": ("corpus", "name"),
    "frequency": ("corpus", "name"),
    "layers": ("corpus", "name"),
    "unseen": ("run", "group", "label"),
    "spectra": ("corpus", "targets"),
}


def with_kept(
    results: Mapping[str, List[Dict[str, Any]]], kept: Any, *, name: str
) -> Dict[str, List[Dict[str, Any]]]:
    """
    # Parameters

    results : `Mapping[str, List[Dict[str, Any]]]`
        What `experiments.gather` gives.
    kept : `Any`
        The same of runs that are elsewhere, or no more.
    name : `str`
        Of the file that these are from, for errors.

    # Returns

    `Dict[str, List[Dict[str, Any]]]`
        All rows of both; but where both have one of the same name, that of `results`. Only a task
        that was run again from the same config has a row for each run.

    # Raises

    `InvalidFileError`
        If `kept` is not like `results`.
    """
    if not _is_like_results(kept):
        raise InvalidFileError(
            f"{name}: it is not what experiments.gather writes, an object with lists of objects, "
            f"{', '.join(_IDENTITY)}; give no --keep, or a file that is"
        )
    configs = {(row["task"], row["representation"]): row["config_hash"] for row in results["tasks"]}
    merged = {}
    for part, rows in results.items():
        by_identity: Dict[Tuple[Any, ...], Dict[str, Any]] = {}
        for row in [*kept.get(part, []), *rows]:
            by_identity[tuple(row[key] for key in _IDENTITY[part])] = row
        merged[part] = list(by_identity.values())
    # What another config gave is another thing.
    merged["tasks"] = [
        row
        for row in merged["tasks"]
        if configs.get((row["task"], row["representation"]), row["config_hash"])
        == row["config_hash"]
    ]
    return merged


def _is_like_results(kept: Any) -> bool:
    return (
        isinstance(kept, dict)
        and set(kept) <= set(_IDENTITY)
        and all(
            isinstance(rows, list)
            and all(isinstance(row, dict) and set(_IDENTITY[part]) <= set(row) for row in rows)
            for part, rows in kept.items()
        )
    )
