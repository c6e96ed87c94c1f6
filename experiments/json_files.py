import json
from pathlib import Path
from typing import Any

from allennlp_semfit.common.output import write_file


def read_json(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def write_json(file: Path, content: Any) -> None:
    """Replaces the file once the new one is complete. Creates its directory if needed."""
    with write_file(file) as part:
        part.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
