import re
from collections import Counter

import pytest

from allennlp_semfit.corpus.wiki_markup import MarkupError, strip_markup

HIDDEN = frozenset({"file", "image", "category", "файл"})


def strip(markup):
    return strip_markup(markup, HIDDEN)


class TestStripMarkup:
    @pytest.mark.parametrize(
        ("markup", "paragraphs"),
        [
            ("'''Bold''' and ''italic'', '''''both'''''.", ["Bold and italic, both."]),
            ("l'''homme''' and ''''quoted''''", ["lhomme and 'quoted'"]),
            ("A [[cat]]s' [[Dog (animal)|dog]].", ["A cats' dog."]),
            ("See [[:Category:Cats|the cats]].", ["See the cats."]),
            ("Text.[[Category:Cats]]\n[[de:Katze]]\n[[zh-min-nan:Niau]]", ["Text."]),
            ("He was in ''[[CSI: Miami]]'' and [[ER:x]].", ["He was in CSI: Miami and ER:x."]),
            ("'''.NET''' is a framework.", [".NET is a framework."]),
            ("{{x}}. Three.", []),
            ("'''!Kung''' are a people.", ["!Kung are a people."]),
            ("! scope=col | Name\n!Name!!Age", []),
            ("[[File:a.jpg|thumb|A [[cat]] (''felis'') {{c.|1500}}]]Text.", ["Text."]),
            ("[[Файл:a.xyz|мини|Кот]]Текст.", ["Текст."]),
            # A name for files that the dump does not list.
            ("[[Картинка:a b.JPG|Кот]]Текст.", ["Текст."]),
            (
                "One.<ref>No.</ref> Two.<ref name=a/> Three.<ref\nname='b'>{{x|y}}</ref>",
                ["One. Two. Three."],
            ),
            ("A <!-- not\n\nthis --> comment.", ["A comment."]),
            ("Is 1 < 2 and 3 > 2?", ["Is 1 < 2 and 3 > 2?"]),
            ("a&nbsp;b &amp;nbsp; &lt;br&gt; &ndash; &#x41;", ["a b &nbsp; <br> – A"]),
            ("<nowiki>[a] {b} <i>c</i></nowiki>", ["[a] {b} <i>c</i>"]),
            ("H<sub>2</sub>O, km<sup>2</sup>, 10<sup>6</sup>", ["H2O, km2, 106"]),
            ("one<br />two", ["one", "two"]),
            ("Where <math>x^{2}</math> is.", ["Where is."]),
            ("== Head ==\nText.\n----\n__NOTOC__\n__БЕЗ_ОГЛАВЛЕНИЯ__\n__目次非表示__", ["Text."]),
            (
                "* [[Cat]]\n* It is a cat.\n# ''A book'' 1990\n:: Indented\n; term",
                ["It is a cat.", "Indented"],
            ),
            ("{| class=x\n! h\n|-\n| a || {{b|c}}\n{|\n| nested\n|}\n|}\nText.", ["Text."]),
            ("{| class=x\n| never closed\n\nText.", ["Text."]),
            ("{{Box\n| a = {{b|[[c|d]]}}\n\n| e = {|\n|}\n}}Text.", ["Text."]),
            ("{{Never closed|a\n\nText.", ["Never closed|a", "Text."]),
            ("[[Never closed|a\n\nText.", ["Never closed|a", "Text."]),
            ("Stray }} and ]] here.", ["Stray and here."]),
            ("[http://a.b/c?d A page] and [https://x.y] and [sic].", ["A page and and [sic]."]),
            ("<gallery>\nFile:a.jpg|A cat.\n</gallery>\nText.", ["Text."]),
            ("Cat ({{IPA|kæt}}; {{x}}, ''felis'') is ({{y}}).", ["Cat (felis) is."]),
            ("One, {{x}}, two {{x}}, . Three. {{x}}.", ["One , two . Three. ."]),
            ("-{zh-hans:汉语;zh-hant:漢語}-文字。", ["汉语文字。"]),
            ("\xadsoft\u200e", ["soft"]),
        ],
    )
    def test_what_is_left_is_text(self, markup, paragraphs):
        assert strip(markup) == paragraphs

    @pytest.mark.parametrize(
        "piece",
        ["{{", "[[", "{{a|", "[[a|", "<ref>", "<", "{|\n", "\n|}", "[http://a ", "[//", "<nowiki>"]
        + ["-{", "( ,", " ,", " .", "'", "= ", "&", "<!--", "[[a\n\n", "a:"],
    )
    def test_broken_markup_costs_no_article(self, piece):
        start, *_, end = strip(f"The beginning.\n\n{piece * 100}\n\n== Head ==\nThe end.")
        assert (start, end) == ("The beginning.", "The end.")

    @pytest.mark.usefixtures("fail_instead_of_hanging")
    @pytest.mark.parametrize("run", [" ", ",", ":", ", ", "( ", "a", "-{a"])
    def test_long_runs_take_linear_time(self, run):
        start, *_, end = strip(f"The beginning.\n\n-{{a{run * 100_000}b\n\nThe end.")
        assert (start, end) == ("The beginning.", "The end.")

    @pytest.mark.parametrize(
        "piece",
        ["{{", "[[", "{{a|", "[[a|", "{{{a|", "<ref>", "<ref name=a>", "<div ", "<li ", "{|\n|a\n"]
        + ["<!-- a", "[http://a ", "[mailto:a ", "{{a <ref> }} </ref>", "<b>{{"],
    )
    def test_much_broken_markup_is_not_parsed(self, piece):
        with pytest.raises(MarkupError, match=r"^\d+,000 brackets or tags are not closed$"):
            strip(piece * 4000)

    @pytest.mark.parametrize(("start", "end"), [("{{", "}}"), ("{{{", "}}}")])
    def test_deeply_nested_markup_is_an_error(self, start, end):
        with pytest.raises(MarkupError, match="^brackets or tags are nested too deeply$"):
            strip(start * 3000 + "a" + end * 3000)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("{{lang|fr|''le'' mot}}", "le mot"),
        ("{{lang-el|λόγος}}", "λόγος"),
        ("{{convert|10|km|mi|abbr=on}}", "10 km"),
        ("{{Convert |5|to|10|km|mi}}", "5 to 10 km"),
        ("{{nowrap|1=a = b}}", "a = b"),
        ("a{{ndash}}b", "a–b"),
        ("A. {{as of|2014}}, B {{As of|lc=y|2015}}.", "A. As of 2014, B as of 2015."),
        ("{{quote|text=Said so.|author=Me}}", "Said so."),
        ("a {{lang|fr}} b", "a b"),
        # By the shape of the arguments
        ("Le {{unité|1500,5|km}} y", "Le 1500,5 km y"),
        ("a {{Плотность|5|чел./км²}} b", "a 5 чел./км² b"),
        ("a {{konvertera|5|ft|11|in|m}} b", "a 5 ft 11 in b"),
        ("är {{nts|2111}} år.{{s.|5}}", "är 2111 år."),
        ("x {{langue|en|''text''}} y", "x text y"),
        ("x {{transl|ar|ALA|Allāh}} y", "x Allāh y"),
        ("x {{rp|5}} {{IPA|fr|alɛ̃}} {{age|1969|07|20}} y", "x y"),
        ("{{Portal|de|Berlin}}\n\na", "a"),
        ("Eagle{{'s}} wings", "Eagle's wings"),
        (
            "né le {{date|12|juin|1980}} et {{date|13 mai 1981}} a",
            "né le 12 juin 1980 et 13 mai 1981 a",
        ),
        ("un {{lien|Roman|en|Novel}} de {{val|5|u=km}}", "un Roman de 5 km"),
        # Parser functions
        ("är {{formatnum:2111}} meter", "är 2111 meter"),
        ("海拔{{formatnum:{{nts|2111}}|R}}米", "海拔2111米"),
        ("{{uc:ab}}{{lcfirst:CD}} e", "ABcD e"),
        ("{{#if: {{nts|1}} |yes|no}} {{#if:|yes|no}} a", "yes no a"),
        ("{{#ifeq:a|b|yes|no}} a", "no a"),
        ("{{#switch:b|a=1|b|c=2|#default=3}} {{#switch:z|a=1|3}} a", "2 3 a"),
        ("{{plural:1|car|cars}} and {{PLURAL:3|car|cars}}", "car and cars"),
        ("in {{grammar:genitive|Berlin}} a", "in Berlin a"),
        ("a{{#tag:ref|note}} b", "a b"),
        ("a.{{SORTIERUNG:Berg, Alban}}{{DEFAULTSORT:1984}}[[Category:X]]", "a."),
        # Variants of Chinese
        ("a-{R|x}-b-{H|zh-hans:计算机;zh-hant:電腦}-", "axb"),
        ("-{zh-hans:[[计算机|机]]; zh-hant:電腦}-是-{zh;zh-hans|博客}-", "机是博客"),
        ("a {{Infobox person|name=A}} b", "a b"),
    ],
)
def test_templates_that_are_replaced_by_words(markup, text):
    assert strip(markup) == [text]


def test_templates_that_are_left_out_are_counted():
    dropped = Counter()
    strip_markup(
        "a {{x|1=b}} {{Y z}} {{lang|fr|c}} {{#tag:ref|d}} {{y_z}}<ref>{{e}}</ref>", HIDDEN, dropped
    )
    assert dropped == {"x": 1, "y z": 2, "#tag": 1}


def test_no_markup_is_left_in_running_text():
    markup = "\n\n".join(
        f"'''Page {i}''' is a [[thing|{i}]] {{{{x|a={{{{b}}}}}}}} in the [[world]].<ref>{i}</ref>"
        for i in range(50)
    )
    for line in strip(markup):
        assert re.fullmatch(r"Page (\d+) is a \1 in the world\.", line)
