import copy
import json
import pickle
import shutil

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing import ModelTestCase
from allennlp.modules.token_embedders import TokenEmbedder

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.data.fasttext_indexer import FastTextIndexer
from tests import FIXTURES, VECTORS
from tests.language_models import tensors_of, with_vectors
from tests.pretrained.texts import SENTENCES
from tests.tagging import predict, tagging_config
from tests.tolerance import assert_same_but_for_rounding


@pytest.fixture
def build(lm_archive):
    def build(**parameters):
        params = {"type": "elmo_semfit", "archive_file": lm_archive, **parameters}
        return TokenEmbedder.from_params(Params(params))

    return build


def indexed(sentences):
    return tensors_of(FastTextIndexer(VECTORS), sentences)


def test_normalized_layers_count_alike_and_do_not_depend_on_the_batch(build):
    embedder = build(do_layer_norm=True).eval()
    tensors = indexed(SENTENCES)
    embedded = embedder(**tensors)
    layers = embedder._language_model(tensors)
    norm = torch.nn.LayerNorm(embedder.get_output_dim(), elementwise_affine=False)
    expected = sum(map(norm, layers))[:, 1:-1] / len(layers)
    for index, words in enumerate(SENTENCES):
        vectors = embedded[index, : len(words)]
        torch.testing.assert_close(vectors, expected[index, : len(words)])
        alone = embedder(**indexed([words]))[0]
        assert_same_but_for_rounding(alone, vectors)
        assert not embedded[index, len(words) :].any()


def test_frozen_it_runs_without_a_graph_and_without_the_language_models_dropout(build):
    embedder = build(dropout=0.0).train()
    tensors = indexed(SENTENCES)
    assert torch.equal(embedder(**tensors), embedder(**tensors))
    embedder(**tensors).sum().backward()
    trained = {name for name, p in embedder.named_parameters() if p.grad is not None}
    weights = {f"_scalar_mix.scalar_parameters.{i}" for i in range(3)}
    assert trained == {"_scalar_mix.gamma", *weights}
    assert {name for name, p in embedder.named_parameters() if p.requires_grad} == trained
    assert not embedder._language_model.training
    layers = embedder._language_model(tensors)
    assert all(not layer.requires_grad for layer in layers)


def test_fine_tuning_reaches_the_language_model_and_its_dropout(build):
    embedder = build(dropout=0.0, requires_grad=True).train()
    tensors = indexed(SENTENCES)
    assert not torch.equal(embedder(**tensors), embedder(**tensors))
    embedder(**tensors).pow(2).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in embedder.parameters())
    embedder.eval()
    assert torch.equal(embedder(**tensors), embedder(**tensors))


def test_a_copy_needs_no_file(build, lm_archive, tmp_path):
    vectors = shutil.copy(VECTORS, tmp_path / "vectors.bin")
    language_model = with_vectors(vectors, lm_archive, tmp_path / "lm")
    embedder = build(archive_file=str(language_model)).eval()
    pickled = pickle.dumps(embedder)
    vectors.unlink()
    shutil.rmtree(language_model)
    tensors = indexed(SENTENCES)
    for copied in (pickle.loads(pickled), copy.deepcopy(embedder)):
        assert torch.equal(copied(**tensors), embedder(**tensors))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_another_precision(build, dtype):
    # The indexer's vectors remain float32.
    embedded = build().eval().to(dtype)(**indexed(SENTENCES[:1]))
    assert embedded.dtype == dtype
    assert embedded.isfinite().all()


def test_dropout_and_projection(build):
    tensors = indexed(SENTENCES)
    embedder = build(projection_dim=5)
    assert embedder.get_output_dim() == 5
    assert embedder(**tensors).shape == (3, 8, 5)
    half_dropped = build().train()(**tensors)[tensors["word_mask"]]
    assert 0.3 < (half_dropped == 0).float().mean() < 0.7


def test_given_scalar_mix_parameters_are_fixed(build):
    fixed = build(scalar_mix_parameters=[1.0, 2.0, 3.0])
    assert not any(parameter.requires_grad for parameter in fixed.parameters())


class TestInAModel(ModelTestCase):
    @pytest.mark.parametrize("requires_grad", [False, True])
    def test_it_trains_saves_loads_and_predicts_the_same(self, requires_grad, lm_archive, tmp_path):
        elmo = {"type": "elmo_semfit", "archive_file": lm_archive, "requires_grad": requires_grad}
        config = tagging_config(
            tmp_path,
            {"tokens": "single_id", "elmo": {"type": "fasttext", "model_path": VECTORS}},
            {"tokens": {"type": "embedding", "embedding_dim": 6}, "elmo": elmo},
            {"type": "lstm", "input_size": 12 + 6, "hidden_size": 5},
        )
        (tmp_path / "tagger.json").write_text(json.dumps(config))
        self.ensure_model_can_train_save_and_load(tmp_path / "tagger.json")


def test_the_tasks_weights_are_taken_and_not_those_of_the_language_model_found(
    lm_archive, tmp_path
):
    language_model = shutil.copy(lm_archive, tmp_path / "lm.tar.gz")
    config = tagging_config(
        tmp_path,
        {"words": {"type": "fasttext", "model_path": VECTORS}},
        {"words": {"type": "elmo_semfit", "archive_file": str(language_model)}},
        {"type": "pass_through", "input_dim": 12},
    )
    train_model(Params(config), str(tmp_path / "task"))
    expected = predict(tmp_path / "task" / "model.tar.gz")
    config = Params.from_file(FIXTURES / "language_model.jsonnet", {"pytorch_seed": 3})
    train_model(config, str(tmp_path / "other"))
    language_model.unlink()
    key = "model.text_field_embedder.token_embedders.words.archive_file"
    with pytest.raises(InvalidFileError, match="does not exist") as raised:
        predict(tmp_path / "task" / "model.tar.gz")
    assert raised.value.key == key
    moved = {key: str(tmp_path / "other" / "model.tar.gz")}
    assert predict(tmp_path / "task" / "model.tar.gz", **moved) == expected


def test_vectors_of_another_dimension_are_refused_with_both(build):
    with pytest.raises(ConfigurationError, match="of dimension 10, but .* of dimension 7"):
        build()(vectors=torch.zeros(1, 2, 7), word_mask=torch.ones(1, 2).bool())
