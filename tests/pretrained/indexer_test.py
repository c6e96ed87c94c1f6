import json
import pickle
import tarfile
from unittest.mock import Mock

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import ListField, TextField
from allennlp.nn.util import (
    get_text_field_mask,
    get_token_ids_from_text_field_tensors,
    get_token_offsets_from_text_field_inputs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_semfit.archives.archive import Archive
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.pretrained.elmo_semfit import ElmoSemfitEmbedder, ElmoSemfitIndexer
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from tests.commands.running import run
from tests.language_models import KINDS, rewritten, tensors_of, write_language_model
from tests.pretrained.texts import SENTENCES


@pytest.fixture(scope="module")
def indexers(language_models):
    return {kind: ElmoSemfitIndexer(path) for kind, path in language_models.items()}


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_mask_of_a_text_field_is_that_of_words(kind, indexers):
    expected = torch.tensor([[i < len(words) for i in range(8)] for words in SENTENCES])
    tensors = tensors_of(indexers[kind], SENTENCES)
    assert torch.equal(get_text_field_mask({"elmo": tensors}), expected)
    beside = {"transformer": {"token_ids": torch.ones(3, 20).long(), "mask": expected.clone()}}
    assert torch.equal(get_text_field_mask({"elmo": tensors, **beside}), expected)


@pytest.mark.parametrize("kind", list(KINDS))
def test_no_tensor_has_a_name_that_allennlp_gives_a_meaning(kind, indexers):
    tensors = tensors_of(indexers[kind], SENTENCES)
    assert not set(tensors) & {
        *("tokens", "token_ids", "input_ids", "token_characters", "type_ids"),
        *("mask", "wordpiece_mask", "segment_concat_mask", "offsets"),
    }
    own = {"tokens": torch.ones(3, 8).long()}
    assert get_token_ids_from_text_field_tensors({"elmo": tensors, "own": own}) is own["tokens"]
    assert get_token_offsets_from_text_field_inputs([{"elmo": tensors}]) is None


@settings(max_examples=50)
@given(st.lists(st.lists(st.text(max_size=9), max_size=5), min_size=1, max_size=4))
def test_a_subword_models_subwords_and_where_each_word_has_its_own(indexers, sentences):
    indexer = indexers["subwords"]
    tensors = tensors_of(indexer, sentences)
    assert list(tensors) == ["word_mask", "first_subwords", "lm_tokens"]
    length = max(map(len, sentences))
    assert tensors["first_subwords"].shape == (len(sentences), length)
    for index, words in enumerate(sentences):
        assert tensors["word_mask"][index].tolist() == [i < len(words) for i in range(length)]
        assert not tensors["first_subwords"][index, len(words) :].any()
        indices = []
        for word, first in zip(words, tensors["first_subwords"][index].tolist()):
            chunks = [word[i : i + 3] for i in range(0, len(word), 3)] or ["@@UNKNOWN@@"]
            assert first == len(indices)
            indices += [indexer._vocab.get_token_index(chunk, "subwords") for chunk in chunks]
        assert tensors["lm_tokens"][index, : len(indices)].tolist() == indices
        assert not tensors["lm_tokens"][index, len(indices) :].any()


def test_the_tasks_vocabulary_is_neither_asked_nor_changed(indexers):
    for indexer in indexers.values():
        field = TextField([Token("Snow"), Token("zxqv")], {"elmo": indexer})
        assert Vocabulary.from_instances([Instance({"text": field})])._index_to_token == {}
    others = Vocabulary(tokens_to_add={"tokens": ["zxqv", "Snow"], "subwords": ["Snow"]})
    for kind in ("words", "subwords"):
        tokens = [Token("Snow"), Token("zxqv")]
        ours = indexers[kind].tokens_to_indices(tokens, others)
        assert ours == indexers[kind].tokens_to_indices(tokens, Vocabulary.empty())
    # Both have the index 1 in the language model's vocabulary, where the corpus has no such word.
    unknown = indexers["words"].tokens_to_indices([Token("zxqv")], others)
    assert unknown == {"tokens": [1]}


@pytest.mark.parametrize("kind", list(KINDS))
def test_an_empty_field_pads_a_list_field(kind, indexers):
    indexer = {"elmo": indexers[kind]}
    fields = [TextField([Token("rivers")], indexer), TextField([], indexer)]
    field = ListField(fields)
    field.index(Vocabulary())
    tensors = field.as_tensor(field.get_padding_lengths())["elmo"]
    mask = get_text_field_mask({"elmo": tensors})
    assert mask.tolist() == [[True], [False]]
    assert not any(tensor[1].any() for tensor in tensors.values())


def test_a_process_unpacks_an_archive_once(tmp_path, monkeypatch):
    file = write_language_model(tmp_path / "lm", "words", archive=True)
    expected = tensors_of(ElmoSemfitIndexer(tmp_path / "lm"), SENTENCES)
    vectors = SentenceEmbedder(tmp_path / "lm").embed_sentence(SENTENCES[0])
    monkeypatch.setattr(tarfile, "open", Mock(wraps=tarfile.open))
    tensors = tensors_of(ElmoSemfitIndexer(file), SENTENCES)
    assert torch.equal(tensors["lm_tokens"], expected["lm_tokens"])
    assert (SentenceEmbedder(file).embed_sentence(SENTENCES[0]) == vectors).all()
    ElmoSemfitEmbedder(file)
    # Its weights were not kept after the first model.
    assert tarfile.open.call_count == 2


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_pickled_copy_gives_the_same(kind, indexers, monkeypatch):
    pickled = pickle.dumps(indexers[kind])
    monkeypatch.setattr(Archive, "open", None)
    copied = tensors_of(pickle.loads(pickled), SENTENCES)
    for name, tensor in tensors_of(indexers[kind], SENTENCES).items():
        assert torch.equal(copied[name], tensor)


def build(**params):
    """As a reader builds it, so that its place in the configuration is known."""
    config = {"reader": {"token_indexers": {"elmo": {"type": "elmo_semfit", **params}}}}
    return TokenIndexer.from_params(Params(config)["reader"]["token_indexers"]["elmo"])


@pytest.mark.parametrize(
    ("kind", "option", "missing"),
    [
        ("fasttext", "--fasttext-model-path", "fastText model gone does not exist"),
        ("subwords", "--tokenizer-path", "subword tokenizer gone does not exist"),
    ],
)
def test_a_file_of_the_language_model_that_has_been_moved_can_be_exported_with_it(
    kind, option, missing, language_models, indexers, tmp_path
):
    def change(config):
        reader = config["dataset_reader"]
        of_fasttext = reader["token_indexers"].get("fasttext")
        section = of_fasttext if kind == "fasttext" else reader["tokenizer"]
        moved.append(section["model_path"])
        section["model_path"] = "gone"

    moved = []
    directory = rewritten(language_models[kind], tmp_path / "lm", change)
    with pytest.raises(InvalidFileError) as raised:
        build(archive_file=str(directory))
    message = str(raised.value)
    assert missing in message
    # The configuration that names the file is the language model's, and not the user's.
    assert "dataset_reader" not in message
    override = message.partition("-o '")[2].partition("'")[0]
    assert json.loads(override) == {"reader.token_indexers.elmo.archive_file": "/path/to/it"}
    command = f"export-model {directory} FOLDER {option} PATH"
    assert f"run `allennlp {command}`, and use FOLDER" in message
    folder = str(tmp_path / "folder")
    run(*command.replace("FOLDER", folder).replace("PATH", moved[0]).split())
    indexer = build(archive_file=folder)
    for name, tensor in tensors_of(indexers[kind], SENTENCES).items():
        assert torch.equal(tensors_of(indexer, SENTENCES)[name], tensor)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            lambda embedders: embedders.update(tokens={"type": "embedding", "embedding_dim": 3}),
            r"\['fasttext', 'tokens'\]",
        ),
        (lambda embedders: embedders.update(fasttext="empty"), r"\[\]"),
    ],
)
def test_one_indexer_must_be_the_input(change, found, language_models, tmp_path):
    language_model = rewritten(
        language_models["fasttext"],
        tmp_path / "lm",
        lambda config: change(config["model"]["text_field_embedder"]["token_embedders"]),
    )
    with pytest.raises(
        ConfigurationError, match=f"{found}.*exactly one, with an embedder that is not"
    ):
        ElmoSemfitIndexer(language_model)


def test_an_indexer_of_subwords_with_a_mask_of_its_own(language_models, tmp_path):
    tokenizer = {
        "type": "chunks",
        "model_path": str(language_models["subwords"] / "tokenizer.json"),
    }
    language_model = rewritten(
        language_models["fasttext"],
        tmp_path / "lm",
        lambda config: config["dataset_reader"].update(tokenizer=tokenizer),
    )
    tensors = tensors_of(ElmoSemfitIndexer(language_model), [["captain", "of"], ["it"]])
    assert list(tensors) == ["word_mask", "first_subwords", "lm_vectors", "lm_word_mask"]
    assert get_text_field_mask({"elmo": tensors}).tolist() == [[True, True], [True, False]]
    assert tensors["lm_word_mask"].sum(dim=1).tolist() == [4, 1]
    embedded = ElmoSemfitEmbedder(language_model).eval()(**tensors)
    assert embedded.shape[:2] == (2, 2)
    assert embedded.any(dim=-1).tolist() == [[True, True], [True, False]]
