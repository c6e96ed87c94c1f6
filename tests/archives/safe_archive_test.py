"""Archives that try to run code, to write or read elsewhere, or to take all memory."""

import io
import json
import os
import pickle
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import cached_path
import pytest
import torch
from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Tokenizer, Vocabulary
from allennlp.data.tokenizers import WhitespaceTokenizer
from allennlp.models import Model, archival, load_archive

from allennlp_semfit.archives import safe_archive
from allennlp_semfit.archives.archive import UnsafeArchiveError
from allennlp_semfit.archives.safe_archive import only_registered_components
from allennlp_semfit.mimick.indexer import MimickIndexer
from allennlp_semfit.models.language_model_archive import LANGUAGE_MODEL
from allennlp_semfit.pretrained.embedder import ElmoSemfitEmbedder
from allennlp_semfit.pretrained.indexer import ElmoSemfitIndexer
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from tests import FIXTURES, TABLE, VECTORS
from tests.analysis.senteval.data import write_data
from tests.commands import running
from tests.language_models import write_language_model
from tests.mimick_archive import write_mimick

HELDOUT = str(FIXTURES / "corpus" / "heldout.txt")
URL = "https://localhost/vectors.bin"
# What configurations name is a class of this module, which no test imports.
HOSTILE = "hostile_module.Component"


class _Touch:
    """Its pickle creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def _set(key, value):
    """A change of the configuration: `key` is a path with dots."""

    def change(config):
        *parts, last = key.split(".")
        for part in parts:
            config = config.setdefault(part, {})
        config[last] = value

    return change


UNREGISTERED = "is not registered"
READS_ANOTHER = "reads another model by its name"
# Changes of the configuration, the part of which each is, and why it is refused.
CONFIGS = {
    "embedder": ("model", _set("model.text_field_embedder", {"type": HOSTILE}), UNREGISTERED),
    "process": (
        "model",
        _set("model.contextualizer", {"type": "subprocess.Popen", "args": ["touch", "executed"]}),
        UNREGISTERED,
    ),
    "name": ("model", _set("model.head", HOSTILE), UNREGISTERED),
    "module": ("model", _set("model.regularizer.regexes", [["a", HOSTILE]]), UNREGISTERED),
    "indexer": (
        "reader",
        _set("dataset_reader.token_indexers.tokens", {"type": HOSTILE}),
        UNREGISTERED,
    ),
    "tokenizer": ("reader", _set("dataset_reader.tokenizer", {"type": HOSTILE}), UNREGISTERED),
    "spacy": (
        "whole reader",
        _set("dataset_reader.tokenizer", {"type": "spacy", "language": "hostile_module"}),
        READS_ANOTHER,
    ),
    "hub": (
        "tokenizer",
        _set("dataset_reader.tokenizer", {"type": "pretrained_transformer", "model_name": "a/b"}),
        READS_ANOTHER,
    ),
    "url": (
        "reader",
        _set("dataset_reader.token_indexers.tokens", {"type": "fasttext", "model_path": URL}),
        "is not fetched",
    ),
    "vocabulary": ("vocabulary", _set("vocabulary", {"type": HOSTILE}), UNREGISTERED),
    "archive": (
        "model",
        _set(
            "model.contextualizer",
            {"_pretrained": {"archive_file": "other.tar.gz", "module_path": "_contextualizer"}},
        ),
        "needs another archive",
    ),
}


def _member(name, **attributes):
    member = tarfile.TarInfo(name)
    for attribute, value in attributes.items():
        setattr(member, attribute, value)
    return member


# Members of a tar file, which all entry points extract to a directory in the working directory.
MEMBERS = {
    "absolute": ("{directory}/executed", {}),
    "parent": ("vocabulary/../../executed", {}),
    "symlink": ("vocabulary/x.txt", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}),
    "hard_link": ("vocabulary/x.txt", {"type": tarfile.LNKTYPE, "linkname": "config.json"}),
    "pipe": ("vocabulary/x.txt", {"type": tarfile.FIFOTYPE}),
    "device": ("vocabulary/x.txt", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5}),
    "sparse": (
        "vocabulary/x.txt",
        {"pax_headers": {"GNU.sparse.map": "0,0", "GNU.sparse.size": "1" + 15 * "0"}},
    ),
}


def _embed(archive):
    _run("embed", archive, HELDOUT, "vectors.h5")


def _senteval(archive):
    _run("senteval", archive, str(write_data(Path("data"))), "--folds", "2")


def _pretrained_file(archive):
    config = json.loads(Path(ORIGINAL, "config.json").read_text())["model"]
    vocab = Vocabulary.from_files(Path(ORIGINAL, "vocabulary"))
    Model.from_params(Params({**config, "pretrained_file": archive}), vocab=vocab)


def load_language_model(archive):
    return LANGUAGE_MODEL.read(archive).model


def _run(command, *args):
    try:
        running.run(command, *args)
    except SystemExit as error:
        message = str(error.code)
        assert message.startswith(f"{command}: ")
        raise ConfigurationError(message) from None


ORIGINAL = Path("original")

MODEL = {"model", "vocabulary", "weights"}
ALL = {*MODEL, "reader", "tokenizer"}
# The entry points, and what they build or read.
ENTRY_POINTS = {
    "indexer": (ElmoSemfitIndexer, {"reader", "tokenizer", "vocabulary"}),
    "embedder": (ElmoSemfitEmbedder, {*MODEL, "reader"}),
    "sentence_embedder": (SentenceEmbedder, ALL),
    "pretrained_file": (_pretrained_file, {"vocabulary", "weights"}),
    "embed": (_embed, ALL),
    "senteval": (_senteval, ALL),
    "show_neighbours": (
        lambda archive: _run("show-neighbours", archive, HELDOUT, "--words", "the"),
        ALL,
    ),
    "nearest_words": (
        lambda archive: _run("nearest-words", archive, HELDOUT),
        {*ALL, "whole reader"},
    ),
    "export": (
        lambda archive: _run("export-character-cnn", archive, "cnn"),
        MODEL,
    ),
}


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    return write_language_model(tmp_path_factory.mktemp("safe_archive") / "original", "words")


@pytest.fixture(scope="module")
def mimick(tmp_path_factory):
    return write_mimick(tmp_path_factory.mktemp("safe_archive") / "mimick")


@pytest.fixture(autouse=True)
def _directory(tmp_path, language_model, monkeypatch):
    """
    A working directory, which temporary directories are in as well, with a module that says that it
    was imported.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "hostile_module.py").write_text(
        "from pathlib import Path\nPath('executed').touch()\nclass Component: pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        "cached_path._cached_path.get_from_cache", lambda *args, **kwargs: Path("executed").touch()
    )
    (tmp_path / "original").symlink_to(language_model)
    yield
    sys.modules.pop("hostile_module", None)
    assert not Path("executed").exists()
    assert not Path(tmp_path.parent, "executed").exists()


