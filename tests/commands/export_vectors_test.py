from functools import partial

import numpy
import pytest
from gensim.models import KeyedVectors

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.pretrained.pooling import join_layers, pool_layers
from tests import FIXTURES, VECTORS
from tests.commands import running
from tests.language_models import write_language_model

run = partial(running.run, "export-vectors")
error_of = partial(running.error_of, "export-vectors")

HELD_OUT = FIXTURES / "corpus" / "heldout.txt"


def check(path, words, vectors):
    found = KeyedVectors.load_word2vec_format(path)
    assert found.index_to_key == words
    # The table has six significant digits.
    numpy.testing.assert_allclose(found.vectors, vectors, rtol=2e-5, atol=2e-6)


def test_layer_0(lm_archive, embedder, tmp_path, caplog):
    caplog.set_level("INFO")
    words, out = tmp_path / "words.txt", tmp_path / "out.txt"
    words.write_text("heron\n zxqv\nжук\r\nheron\nSnow")
    run(lm_archive, out, "--words", words, "--batch-size", 2)
    expected = ["heron", "zxqv", "жук", "Snow"]
    check(out, expected, [embedder.embed_sentence([word])[0, 0] for word in expected])
    assert f"{out}: 4 of 4 words, 12 dimensions" in caplog.text


@pytest.mark.parametrize("layers", ["average", "top", "normalized", "all"])
def test_the_mean_over_contexts(layers, tmp_path, caplog):
    caplog.set_level("INFO")
    archive = write_language_model(tmp_path / "lm", "subwords")
    words, out = tmp_path / "words.txt", tmp_path / "out.txt"
    words.write_text("the\nnowhere\n.\n")
    options = ["--contexts", HELD_OUT, f"--{layers}", "--sub-token-mode", "avg", "--batch-size", 3]
    run(archive, out, "--words", words, *options)
    embedder = SentenceEmbedder(archive, sub_token_mode="avg")
    occurrences = {"the": [], ".": []}
    for sentence in map(str.split, HELD_OUT.read_text().splitlines()):
        vectors = join_layers(pool_layers(embedder.embed_sentence(sentence), layers))
        for word, vector in zip(sentence, vectors):
            occurrences.get(word, []).append(vector)
    assert min(map(len, occurrences.values())) > 1
    check(out, ["the", "."], [numpy.mean(each, axis=0) for each in occurrences.values()])
    assert f"2 of 3 words, {36 if layers == 'all' else 12} dimensions" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.tar.gz", "out.txt", "--words", "two.txt"], "two.txt: line 2 has 2 words, 'New York'"),
        (["no.tar.gz", "out.txt", "--words", "no.txt"], "no.txt: it cannot be read"),
        (["no.tar.gz", "two.txt", "--words", "two.txt", "--force"], "two.txt: it is an input"),
        (["no.tar.gz", "two.txt", "--words", "one.txt"], "two.txt: it exists"),
        (["no.tar.gz", "o", "--words", "one.txt", "--contexts", "no.txt"], "no.txt: there is no"),
        (["no.tar.gz", "out.txt", "--words", "one.txt"], "no.tar.gz does not exist"),
        (["ARCHIVE", "out.txt", "--words", "one.txt", "--top"], "layers: 'top' needs `contexts`"),
        (["ARCHIVE", "out.txt", "--words", "empty.txt"], "empty.txt: it has no word to export"),
        (
            ["ARCHIVE", "o", "--words", "one.txt", "--contexts", "two.txt"],
            "two.txt: it has no word to export",
        ),
    ],
)
def test_an_error_is_one_line(lm_archive, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.txt").write_text("Snow\n")
    (tmp_path / "two.txt").write_text("London\nNew York\n")
    (tmp_path / "empty.txt").write_text("")
    arguments = [lm_archive if each == "ARCHIVE" else each for each in arguments]
    assert message in error_of(*arguments, "--fasttext-model-path", VECTORS)
    assert not (tmp_path / arguments[1]).exists() or arguments[1] == "two.txt"
