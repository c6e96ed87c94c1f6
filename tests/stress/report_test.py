import json
from pathlib import Path

import pytest

from stress.__main__ import _parse
from stress.report import RESULTS, Outcome, as_text, location, summarize
from tests.docs.pages import ROOT

OUTCOMES = [
    Outcome("vocabulary", "--first 1", "ok"),
    Outcome("vocabulary", "--first 2", "clear error"),
    Outcome("vocabulary", "--first 3", "unnamed error", "KeyError: …"),
    Outcome("vocabulary", "--first 4", "unnamed error", "KeyError: …"),
]
TRACEBACK = """Traceback (most recent call last):
  File "/home/me/allennlp_semfit/corpus/vocabulary.py", line 12, in read_vocabulary
  File "/usr/lib/python3.11/site-packages/allennlp/data/vocabulary.py", line 3, in from_files
KeyError: 'tokens' at 0x7f00 of 17
"""


def test_findings_of_the_same_kind_are_one():
    report = summarize({"fuzz": (1.5, OUTCOMES)}, seed=3)
    counts = {"ok": 1, "clear error": 1, "unnamed error": 2}
    assert report["seed"] == 3
    assert report["parts"] == {"fuzz": {"seconds": 1.5, "subjects": {"vocabulary": counts}}}
    (finding,) = report["findings"]
    assert (finding["count"], finding["cases"]) == (2, ["--first 3", "--first 4"])
    text = as_text(json.loads(json.dumps(report)))
    assert "vocabulary: 1 ok, 1 clear error, 2 unnamed error" in text
    assert "1 findings" in text


def test_an_error_is_named_by_where_it_is_raised_and_not_by_its_values():
    found = location(TRACEBACK)
    assert found == "allennlp_semfit/corpus/vocabulary.py read_vocabulary: KeyError: … at … of …"
    assert location(TRACEBACK.replace("17", "18")) == found


def test_the_page_describes_each_part():
    page = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    report = json.loads(RESULTS.read_text("utf-8"))
    assert all(f"`{part}`" in page for part in report["parts"])


@pytest.mark.parametrize(
    ("options", "out"),
    [
        ("--seed 3", RESULTS),
        ("--mutations 20000", RESULTS),
        ("--mutations 100", None),
        ("--parts fuzz", None),
        ("--parts fuzz --out some.json", Path("some.json")),
        ("--commands embed", None),
    ],
)
def test_only_a_full_run_replaces_the_committed_report(options, out):
    assert _parse(options.split()).out == out
