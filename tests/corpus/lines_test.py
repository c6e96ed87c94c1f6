import logging
import re
import subprocess
import textwrap

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.corpus.lines import are_wrapped, check_text, join_wrapped

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


class TestWrapped:
    @pytest.mark.parametrize("language", PROSE)
    @pytest.mark.parametrize("width", [10, 13])
    def test_wrapped_text_is_joined(self, language, width):
        prose = PROSE[language]
        if language == "zh":
            lines = [prose[i : i + width] for i in range(0, len(prose), width)]
        else:
            lines = textwrap.wrap(prose, width * 4)
        assert are_wrapped([*lines, "", *lines])
        assert list(join_wrapped([*lines, "", " ", *lines, ""])) == [prose, prose]

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
    def test_other_lines_are_not_joined(self, text):
        assert not are_wrapped(text.split("\n"))

    @pytest.mark.parametrize("repeats", [1, 9])
    def test_sentences_that_begin_in_a_new_line_and_are_wrapped(self, repeats):
        text = "He wrote\ntheir number in a book.\nThe sea was calm that day, and\nno ship came.\n"
        assert are_wrapped((text * repeats).split("\n"))

    @pytest.mark.parametrize("hyphen", ["-", "\xad", "¬", "\u2010"])
    def test_divided_words(self, hyphen):
        lines = "In this paper, we pro-\npose a method that re-\nduces the time. It is new.\n"
        text = lines.replace("-", hyphen) + "2.1 Methods\nIt is 5 m.\n"
        assert are_wrapped(text.split("\n"))

    def test_lines_that_end_in_a_letter_with_diacritics(self):
        # In "rẹ̀", no single character is the letter with both diacritics.
        text = "Ọmọ náà wo ìgbẹ́ rẹ̀\nní Àbújá. Ó lọ sí ilé rẹ̀\npẹ̀lú ọ̀rẹ́ rẹ̀\ntí ó dára."
        assert are_wrapped(text.split("\n"))

    def test_how_wrapped_lines_are_joined(self):
        text = "A well-\nknown ex\xad\nam¬\nple -\nor ¬\ntwo.\n\n海浪\n的数\nof\nบ้าน\nไป\n사람\n이"
        assert list(join_wrapped(text.split("\n"))) == [
            "A well-known example - or ¬ two.",
            "海浪的数 of บ้านไป 사람 이",
        ]


ROWS = [
    "The river rose, in spring.",
    "Nobody slept.",
    "A boat came at dawn; it went.",
    "It rained.",
]
FRAMED = {
    "JSON lines": '{{"id": {i}, "text": "{row}"}}',
    "pretty JSON": '  {{\n    "id": {i},\n    "text": "{row}"\n  }},',
    "JSON strings": '["{row}", {i}]',
    "lists of Python": "['{row}', '{row}']",
    "CSV": '{i},pos,"{row}"',
    "CSV, text first": '"{row}",pos',
    "CSV, one label": 'pos,"{row}"',
    "CSV with semicolons": "{i};{row}",
    "TSV": "{i}\t{row}",
    "TSV of labels": "pos\t{row}",
    "numbered text": "{i}.\t{row}",
    "fastText labels": "__label__pos {row}",
    "subtitles": "{i}\n00:00:0{i},000 --> 00:00:05,000\n{row}\n",
    "subtitles of the web": "WEBVTT\n\n00:0{i}.000 --> 00:0{i}.900\n{row}\n{row}\n{row}\n{row}\n",
    "headings": "<h4>{i}</h4>\n {row}",
    "documents": '<doc id="{i}">\n{row}\n{row}\n\n{row}\n</doc>',
    "MediaWiki pages": "<page>\n  <title>{i}</title>\n  <text>{row}\n{row}</text>\n</page>",
    "CoNLL": "{i}\tThe\tDT\n{i}\triver\tNN\n",
    "CoNLL-U": "# text = {row}\n{i}\tThe\t_\t_\t_\t_\t_\t_\t_\t_",
    "CoNLL-2003": "The DT B-NP O\nriver NN I-NP B-LOC\n",
    "HTML": "<p>{row}</p>",
    "Toolbox": "\\ref {i}\n\\tx {row}\n",
    "CHAT": "*CHI:\t{row}\n%mor:\tn|{i}",
    "tagged sentences": "<s> {row} </s>",
}


