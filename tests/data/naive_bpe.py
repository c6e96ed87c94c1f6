"""Byte-level BPE by its definition, as a reference for tests."""

from typing import Dict, List, Sequence, Tuple

Pair = Tuple[str, str]


def _character_of_each_byte() -> Dict[int, str]:
    # The printable characters of Latin-1 stand for themselves, characters beyond it for the rest.
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {
        **{byte: chr(byte) for byte in printable},
        **{byte: chr(256 + i) for i, byte in enumerate(others)},
    }


CHARACTERS = _character_of_each_byte()
BYTES = {character: byte for byte, character in CHARACTERS.items()}


def to_byte_level(word: str) -> List[str]:
    return [CHARACTERS[byte] for byte in f" {word}".encode()]


def decode(subwords: Sequence[str]) -> str:
    return bytes(BYTES[character] for subword in subwords for character in subword).decode()


def merge(subwords: Sequence[str], pair: Pair) -> List[str]:
    merged: List[str] = []
    rest = list(subwords)
    while rest:
        if tuple(rest[:2]) == pair:
            merged.append("".join(pair))
            del rest[:2]
        else:
            merged.append(rest.pop(0))
    return merged


def encode(word: str, merges: Sequence[Pair]) -> List[str]:
    subwords = to_byte_level(word)
    for pair in merges:
        subwords = merge(subwords, pair)
    return subwords
