import bz2
import gzip
import io
import lzma
import re
import tarfile
import textwrap
import tracemalloc
from typing import IO, List, cast

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.corpus import sources
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


def read(*paths):
    counts: List[int] = []
    documents = list(read_documents(find_sources(paths), counts.append))
    assert sum(counts) == sum(path.stat().st_size for path in paths)
    return documents


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["a", "a.gz", "a.txt"])
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
def test_a_file_that_begins_with_many_comments_is_text(tmp_path, comment):
    path = tmp_path / "a.txt"
    path.write_text(comment * 5000)
    assert not find_sources([path])[0].is_dump


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

        articles = read_articles(cast(IO[bytes], Dump()))
        for _ in range(1000):
            next(articles)
        tracemalloc.start()
        for _ in range(30_000):
            next(articles)
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # An empty element for each page would be 2.5 MB.
        assert grown < 500_000


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
        monkeypatch.setattr(sources, "_MAX_LINE_CHARACTERS", limit)
        path = tmp_path / "a.txt"
        text = "ein ähnlich überlanges Wörtchen 日本語日本語日本語 und so\nweiter ü"
        path.write_text(text, encoding="utf-8")
        documents = read(path)
        assert "".join("".join(d.text.split()) for d in documents) == "".join(text.split())
        # Words that fit stay whole.
        words = " ".join(d.text for d in documents).split()
        assert {"ein", "und", "so"} <= set(words)


PROSE = {
    "en": "He counted the waves, and he wrote their number in a book. Nobody had asked him to. The "
    "book was thick, and the waves were many. When it was full, he bought another one and went on "
    "counting, even in the longest nights of winter. His wife laughed at him.",
    "de": "Er zählte die Wellen und schrieb ihre Zahl in ein Buch. Niemand hatte ihn darum "
    "gebeten. „Warum?“, fragte das Kind. Er wusste es nicht. Das Buch war dick und die "
    "Geschwindigkeit hoch.",
    "ar": "ذهب الرجل إلى البيت وكتب في كتابه عن البحر. ثم عاد إلى المدينة، ولم يتكلم مع أحد. "
    "كان الجو باردا في ذلك اليوم، فجلس قرب النار؟ لم يعرف أحد السبب. بقي هناك حتى الصباح.",
    "zh": "他数着海浪，把数目写在一本书里。没有人让他这样做。书很厚，海浪也很多！"
    "写满以后，他又买了一本，继续数下去。他的妻子笑他。在最长的夜里，他也没有停下来。",
}
VERSE = """Of Man's first disobedience, and the fruit
Of that forbidden tree whose mortal taste
Brought death into the World, and all our woe,
With loss of Eden, till one greater Man
Restore us, and regain the blissful Seat,
Sing, Heavenly Muse, that, on the secret top
Of Oreb, or of Sinai, didst inspire
That Shepherd who first taught the chosen seed
In the beginning how the heavens and earth
Rose out of Chaos: or, if Sion hill
Delight thee more, and Siloa's brook that flowed
Fast by the oracle of God, I thence
Invoke thy aid to my adventurous song,"""


