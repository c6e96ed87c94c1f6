import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch
from allennlp.models import load_archive

from allennlp_semfit.analysis.nearest_words import WordScorer
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.semfit_head import Distance
from allennlp_semfit.modules.lm_heads.softmax_heads import SoftmaxHeadBase
from tests import VECTORS
from tests.language_models import EMPTY, TARGETS, write_language_model
from tests.models.masked_lm_test import build as build_masked_lm

# The vocabulary has neither "zebra" nor "quagga".
WORDS = [".", "harbour", "of", "quagga", "the", "zebra"]
SENTENCES = [["the", "of", "."], [], ["zebra"], ["the", "harbour", "the", "of", "zebra", "."]]
LOCATIONS = [(row, at) for row, words in enumerate(SENTENCES) for at in range(len(words))]

FASTTEXT = {"type": "fasttext", "model_path": VECTORS}
FASTTEXT_EMBEDDER = {"type": "fasttext", "embedding_dim": 10}
SEMFIT = {"type": "semfit", "embedding_dim": 10}


# As users might add them.
@Distance.register("l1")
class L1Distance(Distance):
    has_unit_targets = False

    def __call__(self, predicted, targets):
        return (predicted - targets).abs().sum(dim=-1)


@Distance.register("unit_l1")
class UnitL1Distance(L1Distance):
    has_unit_targets = True


@LmHead.register("hinge")
class HingeHead(SoftmaxHeadBase):
    def __init__(self, vocab, input_dim):
        super().__init__(vocab, input_dim)
        self.layer = torch.nn.Linear(input_dim, self.num_classes)

    def losses(self, context, targets):
        scores = self.layer(context)
        return torch.nn.functional.multi_margin_loss(scores, targets, reduction="none")


def kind_of(head):
    return {"fasttext": FASTTEXT}, {"fasttext": FASTTEXT_EMBEDDER}, 10, head


def kind_with_vocabulary(head):
    indexers, embedders, *others = kind_of(head)
    return {**indexers, "tokens": TARGETS}, {**embedders, "tokens": EMPTY}, *others


MORE_KINDS = {
    **{
        f"semfit_{distance}": kind_of({**SEMFIT, "distance": distance})
        for distance in ("cosine", "l1", "l2", "nllvmf", "unit_l1")
    },
    "hinge": kind_with_vocabulary({"type": "hinge"}),
    "semfit_random": kind_with_vocabulary(
        {
            **SEMFIT,
            "target_embedder": {"type": "embedding", "embedding_dim": 10, "trainable": False},
            "target_indexer": "tokens",
        }
    ),
    **{
        f"sampled_{'sparse' if sparse else 'dense'}": kind_with_vocabulary(
            {"type": "sampled_softmax", "num_samples": 5, "sparse": sparse}
        )
        for sparse in (False, True)
    },
}


def forward(archive, words):
    """What the model and its head make of a single sentence."""
    instance = archive.dataset_reader.text_to_instance(" ".join(words))
    archive.dataset_reader.apply_token_indexers(instance)
    batch = Batch([instance])
    batch.index_instances(archive.model.vocab)
    source = batch.as_tensor_dict()["source"]
    output = archive.model(source)
    targets = archive.model._head.prepare_targets(source, output["noncontextual_token_embeddings"])
    return output["lm_embeddings"][0], targets[0]


@pytest.mark.parametrize("name", ["fasttext", "characters", "words", *MORE_KINDS])
def test_words_score_by_the_loss_that_they_would_be(name, tmp_path, monkeypatch):
    monkeypatch.setattr("allennlp_semfit.analysis.nearest_words._WORDS", 4)
    kind = MORE_KINDS.get(name, name)
    tokens = {"start_tokens": ["of", "</s>"], "end_tokens": ["</s>", "."]}
    archive = load_archive(write_language_model(tmp_path / "model", kind, archive=True, **tokens))
    scores = WordScorer(archive.model, archive.dataset_reader, WORDS)
    contexts = scores.contexts(SENTENCES)
    generator = torch.Generator().manual_seed(1)
    candidates = torch.stack([torch.randperm(6, generator=generator)[:5] for _ in LOCATIONS])
    head = archive.model.eval()._head
    for direction in (0, 1):
        found = scores(contexts[:, direction]).gather(1, candidates).double()
        expected = torch.empty_like(found)
        for row, (sentence, position) in enumerate(LOCATIONS):
            layer, _ = forward(archive, SENTENCES[sentence])
            # The first word of the sentence is at 2.
            context = (layer[position + 1, :6], layer[position + 3, 6:])[direction]
            for column, index in enumerate(candidates[row].tolist()):
                target = forward(archive, [WORDS[index]])[1][2]
                expected[row, column] = -head(context[None], target[None])
                if "semfit" not in name and WORDS[index] in ("zebra", "quagga"):
                    # The two share what the unknown word has.
                    expected[row, column] -= math.log(2)
        torch.testing.assert_close(
            found - found[:, :1], expected - expected[:, :1], atol=2e-5, rtol=1e-4
        )


def test_a_contrastive_head_scores_by_the_cosine(tmp_path):
    kind = kind_of({"type": "contrastive", "embedding_dim": 10})
    archive = load_archive(write_language_model(tmp_path / "model", kind, archive=True))
    head = archive.model._head
    scores = WordScorer(archive.model, archive.dataset_reader, WORDS)
    context = scores.contexts(SENTENCES)[:, 0]
    found = scores(context)
    fasttext = FastTextModel(VECTORS)
    vectors = torch.stack([torch.from_numpy(fasttext.get_word_vector(word)) for word in WORDS])
    predicted = head.projection(context)
    expected = torch.cosine_similarity(predicted.unsqueeze(1), vectors.unsqueeze(0), dim=-1)
    torch.testing.assert_close(found, expected, check_dtype=False)


def test_a_head_with_other_targets_is_refused(tmp_path):
    archive = load_archive(write_language_model(tmp_path / "model", "words", archive=True))
    archive.model._head = LmHead(6)
    with pytest.raises(ConfigurationError, match="is a LmHead, .* `VectorHeadBase` or"):
        WordScorer(archive.model, archive.dataset_reader, WORDS)


def test_other_vectors_than_those_of_the_training_are_refused(lm_archive):
    archive = load_archive(lm_archive)
    archive.model.boundary_vector += 1
    with pytest.raises(ConfigurationError, match="not those of the model's training"):
        WordScorer(archive.model, archive.dataset_reader, WORDS).contexts(SENTENCES)


@pytest.mark.parametrize("side", ["start_tokens", "end_tokens"])
def test_a_language_model_without_boundaries_is_refused(side, tmp_path):
    file = write_language_model(tmp_path / "model", "words", archive=True, **{side: []})
    archive = load_archive(file)
    with pytest.raises(ConfigurationError, match=side):
        WordScorer(archive.model, archive.dataset_reader, WORDS)


def test_a_language_model_that_does_not_predict_the_next_word_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="is a MaskedLm, .*; give a bidirectional_lm"):
        WordScorer(build_masked_lm(), LanguageModelingReader(), WORDS)
    archive = load_archive(write_language_model(tmp_path / "model", "subwords", archive=True))
    with pytest.raises(ConfigurationError, match="reads subwords, .*`tokenizer` splits at spaces"):
        WordScorer(archive.model, archive.dataset_reader, WORDS)
