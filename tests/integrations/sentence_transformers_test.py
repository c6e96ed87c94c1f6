import json
import pickle
import sys

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing import requires_gpu

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.integrations.sentence_transformers import ContextualWordEmbeddings
from tests import FIXTURES
from tests.language_models import write_language_model
from tests.tolerance import assert_same_but_for_rounding

TEXTS = ["The heron stood on the bridge .", "Snow .", "", "zxqv жук .", "Nobody watered it ."]
WORDS = [text.split() for text in TEXTS]


def sentence_transformer(words, pool="mean", **options):
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    pooling = modules.Pooling(words.get_embedding_dimension(), pool)
    return sys.modules["sentence_transformers"].SentenceTransformer(
        modules=[words, pooling], **options
    )


@pytest.mark.parametrize(
    ("pool", "layers"), [("mean", "average"), ("max", "all"), ("max", "normalized")]
)
def test_encodes_as_the_embedder_does(embedder, lm_archive, pool, layers):
    words = ContextualWordEmbeddings(lm_archive, layers)
    model = sentence_transformer(words, pool, device="cpu")
    vectors = model.encode(TEXTS, batch_size=2)
    expected = embedder.sentence_vectors(WORDS, pool, layers)
    assert model.get_sentence_embedding_dimension() == expected.shape[1]
    assert_same_but_for_rounding(vectors, expected)
    # Batches of empty texts only.
    assert not model.encode(["", " "]).any()
    assert_same_but_for_rounding(model.encode(TEXTS[0]), expected[0])
    assert_same_but_for_rounding(
        model.encode(["on the bridge ."], prompt="The heron stood"), expected[:1]
    )
    if pool == "mean":
        model[1].include_prompt = False
        vectors = model.encode(TEXTS, prompt="A heron : ")
        assert_same_but_for_rounding(
            vectors[0], embedder.embed_sentence(["A", "heron", ":", *WORDS[0]])[:, 3:].mean((0, 1))
        )
    layers = embedder.embed_sentence(WORDS[1])
    if words.layers == "average":
        (tokens,) = model.encode(TEXTS[1:2], output_value="token_embeddings")
        assert_same_but_for_rounding(tokens, layers.mean(axis=0))


def test_saves_its_path(tmp_path, monkeypatch):
    archive = write_language_model(tmp_path / "lm", "subwords")
    monkeypatch.chdir(tmp_path)
    words = ContextualWordEmbeddings("lm", "top", True)
    monkeypatch.chdir(FIXTURES)
    words.save(str(tmp_path))
    assert json.loads((tmp_path / "config.json").read_text()) == {
        "archive_file": str(archive),
        "layers": "top",
        "bf16": True,
    }
    pickled = pickle.dumps(words)
    assert len(pickled) < 1000
    expected = SentenceEmbedder(archive, bf16=True).embed_sentence(WORDS[0])[-1]
    for copy in (words, ContextualWordEmbeddings.load(str(tmp_path)), pickle.loads(pickled)):
        vectors = copy(copy.preprocess(TEXTS[:1]))["token_embeddings"][0]
        numpy.testing.assert_array_equal(vectors, expected)


def test_saves_and_loads_the_whole(lm_archive, tmp_path):
    model = sentence_transformer(ContextualWordEmbeddings(lm_archive, "all"), "max", device="cpu")
    model.save(str(tmp_path))
    assert not list(tmp_path.rglob("*.safetensors"))
    again = type(model)(str(tmp_path), trust_remote_code=True, device="cpu")
    assert again[0].layers == "all"
    numpy.testing.assert_array_equal(again.encode(TEXTS), model.encode(TEXTS))
    # A model from elsewhere may name an archive, whose configuration runs code.
    with pytest.raises(ConfigurationError, match="pass trust_remote_code=True"):
        type(model)(str(tmp_path), device="cpu")


@requires_gpu
def test_moves_to_a_gpu(embedder, lm_archive):
    words = ContextualWordEmbeddings(lm_archive, "average").to("cuda")
    vectors = words(words.preprocess(TEXTS[:1]))["token_embeddings"]
    assert vectors.device.type == "cuda"
    assert_same_but_for_rounding(vectors[0].cpu(), embedder.embed_sentence(WORDS[0]).mean(axis=0))


def test_follows_its_weights_to_another_precision(embedder, lm_archive):
    words = ContextualWordEmbeddings(lm_archive, "average").bfloat16()
    vectors = words(words.preprocess(TEXTS[:1]))["token_embeddings"][0]
    expected = torch.tensor(embedder.embed_sentence(WORDS[0]).mean(axis=0))
    # A few roundings go through the layers. A wrong word or boundary changes most of a vector.
    error = (vectors.float() - expected).norm() / expected.norm()
    assert 0 < error < 4 * torch.finfo(torch.bfloat16).eps


def test_errors(lm_archive):
    with pytest.raises(
        ConfigurationError, match="layers must be one of all, top, average, normalized, got 'last'"
    ):
        ContextualWordEmbeddings(lm_archive, "last")


@pytest.mark.parametrize("text", [float("nan"), None, ["Snow", "."]])
def test_a_text_must_be_a_string(text, lm_archive):
    model = sentence_transformer(ContextualWordEmbeddings(lm_archive), device="cpu")
    with pytest.raises(
        ConfigurationError, match=f"is a {type(text).__name__}; give a string or a list of strings"
    ):
        model.encode(["Snow .", text])