class TestLines:
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    @pytest.mark.parametrize("language", PROSE)
    @pytest.mark.parametrize("width", [10, 13])
    def test_wrapped_text_is_joined(self, tmp_path, language, end, width):
        prose = PROSE[language]
        if language == "zh":
            lines = [prose[i : i + width] for i in range(0, len(prose), width)]
        else:
            lines = textwrap.wrap(prose, width * 4)
        path = tmp_path / "a.txt"
        path.write_bytes(end.join([*lines, "", " ", *lines, ""]).encode())
        assert [document.text for document in read(path)] == [prose, prose]
        documents = list(read_documents(find_sources([path]), int, "paragraphs"))
        assert len(documents) == 2 * len(lines)

    @pytest.mark.parametrize(
        "text",
        [
            VERSE,
            "床前明月光，\n疑是地上霜。\n举头望明月，\n低头思故乡。\n" * 9,
            "\n".join(re.findall(r".*?[.?] ?", PROSE["en"] * 9)),
            "\n".join(re.findall(r".*?[.?] ?", PROSE["en"].lower() * 9)).replace(".", ""),
            "\n".join(PROSE.values()) * 9,
            "\n\n".join(PROSE.values()) * 9,
            "\n".join(f"line {i}" for i in range(100)),
            "Good morning\nthanks a lot.",
            "so what?\nyou know, it\nis late. good night, and\nthat is it\nbut no.",
        ],
    )
    def test_other_lines_are_not_joined(self, tmp_path, text):
        (tmp_path / "a.txt").write_text(text)
        assert not find_sources([tmp_path / "a.txt"])[0].is_wrapped

    @pytest.mark.parametrize("repeats", [1, 9])
    def test_sentences_that_begin_in_a_new_line_and_are_wrapped(self, tmp_path, repeats):
        text = "He wrote\ntheir number in a book.\nThe sea was calm that day, and\nno ship came.\n"
        (tmp_path / "a.txt").write_text(text * repeats)
        assert find_sources([tmp_path / "a.txt"])[0].is_wrapped

    def test_how_wrapped_lines_are_joined(self, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text(
            "A well-\nknown ex\xad\nample -\nor\ntwo.\n\n海浪\n的数\nof\nบ้าน\nไป\n사람\n이"
        )
        documents = read_documents(find_sources([path]), int, "wrapped")
        assert [document.text for document in documents] == [
            "A well-known example - or two.",
            "海浪的数 of บ้านไป 사람 이",
        ]

    def test_wrapped_text_without_blank_lines_is_more_than_one_document(self, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text("\n".join(textwrap.wrap(PROSE["en"] * 200, 70)))
        documents = read(path)
        assert len(documents) > 3
        assert " ".join(document.text for document in documents) == PROSE["en"] * 200


class TestErrors:
    @pytest.mark.parametrize("mode", ["w", "w:gz"])
    def test_tar(self, tmp_path, mode):
        (tmp_path / "a.txt").write_text("One .\n")
        with tarfile.open(tmp_path / "a.tar.gz", mode) as archive:
            archive.add(tmp_path / "a.txt", "a.txt")
        with pytest.raises(ConfigurationError, match="a.tar.gz is a tar archive. Unpack it first"):
            find_sources([tmp_path / "a.tar.gz"])

    @pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
    def test_empty(self, tmp_path, pack):
        (tmp_path / "a.txt").write_bytes(pack(b""))
        with pytest.raises(ConfigurationError, match="a.txt is empty"):
            find_sources([tmp_path / "a.txt"])

    def test_not_utf8_is_found_at_once_where_the_file_begins_with_it(self, tmp_path):
        (tmp_path / "a.txt").write_bytes("Bärentöter\n".encode("latin-1") * 10)
        with pytest.raises(ConfigurationError, match="a.txt: not UTF-8: .* in line 1;"):
            find_sources([tmp_path / "a.txt"])

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
    def test_utf16(self, tmp_path, encoding):
        (tmp_path / "a.txt").write_bytes("some words\n".encode(encoding))
        with pytest.raises(ConfigurationError, match="UTF-16"):
            find_sources([tmp_path / "a.txt"])

    @pytest.mark.parametrize(
        ("start", "kind"), [(b"PK\x03\x04", "zip"), (b"7z\xbc\xaf\x27\x1c", "7z")]
    )
    def test_archives(self, tmp_path, start, kind):
        (tmp_path / "a.txt").write_bytes(start + b"rest")
        with pytest.raises(ConfigurationError, match=f"a.txt is a {kind} archive"):
            find_sources([tmp_path / "a.txt"])

    @pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
    @pytest.mark.parametrize("damage", ["cut", "changed"])
    def test_damaged_packed_files(self, tmp_path, pack, damage):
        data = bytearray(
            pack("".join(f"{i * 7919 % 10007} words\n" for i in range(99_999)).encode())
        )
        if damage == "cut":
            del data[len(data) // 2 :]
        else:
            data[len(data) // 2 :] = bytes(b ^ 0x55 for b in data[len(data) // 2 :])
        (tmp_path / "a").write_bytes(data)
        with pytest.raises(ConfigurationError, match="a cannot be read to its end|a: not UTF-8"):
            read(tmp_path / "a")

    @pytest.mark.parametrize("end", ["", "<page>", "</page>", "&bad;", "<page><ns>0</ns>\0"])
    def test_damaged_dumps(self, tmp_path, end):
        xml = dump("a" * 100_000).replace("</mediawiki>", end)
        (tmp_path / "a.xml").write_text(xml)
        with pytest.raises(ConfigurationError, match="a.xml starts as a MediaWiki dump"):
            read(tmp_path / "a.xml")
