"""Archives that try to run code, to write or read elsewhere, or to take all memory."""

import io
import json
import os
import pickle
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from threading import Thread

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
from tests.commands import running
from tests.language_models import write_language_model
from tests.mimick_archive import write_mimick
from tests.processes import error_in_fork

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
# Changes of the configuration, and why each is refused.
CONFIGS = {
    "embedder": (_set("model.text_field_embedder", {"type": HOSTILE}), UNREGISTERED),
    "process": (
        _set("model.contextualizer", {"type": "subprocess.Popen", "args": ["touch", "executed"]}),
        UNREGISTERED,
    ),
    "name": (_set("model.head", HOSTILE), UNREGISTERED),
    "module": (_set("model.regularizer.regexes", [["a", HOSTILE]]), UNREGISTERED),
    "indexer": (_set("dataset_reader.token_indexers.tokens", {"type": HOSTILE}), UNREGISTERED),
    "tokenizer": (_set("dataset_reader.tokenizer", {"type": HOSTILE}), UNREGISTERED),
    "spacy": (
        _set("dataset_reader.tokenizer", {"type": "spacy", "language": "hostile_module"}),
        READS_ANOTHER,
    ),
    "hub": (
        _set("dataset_reader.tokenizer", {"type": "pretrained_transformer", "model_name": "a/b"}),
        READS_ANOTHER,
    ),
    "vocabulary": (_set("vocabulary", {"type": HOSTILE}), UNREGISTERED),
    "archive": (
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


LINK = ("vocabulary/x.txt", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})
PARENT = ("vocabulary/../../executed", {})
# Other members of a tar file that are refused.
MEMBERS = {
    "absolute": ("/executed", {}),
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


def _pretrained_file(archive):
    config = json.loads(Path(ORIGINAL, "config.json").read_text())["model"]
    vocab = Vocabulary.from_files(Path(ORIGINAL, "vocabulary"))
    Model.from_params(Params({**config, "pretrained_file": archive}), vocab=vocab)


def load_language_model(archive):
    return LANGUAGE_MODEL.read(archive).model


def load_all(archive):
    read = LANGUAGE_MODEL.read(archive)
    return read.model, read.dataset_reader


def _run(command, *args):
    try:
        running.run(command, *args)
    except SystemExit as error:
        message = str(error.code)
        assert message.startswith(f"{command}: ")
        raise ConfigurationError(message) from None


ORIGINAL = Path("original")

# The entry points, and what they do not build, so that it may say anything.
ENTRY_POINTS = {
    "indexer": (ElmoSemfitIndexer, {"pickle"}),
    "embedder": (ElmoSemfitEmbedder, set()),
    "sentence_embedder": (SentenceEmbedder, set()),
    "pretrained_file": (_pretrained_file, {"class", "url"}),
    "embed": (_embed, set()),
    "show_neighbours": (
        lambda archive: _run("show-neighbours", archive, HELDOUT, "--words", "the"),
        set(),
    ),
    "nearest_words": (lambda archive: _run("nearest-words", archive, HELDOUT), set()),
    "export": (lambda archive: _run("export-character-cnn", archive, "cnn"), {"class", "url"}),
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


def hostile_archives():
    """Writes each kind of hostile archive, and yields the kind and why it is refused."""
    indexer = {"type": "fasttext", "model_path": URL}
    config = Path(ORIGINAL, "config.json").read_text()[:-1]
    link, parent = (_member(name, **attributes) for name, attributes in (LINK, PARENT))
    for kind, change, reason in (
        ("class", _set("dataset_reader.token_indexers.tokens", {"type": HOSTILE}), UNREGISTERED),
        ("url", _set("dataset_reader.token_indexers.tokens", indexer), "is not fetched"),
    ):
        write(change=change)
        yield kind, reason
    write(config=config + ', "text": importstr "/etc/passwd"}')
    yield "jsonnet", "cannot be read (Expecting value"
    write(weights=pickle.dumps(_Touch(Path("executed").absolute())))
    yield "pickle", "has weights that are not only tensors"
    write(members=[link])
    yield "link", "cannot be unpacked"
    write(members=[parent])
    yield "parent", "cannot be unpacked"
    write(weights=bytes(2**25))
    yield "bomb", "its contents are larger than"


@pytest.mark.parametrize("entry_point", list(ENTRY_POINTS))
def test_every_entry_point_refuses_a_hostile_archive(entry_point, monkeypatch):
    monkeypatch.setattr(safe_archive, "_MIN_LIMIT", 2**20)
    open_archive, not_built = ENTRY_POINTS[entry_point]
    for kind, reason in hostile_archives():
        if kind not in not_built:
            assert_refused(open_archive, "model.tar.gz", reason)
        elif entry_point == "export":
            assert_refused(open_archive, "model.tar.gz", "has no trained character CNN")
        else:
            open_archive("model.tar.gz")


@pytest.mark.parametrize("kind", list(CONFIGS))
def test_a_configuration_runs_no_code(kind):
    change, reason = CONFIGS[kind]
    Path(write()).rename("other.tar.gz")
    assert_refused(load_all, write(change=change), reason)


@pytest.mark.parametrize("kind", list(MEMBERS))
def test_only_files_are_unpacked(kind):
    name, attributes = MEMBERS[kind]
    archive = write(members=[_member(name, **attributes)])
    assert_refused(load_all, archive, "cannot be unpacked")


def test_without_filters_as_in_python_3_11_0_it_unpacks_the_same(monkeypatch):
    monkeypatch.delattr(tarfile, "data_filter")
    load_language_model(write())
    for name, attributes in (LINK, PARENT, *MEMBERS.values()):
        archive = write(members=[_member(name, **attributes)])
        assert_refused(load_all, archive, "cannot be unpacked")


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


def test_an_archive_of_mimick_runs_no_code(mimick):
    archive = write(mimick, _set("model.feedforward.activations", ["tanh", HOSTILE]))
    assert_refused(lambda path: MimickIndexer(path, TABLE), archive, "is not registered")
    # In a language model's archive, too.
    indexer = {"type": "mimick", "archive_file": archive, "table_path": TABLE}
    Path("model.tar.gz").rename("mimick.tar.gz")
    indexer["archive_file"] = "mimick.tar.gz"
    language_model = write(change=_set("dataset_reader.token_indexers", {"tokens": indexer}))
    assert_refused(SentenceEmbedder, language_model, "needs the MIMICK model mimick.tar.gz, which")


def test_the_message_says_what_to_do():
    with pytest.raises(UnsafeArchiveError) as raised:
        load_language_model(write(change=CONFIGS["name"][0]))
    assert str(raised.value) == (
        f"Language model model.tar.gz needs the LmHead '{HOSTILE}', which is not registered. If it "
        "is from a package that you trust, import that package first (on the command line, with "
        "--include-package), and name the class as it is registered."
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
    indexers = {"tokens": {"type": "fasttext", "model_path": "moved.bin"}}
    archive = write(change=_set("dataset_reader.token_indexers", indexers))
    ElmoSemfitIndexer(archive, fasttext_model_path=URL)
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
        load_language_model(write(change=CONFIGS["name"][0]))
    assert functions() == ORIGINALS


def test_a_component_of_a_package_that_was_not_imported_is_named_with_the_option():
    archive = write(change=_set("model.contextualizer", {"type": "of_a_package"}))
    assert_refused(load_language_model, archive, "has a configuration that does not work")
    assert_refused(load_language_model, archive, "with --include-package")


def test_an_error_of_a_component_is_not_taken_for_damage(monkeypatch):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(Model, "from_params", fail)
    with pytest.raises(ZeroDivisionError, match="a mistake"):
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


def test_headers_are_limited(monkeypatch):
    monkeypatch.setattr(safe_archive, "_MIN_LIMIT", 2**20)
    archive = write(members=[_member("x" * 2**25)])
    assert_refused(load_language_model, archive, "its contents are larger than")


def test_a_disk_without_room_for_the_contents_is_named(tmp_path):
    message = error_in_fork(load_language_model, write(), max_file_size=1000)
    assert message.startswith(f"{tmp_path}/")
    assert "it cannot be written (File too large); make room" in message


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
    assert_refused(load_language_model, "model.tar.gz", "is not a regular file")
