import json
import os

import h5py
import numpy
import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.pretrained.fingerprint import Fingerprint, Part
from allennlp_semfit.pretrained.vectors_file import VectorsFile, check_place

IDENTITY = Fingerprint("5e", 3, 6, "0d", "f7", "all", "float32", True)
PARTS = [Part(0, 2, 4), Part(2, 1, 2)]
INDEX = {"one\ttwo": "0", "жук \0": "1", "": "2"}


def vectors_of(index):
    return numpy.full((2, index, 4), index, dtype=numpy.float32)


def write_part(target, number):
    part = PARTS[number]
    with target.write_part(number, part) as add:
        # In any order.
        for index in reversed(range(part.first, part.first + part.num_sentences)):
            add(index, vectors_of(index))


def write(path, identity=IDENTITY):
    target = VectorsFile(path, identity)
    with target.locked():
        for number in range(len(PARTS)):
            write_part(target, number)
        target.join_parts(PARTS, INDEX if identity.sentence_to_index else None)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.h5"


def test_the_file(path):
    write(path)
    with h5py.File(path, "r") as file:
        assert list(file) == ["0", "1", "2", "sentence_to_index"]
        for index in range(3):
            assert file[str(index)].dtype == numpy.float32
            numpy.testing.assert_array_equal(file[str(index)], vectors_of(index))
        assert file["sentence_to_index"].shape == (1,)
        assert json.loads(file["sentence_to_index"][0]) == INDEX
        assert Fingerprint(*(file.attrs[name] for name in IDENTITY._fields)) == IDENTITY
    assert os.listdir(path.parent) == ["vectors.h5"]
    assert VectorsFile(path, IDENTITY).is_finished()


def test_without_the_sentences(path):
    write(path, IDENTITY._replace(sentence_to_index=False))
    with h5py.File(path, "r") as file:
        assert list(file) == ["0", "1", "2"]


def test_a_part_that_was_not_written_to_its_end_does_not_count(path):
    target = VectorsFile(path, IDENTITY)
    with target.locked():
        write_part(target, 0)
        with pytest.raises(KeyError), target.write_part(1, PARTS[1]):
            raise KeyError
        assert target.finished_parts() == {0: PARTS[0]}
        write_part(target, 1)
    again = VectorsFile(path, IDENTITY)
    assert again.finished_parts() == dict(enumerate(PARTS))
    again.check_vacant(force=False)
    again.check_vacant(force=True)
    assert again.finished_parts() == dict(enumerate(PARTS))
    assert not again.is_finished()


@pytest.mark.parametrize("size", [0, 100, 1000])
def test_a_part_that_lost_its_end_does_not_count(path, size):
    target = VectorsFile(path, IDENTITY)
    with target.locked():
        write_part(target, 0)
        write_part(target, 1)
    os.truncate(path.with_name("vectors.h5.parts") / "part-000000.h5", size)
    target.check_vacant(force=False)
    assert target.finished_parts() == {1: PARTS[1]}


def test_what_a_kill_after_the_last_step_leaves_is_removed(path):
    write(path)
    target = VectorsFile(path, IDENTITY)
    with target.locked():
        write_part(target, 1)
    assert target.bytes_in_parts() > 0
    with target.locked():
        assert target.is_finished()
    assert os.listdir(path.parent) == ["vectors.h5"]
    assert target.bytes_in_parts() == 0


def test_what_is_not_ours_stays(path):
    directory = path.with_name("vectors.h5.parts")
    directory.mkdir()
    (directory / "notes.txt").write_text("mine")
    write(path)
    with VectorsFile(path, IDENTITY).locked():
        assert VectorsFile(path, IDENTITY).is_finished()
    assert (directory / "notes.txt").read_text() == "mine"
    assert sorted(os.listdir(directory)) == [".lock", "notes.txt"]


def test_parts_of_something_else_are_not_joined(path):
    target = VectorsFile(path, IDENTITY)
    other = VectorsFile(path, IDENTITY._replace(layers="top"))
    with target.locked():
        write_part(target, 0)
        write_part(other, 1)
        with pytest.raises(ConfigurationError, match="part-000001.h5: .*--top, not --all"):
            target.join_parts(PARTS, INDEX)
    assert not path.exists()


