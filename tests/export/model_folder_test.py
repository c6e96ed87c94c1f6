import json
import os
import re
import shutil
from pathlib import Path

import huggingface_hub
import numpy
import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import TokenIndexer, Vocabulary
from allennlp.modules import TextFieldEmbedder
from huggingface_hub.utils import EntryNotFoundError
from requests import Response

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.fasttext.compact import open_fasttext
from allennlp_semfit.pretrained.elmo_semfit import ElmoSemfitIndexer
from tests import TABLE, VALIDATION, VECTORS
from tests.commands.running import run
from tests.language_models import KINDS, rewritten, tensors_of, with_vectors, write_language_model
from tests.mimick_archive import write_mimick

SENTENCES = [["The", "boats", "café"], [], ["river"]]


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_moved_folder_gives_the_same_vectors_without_the_files_of_its_training(kind, tmp_path):
    # In a directory of its own, because it is deleted.
    original = tmp_path / "original"
    model = write_language_model(original / "lm", kind)
    config = json.loads((model / "config.json").read_text())
    for indexer in config["dataset_reader"]["token_indexers"].values():
        for key, path in (("model_path", VECTORS), ("table_path", TABLE)):
            if key in indexer:
                indexer[key] = shutil.copy(path, original)
        if "archive_file" in indexer:
            indexer["archive_file"] = str(write_mimick(original / "mimick", archive=True))
    (model / "config.json").write_text(json.dumps(config))
    expected = [*SentenceEmbedder(model).embed_sentences(SENTENCES)]

    export_model(model, tmp_path / "exported")
    shutil.rmtree(original)
    folder = (tmp_path / "exported").rename(tmp_path / "moved")
    for actual, vectors in zip(SentenceEmbedder(folder).embed_sentences(SENTENCES), expected):
        numpy.testing.assert_array_equal(actual, vectors)
    assert str(tmp_path) not in (folder / "config.json").read_text()

    parameters = {"type": "elmo_semfit", "archive_file": str(folder)}
    indexer = TokenIndexer.from_params(Params({**parameters}))
    embedders = {"lm": {**parameters, "dropout": 0.0, "scalar_mix_parameters": [9, -9, -9]}}
    embedder = TextFieldEmbedder.from_params(Params({"token_embedders": embedders}))
    embedded = embedder({"lm": tensors_of(indexer, SENTENCES)})
    numpy.testing.assert_allclose(embedded[0, :3].numpy(), expected[0][0], atol=1e-5)


def test_the_card_says_what_it_is_and_how_to_load_it(lm_archive, tmp_path):
    export_model(lm_archive, tmp_path / "my-model", fasttext_model_path=VECTORS)
    card = (tmp_path / "my-model" / "README.md").read_text()
    assert "# my-model" in card
    assert 'SentenceEmbedder("my-model")' in card
    modes = {path.stat().st_mode for path in (tmp_path / "my-model").glob("*.*")}
    assert modes == {(tmp_path / "my-model" / "README.md").stat().st_mode}
    assert "`bidirectional_language_model_lstm`, hidden_dim 6, cell_size 8, num_layers 2" in card
    metrics = json.loads((Path(lm_archive).parent / "metrics.json").read_text())
    assert f"| validation cosine | {metrics['best_validation_cosine']:.4f} |" in card
    assert "Set the encoder's `input_size` to 12," in card
    export_model(Path(lm_archive).parent, tmp_path / "of-directory", VECTORS)
    of_directory = (tmp_path / "of-directory" / "README.md").read_text()
    assert of_directory.replace("of-directory", "my-model") == card

    completed = card.replace("language:", "language: yo").replace("# my-model", "# Of rivers")
    (tmp_path / "my-model" / "README.md").write_text(completed)
    export_model((tmp_path / "my-model").rename(tmp_path / "renamed"), tmp_path / "other")
    expected = completed.replace("my-model", "other")
    assert (tmp_path / "other" / "README.md").read_text() == expected


def test_the_indexer_may_be_the_default(tmp_path):
    def change(config):
        assert config["dataset_reader"].pop("token_indexers")["tokens"]["type"] == "single_id"

    model = rewritten(write_language_model(tmp_path / "lm", "words"), tmp_path / "other", change)
    export_model(model, tmp_path / "out")
    expected = SentenceEmbedder(model).embed_sentence(["The", "river"])
    assert (SentenceEmbedder(tmp_path / "out").embed_sentence(["The", "river"]) == expected).all()


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_allennlps_own_commands_say_what_they_take(command, lm_archive, tmp_path):
    export_model(lm_archive, tmp_path / "model", VECTORS)
    error = f"{tmp_path / 'model'}: it is a folder of `allennlp export-model`.*`model.tar.gz`"
    with pytest.raises(ConfigurationError, match=error):
        run(command, tmp_path / "model", VALIDATION)


