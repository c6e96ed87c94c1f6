import re

import numpy
import pytest
import spacy
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.cli.init_config import fill_config
from spacy.cli.train import train
from spacy.tokens import DocBin

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.integrations import spacy as module  # noqa: F401 (registers the component)
from tests import ROOT
from tests.language_models import write_language_model
from tests.tolerance import assert_same_but_for_rounding

SENTENCES = [["The", "heron", "stood", "."], ["Nobody", "watered", "it", "!"]]
TEXT = "The heron  stood.\n\nNobody watered it!"


def pipeline(archive, *, sentencizer=True, **config):
    nlp = spacy.blank("en")
    if sentencizer:
        nlp.add_pipe("sentencizer")
    nlp.add_pipe("semfit_vectors", config={"archive_file": str(archive), **config})
    return nlp


@pytest.fixture(scope="module")
def nlp(lm_archive):
    return pipeline(lm_archive, layers="average")


def test_each_sentence_is_embedded_by_itself(nlp, embedder):
    doc = nlp(TEXT)
    expected = [embedder.embed_sentence(words).mean(axis=0) for words in SENTENCES]
    words = [token for token in doc if not token.is_space]
    assert len(words) == len(doc) - 2
    assert doc.tensor.dtype == numpy.float32
    assert doc.tensor.shape == (len(doc), 12)
    assert_same_but_for_rounding(
        doc.tensor[[word.i for word in words]], numpy.concatenate(expected)
    )
    assert not doc.tensor[[token.i for token in doc if token.is_space]].any()
    assert_same_but_for_rounding(words[2].vector, expected[0][2])
    assert_same_but_for_rounding(doc.vector, numpy.concatenate(expected).mean(axis=0))
    for span, vectors in zip(doc.sents, expected):
        assert_same_but_for_rounding(span.vector, vectors.mean(axis=0))


def test_a_document_without_sentences_is_one(lm_archive, embedder):
    doc = pipeline(lm_archive, sentencizer=False)(TEXT)
    layers = embedder.embed_sentence([*SENTENCES[0], *SENTENCES[1]])
    words = [token.i for token in doc if not token.is_space]
    for index, vector in zip(range(8), doc.tensor[words]):
        assert_same_but_for_rounding(vector, layers[:, index].reshape(36))


@settings(max_examples=20)
@given(st.lists(st.text(st.sampled_from("Snow. \n!жa"), max_size=30), max_size=5))
def test_any_documents_in_a_stream(nlp, embedder, texts):
    docs = list(nlp.pipe(texts, batch_size=2))
    assert [doc.text for doc in docs] == texts
    for doc in docs:
        assert doc.tensor.shape == (len(doc), 12)
        for span in doc.sents:
            words = [token.text for token in span if not token.is_space]
            assert_same_but_for_rounding(
                span.vector, embedder.sentence_vectors([words], layers="average")[0]
            )
        if not doc.text.strip():
            assert not doc.vector.any()
            assert doc.vector.shape == (12,)


def test_all_but_white_space_has_a_vector_even_if_there_are_static_ones(lm_archive):
    nlp = pipeline(lm_archive)
    nlp.vocab.set_vector("heron", numpy.ones(4, dtype=numpy.float32))
    doc = nlp(TEXT)
    numpy.testing.assert_array_equal(doc[1].vector, doc.tensor[1])
    for token in doc:
        assert token.has_vector == bool(token.vector.any()) == (not token.is_space)
    assert doc.has_vector
    assert all(span.has_vector for span in doc.sents)
    assert not doc[2:3].text.strip()
    assert not doc[2:3].has_vector
    assert not nlp(" \n").has_vector
    assert not nlp("").has_vector


def test_a_word_is_not_the_same_in_all_contexts(nlp):
    doc, other = nlp("The heron stood on the bridge."), nlp("Nobody watered the heron !")
    for one, another in ((doc[1], other[3]), (doc[1:2], other[3:4]), (doc, other)):
        cosine = one.vector @ another.vector
        cosine /= numpy.linalg.norm(one.vector) * numpy.linalg.norm(another.vector)
        assert one.similarity(another) == pytest.approx(cosine)
        assert cosine < 0.9999
    assert doc.similarity(nlp(" ")) == 0


def test_a_document_of_two_pipelines_has_no_norms_of_the_first(nlp, lm_archive):
    doc = nlp("The heron stood.")
    assert doc.similarity(doc) == pytest.approx(1)
    doc = pipeline(lm_archive, layers="top")(doc)
    assert doc.similarity(doc) == pytest.approx(1)


def test_saving_the_pipeline_and_the_documents(nlp, tmp_path):
    doc = nlp(TEXT)
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")(TEXT)
    numpy.testing.assert_array_equal(again.tensor, doc.tensor)
    (stored,) = DocBin().from_bytes(DocBin(docs=[doc]).to_bytes()).get_docs(nlp.vocab)
    assert not stored.tensor.size
    copy = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
    numpy.testing.assert_array_equal(copy[1].vector, doc[1].vector)


def test_the_config_of_the_page_trains_a_component_on_the_vectors(lm_archive, tmp_path):
    page = (ROOT / "docs/howto/integrations.md").read_text("utf-8")
    config = re.search("```ini\n(.*?)```", page, re.DOTALL)[1]
    config = config.replace("my-model", str(lm_archive)).replace("width = 256", "width = 12")
    (tmp_path / "base.cfg").write_text(config)
    fill_config(tmp_path / "config.cfg", tmp_path / "base.cfg", silent=True)
    doc = spacy.blank("en")("The heron stood on the bridge.")
    doc.ents = [doc.char_span(4, 9, "BIRD")]
    DocBin(docs=[doc]).to_disk(tmp_path / "docs.spacy")
    overrides = {f"paths.{name}": str(tmp_path / "docs.spacy") for name in ("train", "dev")}
    overrides.update({"training.max_steps": 60, "training.eval_frequency": 60})
    overrides["training.optimizer.learn_rate"] = 0.03
    train(tmp_path / "config.cfg", tmp_path / "ner", overrides=overrides)
    nlp = spacy.load(tmp_path / "ner/model-last")
    assert [(ent.text, ent.label_) for ent in nlp(doc.text).ents] == [("heron", "BIRD")]
    # It has learned from the vectors.
    nlp.disable_pipe("semfit_vectors")
    assert not nlp(doc.text).ents


def test_each_parameter_arrives(tmp_path):
    archive = write_language_model(tmp_path / "lm", "subwords")
    doc = pipeline(archive, layers="top", batch_size=1, bf16=True)("Nobody watered it!")
    expected = SentenceEmbedder(archive, bf16=True).embed_sentence(SENTENCES[1])[-1]
    numpy.testing.assert_array_equal(doc.tensor, expected)


def test_errors(lm_archive):
    with pytest.raises(
        ConfigurationError, match="layers must be one of all, top, average, normalized, got 'last'"
    ):
        pipeline(lm_archive, layers="last")
    with pytest.raises(ConfigurationError, match="The device 99 cannot be used"):
        pipeline(lm_archive, cuda_device=99)
