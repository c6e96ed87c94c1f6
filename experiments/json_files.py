import json
from pathlib import Path
from typing import Any

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.common.output import write_file

__all__ = ["read_json", "write_json"]


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


def write_json(file: Path, content: Any) -> None:
    """Replaces the file once the new one is complete. Creates its directory if needed."""
    with write_file(file) as part:
        part.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
