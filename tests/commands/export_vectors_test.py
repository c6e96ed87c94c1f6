import unicodedata
from functools import partial

import numpy
import pytest
from gensim.models import KeyedVectors

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.pretrained.pooling import pool_layers
from tests import VALIDATION
from tests.commands import running
from tests.language_models import write_language_model

run = partial(running.run, "export-vectors")


def check(path, words, vectors):
    found = KeyedVectors.load_word2vec_format(path)
    assert found.index_to_key == words
    # The table has six significant digits.
    numpy.testing.assert_allclose(found.vectors, vectors, rtol=2e-5, atol=2e-6)


def test_layer_0(lm_archive, embedder, tmp_path, caplog):
    caplog.set_level("INFO")
    words, out = tmp_path / "words.txt", tmp_path / "out.txt"
    words.write_text("heron\n zxqv\nжук\r\nheron\nSnow")
    run(lm_archive, out, "--words-file", words, "--batch-size", 2)
    expected = ["heron", "zxqv", "жук", "Snow"]
    check(out, expected, [embedder.embed_sentence([word])[0, 0] for word in expected])
    assert f"{out}: 4 of 4 words, 12 dimensions" in caplog.text


@pytest.mark.parametrize("layers", [None, "top", "normalized", "all"])
def test_the_mean_over_contexts(layers, tmp_path, caplog):
    caplog.set_level("INFO")
    archive = write_language_model(tmp_path / "lm", "subwords")
    words, out = tmp_path / "words.txt", tmp_path / "out.txt"
    # One subword, and two.
    words.write_text("the\nnowhere\nclosed\n")
    options = ["--layers", layers] if layers else []
    run(archive, out, "--words-file", words, "--contexts", VALIDATION, "--batch-size", 3, *options)
    embedder = SentenceEmbedder(archive)
    occurrences = {"the": [], "closed": []}
    for sentence in map(str.split, VALIDATION.read_text().splitlines()):
        vectors = pool_layers(embedder.embed_sentence(sentence), layers or "average")
        for word, vector in zip(sentence, vectors):
            occurrences.get(word, []).append(vector)
    assert min(map(len, occurrences.values())) > 1
    check(out, ["the", "closed"], [numpy.mean(each, axis=0) for each in occurrences.values()])
    assert f"2 of 3 words, {36 if layers == 'all' else 12} dimensions" in caplog.text


@pytest.mark.parametrize("form_of_contexts", ["NFC", "NFD"])
def test_words_are_compared_in_form_c(form_of_contexts, lm_archive, tmp_path):
    contexts = "A naïve man sat in a café .\nHis ọ̀rẹ́ came to the café .\n"
    (tmp_path / "contexts.txt").write_text(unicodedata.normalize(form_of_contexts, contexts))
    expected = ["naïve", "café", unicodedata.normalize("NFC", "ọ̀rẹ́")]
    for options in ([], ["--contexts", tmp_path / "contexts.txt"]):
        tables = []
        for name, text in (
            ("nfc", "\n".join(expected)),
            ("nfd", unicodedata.normalize("NFD", "\n".join(expected))),
            # Words in both forms are one; files of words may begin with a byte order mark and have
            # empty lines.
            ("both", "\ufeffnaïve\n\nnai\u0308ve\r\n" + "\n".join(expected) + "\n\n"),
        ):
            (tmp_path / f"{name}.txt").write_text(text, "utf-8", newline="")
            out = tmp_path / "out.txt"
            run(lm_archive, out, "--words-file", tmp_path / f"{name}.txt", *options, "--force")
            tables.append(out.read_bytes())
        assert KeyedVectors.load_word2vec_format(out).index_to_key == expected
        assert tables[0] == tables[1] == tables[2]
