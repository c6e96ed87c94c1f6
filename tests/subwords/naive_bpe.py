"""Byte-level BPE by its definition, as a reference for tests."""

from collections import Counter
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


def train_merges(
    counts: Dict[str, int], *, merges: int, min_frequency: int, boundary_tokens: Sequence[str] = ()
) -> List[Pair]:
    """Of equally frequent pairs, merges the one whose subwords were added first."""
    subwords = [*boundary_tokens, *sorted(BYTES)]
    words = {word: to_byte_level(word) for word in counts}
    merged_pairs: List[Pair] = []
    while len(merged_pairs) < merges:
        frequencies: Counter = Counter()
        for word, count in counts.items():
            for pair in zip(words[word], words[word][1:]):
                frequencies[pair] += count
        frequencies = Counter({p: n for p, n in frequencies.items() if n >= min_frequency})
        if not frequencies:
            break
        best = min(
            frequencies, key=lambda p: (-frequencies[p], subwords.index(p[0]), subwords.index(p[1]))
        )
        merged_pairs.append(best)
        subwords.append("".join(best))
        words = {word: merge(parts, best) for word, parts in words.items()}
    return merged_pairs


def encode(word: str, merges: Sequence[Pair]) -> List[str]:
    subwords = to_byte_level(word)
    for pair in merges:
        subwords = merge(subwords, pair)
    return subwords