def write(original=ORIGINAL, change=None, config=None, weights=None, members=()):
    """Writes `model.tar.gz` with what is given in place of the original's."""
    if config is None:
        config = json.loads(Path(original, "config.json").read_text())
        if change is not None:
            change(config)
        config = json.dumps(config)
    if weights is None:
        weights = Path(original, "best.th").read_bytes()
    files = {"config.json": config.encode(), "weights.th": weights}
    with tarfile.open("model.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            archive.addfile(_member(name, size=len(content)), io.BytesIO(content))
        archive.add(Path(original, "vocabulary"), "vocabulary")
        for member in members:
            archive.addfile(member)
    return "model.tar.gz"


def assert_refused(entry_point, archive, reason):
    with pytest.raises(ConfigurationError) as raised:
        entry_point(archive)
    message = str(raised.value)
    assert archive in message
    assert reason in message
    assert "\n" not in message


@pytest.mark.parametrize("entry_point", list(ENTRY_POINTS))
@pytest.mark.parametrize("kind", list(CONFIGS))
def test_a_configuration_runs_no_code(kind, entry_point):
    part, change, reason = CONFIGS[kind]
    open_archive, parts = ENTRY_POINTS[entry_point]
    Path(write()).rename("other.tar.gz")
    archive = write(change=change)
    if part in parts:
        assert_refused(open_archive, archive, reason)
    elif entry_point == "export":
        assert_refused(open_archive, archive, "has no trained character CNN")
    else:
        open_archive(archive)  # It does not build the part.


@pytest.mark.parametrize("entry_point", list(ENTRY_POINTS))
@pytest.mark.parametrize("kind", [*MEMBERS, "jsonnet", "pickle"])
def test_files_run_no_code_and_stay_inside(kind, entry_point, tmp_path):
    open_archive, parts = ENTRY_POINTS[entry_point]
    if kind == "jsonnet":
        config = Path(ORIGINAL, "config.json").read_text()[:-1]
        archive = write(config=config + ', "text": importstr "/etc/passwd"}')
        assert_refused(open_archive, archive, "cannot be read (Expecting value")
    elif kind == "pickle":
        weights = pickle.dumps(_Touch(Path("executed").absolute()))
        archive = write(weights=weights)
        if "weights" in parts:
            assert_refused(open_archive, archive, "has weights that are not only tensors")
        else:
            open_archive(archive)
    else:
        name, attributes = MEMBERS[kind]
        member = _member(name.format(directory=tmp_path), **attributes)
        assert_refused(open_archive, write(members=[member]), "cannot be unpacked")


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("{}" + 2**24 * " ", "it is larger than 16,777,216 bytes"),
        (100_000 * '{"model": ', "it is nested too deeply"),
        ("[]", "it is not an object"),
    ],
    ids=["large", "deep", "list"],
)
def test_a_configuration_is_limited(config, reason):
    assert_refused(load_language_model, write(config=config), f"cannot be read ({reason})")


