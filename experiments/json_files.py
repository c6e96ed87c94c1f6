import json
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Iterator

from allennlp_semfit.common.errors import InvalidFileError

__all__ = ["read_json", "write_atomically", "write_json"]


def read_json(file: Path) -> Any:
    """
    # Raises

    `InvalidFileError`
        If the file cannot be read or is not JSON.
    """
    try:
        return json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InvalidFileError(
            file, f"cannot be read ({error.strerror})", "Create the file, or give another."
        ) from None
    except ValueError as error:
        raise InvalidFileError(
            file, f"is invalid JSON ({error})", "Create the file again."
        ) from None


@contextmanager
def write_atomically(file: Path) -> Iterator[IO[bytes]]:
    """A file that is there once it is complete. Creates its directory if needed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    with part.open("wb") as stream:
        yield stream
    part.replace(file)


def write_json(file: Path, content: Any) -> None:
    """Writes the file atomically and creates its directory if needed."""
    with write_atomically(file) as stream:
        stream.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
