"""Merges new results with earlier ones whose runs are no longer available."""

from typing import Any, Dict, List, Mapping, Tuple

from allennlp_semfit.common.errors import InvalidFileError

__all__ = ["merge_results"]

# The keys that identify a row. Repeated runs of a task differ in commit or duration, so both stay.
_IDENTITY = {
    "language_models": ("corpus", "name"),
    "equal_time": ("corpus", "name"),
    "tasks": ("task", "seed", "representation", "config_hash", "commit", "duration"),
    "senteval": ("representation",),
    "cloze": ("corpus", "name"),
    "oov_entities": ("run", "group", "label"),
    "probes": ("corpus", "name", "seed"),
}


def merge_results(
    results: Mapping[str, List[Dict[str, Any]]], previous: Any, *, name: str
) -> Dict[str, List[Dict[str, Any]]]:
    """
    # Parameters

    results : `Mapping[str, List[Dict[str, Any]]]`
        From `experiments.collect_results`.
    previous : `Any`
        Results in the same form from an earlier run.
    name : `str`
        The file of `previous`, for error messages.

    # Returns

    `Dict[str, List[Dict[str, Any]]]`
        All rows of both. A row of `results` replaces the row of `previous` with the same identity.
        Repeated runs of a task with the same config are all previous.

    # Raises

    `InvalidFileError`
        If `previous` has another form.
    """
    if not _has_form_of_results(previous):
        raise InvalidFileError(
            name,
            "is not the output of experiments.collect_results, an object with lists of objects: "
            f"{', '.join(_IDENTITY)}",
            "Give another file, or omit --keep.",
        )
    configs = {(row["task"], row["representation"]): row["config_hash"] for row in results["tasks"]}
    merged = {}
    for part, rows in results.items():
        by_identity: Dict[Tuple[Any, ...], Dict[str, Any]] = {}
        for row in [*previous.get(part, []), *rows]:
            by_identity[tuple(row[key] for key in _IDENTITY[part])] = row
        merged[part] = list(by_identity.values())
    # Drop runs of an outdated config.
    merged["tasks"] = [
        row
        for row in merged["tasks"]
        if configs.get((row["task"], row["representation"]), row["config_hash"])
        == row["config_hash"]
    ]
    return merged


def _has_form_of_results(previous: Any) -> bool:
    return (
        isinstance(previous, dict)
        and set(previous) <= set(_IDENTITY)
        and all(
            isinstance(rows, list)
            and all(isinstance(row, dict) and set(_IDENTITY[part]) <= set(row) for row in rows)
            for part, rows in previous.items()
        )
    )
