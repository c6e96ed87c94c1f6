import os
import struct
from contextlib import ExitStack, contextmanager
from unittest.mock import patch
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.fasttext import model as dictionary_module
from allennlp_semfit.fasttext.model import FastTextDictionary

HEADER = b"header\0"
# With the poor ones, it is the words in the file that decide.
HASHES = {"crc32": crc32, "length": len, "none": lambda word: 0}


@contextmanager
def dictionary_of(path, words, num_entries=None, cut=0):
    """The dictionary of a file that holds `words`, each with its index as its count."""
    entries = (word + b"\0" + struct.pack("<qb", i, 0) for i, word in enumerate(words))
    content = HEADER + b"".join(entries)
    path.write_bytes(content[: len(content) - cut] + b"matrix" * (not cut))
    file = os.open(path, os.O_RDONLY)
    try:
        yield FastTextDictionary(
            file, len(HEADER), len(words) if num_entries is None else num_entries
        )
    finally:
        os.close(file)


words_of_files = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).map(
    str.encode
)


@pytest.mark.parametrize("hashed_by", HASHES)
@given(entries=st.lists(words_of_files), others=st.lists(st.binary()))
def test_it_returns_the_same_rows_as_a_dict(tmp_path_factory, hashed_by, entries, others):
    path = tmp_path_factory.getbasetemp() / "dictionary.bin"
    reference = {word: row for row, word in enumerate(entries)}
    longest = max(map(len, entries), default=0)
    with ExitStack() as stack:
        for name, value in (
            ("crc32", HASHES[hashed_by]),
            ("_CHUNK_BYTES", longest + 10),
            ("_WORDS_PER_READ", 2),
        ):
            stack.enter_context(patch.object(dictionary_module, name, value))
        dictionary = stack.enter_context(dictionary_of(path, entries))
        assert len(dictionary) == len(entries)
        assert list(dictionary) == entries
        for word in [*entries, *others]:
            assert dictionary.row(word) == reference.get(word)
        assert path.read_bytes()[dictionary.end :] == b"matrix"


def test_two_words_with_one_hash_have_their_own_rows(tmp_path):
    words = [b"plumless", b"harbour", b"buckeroo"]
    assert crc32(words[0]) == crc32(words[2])
    with dictionary_of(tmp_path / "dictionary.bin", words) as dictionary:
        assert [dictionary.row(word) for word in words] == [0, 1, 2]
    with dictionary_of(tmp_path / "dictionary.bin", words[:2]) as dictionary:
        assert dictionary.row(words[2]) is None


def test_bytes_after_a_word_are_not_part_of_it(tmp_path):
    # The count of the second entry, 1, stands there as the bytes 01 00 …
    hash_function = patch.object(dictionary_module, "crc32", HASHES["none"])
    with hash_function, dictionary_of(tmp_path / "dictionary.bin", [b"a", b"b"]) as dictionary:
        assert dictionary.row(b"b\0\x01") is None
        assert dictionary.row(b"b") == 1


# Ten bytes follow each word: the first leaves "ferry" without its closing zero.
@pytest.mark.parametrize("damage", [{"cut": 10}, {"num_entries": 4}])
def test_a_file_that_ends_within_the_dictionary_is_refused(tmp_path, damage):
    words = [b"harbour", b"ferry"]
    with pytest.raises(EOFError), dictionary_of(tmp_path / "dictionary.bin", words, **damage):
        pass
