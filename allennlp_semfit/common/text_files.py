"""Finds and reads the text files that configs and commands name."""

import glob
import os
from codecs import BOM_UTF8
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, Callable, Iterator, List, Optional, Sequence, Tuple, Union

from allennlp_semfit.common.errors import ConfigurationError, check_not_compressed

DEFAULT_BOUNDARY_TOKEN = "</s>"
"""The only boundary token that every fastText model knows: fastText counts it at each line end."""

# An output of `prepare-corpus` contains these.
TRAIN = "train"
RECORD = "corpus.json"
# An output of `export-model` contains this.
FOLDER_WEIGHTS = "model.safetensors"

# Bytes per read.
CHUNK_SIZE = 2**21
# At most this many more bytes are read to complete a line: some corpora are one line.
MAX_REST = 2**21
_NO_SPACE = bytes(byte for byte in range(256) if not bytes([byte]).isspace())
_CONTINUATION = bytes(range(0x80, 0xC0))


def find_text_files(
    paths: Union[str, os.PathLike, Sequence[Union[str, os.PathLike]]],
    *,
    outputs: Sequence[Path] = (),
) -> List[Path]:
    """
    Expands files, directories and globs to a list of files. A directory is expanded to the files
    directly in it; in a glob, `**` matches any depth. The files of a directory or glob are sorted.
    Hidden files are skipped, and so are `outputs`, the files and directories that the command
    replaces.

    Raises a `ConfigurationError` if a path matches no file, matches a broken link, is one of or in
    `outputs`, or is the output of `prepare-corpus` instead of the `train` in it.
    """
    # A string would be a sequence of its characters.
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    replaced = {Path(os.path.realpath(path)) for path in outputs}

    def is_output(path: Path) -> bool:
        resolved = Path(os.path.realpath(path))
        return not replaced.isdisjoint((resolved, *resolved.parents))

    files: List[Path] = []
    for entry in map(str, paths):
        path = Path(entry)
        if not entry:
            raise ConfigurationError("The path of a text is empty; is a variable not set?")
        if is_output(path):
            raise ConfigurationError(
                f"{entry}: the output would replace it; give the output another name"
            )
        if path.is_file():
            files.append(path)
            continue
        train = path / TRAIN
        # A directory is not refused if `prepare-corpus` is about to replace it.
        if (path / RECORD).is_file() and train.is_dir() and not is_output(train):
            raise ConfigurationError(
                f"{entry}: it is an output of prepare-corpus, with validation text; give {train}"
            )
        candidates = (
            path.iterdir() if path.is_dir() else map(Path, glob.glob(entry, recursive=True))
        )
        visible = [path for path in sorted(candidates) if not path.name.startswith(".")]
        for candidate in visible:
            if candidate.is_symlink() and not candidate.exists():
                raise ConfigurationError(
                    f"{candidate}: the file that this link names is missing; correct or delete it"
                )
        found = [path for path in visible if path.is_file() and not is_output(path)]
        if not found:
            problem = "there is no such file or directory, and as a glob it matches nothing"
            if path.exists():
                problem = "it contains no files" if path.is_dir() else "it is not a regular file"
            raise ConfigurationError(f"{entry}: {problem}; check the path")
        files.extend(found)
    return files


def read_lines(
    path: Path,
    stream: Optional[IO[bytes]] = None,
    *,
    whole_lines: bool = True,
    errors: str = "strict",
) -> Iterator[str]:
    """Yields the lines, without line ends. The arguments and errors are those of `read_text`."""
    for text in read_text(path, stream, whole_lines=whole_lines, errors=errors):
        yield from text.removesuffix("\n").split("\n")


def read_text(
    path: Path,
    stream: Optional[IO[bytes]] = None,
    on_bytes: Optional[Callable[[int], Any]] = None,
    *,
    whole_lines: bool = False,
    errors: str = "strict",
) -> Iterator[str]:
    """
    Yields chunks of about two megabytes, without a byte order mark. Lines may end in CR, CRLF or
    LF; in the chunks, they end in LF. Each chunk ends with LF, even if the file does not, except
    within a line of megabytes, where a chunk ends before a word or within a word of megabytes. With
    `whole_lines`, a line is kept in one chunk, however long it is.

    `stream` is the text, if it differs from the content of the file, such as a decompressed stream.
    `on_bytes` is called with the number of bytes of each chunk. `errors` is that of `bytes.decode`.

    Raises a `ConfigurationError` if, with `errors` `"strict"`, the file is not UTF-8.
    """
    num_lines = 0
    with nullcontext(stream) if stream else path.open("rb") as file:
        next_word = file.read(len(BOM_UTF8)).removeprefix(BOM_UTF8)
        while chunk := next_word + file.read(CHUNK_SIZE):
            chunk, next_word = _complete_line(chunk, file, -1 if whole_lines else MAX_REST)
            size = len(chunk)
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            try:
                text = chunk.decode("utf-8", errors)
            except UnicodeDecodeError as error:
                if not num_lines:
                    check_not_compressed(chunk, path, "It must be text.", "file")
                line = num_lines + chunk.count(b"\n", 0, error.start) + 1
                raise ConfigurationError(
                    f"{path}: not UTF-8: byte 0x{chunk[error.start]:02x} in line {line}; if the "
                    "file is in another encoding, convert it with `iconv -f ENCODING -t UTF-8`; if "
                    "only a few lines are damaged, correct them, or remove such bytes with `iconv "
                    "-c -f UTF-8 -t UTF-8`"
                ) from None
            yield text if next_word or text.endswith("\n") else text + "\n"
            num_lines += text.count("\n")
            if on_bytes is not None:
                on_bytes(size)


def _complete_line(chunk: bytes, file: IO[bytes], max_bytes: int) -> Tuple[bytes, bytes]:
    """
    Adds the rest of the last line. If it has more than `max_bytes`, returns the chunk up to its
    last word, or its last character if it is one word, and what follows.
    """
    line_end = file.readline(max_bytes)
    chunk += line_end
    if len(line_end) != max_bytes or line_end.endswith(b"\n"):
        return chunk, b""
    end = len(chunk.rstrip().rstrip(_NO_SPACE)) or len(chunk.rstrip(_CONTINUATION)) - 1
    return chunk[:end], chunk[end:]
