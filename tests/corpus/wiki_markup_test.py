import pytest

from allennlp_semfit.corpus.wikipedia import strip_markup

HIDDEN = frozenset({"file", "image", "category", "файл"})


def strip(markup):
    return strip_markup(markup, HIDDEN)[0]


@pytest.mark.parametrize(
    ("markup", "paragraphs"),
    [
        (
            "'''Bold''', ''italic'', l'''homme''' and ''''quoted''''",
            ["Bold, italic, lhomme and 'quoted'"],
        ),
        (
            "A [[cat]]s' [[Dog (animal)|dog]] and [[:Category:Cats|the cats]].",
            ["A cats' dog and the cats."],
        ),
        ("Text.[[Category:Cats]]\n[[de:Katze]]\n[[zh-min-nan:Niau]]", ["Text."]),
        ("He was in ''[[CSI: Miami]]'' and [[ER:x]].", ["He was in CSI: Miami and ER:x."]),
        ("[[१९४७]] में {{start date|१९४७|८|१५}} भारत १९४७ में।", ["१९४७ में भारत १९४७ में।"]),
        ("[[File:a.jpg|thumb|A [[cat]] (''felis'') {{c.|1500}}]]Text.", ["Text."]),
        # In Russian, and a name for files that the dump does not list.
        ("[[Файл:a.xyz|мини|Кот]][[Картинка:a b.JPG|Кот]]Текст.", ["Текст."]),
        (
            "One.<ref>No.</ref> Two.<ref name=a/> Three.<ref name='b'>{{x|y}}</ref>",
            ["One. Two. Three."],
        ),
        ("A <!-- not\n\nthis --> comment.\n<!--\n== Nor ==\nthis. -->", ["A comment."]),
        (
            "Is 1 < 2 and 3 > 2? &lt;br&gt; a&nbsp;b &ndash; &#x41;",
            ["Is 1 < 2 and 3 > 2? <br> a b – A"],
        ),
        ("H<sub>2</sub>O <nowiki>[a]</nowiki> is<math>x^{2}</math>.", ["H2O [a] is."]),
        ("one<br />two <span>three</span>", ["one", "two three"]),
        (
            "One line\n[[break|is]]\n''a'' space.\n* Not here.",
            ["One line is a space.", "Not here."],
        ),
        ("<h2>Head</h2>\nText.", ["Head", "Text."]),
        ("<poem>\nOne verse\nand another\n</poem>", ["One verse", "and another"]),
        ("== Head ==\nText.\n----\n__NOTOC__\n__БЕЗ_ОГЛАВЛЕНИЯ__\n__目次非表示__", ["Text."]),
        (
            "* [[Cat]]\n* It is a cat.\n# ''A book'' 1990\n:: Indented\n; term\n; a : b.",
            ["It is a cat.", "Indented", "a : b."],
        ),
        ("{| class=x\n|+ caption\n! h\n|-\n| a || {{b|c}}\n{|\n| nested\n|}\n|}\nText.", ["Text."]),
        ("{{Box\n| a = {{b|[[c|d]]}}\n\n| e = {|\n|}\n}}Text.", ["Text."]),
        ("[http://a.b/c?d A page], [https://x.y] and [sic].", ["A page, and [sic]."]),
        ("<gallery>\nFile:a.jpg|A cat.\n</gallery>\nText.", ["Text."]),
        # Where templates are removed
        ("Cat ({{IPA|kæt}}; {{x}}, ''felis'') is ({{y}}), {{x}}, .", ["Cat (felis) is ."]),
        ("{{x}}. Three.\n\n'''.NET''' is a framework.", [".NET is a framework."]),
        # Chinese
        ("-{zh-hans:汉语;zh-hant:漢語}-文字-{H|zh-hans:计算机}-。-{R|x}-", ["汉语文字。x"]),
        # Templates that are part of a sentence
        (
            "{{lang|fr|''le'' mot}} {{Lang-el|λόγος}} {{langx|el|λόγος|logos}} {{langx|el}} "
            "{{transl|ar|ALA|Allāh}}",
            ["le mot λόγος λόγος Allāh"],
        ),
        (
            "{{convert|10|km|mi|0}}, {{convert|5|to|१०|km|mi}}, {{cvt|5|ft|11|in|m}}",
            ["10 km, 5 to १० km, 5 ft 11 in"],
        ),
        (
            "{{formatnum:2111}} m{{ndash}}{{nowrap|1=a = b}} Eagle{{'s}} {{val|5|u=km}}",
            ["2111 m–a = b Eagle's 5 km"],
        ),
        (
            "{{quote\n| text = Said so.\n| author = Me}} {{Blockquote|And so.}} "
            "{{As of|2014}} and {{as of|lc=y|2015}}",
            ["Said so. And so. As of 2014 and as of 2015"],
        ),
        (
            "{{nobr|a}} {{small|b}} {{big|c}} {{sc|d}} {{angbr|e}} {{cquote|f}} {{quotation|g}} "
            "{{chem|H|2|O}} {{nihongo|h}} {{transl|el|i}}",
            ["a b c d e f g H2O h i"],
        ),
        ("a<p>b</p>c<div>d</div><center>e</center>f<li>g</li><h1>h</h1>", [*"abcdefgh"]),
    ],
)
def test_what_is_left_is_text(markup, paragraphs):
    assert strip(markup) == paragraphs


@pytest.mark.parametrize(
    ("markup", "paragraphs"),
    [
        ("{| class=x\n| never closed\n! nor this\n\nText.", ["Text."]),
        ("{{Never closed|a\n\nText.", ["Never closed|a", "Text."]),
        ("[[Never closed|a\n\nText }} and this.", ["Never closed|a", "Text and this."]),
        ("A <ref>b.\n\n{| class=x\n\n== C ==\n\nD.</ref> E.\n\n|}", ["A b.", "D. E."]),
        ("'''!Kung''' are a people.", ["!Kung are a people."]),
    ],
)
def test_markup_that_is_not_closed_costs_nothing_else(markup, paragraphs):
    assert strip(markup) == paragraphs


@pytest.mark.usefixtures("fail_instead_of_hanging")
@pytest.mark.parametrize("count", [100, 30_000])
@pytest.mark.parametrize(
    "piece",
    ["{{", "[[", "{{a|", "[[a|", "{{{a|", "<ref>", "<ref name=a>", "<div ", "<", "{|\n|a\n", "\n|}"]
    + ["<!-- a", "[http://a ", "[//", "<nowiki>", "<b>{{", "{{a <ref> }} </ref>", "-{", "-{a;", "'"]
    + ["( ,", " ,", " .", "= ", "=", "&", "[[a\n\n", "a:", " ", "a"],
)
def test_much_broken_markup_takes_little_time(piece, count):
    start, *_, end = strip(f"The beginning.\n\n{piece * count}\n\n== Head ==\nThe end.")
    assert (start, end) == ("The beginning.", "The end.")


def test_what_cannot_be_parsed_is_counted():
    markup = "a {{x|1=b}} {{Y z}} {{lang|fr|c}} {{#tag:ref|d}} {{y_z}}<ref>{{e}}</ref>"
    nested = "{{" * 3000 + "a" + "}}" * 3000
    assert strip_markup(f"{markup}\n\n{nested}\n\nb", HIDDEN) == (["a c", "b"], 1)
