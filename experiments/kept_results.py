"""What is kept of results that were gathered before, where the runs themselves are no more."""

from typing import Any, Dict, List, Mapping, Tuple

from allennlp_semfit.common.invalid_file import InvalidFileError

__all__ = ["with_kept"]

# By what a row of each part is known.
_IDENTITY = {
    "language_models": ("corpus", "name"),
    "in_time": ("corpus", "name"),
    # One that was run again counts as well as the first: its language model was another, too.
    "tasks": ("task", "seed", "representation", "began"),
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
        All rows of both; but where both have one of the same name, that of `results`. Only of
        tasks both count, unless they are of one run, which began at one time.

    # Raises

    `InvalidFileError`
        If `kept` is not like `results`.
    """
    if not isinstance(kept, dict) or set(kept) - set(_IDENTITY):
        raise InvalidFileError(
            f"{name}: it is not what experiments.gather writes, an object with "
            f"{', '.join(_IDENTITY)}; give no --keep, or a file that is"
        )
    merged = {}
    for part, rows in results.items():
        by_identity: Dict[Tuple[Any, ...], Dict[str, Any]] = {}
        for row in [*kept.get(part, []), *rows]:
            by_identity[tuple(row.get(key) for key in _IDENTITY[part])] = row
        merged[part] = list(by_identity.values())
    return merged
