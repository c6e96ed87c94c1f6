"""Reads the text of datasets: JSON lines, CSV, Parquet, and those of the Hugging Face Hub."""

import csv
import glob
import io
import re
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Collection, Dict, Iterator, List, Optional

from allennlp.common.checks import ConfigurationError

# The package is an extra, and `--include-package` imports this module for every command.
if TYPE_CHECKING:
    from datasets import IterableDataset

HUB = "hf://datasets/"
PARQUET = b"PAR1"

# The beginning of a TSV file with a quoted field, and in which each quoted field is complete.
_FIELD = r'"(?:[^"\t]|"")*+"|[^"\t\r\n][^\t\r\n]*+|'
_QUOTED_TSV = re.compile(
    rf'(?=(?:[^"]*[\t\n])?")(?:(?:{_FIELD})(?:\t|\r?\n))*+(?:{_FIELD}|"(?:[^"\t]|"")*+)'
)


def open_table(
    name: str,
    field: Optional[str],
    *,
    head: bytes = b"",
    subset: Optional[str] = None,
    split: str = "train",
) -> "IterableDataset":
    """
    Opens a dataset, to be read as a stream.

    # Parameters

    name : `str`
        The path of a file, or a dataset such as `"hf://datasets/wikimedia/wikipedia"`.
    field : `Optional[str]`
        The field with the text.
    head : `bytes`, optional (default = `b""`)
        The beginning of the file, after decompression.
    subset : `Optional[str]`, optional (default = `None`)
        The configuration of the Hub's dataset, such as `"20231101.yo"`.
    split : `str`, optional (default = `"train"`)
        The split of the Hub's dataset.

    # Raises

    `ConfigurationError`
        If the package `datasets`, the dataset or the field of a CSV file is missing, or the second
        line of a CSV file has more fields than the first.
    """
    if find_spec("datasets") is None:
        raise ConfigurationError(
            f"{name}: reading it requires the package datasets. Install it: pip install datasets"
        )
    import datasets

    if name.startswith(HUB):
        repository = name.removeprefix(HUB).rstrip("/")
        if repository.count("/") > 1 or not repository:
            raise ConfigurationError(f"{name}: give the dataset as {HUB}OWNER/NAME")
        arguments: List[Any] = [repository, subset]
        options: Dict[str, Any] = {"split": split}
    else:
        arguments = [_builder(head)]
        options = {"split": "train", "data_files": glob.escape(name)}
        if arguments == ["csv"]:
            text = head.decode("utf-8-sig", errors="replace")
            separator = max(",\t;|", key=text.splitlines()[0].count)
            # Most TSV files are not quoted, and a lone quote would take all up to the next one.
            is_literal = separator == "\t" and not _QUOTED_TSV.fullmatch(text)
            quoting: Any = csv.QUOTE_NONE if is_literal else csv.QUOTE_MINIMAL
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting)
            header, first = next(rows), next(rows, [])
            _check_field(name, field, header)
            if len(first) > len(header):
                # pandas would take the first column for names of rows, and not tell.
                raise ConfigurationError(
                    f"{name}: its first line names {len(header)} field(s), but the second one has "
                    f"{len(first)}; quote fields that contain {separator!r}, or give JSON lines"
                )
            options.update(sep=separator, quoting=quoting, keep_default_na=False)
    with _explain_errors(name):
        return datasets.load_dataset(*arguments, **options, streaming=True)


def read_texts(dataset: "IterableDataset", name: str, field: Optional[str]) -> Iterator[str]:
    """
    Yields the text in a field.

    # Raises

    `ConfigurationError`
        If the field is missing or does not contain text, or reading fails.
    """
    is_known = False
    with _explain_errors(name):
        for row in dataset:
            if not is_known:
                _check_field(name, field, row)
            is_known = True
            text = row.get(field)
            if isinstance(text, (dict, list)):
                raise ConfigurationError(
                    f"{name}: --field {field}: it must have text, but has {str(text)[:60]!r}"
                )
            if text is not None:
                yield str(text)


def size_of_table(dataset: "IterableDataset") -> int:
    """The number of bytes in the dataset, or 0 if it is unknown."""
    splits = dataset.info.splits or {}
    return getattr(splits.get(dataset.split), "num_bytes", None) or 0


def _check_field(name: str, field: Optional[str], fields: Collection[str]) -> None:
    if field not in fields:
        missing = "" if field is None else f" no {field!r}, but"
        raise ConfigurationError(
            f"{name}: name the field with the text, such as --field text; it has{missing} the "
            f"fields {', '.join(map(repr, fields))}. For text without fields, leave --field out."
        )


@contextmanager
def _explain_errors(name: str) -> Iterator[None]:
    try:
        yield
    except ConfigurationError:
        raise
    except Exception as error:
        # The errors come from pyarrow, pandas, fsspec, huggingface_hub and others.
        message = " ".join(str(error).split())
        raise ConfigurationError(
            f"{name}: the package datasets cannot read it: {message}"
        ) from error


def _builder(head: bytes) -> str:
    if head.startswith(PARQUET):
        return "parquet"
    return "json" if re.match(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*\{)", head) else "csv"
