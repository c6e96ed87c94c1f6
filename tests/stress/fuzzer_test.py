"""Each verdict is reached by a reader that deserves it."""

import bz2
import ctypes
import faulthandler
import gzip
import io
import json
import os
import tarfile
import time
from pathlib import Path
from random import Random

import h5py
import numpy
import pytest
from allennlp.common.checks import ConfigurationError

from stress.formats import WrongResultError, vectors_in
from stress.fuzzer import judge, share_out
from stress.mutations import mutate


def crash(end):
    # It is pytest's, and would show where the test was.
    faulthandler.disable()
    end()


def raise_error(error):
    raise error


def spin():
    while True:
        pass


@pytest.mark.parametrize(
    ("read", "verdict", "detail"),
    [
        (int, "ok", ""),
        (lambda: raise_error(ConfigurationError("no/such.bin is truncated")), "clear error", ""),
        (lambda: raise_error(ConfigurationError("it is truncated")), "unnamed error", "truncated"),
        (lambda: raise_error(KeyError("dim")), "unnamed error", "raise_error: KeyError: …"),
        (lambda: raise_error(WrongResultError("other vectors")), "wrong result", "other vectors"),
        (lambda: crash(lambda: ctypes.string_at(0)), "crash", "SIGSEGV"),
        (lambda: crash(os.abort), "crash", "SIGABRT"),
        (lambda: numpy.ones(2**29), "out of memory", ""),
        (spin, "hang", ""),
        (lambda: time.sleep(600), "hang", ""),
    ],
)
def test_verdict(read, verdict, detail, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seconds = 1 if verdict == "hang" else 60
    found = judge(read, Path("no/such.bin"), seconds=seconds)
    assert found[0] == verdict
    assert detail in found[1]


def test_every_format_has_a_share():
    assert share_out({"a": 10, "b": 5, "c": 1}, 32) == {"a": 20, "b": 10, "c": 2}
    assert share_out({"a": 10, "b": 1}, 2) == {"a": 1, "b": 1}


def tar_of(**contents):
    with tarfile.open(fileobj=(out := io.BytesIO()), mode="w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def test_a_mutation_depends_on_the_seed_alone():
    data = Random(0).randbytes(1000)
    mutated = [mutate(data, Random(seed)) for seed in range(50)]
    assert mutated == [mutate(data, Random(seed)) for seed in range(50)]
    assert len(set(mutated)) > 45


def test_what_is_in_archives_is_mutated():
    config = json.dumps({"model": {"type": "bidirectional_lm"}, "seed": 1}).encode()
    data = tar_of(config=config, words=b"the\nriver\n")
    members = {"config": set(), "words": set()}
    for seed in range(60):
        mutated = mutate(data, Random(seed))
        try:
            with tarfile.open(fileobj=io.BytesIO(mutated)) as tar:
                for name, seen in members.items():
                    seen.add(tar.extractfile(name).read())
        except (tarfile.TarError, OSError, EOFError, KeyError):
            continue
    assert all(len(seen) > 5 for seen in members.values())
    # Some are JSON with another value.
    start = config[: config.index(b"1}")]
    assert any(text.startswith(start) and text != config for text in members["config"])


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", gzip.compress(b""), bz2.compress(b"x"), b"\n"])
def test_tiny_files(data):
    for seed in range(40):
        mutate(data, Random(seed))


@pytest.mark.parametrize("name", ["vectors.npy", "vectors.h5"])
def test_vectors_differ_in_each_value_the_shape_and_the_type(name, tmp_path):
    def write(array):
        path = tmp_path / name
        if path.suffix == ".npy":
            numpy.save(path, array)
        else:
            with h5py.File(path, "w") as file:
                file["0"] = array
                file["sentence_to_index"] = [b"the river"]
        return vectors_in(path)

    array = numpy.zeros((3, 1000), "float32")
    other = array.copy()
    other[1, 500] = 1e-9
    assert write(array) == write(array.copy())
    for changed in (other, array.reshape(1000, 3), array.view("int32")):
        assert write(changed) != write(array)
