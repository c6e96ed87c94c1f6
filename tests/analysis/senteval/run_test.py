import copy
import json

import numpy
import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.analysis.senteval import protocols
from allennlp_semfit.analysis.senteval.results_file import ResultsFile
from allennlp_semfit.analysis.senteval.run import describe_results, run_tasks
from allennlp_semfit.analysis.senteval.sentence_vectors import ModelFingerprint, SentenceVectors
from allennlp_semfit.analysis.senteval.tasks import TASKS, read_tasks
from tests.analysis.senteval.data import BAD, GOOD, REST, write_data


class Counts(SentenceVectors):
    """How many words of each kind a sentence has."""

    def __init__(self, sha256="counts", input_sha256="", interrupt_at=None):
        super().__init__(3, ModelFingerprint(sha256, input_sha256), "counts of words")
        self.seen = []
        self.interrupt_at = interrupt_at

    def __call__(self, sentences):
        if len(self.seen) == self.interrupt_at:
            raise KeyboardInterrupt
        self.seen.append(list(sentences))
        kinds = (GOOD, BAD, REST)
        counts = [[sum(map(kind.count, words)) for kind in kinds] for words in sentences]
        return numpy.array(counts, dtype=numpy.float32)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return read_tasks(write_data(tmp_path_factory.mktemp("senteval")), folds=2)


def open_results(path, data, *, force=False, **changes):
    options = {"folds": 2, "seed": 1111, **changes}
    digests = {name: task_data.sha256 for name, task_data in data.items()}
    return ResultsFile(path, data_sha256={**digests, **options.pop("digests", {})}, **options,
                       force=force)  # fmt: skip


def run(path, data, vectors=None, *, force=False, **changes):
    results = open_results(path, data, force=force, **changes)
    vectors = vectors or Counts()
    results.claim("counts.tar.gz", vectors)
    run_tasks(vectors, data, results)
    return results.contents


def without_seconds(contents):
    contents = copy.deepcopy(contents)
    for result in contents["tasks"].values():
        assert result.pop("seconds") >= 0
    return contents


@pytest.fixture(scope="module")
def contents(data):
    return run(None, data)


@pytest.fixture(scope="module")
def whole(contents):
    return without_seconds(contents)


def test_all_tasks(whole):
    assert list(whole["tasks"]) == list(TASKS)
    scores = [result["score"] for result in whole["tasks"].values()]
    assert whole["average"] == pytest.approx(sum(scores) / 10, abs=0.01)
    assert whole["folds"] == 2
    assert whole["seed"] == 1111
    assert whole["model"] == {
        "archive": "counts.tar.gz",
        "vectors": "counts of words",
        "dim": 3,
        "sha256": "counts",
        "input_sha256": "",
    }
    tasks = whole["tasks"]
    assert len(tasks["MR"]["C"]) == 2
    assert tasks["MR"]["num_sentences"] == 27
    assert tasks["MRPC"]["num_sentences"] == 68
    assert [name for name in tasks if "f1" in tasks[name]] == ["MRPC"]
    assert [tasks[name]["num_classes"] for name in ("MR", "SST-5", "TREC", "SICK-E", "SICK-R")] == [
        2, 5, 6, 3, 5,
    ]  # fmt: skip
    assert tasks["MR"]["score"] > 60
    assert tasks["SICK-R"]["score"] > 0


def test_each_sentence_is_embedded_once_for_a_task(data):
    vectors = Counts()
    data = {name: data[name] for name in ("CR", "SICK-E")}
    run(None, data, vectors)
    for seen, task_data in zip(vectors.seen, data.values()):
        assert len(seen) == len(set(seen))
        examples = (example for split in task_data.splits.values() for example in split)
        assert set(seen) == {each for example in examples for each in example.sentences}


