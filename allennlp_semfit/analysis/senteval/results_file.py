"""The results file of `senteval`, from which an interrupted run resumes."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.analysis.senteval.sentence_vectors import SentenceVectors
from allennlp_semfit.analysis.senteval.tasks import TASKS
from allennlp_semfit.common.output import write_file

__all__ = ["ResultsFile"]

_DECIMALS = 2


class ResultsFile:
    """
    The results of the tasks, written as JSON after each task.

    # Parameters

    path : `Path`, optional
        Without it, the results are only kept in memory.
    folds, seed : `int`
    data_sha256 : `Mapping[str, str]`
        The SHA-256 of the data of each task to run.
    force : `bool`, optional (default = `False`)
        Whether to ignore an existing file, and replace it after the first task.

    # Raises

    `ConfigurationError`
        If, without `force`, the file has results of other data, folds or seeds.
    """

    def __init__(
        self,
        path: Optional[Path],
        *,
        folds: int,
        seed: int,
        data_sha256: Mapping[str, str],
        force: bool = False,
    ) -> None:
        self._path = path
        self._data_sha256 = data_sha256
        self._contents: Dict[str, Any] = {"model": {}, "folds": folds, "seed": seed, "tasks": {}}
        if path and path.exists() and not force:
            found = _read(path)
            self._refuse(
                [
                    f"--{name} {found[name]}, not {self._contents[name]}"
                    for name in ("folds", "seed")
                    if found[name] != self._contents[name]
                ]
                + [
                    f"other data of {name}"
                    for name, sha256 in data_sha256.items()
                    if found["tasks"].get(name, {}).get("data_sha256", sha256) != sha256
                ]
            )
            self._contents = found

    def claim(self, archive: str, vectors: SentenceVectors) -> None:
        """Sets the model of the results; raises an error if the file has those of another model."""
        model = {
            "archive": archive,
            "vectors": vectors.description,
            "dim": vectors.dim,
            **vectors.identity._asdict(),
        }
        found = self._contents["model"] or model
        if found["sha256"] != model["sha256"]:
            self._refuse(["another model"])
        if found["input_sha256"] != model["input_sha256"]:
            difference = (
                "this model with another fastText file, another setting of --autocast or, for a "
                "subword model, another tokenizer or --sub-token-mode"
            )
            self._refuse([difference])
        if found["vectors"] != model["vectors"]:
            self._refuse([f"the {found['vectors']}, not the {model['vectors']}"])
        self._contents["model"] = model

    @property
    def contents(self) -> Dict[str, Any]:
        """The contents of the file, with `"average"` once all ten tasks are complete."""
        return self._contents

    def add(self, name: str, result: Mapping[str, Any]) -> None:
        """Adds the result of the task `name`, and writes the file."""
        tasks = self._contents["tasks"]
        tasks[name] = {**result, "data_sha256": self._data_sha256[name]}
        self._contents["tasks"] = {each: tasks[each] for each in TASKS if each in tasks}
        if len(tasks) == len(TASKS):
            mean = sum(each["score"] for each in tasks.values()) / len(tasks)
            self._contents["average"] = round(mean, _DECIMALS)
        if self._path:
            with write_file(self._path) as unfinished:
                unfinished.write_text(json.dumps(self._contents, indent=2) + "\n", encoding="utf-8")

    def _refuse(self, differences: List[str]) -> None:
        if differences:
            raise ConfigurationError(
                f"{self._path}: it has results of {', '.join(differences)}; give another name, "
                "or --force to replace it"
            )


def _read(path: Path) -> Dict[str, Any]:
    with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        contents: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        model, results = contents["model"], contents["tasks"].values()
        texts = [model[key] for key in ("vectors", "sha256", "input_sha256")]
        texts += [result["data_sha256"] for result in results]
        numbers = [contents["folds"], contents["seed"], contents.get("average", 0)]
        for result in results:
            numbers += result["C"] if isinstance(result["C"], list) else [result["C"]]
            numbers += [result[key] for key in ("score", "dev_score", "seconds")]
        if all(isinstance(number, (int, float)) for number in numbers) and all(
            isinstance(text, str) for text in texts
        ):
            return contents
    raise ConfigurationError(
        f"{path}: it has something other than results of `allennlp senteval`; give another name, "
        "or --force to replace it"
    )
