"""Language models with a vocabulary: each head as part of a model."""

import copy
import json

import pytest
import torch
from allennlp.common.testing import ModelTestCase
from allennlp.data import Batch

from tests import FIXTURES
from tests.modules.lm_heads.softmax_reference import scores_of

HEADS = {
    "softmax": {"type": "softmax"},
    "tied": {"type": "softmax", "tie_to_input": True, "embedding_dim": 5},
    "adaptive": {"type": "adaptive_softmax", "cutoffs": [10, 30], "div_value": 2.0},
    "sampled": {"type": "sampled_softmax", "num_samples": 40},
}
EMBEDDERS = {"tied": {"type": "embedding", "embedding_dim": 5}}


@pytest.fixture(params=HEADS)
def config(request, tmp_path):
    head = {**HEADS[request.param], "input_dim": 6}
    embedder = EMBEDDERS.get(request.param, {"type": "empty"})
    input_dim = 10 + embedder.get("embedding_dim", 0)
    file = tmp_path / "config.jsonnet"
    file.write_text(
        f"""(import '{FIXTURES}/language_model.jsonnet') + {{
          vocabulary: {{}},
          dataset_reader+: {{ token_indexers+: {{ tokens: {{ type: 'single_id' }} }} }},
          model+: {{
            text_field_embedder+: {{ token_embedders+: {{ tokens: {json.dumps(embedder)} }} }},
            contextualizer+: {{ input_dim: {input_dim}, dropout: 0.0 }},
            head: {json.dumps(head)},
          }},
          trainer+: {{ validation_metric: '-perplexity' }},
        }}"""
    )
    return file


class TestSoftmaxModels(ModelTestCase):
    def test_it_trains_saves_loads_and_predicts_the_same(self, config):
        self.ensure_model_can_train_save_and_load(config, gradients_to_ignore=set())

    @pytest.mark.parametrize("training", [False, True])
    def test_the_perplexity_is_that_of_the_definition_whatever_the_batching(self, config, training):
        self.set_up_model(config, FIXTURES / "corpus" / "heldout.txt")
        is_sampled = config.read_text().count("sampled_softmax")
        for parameter in self.model._head.parameters():
            parameter.data.normal_(std=2)
        expected = self.perplexity_of_one_sentence_after_the_other()
        self.model.train(training)
        if is_sampled and training:
            # Every word, and not a sample of them.
            self.model._head._stride = 1
        for batch_size in (1, 3, len(self.instances)):
            with torch.no_grad():
                for start in range(0, len(self.instances), batch_size):
                    self.model(**self.tensors(self.instances[start : start + batch_size]))
            assert self.model.get_metrics(reset=True) == {
                "perplexity": pytest.approx(expected, rel=1e-4)
            }

    def tensors(self, instances):
        batch = Batch(instances)
        batch.index_instances(self.vocab)
        return batch.as_tensor_dict()

    def perplexity_of_one_sentence_after_the_other(self):
        exact = copy.deepcopy(self.model).double().eval()
        losses = []
        for instance in self.instances:
            source = self.tensors([instance])["source"]
            source["fasttext"]["vectors"] = source["fasttext"]["vectors"].double()
            classes = source["tokens"]["tokens"][0] - 1
            with torch.no_grad():
                states = exact(source)["lm_embeddings"][0]
                forward_scores = scores_of(exact._head, states[:-1, :6]).gather(
                    1, classes[1:, None]
                )
                backward_scores = scores_of(exact._head, states[1:, 6:]).gather(
                    1, classes[:-1, None]
                )
            losses += [-forward_scores, -backward_scores]
        return torch.cat(losses).mean().exp().item()
