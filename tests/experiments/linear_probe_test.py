import json
import re

import numpy
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from experiments.linear_probe import main, probe_words, read_types
from tests.language_models import write_language_model

LINES = {
    "train": "the O\nriver B-LOC\nTweed I-LOC\n\nAnn B-PER\nleft O\n\nboats O\npass O\nAnn B-PER\n",
    "test": "Ann B-PER\nsaw O\nthe O\nTweed B-LOC\n\nJohn B-PER\nleft O\n",
}


@pytest.fixture
def archive(tmp_path):
    return str(write_language_model(tmp_path / "elmo_semfit", "fasttext", archive=True))


@pytest.fixture
def files(tmp_path):
    found = {}
    for name, lines in LINES.items():
        found[name] = tmp_path / f"{name}.conll"
        found[name].write_text(re.sub(r" (\S+)$", r" -X- O \1", lines, flags=re.MULTILINE))
    return found


def test_it_is_a_logistic_regression_of_the_layers(archive, files, tmp_path):
    out = tmp_path / "new" / "probe.json"
    main([archive, str(files["train"]), str(files["test"]), str(out)])
    result = json.loads(out.read_text())

    embedder = SentenceEmbedder(archive)
    vectors, types = {}, {}
    for name, lines in LINES.items():
        sentences = [[row.split() for row in rows.splitlines()] for rows in lines.split("\n\n")]
        vectors[name] = numpy.concatenate(
            [
                numpy.concatenate(list(embedder.embed_sentence([word for word, _ in rows])), axis=1)
                for rows in sentences
            ]
        )
        types[name] = [tag[2:] or "O" for rows in sentences for _, tag in rows]
    scaler = StandardScaler().fit(vectors["train"])
    classifier = LogisticRegression(max_iter=1000)
    classifier.fit(scaler.transform(vectors["train"]), types["train"])
    predicted = classifier.predict(scaler.transform(vectors["test"]))

    def f1(words):
        gold = [(at, types["test"][at]) for at in words if types["test"][at] != "O"]
        found = [(at, predicted[at]) for at in words if predicted[at] != "O"]
        return 200 * len({*gold} & {*found}) / (len(gold) + len(found))

    assert result["f1"] == pytest.approx(f1(range(6)))
    assert result["f1_unseen"] == pytest.approx(f1([1, 4]))
    assert (result["words"], result["words_unseen"]) == (6, 2)


def test_the_words_it_was_trained_on(archive, files):
    training = read_types(files["train"])
    assert training[0] == (["the", "river", "Tweed"], ["O", "LOC", "LOC"])
    result = probe_words(SentenceEmbedder(archive), training, training, regularization=1e3)
    assert result["f1"] == 100.0
    assert (result["f1_unseen"], result["words_unseen"]) == (0.0, 0)


def test_files_that_cannot_be_read(archive, files, tmp_path):
    empty, out = tmp_path / "empty.conll", str(tmp_path / "out.json")
    empty.write_text("\n\n")
    with pytest.raises(SystemExit, match=f"{re.escape(str(empty))} has no sentences"):
        main([archive, str(files["train"]), str(empty), out])
    with pytest.raises(SystemExit, match=r"linear_probe: .*nowhere.conll does not exist"):
        main([archive, str(tmp_path / "nowhere.conll"), str(empty), out])