@pytest.mark.parametrize(
    "change",
    [
        _set("model.seq2vec_encoder", {"type": HOSTILE}),
        _set("dataset_reader.tokenizer", {"type": HOSTILE}),
        _set("model.feedforward.activations", ["tanh", HOSTILE]),
        _set("vocabulary", {"type": HOSTILE}),
    ],
)
def test_an_archive_of_mimick_runs_no_code(change, mimick):
    archive = write(mimick, change)
    assert_refused(lambda path: MimickIndexer(path, TABLE), archive, "is not registered")
    # In a language model's archive, too.
    indexer = {"type": "mimick", "archive_file": archive, "table_path": TABLE}
    Path("model.tar.gz").rename("mimick.tar.gz")
    indexer["archive_file"] = "mimick.tar.gz"
    language_model = write(change=_set("dataset_reader.token_indexers", {"tokens": indexer}))
    assert_refused(SentenceEmbedder, language_model, "needs the MIMICK model mimick.tar.gz, which")


def test_the_message_says_what_to_do():
    with pytest.raises(UnsafeArchiveError) as raised:
        load_language_model(write(change=CONFIGS["name"][1]))
    assert str(raised.value) == (
        f"Language model model.tar.gz needs the LmHead '{HOSTILE}', which is not registered. If it "
        "is from a package that you trust, import that package first: on the command line, with "
        "--include-package."
    )


def test_a_registered_component_is_built():
    @Tokenizer.register("of_a_package", exist_ok=True)
    class OwnTokenizer(WhitespaceTokenizer):
        pass

    archive = write(change=_set("dataset_reader.tokenizer", "of_a_package"))
    assert isinstance(LANGUAGE_MODEL.read(archive).dataset_reader._tokenizer, OwnTokenizer)


def test_a_url_is_fetched_if_the_user_gives_it(monkeypatch):
    fetched = []

    def fetch(url, *args, **kwargs):
        fetched.append(url)
        return Path(VECTORS), None

    monkeypatch.setattr("cached_path._cached_path.get_from_cache", fetch)
    key = "dataset_reader.token_indexers"
    archive = write(change=_set(key, {"tokens": {"type": "fasttext", "model_path": "moved.bin"}}))
    ElmoSemfitIndexer(archive, fasttext_model_path=URL)
    overrides = json.dumps({f"{key}.tokens.model_path": URL})
    assert LANGUAGE_MODEL.read(archive).overridden(overrides).dataset_reader
    assert set(fetched) == {URL}


