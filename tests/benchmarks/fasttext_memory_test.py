import json
import sys
from pathlib import Path

import numpy
import pytest

from benchmarks import fasttext_memory
from benchmarks.synthetic_fasttext import write_fasttext

linux_only = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="Linux says what a process holds."
)


def test_all_candidates_find_the_same_vectors(tmp_path):
    path = tmp_path / "vectors.bin"
    write_fasttext(path, num_words=300, num_buckets=1000, dim=7)
    (words,) = fasttext_memory.sample_words(str(path), 100, [1])
    assert len(set(words)) == 100
    lookups = [open_model(str(path)) for open_model in fasttext_memory.CANDIDATES.values()]
    # gensim gives `</s>` subwords, too.
    for word in {*words, "unheard-of"} - {"</s>"}:
        ours, *theirs = [lookup(word) for lookup in lookups]
        assert numpy.abs(ours).sum() > 0
        for other in theirs:
            numpy.testing.assert_allclose(ours, other, rtol=1e-5, atol=1e-6)


@linux_only
def test_what_is_in_the_page_cache_is_counted(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(10 * 4096 + 1))
    assert fasttext_memory.resident_bytes(str(path)) >= path.stat().st_size


@linux_only
def test_time_and_memory_are_measured(tmp_path, monkeypatch):
    # The others take the same way, and each spawned worker takes long to import everything.
    ours = {fasttext_memory.REFERENCE: fasttext_memory.CANDIDATES[fasttext_memory.REFERENCE]}
    monkeypatch.setattr(fasttext_memory, "CANDIDATES", ours)
    monkeypatch.setattr(fasttext_memory, "NUM_WORKERS", 1)
    out = tmp_path / "results" / "fasttext_memory.json"
    sizes = ["--num-words", "300", "--num-buckets", "1000", "--dim", "7", "--num-lookups", "50"]
    arguments = [*sizes, "--repeats", "2", "--directory", str(tmp_path), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["fasttext_memory", *arguments])
    fasttext_memory.main()
    results = json.loads(out.read_text())
    assert results["num_lookups"] == 50
    assert results["file_bytes"] == (tmp_path / "300_1000_7.bin").stat().st_size
    (timings,) = results["timings"].values()
    assert 0 < timings["min_seconds"] <= timings["max_seconds"]
    (measures,) = results["all_measures"].values()
    assert measures["seconds_per_new_word"] > 0
    assert measures["file_bytes_resident"] > 0
    assert len(measures["fork_pss_bytes"]) == len(measures["spawn_pss_bytes"]) == 1
    # A process of its own imports PyTorch, which a forked one has.
    assert measures["spawn_pss_bytes"][0] > 2 * measures["fork_pss_bytes"][0] > 0