def test_features_of_pairs(data, monkeypatch):
    found = {}

    def protocol(splits, folds, seed):
        found.update(splits)
        raise KeyboardInterrupt

    monkeypatch.setattr(protocols, TASKS["SICK-E"].protocol, protocol)
    with pytest.raises(KeyboardInterrupt):
        run(None, {"SICK-E": data["SICK-E"]})
    counts = Counts()
    for split, examples in data["SICK-E"].splits.items():
        for features, label, example in zip(*found[split], examples):
            first, second = counts(example.sentences)
            expected = [*abs(first - second), *(first * second)]
            assert list(features) == expected
            assert label == example.label


def test_an_interrupted_run_goes_on(data, whole, tmp_path):
    path = tmp_path / "out.json"
    with pytest.raises(KeyboardInterrupt):
        run(path, data, Counts(interrupt_at=3))
    written = json.loads(path.read_text())
    assert list(written["tasks"]) == ["MR", "CR", "SUBJ"]
    assert "average" not in written
    vectors = Counts()
    run(path, data, vectors)
    assert len(vectors.seen) == 7
    contents = json.loads(path.read_text())
    assert without_seconds(contents) == whole
    assert [contents["tasks"][name] for name in ("MR", "CR", "SUBJ")] == [
        written["tasks"][name] for name in ("MR", "CR", "SUBJ")
    ]
    # There is nothing left to do.
    before = path.read_bytes()
    run(path, data, Counts(interrupt_at=0))
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path]


def test_the_order_of_the_tasks(data, tmp_path):
    path = tmp_path / "out.json"
    for name in ("SICK-R", "CR"):
        run(path, {name: data[name]})
    assert list(json.loads(path.read_text())["tasks"]) == ["CR", "SICK-R"]


@pytest.mark.parametrize(
    ("vectors", "changes", "difference"),
    [
        (Counts("others"), {}, "another model"),
        (
            Counts(input_sha256="x"),
            {},
            "this model with another fastText file, another setting of --autocast or",
        ),
        (Counts(), {"folds": 3}, "--folds 2, not 3"),
        (Counts(), {"seed": 3}, "--seed 1111, not 3"),
        (Counts(), {"digests": {"CR": "x"}}, "other data of CR"),
        (Counts(), {"seed": 3, "folds": 3}, "--folds 2, not 3, --seed 1111, not 3"),
    ],
)
def test_results_of_something_else_stay(data, tmp_path, vectors, changes, difference):
    path = tmp_path / "out.json"
    data = {"CR": data["CR"]}
    run(path, data)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=f"out.json: it has results of {difference}"):
        run(path, data, vectors, **changes)
    assert path.read_bytes() == before
    run(path, data, vectors, force=True, **changes)
    after = json.loads(path.read_text())
    assert after["model"]["sha256"] == vectors.identity.sha256
    assert (after["folds"], after["seed"]) == (changes.get("folds", 2), changes.get("seed", 1111))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '"x"', '{"tasks": {}}', '{"model": {}, "folds": 2, "tasks": {}}']
)
def test_what_is_no_file_of_results_stays(data, tmp_path, text):
    path = tmp_path / "out.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match="something other than results of `allennlp sente"):
        open_results(path, data)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "change", [{"tasks": None}, {"tasks": {"MR": 1}}, {"tasks": {"MR": {}}}, {"model": {}}]
)
def test_damaged_results_stay(data, contents, tmp_path, change):
    path = tmp_path / "out.json"
    path.write_text(json.dumps({**contents, **change}))
    with pytest.raises(ConfigurationError, match="something other than results of `allennlp sente"):
        open_results(path, data)


def test_the_table(contents, data):
    table = describe_results(contents).splitlines()
    assert table[0] == "| task | score | held out | C | seconds |"
    assert len({line.count("|") for line in table}) == 1
    assert [line.split()[1] for line in table[2:]] == [*TASKS, "average"]
    assert f"| average | {contents['average']:.2f} |" in table[-1]
    assert "average" not in describe_results(run(None, {"CR": data["CR"]}))