def functions():
    """Those of AllenNLP that a configuration's classes, URLs and archives go through."""
    return (
        Registrable.__dict__["resolve_class_name"],
        cached_path.cached_path,
        archival.extracted_archive,
        Params.__dict__["from_file"],
    )


ORIGINALS = functions()


def test_outside_of_our_archives_allennlp_is_as_it_was():
    ours, theirs = load_language_model(write()), load_archive("model.tar.gz").model
    for name, value in theirs.state_dict().items():
        assert torch.equal(ours.state_dict()[name], value)
    with pytest.raises(UnsafeArchiveError):
        load_language_model(write(change=CONFIGS["name"][1]))
    assert functions() == ORIGINALS


def test_a_component_of_a_package_that_was_not_imported_is_named_with_the_option():
    archive = write(change=_set("model.contextualizer", {"type": "of_a_package"}))
    assert_refused(load_language_model, archive, "has a configuration that does not work")
    assert_refused(load_language_model, archive, "with --include-package")


@pytest.mark.parametrize("error", [KeyError, ZeroDivisionError])
def test_an_error_of_a_component_is_not_taken_for_damage(error, monkeypatch):
    def fail(*args, **kwargs):
        raise error("a mistake")

    monkeypatch.setattr(Model, "from_params", fail)
    with pytest.raises(error, match="a mistake"):
        load_language_model(write())


def test_other_threads_are_not_checked():
    found = []

    def name_a_class():
        name = "allennlp.data.tokenizers.WhitespaceTokenizer"
        found.append(Tokenizer.by_name(name))
        found.append(cached_path.cached_path(VECTORS))

    with only_registered_components([]):
        assert functions() != ORIGINALS
        thread = Thread(target=name_a_class)
        thread.start()
        thread.join()
    assert found == [WhitespaceTokenizer, Path(VECTORS)]


@pytest.mark.parametrize("member", ["vocabulary/x.txt", "config.json"])
def test_compressed_contents_are_limited(member, monkeypatch):
    monkeypatch.setattr(safe_archive, "_MIN_LIMIT", 2**20)
    weights = Path(ORIGINAL, "best.th").read_bytes()
    with tarfile.open("model.tar.gz", "w:gz") as archive:
        archive.addfile(_member("weights.th", size=len(weights)), io.BytesIO(weights))
        size = 200 * len(weights) + 2**21
        archive.addfile(_member(member, size=size), io.BytesIO(bytes(size)))
    assert_refused(load_language_model, "model.tar.gz", f"'{member}' is too large: {size:,} bytes")
    # A long name is memory as well.
    write(members=[_member("x" * size)])
    assert_refused(load_language_model, "model.tar.gz", "its contents are larger than")


def test_a_disk_without_room_for_the_contents_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=100))
    assert_refused(
        load_language_model, write(), f"No space left on device: '{tempfile.gettempdir()}/"
    )


def test_the_weights_are_not_compressed():
    state = torch.load(ORIGINAL / "best.th")
    state["unused"] = torch.zeros(10_000)
    torch.save(state, "large.th")
    with (
        zipfile.ZipFile("large.th") as stored,
        zipfile.ZipFile("compressed.th", "w", zipfile.ZIP_DEFLATED) as compressed,
    ):
        for name in stored.namelist():
            compressed.writestr(name, stored.read(name))
    archive = write(weights=Path("compressed.th").read_bytes())
    assert_refused(load_language_model, archive, "cannot be read (they are compressed)")


@pytest.mark.parametrize("name", ["config.json", "best.th", "vocabulary/tokens.txt"])
def test_a_pipe_in_a_directory_is_refused(name, language_model):
    for path in language_model.rglob("*"):
        if path.is_file():
            copy = Path("model") / path.relative_to(language_model)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    Path("model", name).unlink()
    os.mkfifo(Path("model", name))
    with pytest.raises(ConfigurationError, match=f"model has no {Path(name).name}"):
        load_language_model("model")


def test_a_pipe_in_place_of_an_archive_is_refused():
    os.mkfifo("model.tar.gz")
    for open_archive, _ in ENTRY_POINTS.values():
        assert_refused(open_archive, "model.tar.gz", "is not a regular file")
