"""The hashes of a word's n-grams of characters, as fastText takes them."""

from typing import List

__all__ = ["subword_hashes"]

# fastText hashes bytes with 32-bit FNV-1a, but reads each one as a signed char first.
_FNV_OFFSET = 2166136261
_FNV_PRIME = 16777619
_SIGN_EXTENDED = tuple(byte if byte < 128 else byte | 0xFFFFFF00 for byte in range(256))

_MOST_BYTES_OF_A_CHARACTER = 4


def subword_hashes(word: bytes, shortest: int, longest: int) -> List[int]:
    """
    The hashes of the n-grams of `<word>`, from each character on the shortest one first.

    # Parameters

    word : `bytes`
        In UTF-8.
    shortest, longest : `int`
        Of the n-grams, in characters (`minn` and `maxn`).

    # Returns

    `List[int]`
        One 32-bit hash for each n-gram, repeats included.
    """
    if not longest:
        return []
    bracketed = b"<" + word + b">"
    # UTF-8's continuation bytes are those of the form 10xxxxxx.
    begins = [byte & 0xC0 != 0x80 for byte in bracketed]
    signed = [_SIGN_EXTENDED[byte] for byte in bracketed]
    byte_and_is_last = list(zip(signed, begins[1:] + [True]))
    most_bytes = longest * _MOST_BYTES_OF_A_CHARACTER
    hashes = []
    for first, is_first in enumerate(begins):
        if not is_first:
            continue
        length, hashed = 0, _FNV_OFFSET
        for byte, is_last in byte_and_is_last[first : first + most_bytes]:
            hashed = ((hashed ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
            if is_last:
                length += 1
                if length >= shortest:
                    hashes.append(hashed)
                if length == longest:
                    break
    # The brackets alone, the first and the last of all n-grams, do not count.
    return hashes[1:-1] if shortest <= 1 else hashes