def test_a_compact_folder_has_rounded_vectors_in_a_smaller_file(lm_archive, embedder, tmp_path):
    # It replaces one that is not compact.
    export_model(lm_archive, tmp_path / "model", VECTORS)
    export_model(lm_archive, tmp_path / "model", VECTORS, compact=True, force=True)
    compact = tmp_path / "model" / "vectors.safetensors"
    assert compact.stat().st_size < Path(VECTORS).stat().st_size / 2
    assert not [*compact.parent.glob("*.bin")]
    # The vectors that are given remain.
    given = shutil.copyfile(VECTORS, compact.with_name("vectors.bin"))
    export_model(lm_archive, compact.parent, str(given), compact=True, force=True)
    assert given.exists()
    for words in SENTENCES:
        numpy.testing.assert_allclose(
            SentenceEmbedder(compact.parent).embed_sentence(words),
            embedder.embed_sentence(words),
            atol=0.01,
        )
    export_model(compact.parent, tmp_path / "again")
    assert (tmp_path / "again" / compact.name).read_bytes() == compact.read_bytes()
    for other in (compact.parent, write_language_model(tmp_path / "characters", "characters")):
        with pytest.raises(ConfigurationError, match="--compact: .* reads no fastText `.bin`"):
            export_model(other, tmp_path / "third", compact=True)


def test_a_compact_folder_has_the_vectors_of_boundary_tokens_that_are_no_words(tmp_path):
    tokens = {"start_tokens": ["<S>"], "end_tokens": ["<E>"]}
    model = write_language_model(tmp_path / "lm", "fasttext", **tokens)
    export_model(model, tmp_path / "model", compact=True)
    # The other n-grams that occur in no word are left out.
    compact, original = (
        numpy.array(open_fasttext(str(path)).get_word_vectors(["<S>", "<E>"]))
        for path in (tmp_path / "model" / "vectors.safetensors", VECTORS)
    )
    numpy.testing.assert_allclose(compact, original, rtol=1e-3)


def test_only_the_files_of_a_model_are_replaced(lm_archive, tmp_path):
    (tmp_path / "vectors.bin").write_text("of something else")
    with pytest.raises(ConfigurationError, match="vectors.bin: it exists, but is not of an expo"):
        export_model(lm_archive, tmp_path, VECTORS, force=True)
    assert [*tmp_path.iterdir()] == [tmp_path / "vectors.bin"]


def test_a_packed_folder_is_to_be_unpacked(lm_archive, tmp_path):
    export_model(lm_archive, tmp_path / "model", VECTORS)
    packed = shutil.make_archive(str(tmp_path / "packed"), "gztar", tmp_path / "model")
    with pytest.raises(InvalidFileError, match="is a packed folder of `export-model`. Unpack it;"):
        SentenceEmbedder(packed)


def test_hidden_files_are_not_of_the_vocabulary(tmp_path):
    model = write_language_model(tmp_path / "lm", "words")
    (model / "vocabulary" / ".ipynb_checkpoints").mkdir()
    assert SentenceEmbedder(model).embed_sentence(["The"]).any()


def test_a_model_is_not_written_over_itself(tmp_path):
    archive = write_language_model(tmp_path / "lm", "fasttext", archive=True)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for model in (archive, archive.parent):
        with pytest.raises(ConfigurationError, match="lm: it is an input; give the output another"):
            export_model(model, tmp_path / "lm", force=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_folder_on_the_hugging_face_hub(lm_archive, embedder, tmp_path, monkeypatch):
    export_model(lm_archive, tmp_path / "blobs", VECTORS)
    # As in the Hub's cache, each file is a link, also AllenNLP's lock file.
    snapshot = tmp_path / "snapshot"
    shutil.copytree(tmp_path / "blobs", snapshot, copy_function=os.symlink)
    assert (snapshot / "vocabulary" / ".lock").is_symlink()

    def hf_hub_download(**_):
        raise EntryNotFoundError("user has no model of this name", response=Response())

    def snapshot_download(name, **_):
        assert name == "user/model"
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hf_hub_download)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    vectors = SentenceEmbedder("hf://user/model").embed_sentence(["The", "river"])
    numpy.testing.assert_array_equal(vectors, embedder.embed_sentence(["The", "river"]))
    indexer = ElmoSemfitIndexer("hf://user/model")
    assert indexer.get_empty_token_list() == {"vectors": [], "word_mask": []}


