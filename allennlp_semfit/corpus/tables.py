"""Reads the text of JSON, CSV and Parquet files, and of datasets of the Hugging Face Hub."""

import csv
import glob
import json
import re
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Dict, Iterable, Iterator, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived

from allennlp_semfit.common.text_files import read_lines

# The package is an extra, and `--include-package` imports this module for every command.
if TYPE_CHECKING:
    from datasets import IterableDataset

HUB = "hf://datasets/"
PARQUET = b"PAR1"
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*\{)")
# The format of a dataset is detected from this number of rows.
HEAD_ROWS = 100
# The maximum length of a CSV field: a quote that is not closed would take all that follows.
_MAX_CHARACTERS = 100_000_000

# The beginning of a TSV file with a quoted field, and in which each quoted field is complete.
_FIELD = r'"(?:[^"\t]|"")*+"|[^"\t\r\n][^\t\r\n]*+|'
_QUOTED_TSV = re.compile(
    rf'(?=(?:[^"]*[\t\n])?")(?:(?:{_FIELD})(?:\t|\r?\n))*+(?:{_FIELD}|"(?:[^"\t]|"")*+)'
)


def open_table(
    name: str,
    field: Optional[str],
    *,
    subset: Optional[str] = None,
    split: str = "train",
) -> "IterableDataset":
    """
    Opens the Parquet file `name`, or a dataset of the Hub, such as
    `"hf://datasets/wikimedia/wikipedia"`, to be read as a stream. The other parameters are those of
    `CorpusOptions`. Raises a `ConfigurationError` if the package `datasets` or the dataset is
    missing.
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
        options: Dict[str, Any] = {"path": repository, "name": subset, "split": split}
    else:
        options = {"path": "parquet", "data_files": glob.escape(name), "split": "train"}
    with _explain_errors(name):
        dataset = datasets.load_dataset(**options, streaming=True)
        if field not in (dataset.features or ()):
            return dataset
        # Otherwise, `datasets` would decode the images and audio of other columns.
        return dataset.select_columns([field])


def read_csv(path: Path, stream: IO[bytes], head: bytes) -> Iterator[Dict[str, Any]]:
    """
    Yields the rows of a CSV or TSV file that begins with `head`. Raises a `ConfigurationError` if a
    row has more fields than the first line, or its quotation marks are wrong.
    """
    text = "\n".join(re.split("\r\n?|\n", head.decode("utf-8-sig", errors="replace")))
    separator = max(",\t;|", key=text.partition("\n")[0].count)
    # Most TSV files are not quoted, and a lone quote would take all up to the next one.
    is_literal = separator == "\t" and not _QUOTED_TSV.fullmatch(text)
    csv.field_size_limit(_MAX_CHARACTERS)
    rows = csv.DictReader(
        (f"{line}\n" for line in read_lines(path, stream)),
        delimiter=separator,
        quoting=csv.QUOTE_NONE if is_literal else csv.QUOTE_MINIMAL,
        skipinitialspace=separator != "\t",
        strict=True,
    )
    try:
        for row in rows:
            if None in row:
                raise ConfigurationError(
                    f"{path}: line {rows.line_num}: it has more fields than the {len(row) - 1} of "
                    f"the first line; quote fields that contain {separator!r}, or leave --field "
                    "out for text without fields"
                )
            yield row
    except csv.Error as error:
        raise ConfigurationError(
            f"{path}: after line {rows.line_num}: a quotation mark is missing, or one in a field "
            f"is not doubled ({error})"
        ) from error


def is_json(head: bytes) -> bool:
    """Whether a file that begins with `head` has JSON lines, or is an array of objects."""
    return _JSON.match(head) is not None


def is_json_array(head: bytes) -> bool:
    """Whether a JSON file that begins with `head` is one array, which is read as a whole."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def read_json(path: Path, stream: IO[bytes], head: bytes) -> Iterator[Dict[str, Any]]:
    """
    Yields the objects of JSON lines or of one array. The package `datasets` would require that a
    field has the same type in all rows, even if it is not read. Raises a `ConfigurationError` if
    the file is not JSON.
    """
    lines: Iterable[str] = read_lines(path, stream)
    is_array = is_json_array(head)
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
    Yields the text in a field. Raises a `ConfigurationError` if no early row has the field, if it
    does not contain text, or if reading fails.
    """
    with _explain_errors(name):
        iterator = iter(rows)
        head = list(islice(iterator, HEAD_ROWS))
        fields = dict.fromkeys(chain.from_iterable(head))
        if head and field not in fields:
            missing = "" if field is None else f" no {field!r}, but"
            raise ConfigurationError(
                f"{name}: name the field with the text, such as --field text; it has{missing} the "
                f"fields {', '.join(map(repr, fields))}. For text without fields, leave --field "
                "out."
            )
        for row in chain(head, iterator):
            text = row.get(field or "")
            if isinstance(text, bytes):
                text = text.decode("utf-8", errors="replace")
            if isinstance(text, (dict, list)):
                raise ConfigurationError(
                    f"{name}: --field {field}: it must have text, but has {str(text)[:60]!r}"
                )
            if text is not None:
                # UTF-8 cannot encode lone surrogates; they become question marks.
                yield str(text).encode("utf-8", errors="replace").decode()


def size_of_table(dataset: "IterableDataset") -> int:
    """The number of bytes in the dataset, or 0 if it is unknown."""
    splits = dataset.info.splits or {}
    return getattr(splits.get(dataset.split), "num_bytes", None) or 0


@contextmanager
def _explain_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (ConfigurationError, MemoryError, SigTermReceived):
        raise
    except Exception as error:
        # The errors come from pyarrow, pandas, fsspec, huggingface_hub and others.
        message = " ".join(str(error).split())
        raise ConfigurationError(
            f"{name}: the package datasets cannot read it: {message}"
        ) from error
