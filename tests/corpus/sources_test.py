import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import textwrap
import tracemalloc
import zipfile
from itertools import islice

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.corpus import sources
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.sources import find_sources, read_documents
from allennlp_semfit.corpus.wikipedia import read_articles

PAGE = "<page><title>T</title><ns>{ns}</ns>{extra}<revision><text>{text}</text></revision></page>"
DUMP = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">'
    '<siteinfo><namespaces><namespace key="6">Файл</namespace><namespace key="0" />'
    '<namespace key="10">Шаблон</namespace></namespaces></siteinfo>{pages}</mediawiki>'
)
HIDDEN = frozenset({"media", "file", "image", "category", "файл"})


def dump(*texts, ns=0, extra=""):
    return DUMP.format(pages="".join(PAGE.format(ns=ns, extra=extra, text=t) for t in texts))


def find(*paths, **options):
    return find_sources(paths, CorpusOptions(**options))


def read(*paths, **options):
    counts = []
    documents = list(read_documents(find(*paths, **options), counts.append))
    assert sum(counts) == sum(path.stat().st_size for path in paths)
    return documents


# Each packing with the name that it has, or with another, or with none.
@pytest.mark.parametrize(
    ("name", "pack"),
    [
        *(("a", bytes), ("a.gz", bytes), ("a", gzip.compress), ("a.txt", gzip.compress)),
        *(("a", bz2.compress), ("a.gz", lzma.compress)),
    ],
)
class TestWhatAFileIs:
    def test_text_is_detected_from_its_content(self, tmp_path, pack, name):
        path = tmp_path / name
        path.write_bytes(pack("\ufeffeins ä\r\n\n  \nzwei".encode()))
        documents = read(path)
        assert [document.text.strip() for document in documents] == ["eins ä", "zwei"]
        assert {document.hidden_namespaces for document in documents} == {None}

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    @pytest.mark.parametrize("start", ["", '<?xml version="1.0"?>\n<!-- a dump -->\n'])
    def test_a_dump_is_detected_from_its_content(self, tmp_path, pack, name, encoding, start):
        path = tmp_path / name
        path.write_bytes(pack((start + dump("één", "два")).encode(encoding)))
        assert read(path) == [("één", HIDDEN), ("два", HIDDEN)]


@pytest.mark.usefixtures("fail_instead_of_hanging")
@pytest.mark.parametrize("comment", ["<!-- a -->\n", "<!---->", "<!-- a\n"])
def test_a_file_that_begins_with_many_comments_is_no_dump(tmp_path, comment):
    path = tmp_path / "a.txt"
    path.write_text(comment * 5000)
    assert read(path, lines="paragraphs")[0].text.startswith("<!--")


class TestArticles:
    @pytest.mark.parametrize(
        "page",
        [
            dump("a", ns=1),
            dump("a", extra='<redirect title="U" />'),
            dump("#REDIRECT [[U]]"),
            dump("#redirect [[U]]"),
            dump(""),
        ],
    )
    def test_other_pages_are_skipped(self, page):
        assert list(read_articles(io.BytesIO(page.encode()))) == []

    def test_of_a_history_the_last_revision_counts(self):
        revision = "<revision><model>{}</model><text>{}</text></revision>"
        history = revision.format("wikitext", "old") + revision.format("wikitext", "older")
        pages = [
            history + revision.format("wikitext", "new"),
            history + revision.format("css", "x"),
        ]
        page = dump("only") + "".join(f"<page><ns>0</ns>{page}</page>" for page in pages)
        page = page.replace("</mediawiki>", "") + "</mediawiki>"
        texts = [text for text, _ in read_articles(io.BytesIO(page.encode()))]
        assert texts == ["only", "new"]

    def test_pages_are_freed(self):
        class Dump(io.RawIOBase):
            pages = 0

            def read(self, size=-1):
                self.pages += 100
                if self.pages > 40_000:
                    return b""
                start = DUMP[: DUMP.index("{")].encode() if self.pages == 100 else b""
                return start + PAGE.format(ns=0, extra="", text="a").encode() * 100

        articles = read_articles(Dump())
        for _ in range(1000):
            next(articles)
        tracemalloc.start()
        for _ in range(30_000):
            next(articles)
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # An empty element for each page would be 2.5 MB.
        assert grown < 500_000


