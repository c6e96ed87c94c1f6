"""An error of any command is one line, and leaves the directory as it was."""

import pytest

from tests import VECTORS
from tests.commands import running

DUMP = "<mediawiki><page><ns>0</ns><revision><text>A.</text></revision></page></mediawiki>"
ERRORS = [
    ("copy-configs taken", "taken exists; give the name of another directory"),
    ("copy-configs in.txt/new", "in.txt"),
    ("embed missing.tar.gz in.txt out.h5", "Language model missing.tar.gz does not exist"),
    ("embed in.txt in.txt out.h5", "cannot be unpacked (not a gzip file). It must be a `model.tar"),
    ("embed ARCHIVE missing.txt out.h5", "missing.txt: there is no such file; give text"),
    ("embed ARCHIVE taken out.h5", "taken: it is not a regular file; give text"),
    ("embed ARCHIVE latin.txt out.h5", "latin.txt: not UTF-8: byte 0xf6 in line 2"),
    ("embed ARCHIVE empty.txt out.h5", "empty.txt: it has no words"),
    ("embed ARCHIVE in.txt out.h5 --cuda-device 99", "The device 99 cannot be used"),
    # These are known before the model is read.
    ("embed missing.tar.gz in.txt in.txt/out.h5", "in.txt: it is a file, not a directory"),
    ("embed in.txt in.txt ./in.txt --force", "in.txt: it is an input; give the output another"),
    ("embed missing.tar.gz in.txt out.h5 --batch-size 0", "--batch-size must be at least 1, got 0"),
    ("embed missing.tar.gz in.txt out.npy", "out.npy: a .npy file has one vector per sentence"),
    ("embed missing.tar.gz in.txt out.txt", "out.txt: the suffix chooses the format; give a name"),
    ("embed missing.tar.gz in.txt out --pool max", "out: the suffix chooses the format"),
    (
        "export-model missing.tar.gz taken",
        "taken: it is not empty; give another directory, or --force",
    ),
    ("export-model missing.tar.gz out --language zz", "'zz'"),
    (
        "export-model ARCHIVE out --fasttext-model-path missing.bin",
        "fastText model missing.bin does not exist",
    ),
    ("export-model ARCHIVE out --tokenizer-path in.txt", "--tokenizer-path is in.txt, but the "),
    ("export-task missing.tar.gz out --language zz", "'zz'"),
    ("export-task ARCHIVE out", "is a language model. Use `allennlp export-model`"),
    ("export-task missing.tar.gz out", "task model missing.tar.gz does not exist"),
    ("export-vectors missing.tar.gz out.txt --words-file in.txt", "in.txt: line 1 has 5 words"),
    ("export-vectors missing.tar.gz out.txt --words-file missing.txt", "No such file"),
    ("export-vectors missing.tar.gz in.txt --words-file one.txt", "in.txt: it exists"),
    (
        "export-vectors missing.tar.gz one.txt --words-file one.txt --force",
        "one.txt: it is an input",
    ),
    ("export-vectors missing.tar.gz out.txt --words-file empty.txt", "it has no word to export"),
    ("export-vectors missing.tar.gz out.txt --words-file one.txt", "missing.tar.gz does not exist"),
    (
        "export-vectors ARCHIVE out.txt --words-file one.txt --layers top",
        "layers: 'top' needs `contexts`",
    ),
    (
        "export-vectors ARCHIVE out.txt --words-file one.txt --contexts in.txt",
        "one.txt: none of its 1 words occurs in in.txt; give words as they are",
    ),
    (
        "export-vectors ARCHIVE out.txt --words-file one.txt --contexts empty.txt",
        "empty.txt: it has no words; give text with a tokenized sentence per line",
    ),
    ("nearest-words in.txt in.txt", "Language model in.txt cannot be unpacked"),
    ("nearest-words ARCHIVE in.txt --top-k 0", "--top-k must be at least 1, got 0"),
    ("nearest-words ARCHIVE in.txt --max-words 0", "--max-words must be at least 1, got 0"),
    ("nearest-words ARCHIVE in.txt --candidates missing.txt", "missing.txt: there is no such file"),
    ("prepare-corpus missing.txt out", "missing.txt: there is no such file"),
    ("prepare-corpus in.txt out --num-shards 0", "--num-shards must be at least 1"),
    ("prepare-corpus in.txt out --num-shards 501", "and at most 500, got 501"),
    ("prepare-corpus in.txt out --validation-fraction 0.6", "at least 0 and at most 0.5, got 0.6"),
    ("prepare-corpus in.txt out --max-sentences 0", "--max-sentences must be at least 1, got 0"),
    ("prepare-corpus in.txt out --lines wrapped --already-tokenized", "--lines wrapped: with --"),
    ("prepare-corpus in.txt out --language zz", "no tokenizer for the language 'zz'"),
    ("prepare-corpus empty.txt out", "There is no sentence in empty.txt."),
    ("prepare-corpus one.txt out", "no validation text: only 1 articles, rows or blocks"),
    ("prepare-corpus dump.xml out --already-tokenized", "leave --already-tokenized out"),
    ("prepare-corpus in.txt out --subset 20231101.yo", "--subset and --split select a part of a"),
    ("prepare-corpus in.txt out --split test", "--subset and --split select a part of a dataset"),
    ("prepare-corpus hf://datasets/ out --field text", "hf://datasets/: give the dataset as "),
    ("prepare-corpus hf://datasets/a/b/c.parquet out --field text", "c.parquet: give the dataset"),
    ("show-neighbors task in.txt --words the", "has a model of type 'simple_tagger'"),
    ("show-neighbors missing.tar.gz missing.txt --words the", "missing.txt: there is no such file"),
    ("show-neighbors missing.tar.gz in.txt --words tha", "; similar words in it: the. Give words"),
    ("show-neighbors missing.tar.gz in.txt --words ,", "--words must be words separated by commas"),
    ("show-neighbors missing.tar.gz in.txt --words a --top-k 0", "--top-k must be at least 1"),
    (
        "show-neighbors missing.tar.gz in.txt --words a --max-occurrences 0",
        "--max-occurrences must be at least 1, got 0",
    ),
    ("show-training taken", "taken holds no completed epoch of a language model. Give"),
    ("train-fasttext missing.txt out.bin", "missing.txt: there is no such file"),
    ("train-fasttext in.txt out.bin --lr 0", "--lr must be greater than 0, got 0.0"),
    (
        "train-fasttext in.txt in.txt --force",
        "the name of the file of vectors must end in .bin",
    ),
    ("train-svd in.txt out.txt --pca-of in.txt", "in.txt is truncated after 22 bytes"),
    ("train-svd in.txt out.txt --min-count 1", "--dim must be less than the number of words"),
    ("train-svd one.txt out.txt", "than the number of words in the table, 0, got 300; lower it"),
    ("train-svd in.txt out.gz", "out.gz: the name of the table must end in .txt or .vec"),
    ("train-svd in.txt in.txt --force", "in.txt: the output would replace it"),
    ("train-svd empty.txt out.txt", "empty.txt: no words found"),
    # These are known before the corpus is read.
    ("train-svd empty.txt out.txt --dim 0", "--dim must be at least 1, got 0"),
    ("train-svd empty.txt out.txt --window 0", "--window must be at least 1, got 0"),
    ("train-svd empty.txt out.txt --alpha -0.1", "--alpha must be at least 0, got -0.1"),
    (
        f"train-svd empty.txt out.txt --pca-of {VECTORS} --dim 11",
        f"--dim must be at most 10, the dimension of {VECTORS}, got 11",
    ),
    ("train-svd empty.txt out.txt --vocabulary-dir taken", "taken: it is not empty"),
    ("train-svd empty.txt out.txt --vocabulary-dir ..", "out.txt and ..: one is in the other"),
    ("train-svd empty.txt out.txt --vocabulary-dir out.txt", "and out.txt: one is in the other"),
    ("train-svd empty.txt out.txt --vocabulary-dir out.txt/a", "out.txt/a: one is in the other"),
]


@pytest.mark.parametrize(("command", "message"), ERRORS)
def test_an_error_is_one_line(command, message, lm_archive, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("the river and the sea\n")
    (tmp_path / "one.txt").write_text("Snow\n")
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "latin.txt").write_bytes(b"fine\nsch\xf6n\n")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine")
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "config.json").write_text('{"model": {"type": "simple_tagger"}}')
    (tmp_path / "dump.xml").write_text(DUMP)

    def contents():
        return {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}

    before = contents()
    name, *arguments = command.replace("ARCHIVE", lm_archive).split()
    assert message in running.error_of(name, *arguments)
    assert contents() == before