class TestCheckText:
    @pytest.mark.parametrize("kind", FRAMED)
    def test_what_is_no_text_is_an_error(self, kind):
        lines = [FRAMED[kind].format(i=i, row=row) for i, row in enumerate(ROWS, start=1)]
        lines = "\n".join(lines).split("\n")
        with pytest.raises(ConfigurationError, match="in: it looks like .*--lines paragraphs") as e:
            check_text("in", lines)
        # It shows one of the lines.
        assert any(repr(line.strip()[:60]) in str(e.value) for line in lines)

    @pytest.mark.parametrize(
        "start",
        [
            '[{"text": "One."}]',
            "<!DOCTYPE html><p>One.",
            "<doc id=1>",
            "WEBVTT",
            r"{\rtf1\ansi",
            r"\documentclass{article}",
            r"\id GEN",
            'File type = "ooTextFile"',
        ],
    )
    def test_the_first_line_can_be_enough(self, start):
        with pytest.raises(ConfigurationError, match="first 1,000 lines, 1 are like"):
            check_text("in", [start, *["Nobody slept."] * 999])

    @pytest.mark.parametrize("kind", ["subtitles", "fastText labels", "numbered text", "CoNLL-U"])
    def test_the_command_in_the_error_helps(self, kind):
        content = "\n".join(FRAMED[kind].format(i=i, row=row) for i, row in enumerate(ROWS))
        with pytest.raises(ConfigurationError) as error:
            check_text("in", content.split("\n"))
        command = re.search("`(.*)`", str(error.value))[1]
        result = subprocess.run(command, shell=True, input=content, text=True, capture_output=True)
        assert list(filter(None, result.stdout.split("\n"))) == ROWS

    @pytest.mark.parametrize(
        "text",
        [
            *PROSE.values(),
            VERSE,
            "- Hello.\n- Good day.\n* 1,000 people came.\n* 2,500 left.",
            "1. First, stir it.\n2. Then, cook it.\n3. Then, eat it.\n(4) Sleep.",
            '[Verse 1]\n“Yes,” he said, “no.”\n[Verse 2]\n"Yes," he said, "no."',
            "<unk> is a word .\n<unk> , too .\nIt has 3 < 4 .\nAnd <unk> .",
            "<UNK> is a word .\n<UNK> , too .",
            '"Go": he went.\n"No": she stayed.\n"So": they left.',
            "{Applause}\nThank you.\nGood night.",
            "[ ] Stir it.\n[ ] Cook it.\n[x] Eat it.",
            "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat hand, or eye,",
            "Πού πήγε;\nΤι έφαγε;\nΠοιος ήταν;",
            "床前明月光,疑是地上霜。\n举头望明月,低头思故乡。",
            "Contents\t1\nIt rained.\nNobody slept.\nA boat came.",
            "12\nIt rained.\nNobody slept.\nA boat came.\nIt went.\nIt rained.\nNobody slept.",
        ],
    )
    def test_text_passes_without_a_word(self, caplog, text):
        check_text("in", text.split("\n") * 9)
        assert not caplog.records

    @pytest.mark.parametrize(
        ("line", "percent"),
        [
            ('{"text": "One."}', 29),
            ("<p>One.</p>", 1.5),
            ("7.\tIt rained.", 29),
            ("__label__a It rained.", 29),
            ("00:01 --> 00:02", 9),
            ("12", 29),
            ("rained VBD O", 49),
            ("pos\tIt rained.", 49),
            ("1;It rained", 69),
            ("It &amp; was.", 1.5),
        ],
    )
    def test_some_lines_of_another_kind_pass(self, caplog, line, percent):
        number = int(10 * percent)
        check_text("in", [*["Nobody slept."] * (1000 - number), *[line] * number])
        check_text("in", ["Nobody slept.", "12", "It rained."])
        assert not caplog.records

    @pytest.mark.parametrize(
        "remains",
        [
            *["&amp;", "&#39;", "can &apos;t", "&frac12;", "well @-@ known", "[[c]]", "{{x|y}}"],
            *["<br/>", "<i>so</i>", '<font color="red">', r"\emph{so}", "[so](https://a.com)"],
        ],
    )
    def test_entities_and_markup_are_named(self, caplog, remains):
        check_text("in", [*ROWS * 9, f"It {remains} was."])
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert repr(f"It {remains} was.") in record.getMessage()


def test_csv_with_line_breaks_in_fields_is_not_text():
    rows = [f'{i},"Gene {i}, its role","A.\nB {i}, and c.\nD."' for i in range(20)]
    with pytest.raises(ConfigurationError, match="a table"):
        check_text("a", "\n".join(["id,title,abstract", *rows]).split("\n"))


@pytest.mark.usefixtures("fail_instead_of_hanging")
def test_a_book_in_one_line_takes_linear_time():
    check_text("a", ["It was so. " * 400_000])
