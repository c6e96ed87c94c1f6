import dataclasses
import json
import re
import sys
from pathlib import Path

import gensim
import pytest
import spacy
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common import text_files
from allennlp_semfit.corpus import prepare
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.prepare import CorpusWriter, prepare_corpus
from tests import files_in

WIKIS = Path(gensim.__path__[0]) / "test" / "test_data"
ENGLISH = next(WIKIS.glob("enwiki-latest-pages-articles1*.bz2"))
BULGARIAN = WIKIS / "bgwiki-latest-pages-articles-shortened.xml.bz2"
TABLES = WIKIS / "enwiki-table-markup.xml.bz2"

PARAGRAPHS = [
    f'This is paragraph {i}, e.g. one of Dr. Smith\'s. It has {i} parts!\u2028Or "more"?'
    for i in range(400)
]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\n".join(PARAGRAPHS), encoding="utf-8")
    return path


def files(directory):
    """Everything but how long it took, and from where."""
    return {name: text for name, text in files_in(directory).items() if name != "corpus.json"}


def lines(directory):
    names = sorted(files(directory))
    return sum(((directory / n).read_text(encoding="utf-8").split("\n")[:-1] for n in names), [])


class TestText:
    def test_every_token_is_spacys_and_arrives_once(self, text, tmp_path):
        summary = prepare_corpus([text], tmp_path / "out", num_workers=2)
        tokenizer = spacy.blank("en").tokenizer
        expected = [" ".join(t.text for t in tokenizer(" ".join(p.split()))) for p in PARAGRAPHS]
        actual = lines(tmp_path / "out")
        assert sorted(" ".join(actual).split(" ")) == sorted(" ".join(expected).split(" "))
        assert set(actual) >= {"It has 7 parts !", 'Or " more " ?'}
        assert (summary.sentences, summary.words) == (len(actual), len(" ".join(actual).split()))
        assert summary.shards == 10
        assert sorted(files(tmp_path / "out")) == [
            *(f"train/shard-{i:02d}.txt" for i in range(10)),
            "validation.txt",
        ]

    def test_the_corpus_does_not_depend_on_workers(self, text, tmp_path, monkeypatch):
        monkeypatch.setattr(prepare, "_BATCH_CHARACTERS", 1000)
        prepare_corpus([text], tmp_path / "one", num_workers=1)
        prepare_corpus([text], tmp_path / "three", num_workers=3)
        assert files(tmp_path / "three") == files(tmp_path / "one")

    def test_tokenized_lines_come_out_as_they_are(self, tmp_path):
        sentences = [f"`` Sentence  {i} '' , isn't (it) ? Yes\u00a0. {'x' * i}" for i in range(500)]
        (tmp_path / "in.txt").write_text("\n\n".join(sentences) + "\n   \n", encoding="utf-8")
        options = CorpusOptions(already_tokenized=True, num_shards=3)
        prepare_corpus([tmp_path / "in.txt"], tmp_path / "out", options, num_workers=2)
        assert sorted(lines(tmp_path / "out")) == sorted(" ".join(s.split()) for s in sentences)
        record = json.loads((tmp_path / "out/corpus.json").read_text())
        assert record["options"]["num_shards"] == record["summary"]["shards"] == 3

    @pytest.mark.parametrize("fraction", [0.0, 0.01, 0.1, 0.5])
    def test_the_validation_fraction_is_met_and_the_rest_spread_evenly(
        self, text, tmp_path, fraction
    ):
        options = CorpusOptions(validation_fraction=fraction, num_shards=4)
        summary = prepare_corpus([text], tmp_path / "out", options, num_workers=1)
        assert summary.validation_sentences == pytest.approx(fraction * summary.sentences, abs=12)
        assert (tmp_path / "out/validation.txt").exists() == bool(fraction)
        sizes = [p.stat().st_size for p in (tmp_path / "out/train").iterdir()]
        assert max(sizes) < 1.1 * min(sizes)

    @pytest.mark.parametrize(
        ("num_sentences", "expected"),
        [(400, 20), (20_000, 1000), (100_000, 2214), (1_000_000, 7000)],
    )
    def test_by_default_a_short_text_has_a_larger_validation_fraction(
        self, tmp_path, num_sentences, expected
    ):
        with CorpusWriter(tmp_path, CorpusOptions()) as writer:
            for _ in range(num_sentences // 10):
                writer.add(10 * "A line .\n", 10, 30)
        assert writer.summary.validation_sentences == pytest.approx(expected, rel=0.02)

    def test_a_document_goes_to_the_shard_with_the_fewest_words(self, tmp_path):
        with CorpusWriter(tmp_path, CorpusOptions(num_shards=2, validation_fraction=0)) as writer:
            for words in (1, 9, 2, 3, 4):
                writer.add(f"{words}\n", 1, words)
        texts = {"train/shard-00.txt": "1\n2\n3\n4\n", "train/shard-01.txt": "9\n"}
        assert files_in(tmp_path) == texts

    def test_what_comes_after_the_limit_is_left_out(self, text, tmp_path):
        options = CorpusOptions(max_sentences=100)
        summary = prepare_corpus([text], tmp_path / "out", options, num_workers=2)
        assert 100 <= summary.sentences < 110

    @pytest.mark.parametrize("language", ["en", "zh"])
    def test_text_without_spaces_needs_its_language(self, language, tmp_path, caplog):
        path = tmp_path / "in.txt"
        path.write_text("今天天气很好，我们去公园散步。\n" * 400, encoding="utf-8")
        prepare_corpus([path], tmp_path / "out", CorpusOptions(language=language), num_workers=1)
        assert ("not split into words" in caplog.text) == (language == "en")

    @pytest.mark.parametrize(
        ("language", "sentence", "mark", "separator"),
        [("bo", "ང་ལྷ་ས་ནས་ཡིན་པ་རེད།", "་", "་ "), ("am", "ከዚያ፡ወደ፡ቤት፡መጡ።", "፡", " ")],
    )
    def test_text_with_other_marks_needs_spaces(
        self, language, sentence, mark, separator, tmp_path, caplog
    ):
        options = CorpusOptions(language=language)
        path = tmp_path / "in.txt"
        for separated in (sentence.replace(mark, separator), sentence):
            assert not caplog.messages
            path.write_text(f"{separated}\n" * 400, encoding="utf-8")
            prepare_corpus([path], tmp_path / "out", options, num_workers=1, force=True)
        assert "must be separated by spaces first" in caplog.text

    def test_awkward_lines_do_not_stop_a_run(self, tmp_path):
        awkward = ["word " * 100_000, "", "   ", "x" * 10_000, "\0\0", "\u2028", "End."]
        (tmp_path / "in.txt").write_text("\n".join(awkward) + "\nOne.\r\nTwo.", encoding="utf-8")
        options = CorpusOptions(validation_fraction=0, num_shards=1)
        summary = prepare_corpus([tmp_path / "in.txt"], tmp_path / "out", options, num_workers=1)
        *parts, long_word, end, one, two = lines(tmp_path / "out")
        assert len(parts) > 9
        assert " ".join(parts).split() == awkward[0].split()
        assert [long_word, end, one, two] == ["x" * 10_000, "End .", "One .", "Two ."]
        assert summary.words == 100_007

    def test_lines_without_words_are_left_out(self, tmp_path):
        text = ["It rained.", "* * *", "—", '"', "7", "She left.", "Nobody saw it."] * 9
        (tmp_path / "in.txt").write_text("\n".join(text), encoding="utf-8")
        prepare_corpus([tmp_path / "in.txt"], tmp_path / "out")
        assert {*lines(tmp_path / "out")} == {"It rained .", "7", "She left .", "Nobody saw it ."}

    def test_no_shard_is_empty(self, tmp_path):
        (tmp_path / "in.txt").write_text("One.\nTwo.\nThree.\n")
        options = CorpusOptions(validation_fraction=0.3, num_shards=200)
        summary = prepare_corpus([tmp_path / "in.txt"], tmp_path / "out", options, num_workers=1)
        assert sorted(files(tmp_path / "out")) == [
            "train/shard-000.txt",
            "train/shard-001.txt",
            "validation.txt",
        ]
        assert (summary.shards, summary.validation_sentences) == (2, 1)


class TestWikipedia:
    @pytest.mark.parametrize(
        ("dump", "options"),
        [
            (ENGLISH, CorpusOptions(max_sentences=1000, validation_fraction=0)),
            (TABLES, CorpusOptions(validation_fraction=0.2)),
            (BULGARIAN, CorpusOptions(language="bg", validation_fraction=0)),
        ],
    )
    def test_no_markup_is_left_of_real_articles(self, tmp_path, dump, options):
        summary = prepare_corpus([dump], tmp_path / "out", options, num_workers=2)
        text = lines(tmp_path / "out")
        assert summary.sentences == len(text) >= 40
        residue = r"\[ ?\[|\] ?\]|\{ ?\{|\} ?\}|</?(ref|br|small|math|div)|''|&\w+;|^[|!=*#:]|\||=="
        residue += r"|(colspan|style|align) ?=|\b(File|Image|Category|Файл|Категория) ?:|thumb \|"
        assert [line for line in text if re.search(residue, line)] == []
        # Running text: most lines are long and end with a mark.
        assert sum(line[-1] in '."”“?)' for line in text) > 0.8 * len(text)
        assert summary.words > 12 * summary.sentences

    def test_broken_markup_costs_a_paragraph(self, tmp_path, caplog):
        broken = ["{{a|" * 30_000, "{{" * 9999 + "}}" * 9999]
        texts = ["A cat.", *(f"One.\n\n{part}\n\nTwo." for part in broken), "A dog."]
        pages = "".join(f"<page><revision><text>{text}</text></revision></page>" for text in texts)
        (tmp_path / "dump.xml").write_text(f"<mediawiki>{pages}</mediawiki>")
        options = CorpusOptions(validation_fraction=0, num_shards=1)
        summary = prepare_corpus([tmp_path / "dump.xml"], tmp_path / "out", options, num_workers=2)
        assert lines(tmp_path / "out") == ["A cat .", *["One .", "Two ."] * 2, "A dog ."]
        assert summary.documents == 4
        assert "Paragraphs left out because of broken markup: 2" in caplog.text

    def test_no_article_is_in_both_training_and_validation_text(self, tmp_path):
        prepare_corpus(
            [TABLES], tmp_path / "out", CorpusOptions(validation_fraction=0.2), num_workers=1
        )
        validation = (tmp_path / "out/validation.txt").read_text(encoding="utf-8")
        in_one_go = CorpusOptions(validation_fraction=0, num_shards=1)
        prepare_corpus([TABLES], tmp_path / "whole", in_one_go, num_workers=1)
        whole = (tmp_path / "whole/train/shard-00.txt").read_text(encoding="utf-8")
        # An article is one stretch of the dump.
        assert validation in whole
        assert 0 < len(validation) < len(whole) / 2


class TestOutput:
    def test_an_output_is_no_input(self, text, tmp_path):
        for _ in range(2):
            summary = prepare_corpus([tmp_path], tmp_path, num_workers=1, force=True)
            expected = prepare_corpus([text], tmp_path / "o", num_workers=1, force=True)
            assert summary == dataclasses.replace(expected, seconds=summary.seconds)
        with pytest.raises(ConfigurationError, match="validation.txt: the output would replace it"):
            prepare_corpus([tmp_path / "validation.txt"], tmp_path, num_workers=1, force=True)

    @pytest.mark.parametrize("num_workers", [1, 2])
    def test_a_failed_run_leaves_nothing(self, text, tmp_path, monkeypatch, num_workers):
        monkeypatch.setattr(text_files, "CHUNK_SIZE", 1000)
        with open(text, "ab") as file:
            file.write(b"words\n" * 100_000 + b"\xff\n")
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ConfigurationError, match="in.txt: not UTF-8"):
            prepare_corpus([text], tmp_path / "out", num_workers=num_workers)
        assert sorted(tmp_path.rglob("*")) == before


def test_a_dump_takes_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mwparserfromhell", None)
    with pytest.raises(ConfigurationError, match="pip install mwparserfromhell"):
        prepare_corpus([BULGARIAN], tmp_path / "out")
