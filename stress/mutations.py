"""Random damage to the contents of files."""

import bz2
import copy
import gzip
import io
import json
import struct
import tarfile
import zipfile
from contextlib import suppress
from random import Random
from typing import Any, Callable, Dict, List, Sequence, Tuple

__all__ = ["mutate"]

_NUMBERS = [
    struct.pack(f"<{kind}", value)
    for kind, values in {
        "i": (-1, 0, 1, 2**31 - 1, -(2**31)),
        "q": (-1, 0, 1, 2**63 - 1, -(2**63), 2**32),
        "f": (float("nan"), float("inf"), 1e30),
        "d": (float("nan"), float("-inf"), 1e300),
    }.items()
    for value in values
]
_STRINGS = [
    *(b"\0", b"\n", b"\r", b"\n\n", b" ", b"\t", b"-1", b"1e999", b"NaN", b"9" * 30),
    # Not UTF-8, a lone surrogate, a byte order mark, a separator of lines for Python.
    *(b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8"),
    *(b"@@UNKNOWN@@", b"@@PADDING@@", b"</s>", b"x" * 50_000, b"a " * 50_000, b"\n" * 5000),
]
_VALUES: List[Any] = [
    None,
    True,
    -1,
    0,
    0.5,
    2**31,
    2**63,
    1e308,
    float("nan"),
    "",
    "x",
    [],
    {},
    [[]],
]
_CONTAINER_SHARE = 0.8


def mutate(data: bytes, random: Random, strings: Sequence[bytes] = ()) -> bytes:
    """
    Damages data in one to three places. In an archive or a compressed file, that is most often
    within: otherwise its checksum would protect nearly all of it.

    # Parameters

    data : `bytes`
    random : `Random`
    strings : `Sequence[bytes]`, optional (default = `()`)
        What may be inserted, in addition to what confuses any reader of text.
    """
    if random.random() < _CONTAINER_SHARE:
        for magic, offset, mutate_inside in _CONTAINERS:
            if data[offset : offset + len(magic)] == magic:
                return mutate_inside(data, random, strings)
        with suppress(ValueError):
            document = json.loads(data)
            if isinstance(document, (dict, list)):
                return _mutate_json(document, random)
    for _ in range(random.randint(1, 3)):
        data = random.choice(_EDITS)(data, random)
        if random.random() < 0.2:
            place = _place(data, random)
            string = random.choice([*_STRINGS, *strings])
            data = data[:place] + string + data[place:]
    return data


def _place(data: bytes, random: Random) -> int:
    """Often near the beginning, where headers are."""
    share = random.random() ** random.choice((1, 4))
    return int(share * len(data))


def _block(data: bytes, random: Random) -> Tuple[int, int]:
    start = _place(data, random)
    return start, min(len(data), start + int(2 ** random.uniform(0, 12)))


def _flip_bits(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        if changed:
            changed[min(_place(data, random), len(data) - 1)] ^= 1 << random.randrange(8)
    return bytes(changed)


def _truncate(data: bytes, random: Random) -> bytes:
    return data[: _place(data, random)]


def _delete(data: bytes, random: Random) -> bytes:
    start, end = _block(data, random)
    return data[:start] + data[end:]


def _duplicate(data: bytes, random: Random) -> bytes:
    start, end = _block(data, random)
    return data[:end] + data[start:end] * random.choice((1, 1, 3)) + data[end:]


def _insert(data: bytes, random: Random) -> bytes:
    place = _place(data, random)
    length = int(2 ** random.uniform(0, 12))
    block = bytes(length) if random.random() < 0.5 else random.randbytes(length)
    return data[:place] + block + data[place:]


def _splice(data: bytes, random: Random) -> bytes:
    """Overwrites a block with another one."""
    start, end = _block(data, random)
    place = random.randrange(len(data) + 1)
    return data[:place] + data[start:end] + data[place + end - start :]


def _overwrite_with_number(data: bytes, random: Random) -> bytes:
    number = random.choice(_NUMBERS)
    place = _place(data, random)
    if random.random() < 0.7:
        place -= place % 4
    return data[:place] + number + data[place + len(number) :]


def _edit_lines(data: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    edit = random.randrange(3)
    if edit == 0:
        del lines[one]
    elif edit == 1:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        lines[one:one] = [lines[other]] * random.choice((1, 100))
    return b"".join(lines)


_EDITS: List[Callable[[bytes, Random], bytes]] = [
    *(_flip_bits, _flip_bits, _truncate, _delete, _duplicate),
    *(_insert, _splice, _overwrite_with_number, _overwrite_with_number, _edit_lines),
]


def _mutate_json(content: Any, random: Random) -> bytes:
    """Changes a value or a key of a JSON document, or moves it."""
    document = [content]
    places: List[Tuple[Any, Any]] = []
    _find_places(document, places)
    container, key = random.choice(places)
    edit = random.randrange(6)
    if edit == 0:
        del container[key]
    elif edit == 1:
        other, other_key = random.choice(places)
        container[key] = copy.deepcopy(other[other_key])
    elif edit == 2:
        container[key] = [container[key]]
    elif edit == 3 and isinstance(container, dict):
        container[random.choice(["x", "", key * 2])] = container.pop(key)
    else:
        container[key] = random.choice(_VALUES)
    text = json.dumps(document[0] if document else None)
    if random.random() < 0.05:
        text = "[" * 100_000 + text
    return text.encode()


def _find_places(document: Any, places: List[Tuple[Any, Any]]) -> None:
    keys = range(len(document)) if isinstance(document, list) else list(document)
    for key in keys:
        places.append((document, key))
        if isinstance(document[key], (dict, list)):
            _find_places(document[key], places)


def _mutate_gzip(data: bytes, random: Random, strings: Sequence[bytes]) -> bytes:
    return gzip.compress(mutate(gzip.decompress(data), random, strings), 1)


def _mutate_bz2(data: bytes, random: Random, strings: Sequence[bytes]) -> bytes:
    return bz2.compress(mutate(bz2.decompress(data), random, strings))


def _mutate_tar(data: bytes, random: Random, strings: Sequence[bytes]) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members = {
            member: (file.read() if (file := tar.extractfile(member)) else b"")
            for member in tar.getmembers()
        }
    target = random.choice([member for member, content in members.items() if content])
    members[target] = mutate(members[target], random, strings)
    target.size = len(members[target])
    with tarfile.open(fileobj=(out := io.BytesIO()), mode="w") as tar:
        for member, content in members.items():
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _mutate_zip(data: bytes, random: Random, strings: Sequence[bytes]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members: Dict[str, bytes] = {name: file.read(name) for name in file.namelist()}
    # The first one of PyTorch's files describes all others.
    target = random.choice([next(iter(members)), random.choice(list(members))])
    members[target] = mutate(members[target], random, strings)
    with zipfile.ZipFile(out := io.BytesIO(), "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


_CONTAINERS: List[Tuple[bytes, int, Callable[[bytes, Random, Sequence[bytes]], bytes]]] = [
    (b"\x1f\x8b", 0, _mutate_gzip),
    (b"BZh", 0, _mutate_bz2),
    (b"ustar", 257, _mutate_tar),
    (b"PK\x03\x04", 0, _mutate_zip),
]
