"""The hashes of a word's character n-grams, as in fastText."""

from typing import List

__all__ = ["ngram_hashes"]

# fastText uses 32-bit FNV-1a, but converts each byte to a signed char first.
_FNV_OFFSET = 2166136261
_FNV_PRIME = 16777619
_SIGN_EXTENDED = tuple(byte if byte < 128 else byte | 0xFFFFFF00 for byte in range(256))

_MAX_BYTES_PER_CHARACTER = 4


def ngram_hashes(word: bytes, min_length: int, max_length: int) -> List[int]:
    """
    The 32-bit hashes of all n-grams of `<word>`, by start position and then by length. `word` is in
    UTF-8; the lengths, fastText's `minn` and `maxn`, are in characters.
    """
    if not max_length:
        return []
    bracketed = b"<" + word + b">"
    # Continuation bytes in UTF-8 have the form 10xxxxxx.
    is_char_start = [byte & 0xC0 != 0x80 for byte in bracketed]
    signed = [_SIGN_EXTENDED[byte] for byte in bracketed]
    byte_and_is_char_end = list(zip(signed, is_char_start[1:] + [True]))
    max_bytes = max_length * _MAX_BYTES_PER_CHARACTER
    hashes = []
    for start, starts_char in enumerate(is_char_start):
        if not starts_char:
            continue
        length, hashed = 0, _FNV_OFFSET
        for byte, is_char_end in byte_and_is_char_end[start : start + max_bytes]:
            hashed = ((hashed ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
            if is_char_end:
                length += 1
                if length >= min_length:
                    hashes.append(hashed)
                if length == max_length:
                    break
    # The unigrams `<` and `>`, which come first and last, do not count.
    return hashes[1:-1] if min_length <= 1 else hashes
