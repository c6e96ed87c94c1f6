"""Whatever is in a file, reading it succeeds, or ends with an error that names it."""

import bz2
import gzip
import io
import json
import resource
import shutil
import signal
import tarfile
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Token, TokenIndexer, Vocabulary
from allennlp.modules.elmo import batch_to_ids

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.prepare import prepare_corpus
from allennlp_semfit.corpus.word_counts import count_words
from allennlp_semfit.data.subword_tokenizer import SubwordTokenizer
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.fasttext.compact import CompactFastText, write_compact
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    ElmoCharacterCnnEmbedder,
)
from allennlp_semfit.static_vectors.table import read_table
from tests import FIXTURES, TABLE, VECTORS
from tests.elmo_weights import write_elmo
from tests.language_models import write_language_model
from tests.mimick_archive import write_mimick
from tests.processes import PROC, fork
from tests.reliability import REPEATS
from tests.subword_files import write_subwords

WORDS = ["the", "river", "Zürich", "x" * 60, "</s>", ""]
DUMP = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo><namespaces>
<namespace key="6">File</namespace><namespace key="0" /></namespaces></siteinfo>
<page><title>T</title><ns>0</ns><revision><text>'''Rain''' fell on the [[harbour|old harbour]]
all {{convert|1|night}}.\n{| class="x"\n| a || b\n|}\n== Snow ==\n* The captain
&lt;ref name="a"&gt;x&lt;/ref&gt;.</text></revision></page>\n</mediawiki>"""
BLOCKS = [
    *(b"\0", b"\n", b"\n\n", b"\t", b" ", b"-1", b"1e999", b"NaN", b"9" * 30, b"\n" * 5000),
    # Numbers of 4 and 8 bytes, what is not UTF-8, a lone surrogate, a byte order mark.
    *(b"\xff" * 4, b"\xff" * 8, b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"\0\0\xc0\x7f"),
    *(b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"@@UNKNOWN@@", b"</s>"),
    *(b"x" * 50_000, b"a " * 50_000, b"[" * 50_000, b"{{" * 3000, b"[[a|" * 3000, b"'" * 9000),
    *(b"<x>" * 3000, b"{|\n" * 2000, b"&lt;!--" * 500, b"<![CDATA[", b"&x;", b"</page>"),
]
VALUES = [None, True, -1, 0, 0.5, 2**31, 2**63, 1e308, float("nan"), "", "x", [], {}, [[]]]


def read_fasttext(path):
    model = FastTextModel(path)
    for word in [*WORDS, *model.words[:50]]:
        model.get_word_vector(word)


def read_compact(path):
    model = CompactFastText(path)
    for word in WORDS:
        model.get_word_vector(word)


def read_mimick(path):
    config = {"type": "mimick", "archive_file": str(path), "table_path": TABLE}
    indexer = TokenIndexer.from_params(Params(config))
    indexer.tokens_to_indices([Token(word) for word in WORDS], Vocabulary())


def read_elmo(path):
    options = json.loads(path.with_name("options.json").read_text())
    ElmoCharacterCnnEmbedder(options, str(path))(batch_to_ids([["the", "river"]]))


def read_corpus(path):
    config = {"fasttext": {"type": "fasttext", "model_path": VECTORS}}
    reader = DatasetReader.from_params(
        Params({"type": "language_modeling", "token_indexers": config})
    )
    for instance in reader.read(str(path)):
        reader.apply_token_indexers(instance)
    count_words([path])


def read_text(path):
    prepare_corpus([path], path.parent / "out", CorpusOptions(validation_fraction=0), num_workers=1)


def write_folder(directory):
    export_model(write_language_model(directory / "lm", "fasttext"), directory / "model")


def read_folder(path):
    SentenceEmbedder(path.parent).embed_sentence(["the", "river"])


def copy(name):
    return lambda directory: shutil.copy(FIXTURES / name, directory)


def write(name, content):
    return lambda directory: (directory / name).write_bytes(content)


FORMATS = {
    "vectors.bin": (copy("vectors.bin"), read_fasttext),
    "vectors.safetensors": (
        lambda out: write_compact(FastTextModel.open(VECTORS), out / "vectors.safetensors"),
        read_compact,
    ),
    "words_only.bin": (copy("words_only.bin"), read_fasttext),
    "lm/model.tar.gz": (
        lambda out: write_language_model(out / "lm", "words", archive=True),
        lambda path: SentenceEmbedder(path).embed_sentence(["the", "river"]),
    ),
    "model/model.safetensors": (write_folder, read_folder),
    "model/config.json": (write_folder, read_folder),
    "mimick/model.tar.gz": (lambda out: write_mimick(out / "mimick", archive=True), read_mimick),
    "subwords/tokenizer.json": (
        lambda out: write_subwords(out / "subwords"),
        lambda path: SubwordTokenizer(path).intra_word_tokenize(WORDS),
    ),
    "table.txt.gz": (
        write("table.txt.gz", gzip.compress(Path(TABLE).read_bytes())),
        lambda path: read_table(str(path)),
    ),
    "weights.hdf5": (write_elmo, read_elmo),
    "validation.txt": (copy("corpus/validation.txt"), read_corpus),
    "notes.txt.gz": (write("notes.txt.gz", gzip.compress(b"The river. Rain!\n" * 50)), read_text),
    "dump.xml.bz2": (write("dump.xml.bz2", bz2.compress(DUMP)), read_text),
}
"""For each file, functions that write it into a directory and read it."""


def damage(data, random):
    """Mostly damages the content of archives, because a checksum protects the packed bytes."""
    if random.random() < 0.8:
        if data.startswith(b"\x1f\x8b"):
            return gzip.compress(damage(gzip.decompress(data), random), 1)
        if data.startswith(b"BZh"):
            return bz2.compress(damage(bz2.decompress(data), random))
        if data[257:262] == b"ustar":
            return damage_tar(data, random)
        with suppress(ValueError):
            document = [json.loads(data)]
            damage_json(document, random)
            return json.dumps(document[0]).encode()
    # Often near the beginning, where headers are.
    start = int(len(data) * random.random() ** random.choice((1, 4)))
    old = data[start : start + int(2 ** random.uniform(0, 12))]
    flipped = bytes(byte ^ 1 << random.randrange(8) for byte in data[start : start + 1])
    new = random.choice([flipped, bytes(len(old)), old * 2, b"", random.choice(BLOCKS)])
    # Insert the new bytes, or replace as many bytes, a block, or everything that follows.
    end = random.choice([start, start + len(new), start + len(new), start + len(old), len(data)])
    return data[:start] + new + data[end:]


def damage_tar(data, random):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = [(member, tar.extractfile(member).read()) for member in tar if member.isfile()]
    index = random.randrange(len(files))
    with tarfile.open(fileobj=(out := io.BytesIO()), mode="w") as tar:
        for number, (member, content) in enumerate(files):
            content = damage(content, random) if number == index else content
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def damage_json(document, random):
    """Replaces or removes a value, somewhere in a list."""
    key = random.choice(list(document) if isinstance(document, dict) else range(len(document)))
    if isinstance(document[key], (dict, list)) and document[key] and random.random() < 0.9:
        damage_json(document[key], random)
    elif random.random() < 0.2 and isinstance(document, dict):
        del document[key]
    else:
        document[key] = random.choice([*VALUES, [document[key]]])


def read_damaged(name, read, sample):
    """Reads many damaged files, each with at most 1 GB of memory and two minutes."""
    allocated = int((PROC / "self" / "status").read_text().split("VmData:")[1].split()[0])
    resource.setrlimit(resource.RLIMIT_DATA, (2**30 + 1024 * allocated,) * 2)
    for number in range(10 * REPEATS):
        directory = sample.with_name("damaged")
        shutil.copytree(sample, directory)
        path = directory / name
        path.write_bytes(damage(path.read_bytes(), Random(f"{name} {number}")))
        signal.alarm(120)
        try:
            read(path)
        except ConfigurationError as error:
            named = path.parent if path.parent.name == "model" else path
            if str(named) not in str(error):
                raise AssertionError(f"{number}: {error}") from error
        shutil.rmtree(directory)


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_named(name, tmp_path):
    make, read = FORMATS[name]
    sample = tmp_path / "sample"
    sample.mkdir()
    make(sample)
    shutil.copytree(sample, tmp_path / "intact")
    read(tmp_path / "intact" / name)
    # If a file crashes the process or never ends, it is kept.
    reader = fork(read_damaged, name, read, sample)
    reader.join()
    assert reader.exitcode == 0, tmp_path / "damaged" / name