def test_a_file_may_have_the_name_of_another_in_the_folder(lm_archive, tmp_path):
    vectors = Path(shutil.copy(VECTORS, tmp_path / "config.json"))
    export_model(lm_archive, tmp_path / "out", str(vectors))
    assert SentenceEmbedder(tmp_path / "out").embed_sentence(["river"]).any()
    # Through a link in the folder, it would be overwritten.
    assert vectors.read_bytes() == Path(VECTORS).read_bytes()


def test_a_link_in_the_home_directory_is_exported_as_its_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copy(VECTORS, tmp_path / "data.bin")
    (tmp_path / "link.bin").symlink_to("data.bin")
    model = write_language_model(tmp_path / "lm", "fasttext")
    export_model(model, tmp_path / "out", "~/link.bin")
    exported = tmp_path / "out" / "link.bin"
    assert exported.is_file()
    assert not exported.is_symlink()


def test_names_that_are_no_paths_may_be_those_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "subwords").write_text("")
    model = write_language_model(tmp_path / "lm", "subwords")
    export_model(model, tmp_path / "out")
    assert not (tmp_path / "out" / "subwords").exists()
    (tmp_path / "out" / "subwords").write_text("")
    assert SentenceEmbedder(tmp_path / "out").embed_sentence(["river"]).any()


@pytest.mark.parametrize("path", ["https://host.invalid/vectors.bin", "(a.zip)#vectors.bin"])
def test_what_cannot_be_copied_is_refused_because_a_folder_is_complete(path, tmp_path):
    model = with_vectors(path, write_language_model(tmp_path / "lm", "fasttext"), tmp_path / "copy")
    message = re.escape(f"{path}: fetch or extract this file first")
    for moved in ([], [path]):
        with pytest.raises(ConfigurationError, match=message):
            export_model(model, tmp_path / "out", *moved)


def test_a_folder_without_its_vectors_does_not_take_others(tmp_path, monkeypatch):
    export_model(write_language_model(tmp_path / "lm", "fasttext"), tmp_path / "folder")
    (tmp_path / "folder" / "vectors.bin").rename(tmp_path / "vectors.bin")
    monkeypatch.chdir(tmp_path)
    missing = f"{tmp_path / 'folder'}/vectors.bin does not exist"
    for build in (SentenceEmbedder, ElmoSemfitIndexer):
        with pytest.raises(InvalidFileError, match=missing) as raised:
            build(tmp_path / "folder")
        assert "train-fasttext" not in str(raised.value)


@pytest.mark.parametrize("path", ["../vectors.bin", VECTORS], ids=["relative", "absolute"])
def test_a_file_that_is_not_in_the_folder_is_not_read(path, tmp_path):
    export_model(write_language_model(tmp_path / "lm", "fasttext"), tmp_path / "folder")
    shutil.copy(VECTORS, tmp_path)
    changed = with_vectors(path, tmp_path / "folder", tmp_path / "changed")
    with pytest.raises(InvalidFileError, match="names the file '.*', which is not in the folder"):
        SentenceEmbedder(changed)


@pytest.mark.parametrize("option", ["boundaries", "tokenizer"])
def test_other_readers(option, tmp_path):
    (tmp_path / "chunks.json").write_text('{"size": 3}')
    options = {
        "boundaries": {"start_tokens": ["<s>", "<s>"], "end_tokens": []},
        "tokenizer": {"tokenizer": {"type": "chunks", "model_path": str(tmp_path / "chunks.json")}},
    }
    model = write_language_model(tmp_path / "lm", "fasttext", **options[option])
    export_model(model, tmp_path / "folder")
    expected = SentenceEmbedder(model).embed_sentences(SENTENCES)
    for vectors in SentenceEmbedder(tmp_path / "folder").embed_sentences(SENTENCES):
        numpy.testing.assert_array_equal(vectors, next(expected))


def test_names_of_files_may_be_equal(tmp_path):
    def change(config):
        vectors = {"type": "fasttext", "model_path": shutil.copy(VECTORS, tmp_path)}
        config["dataset_reader"]["token_indexers"]["others"] = vectors
        config["model"]["text_field_embedder"]["token_embedders"]["others"] = {"type": "empty"}
        # Only the training reads it.
        config["model"]["pretrained_file"] = shutil.copy(VECTORS, f"{tmp_path}/first.bin")

    model = rewritten(write_language_model(tmp_path / "lm", "fasttext"), tmp_path / "other", change)
    export_model(model, tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").glob("*.bin")}
    assert names == {"vectors.bin", "_vectors.bin"}
    assert Vocabulary.from_files(str(tmp_path / "out" / "vocabulary"))


def test_a_file_that_the_language_model_does_not_read_is_refused(tmp_path):
    model = write_language_model(tmp_path / "lm", "subwords")
    with pytest.raises(ConfigurationError, match="is x.bin, but .* reads no such file"):
        export_model(model, tmp_path / "out", fasttext_model_path="x.bin")