def test_the_progress_in_a_packed_table_is_that_of_its_bytes(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    # Chunks of two megabytes are read at once.
    texts = (hashlib.shake_256(b"%d" % i).hexdigest(320) for i in range(10_000))
    path.write_bytes(gzip.compress("".join(f'{{"text": "{text}"}}\n' for text in texts).encode()))
    counts = []
    for _ in islice(read_documents(find(path, field="text"), counts.append), 5_000):
        pass
    assert 0.3 < sum(counts) / path.stat().st_size < 0.8


class TestBlocks:
    def test_blocks_grow_and_no_line_is_lost(self, tmp_path):
        path = tmp_path / "a.txt"
        lines = [f"line {i}" for i in range(10_000)]
        path.write_text("\n".join(lines))
        blocks = [[line.strip() for line in d.text.split("\n") if line.strip()] for d in read(path)]
        assert sum(blocks, []) == lines
        assert [len(block) for block in blocks[:60]] == [1] * 60
        assert {len(block) for block in blocks[-10:-1]} == {64}

    @pytest.mark.parametrize("limit", [5, 6, 7, 8, 9, 1000])
    def test_a_line_that_is_too_long_is_split(self, tmp_path, monkeypatch, limit):
        monkeypatch.setattr(sources, "MAX_PARAGRAPH_CHARACTERS", limit)
        path = tmp_path / "a.txt"
        text = "ein ähnlich überlanges Wörtchen 日本語日本語日本語 und so\nweiter ü"
        path.write_text(text, encoding="utf-8")
        documents = read(path)
        assert "".join("".join(d.text.split()) for d in documents) == "".join(text.split())
        # Words that fit stay whole.
        words = " ".join(d.text for d in documents).split()
        assert {"ein", "und", "so"} <= set(words)
        # Of a text of one line, a part can be the validation text.
        assert len(documents) > 2 or limit == 1000


class TestWrappedLines:
    TEXT = "\n".join(textwrap.wrap("He counted the waves, and wrote their number down. " * 99, 70))

    def test_they_are_joined_and_more_than_one_document(self, tmp_path, caplog):
        path = tmp_path / "a.txt"
        path.write_text(self.TEXT * 20)
        documents = read(path)
        assert len(documents) > 3
        assert " ".join(document.text for document in documents).split() == (self.TEXT * 20).split()
        assert not any("\n" in document.text for document in documents)
        assert "a.txt: its lines look hard-wrapped" in caplog.text
        lines = [document.text for document in read(path, lines="paragraphs")]
        assert "\n".join(lines) == self.TEXT * 20

    def test_in_a_directory_they_are_counted(self, tmp_path, caplog):
        for name in "abc":
            (tmp_path / f"{name}.txt").write_text(self.TEXT)
        find(tmp_path)
        assert caplog.messages[-1].startswith(f"{tmp_path}: its lines look hard-wrapped")
        (tmp_path / "d.txt").write_text("It rained.\nNobody slept.\nA boat came.")
        find(tmp_path)
        assert caplog.messages[-1].startswith(f"{tmp_path}: the lines of 3 of its 4 files look")
        assert len(caplog.messages) == 2

    @pytest.mark.parametrize("options", [{}, {"already_tokenized": True}])
    def test_the_asked_lines_are_taken(self, tmp_path, caplog, options):
        (tmp_path / "a.txt").write_text("One\ntwo")
        assert [document.text for document in read(tmp_path / "a.txt", **options)] == ["One", "two"]
        (tmp_path / "a.txt").write_text(self.TEXT)
        documents = read(tmp_path / "a.txt", **(options or {"lines": "wrapped"}))
        assert (len(documents) > 9) == bool(options)
        assert not caplog.records


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_empty_file_of_a_directory_is_left_out(pack, tmp_path, caplog):
    (tmp_path / "a.txt").write_bytes(pack(b"One."))
    (tmp_path / "b.txt").write_bytes(pack(b""))
    (source,) = find(tmp_path)
    assert source.name == str(tmp_path / "a.txt")
    assert "1 of 2 files are empty" in caplog.text


def test_what_lines_are():
    with pytest.raises(ConfigurationError, match="--lines must be one of auto, .*, got 'sentence'"):
        CorpusOptions(lines="sentence")


def test_what_is_no_text_is_an_error_unless_asked_for(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text('{"text": "One."}\n' * 9)
    for options in ({}, {"already_tokenized": True}):
        with pytest.raises(ConfigurationError, match="a.txt: it looks like JSON"):
            find(path, **options)
    assert len(read(path, lines="paragraphs")) == 9


@pytest.mark.parametrize("start", ['[{"text": "', "<html><p>", "<page><title>"])
def test_what_is_no_text_may_be_one_long_line(tmp_path, start):
    path = tmp_path / "a.txt"
    path.write_text(start + "word " * 20_000)
    with pytest.raises(ConfigurationError, match="a.txt: it looks like"):
        find(path)


def tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return out.getvalue()


def zipped(name):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, "application/vnd.oasis.opendocument.text")
    return out.getvalue()


LATIN = "text\nBärentöter\n".encode("latin-1") * 10


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (tar(), " is compressed; .* `tar -xf`"),
        (gzip.compress(tar(), mtime=0), " is compressed; .* `tar -xf`"),
        (zipped("a.txt"), " is compressed; .* `unzip`"),
        (zipped("[Content_Types].xml"), " is a file of Word"),
        (zipped("mimetype"), " is a file of Word"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), " is a file of Word"),
        (b"7z\xbc\xaf\x27\x1crest", " is compressed; .* `7z x`"),
        (b"%PDF-1.5\n%\xac\xdc\n", " is a PDF"),
        (b"", " is empty"),
        (gzip.compress(b"", mtime=0), " is empty"),
        # Where the file begins with it, it is found at once.
        (LATIN, ": not UTF-8: .* in line 2;"),
        ("text\nsome words\n".encode("utf-16"), ".*UTF-16"),
        ("text\nsome words\n".encode("utf-16-le"), ".*UTF-16"),
    ],
)
@pytest.mark.parametrize("field", [None, "text"])
def test_a_file_that_is_no_text_is_refused(content, message, field, tmp_path):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"a.txt{message}"):
        find(tmp_path / "a.txt", field=field)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_packed_files(tmp_path, pack, damage):
    data = bytearray(pack("".join(f"{i * 7919 % 10007} words\n" for i in range(99_999)).encode()))
    if damage == "cut":
        del data[len(data) // 2 :]
    else:
        data[len(data) // 2 :] = bytes(b ^ 0x55 for b in data[len(data) // 2 :])
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ConfigurationError, match="a cannot be read to its end|a: not UTF-8"):
        read(tmp_path / "a")


@pytest.mark.parametrize("end", ["", "<page>", "</page>", "&bad;", "<page><ns>0</ns>\0"])
def test_damaged_dumps(tmp_path, end):
    xml = dump("a" * 100_000).replace("</mediawiki>", end)
    (tmp_path / "a.xml").write_text(xml)
    with pytest.raises(ConfigurationError, match="a.xml starts like a MediaWiki dump"):
        read(tmp_path / "a.xml")