def test_no_room_is_one_line_and_what_fails_otherwise_is_not_taken_for_it(path, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("No space left on device\nat H5Dwrite")

    target = VectorsFile(path, IDENTITY)
    with target.locked():
        with pytest.raises(RuntimeError, match="^of the GPU$"), target.write_part(0, PARTS[0]):
            raise RuntimeError("of the GPU")
        monkeypatch.setattr(h5py.File, "create_dataset", fail)
        with pytest.raises(ConfigurationError) as raised:
            write_part(target, 0)
    assert "it cannot be written (No space left on device); make room" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert target.finished_parts() == {}


OTHERS = {
    "vectors of other sentences": {"sentences_sha256": "6e", "word_vectors_sha256": "f8"},
    "vectors of another language model": {"model_sha256": "0e"},
    "vectors made with another fastText file or other boundaries or, for a subword model, another "
    "tokenizer or --sub-token-mode": {"word_vectors_sha256": "f8"},
    "--top, not --all": {"layers": "top"},
    "--dtype float16, not float32": {"dtype": "float16"},
    "what was made with --forget-sentences": {"sentence_to_index": False},
    "vectors of other sentences; --average, not --all": {"num_sentences": 4, "layers": "average"},
}


@pytest.mark.parametrize(("message", "differences"), OTHERS.items())
def test_other_vectors_are_in_the_way_until_there_are_new_ones(path, message, differences):
    write(
        path,
        IDENTITY._replace(num_sentences=3)._replace(
            **{name: value for name, value in differences.items() if name != "num_sentences"}
        ),
    )
    if "num_sentences" in differences:
        with h5py.File(path, "r+") as file:
            file.attrs["num_sentences"] = differences["num_sentences"]
    target = VectorsFile(path, IDENTITY)
    assert not target.is_finished()
    with pytest.raises(ConfigurationError) as error:
        target.check_vacant(force=False)
    assert str(error.value) == (
        f"{path}: it holds something else: {message}. Give another name, or --force to replace it"
    )
    target.check_vacant(force=True)
    assert path.exists()
    write(path)
    assert target.is_finished()


def test_parts_of_other_vectors_are_in_the_way(path):
    other = VectorsFile(path, IDENTITY._replace(layers="top"))
    with other.locked():
        write_part(other, 0)
    target = VectorsFile(path, IDENTITY)
    assert target.finished_parts() == {}
    with pytest.raises(ConfigurationError, match=r"vectors.h5.parts: .* --force to discard it"):
        target.check_vacant(force=False)
    # They are those of vectors which are there, so that these are left alone.
    write(path.with_name("other.h5"))
    os.replace(path.with_name("other.h5"), path)
    assert target.is_finished()
    assert other.finished_parts() == {0: PARTS[0]}
    target.check_vacant(force=True)
    assert other.finished_parts() == {}


@pytest.mark.parametrize("content", [b"", b"no HDF5", None])
def test_a_file_of_something_else_is_in_the_way(path, content):
    if content is None:
        with h5py.File(path, "w") as file:
            file["0"] = vectors_of(0)
    else:
        path.write_bytes(content)
    target = VectorsFile(path, IDENTITY)
    with pytest.raises(ConfigurationError, match="what `allennlp embed` did not make"):
        target.check_vacant(force=False)


def test_one_process_writes(path):
    target = VectorsFile(path, IDENTITY)
    other = VectorsFile(path, IDENTITY)
    with target.locked():
        with pytest.raises(
            ConfigurationError, match="another process is writing it"
        ), other.locked():
            pass
        write_part(target, 0)
    with other.locked():
        write_part(other, 1)
        other.join_parts(PARTS, INDEX)


def test_sentences_that_have_changed_are_not_joined(path):
    target = VectorsFile(path, IDENTITY)
    with target.locked():
        write_part(target, 0)
        with pytest.raises(ConfigurationError, match="vectors for 2 of 3 sentences"):
            target.join_parts(PARTS[:1])
    assert not path.exists()


def test_places_for_no_file(tmp_path):
    with pytest.raises(ConfigurationError, match="it is a directory"):
        check_place(tmp_path)
    with pytest.raises(ConfigurationError, match="there is no directory"):
        check_place(tmp_path / "missing" / "vectors.h5")
    with pytest.raises(ConfigurationError, match="there is no directory"):
        VectorsFile(tmp_path / "missing" / "vectors.h5", IDENTITY)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_is_not_writable(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigurationError, match="not writable"):
        check_place(tmp_path / "vectors.h5")
