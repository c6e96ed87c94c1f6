"""The embedder over language models of each kind of input."""

import json

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.tokenizers import Token
from allennlp.models import Model, load_archive
from allennlp.modules import TextFieldEmbedder

from allennlp_semfit.pretrained.elmo_semfit import ElmoSemfitEmbedder
from tests import FIXTURES
from tests.language_models import KINDS, with_vectors
from tests.pretrained.texts import SENTENCES
from tests.tagging import tagging_config
from tests.tolerance import assert_same_but_for_rounding


def test_what_the_language_model_never_trained_stays_frozen(language_models):
    embedder = ElmoSemfitEmbedder(language_models["frozen_characters"], requires_grad=True)
    frozen = {name for name, p in embedder.named_parameters() if not p.requires_grad}
    assert frozen
    assert all("token_embedder_characters" in name for name in frozen)
    assert any(p.requires_grad for p in embedder._language_model.parameters())


@pytest.mark.parametrize(
    ("kind", "tensors", "wanted"),
    [
        ("fasttext", {"tokens": torch.tensor([[2, 3]])}, r"\['vectors', 'word_mask'\]"),
        ("words", {"elmo_tokens": torch.ones(1, 2, 50).long()}, r"\['lm_tokens'\]"),
        ("characters", {"tokens": torch.tensor([[2, 3]])}, r"\['elmo_tokens'\]"),
    ],
)
def test_another_indexer_is_refused(kind, tensors, wanted, language_models):
    archive_file = str(language_models[kind])
    embedders = {"tokens": {"type": "elmo_semfit", "archive_file": archive_file}}
    embedder = TextFieldEmbedder.from_params(Params({"token_embedders": embedders}))
    with pytest.raises(ConfigurationError, match=rf"takes {wanted}, but .* gave it") as raised:
        embedder({"tokens": tensors})
    message = str(raised.value)
    assert f"gave it {sorted(tensors)}. Use the indexer " in message
    remedy = message.partition("Use the indexer ")[2].removesuffix(" in each dataset reader.")
    assert json.loads(remedy) == {"type": "elmo_semfit", "archive_file": archive_file}


# The data of tasks with few and with many words.
FEW = "Snow###N fell###V\n" * 3
MANY = "\n".join("\t".join(f"{i + j:03}###N" for j in range(20)) for i in range(0, 600, 20))


def other_language_model(language_model, directory):
    """A copy, which reads words with another fastText file and has another vocabulary."""
    with_vectors(FIXTURES / "words_only.bin", language_model, directory)
    tokens = directory / "vocabulary" / "tokens.txt"
    tokens.write_text("\n".join(reversed(tokens.read_text().splitlines())))
    return directory


class TestInATask:
    """With the `elmo_semfit` indexer, in a task with more words and with fewer of its own."""

    def config(self, directory, data, archive_file, namespace="tokens", indexed_by=None):
        elmo = {"type": "elmo_semfit", "archive_file": str(archive_file)}
        indexer = {**elmo, "archive_file": str(indexed_by or archive_file)}
        words = {"type": "embedding", "embedding_dim": 3, "vocab_namespace": namespace}
        return tagging_config(
            directory,
            {"elmo": indexer, "tokens": {"type": "single_id", "namespace": namespace}},
            {"elmo": elmo, "tokens": words},
            {"type": "pass_through", "input_dim": 15},
            data,
        )

    @pytest.mark.parametrize(
        ("kind", "data"),
        [*((kind, FEW) for kind in KINDS), ("words", MANY), ("subwords", MANY)],
        ids=[*KINDS, "words-many", "subwords-many"],
    )
    def test_it_trains_saves_loads_and_predicts_the_same(
        self, kind, data, language_models, tmp_path
    ):
        # The namespaces are those of the language model too.
        namespace = "subwords" if kind == "subwords" else "tokens"
        config = self.config(tmp_path, data, language_models[kind], namespace)
        trained = train_model(Params(config), str(tmp_path / "task"))
        own = trained.vocab.get_vocab_size(namespace)
        of_language_model = Vocabulary.from_files(language_models[kind] / "vocabulary")
        if kind in ("words", "subwords"):
            theirs = of_language_model.get_vocab_size(namespace)
            assert own > theirs if data is MANY else own < theirs
        archive = load_archive(tmp_path / "task" / "model.tar.gz")
        state = trained.state_dict()
        loaded = archive.model.state_dict()
        assert {name: t.shape for name, t in state.items()} == {
            name: t.shape for name, t in loaded.items()
        }
        reader = archive.dataset_reader
        instances = [
            reader.text_to_instance([Token(word) for word in words]) for words in SENTENCES
        ]
        for instance in instances:
            reader.apply_token_indexers(instance)
        ours = trained.eval().forward_on_instances(instances)
        theirs = archive.model.eval().forward_on_instances(instances)
        for one, other in zip(ours, theirs):
            assert_same_but_for_rounding(one["logits"], other["logits"])

    def test_two_language_models_are_refused(self, language_models, tmp_path):
        ours = language_models["fasttext"]
        other = other_language_model(ours, tmp_path / "other")
        config = self.config(tmp_path, FEW, ours, indexed_by=other)
        with pytest.raises(ConfigurationError, match="Give both the same") as raised:
            train_model(Params(config), str(tmp_path / "task"))
        indexer = f"`dataset_reader.token_indexers.elmo.archive_file` is {other}"
        embedder = f"`model.text_field_embedder.token_embedders.elmo.archive_file` is {ours}"
        assert f"{indexer}, but {embedder}" in str(raised.value)

    def test_tasks_of_one_process_may_have_different_language_models(
        self, language_models, tmp_path
    ):
        ours = language_models["fasttext"]
        archives = []
        for language_model in (ours, other_language_model(ours, tmp_path / "other")):
            task = tmp_path / f"task{len(archives)}"
            train_model(Params(self.config(tmp_path, FEW, language_model)), str(task))
            archives.append(load_archive(task / "model.tar.gz"))
        for archive in archives:
            Model.from_params(archive.config["model"].duplicate(), vocab=archive.model.vocab)
