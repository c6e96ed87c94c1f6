"""Reads the text of datasets: JSON lines, CSV, Parquet, and those of the Hugging Face Hub."""

import csv
import glob
import io
import json
import re
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Collection, Dict, Iterable, Iterator, List, Optional

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.text_files import read_lines

# The package is an extra, and `--include-package` imports this module for every command.
if TYPE_CHECKING:
    from datasets import IterableDataset

HUB = "hf://datasets/"
PARQUET = b"PAR1"
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*\{)")
# The format of a dataset is detected from this number of rows.
HEAD_ROWS = 100

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
    Opens a CSV or Parquet file, or a dataset of the Hub, to be read as a stream.

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
        is_parquet = head.startswith(PARQUET)
        arguments = ["parquet" if is_parquet else "csv"]
        options = {"split": "train", "data_files": glob.escape(name)}
        if not is_parquet:
            text = head.decode("utf-8-sig", errors="replace")
            separator = max(",\t;|", key=text.partition("\n")[0].count)
            # Most TSV files are not quoted, and a lone quote would take all up to the next one.
            is_literal = separator == "\t" and not _QUOTED_TSV.fullmatch(text)
            quoting: Any = csv.QUOTE_NONE if is_literal else csv.QUOTE_MINIMAL
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting)
            header, first = next(rows, []), next(rows, [])
            _check_field(name, field, header)
            if len(first) > len(header):
                # pandas would take the first column for names of rows, and not tell.
                raise ConfigurationError(
                    f"{name}: its first line names {len(header)} field(s), but the second one has "
                    f"{len(first)}; quote fields that contain {separator!r}, or give JSON lines"
                )
            options.update(sep=separator, quoting=quoting, keep_default_na=False)
    with _explain_errors(name):
        dataset = datasets.load_dataset(*arguments, **options, streaming=True)
        if field not in (dataset.features or ()):
            return dataset
        # Otherwise, it would decode the pictures and recordings of other columns.
        return dataset.select_columns([field])


def is_json(head: bytes) -> bool:
    """Whether a file that begins with `head` has JSON lines, or is an array of objects."""
    return _JSON.match(head) is not None


def read_json(path: Path, stream: IO[bytes], head: bytes) -> Iterator[Dict[str, Any]]:
    """
    Yields the objects of JSON lines or of one array. The package `datasets` would require that a
    field has the same type in all rows, also if nobody reads it.

    # Raises

    `ConfigurationError`
        If the file is not JSON.
    """
    lines: Iterable[str] = read_lines(path, stream)
    is_array = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    texts = ["\n".join(lines)] if is_array else lines
    for number, text in enumerate(texts, start=1):
        if not text or text.isspace():
            continue
        try:
            found = json.loads(text)
            rows = found if is_array else [found]
            if not all(isinstance(row, dict) for row in rows):
                raise ValueError("there is a value that is not an object")
        except (RecursionError, ValueError) as error:
            place = "" if is_array else f"line {number}: "
            raise ConfigurationError(
                f"{path}: {place}it must be JSON lines or an array of objects, but {error}"
            ) from error
        yield from rows


def read_texts(rows: Iterable[Dict[str, Any]], name: str, field: Optional[str]) -> Iterator[str]:
    """
    Yields the text in a field.

    # Raises

    `ConfigurationError`
        If no early row has the field, if it does not contain text, or if reading fails.
    """
    with _explain_errors(name):
        iterator = iter(rows)
        if head := list(islice(iterator, HEAD_ROWS)):
            _check_field(name, field, dict.fromkeys(chain.from_iterable(head)))
        for row in chain(head, iterator):
            text = row.get(field or "")
            if isinstance(text, (dict, list)):
                raise ConfigurationError(
                    f"{name}: --field {field}: it must have text, but has {str(text)[:60]!r}"
                )
            if text is not None:
                # Half of a character beyond 16 bits cannot be written.
                yield str(text).encode("utf-8", errors="replace").decode()


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
