import unicodedata

import pytest
import sentencex
import spacy
from allennlp.common.checks import ConfigurationError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from allennlp_semfit.corpus.sentences import SentenceSplitter, blank_pipeline, normalize

ENGLISH, CHINESE = SentenceSplitter("en"), SentenceSplitter("zh")


def _sentences(language, paragraph):
    return [sentence.replace(" ", "") for sentence in SentenceSplitter(language).split(paragraph)]


def _pieces(paragraph):
    return [normalize(piece).replace(" ", "") for piece in paragraph.split("|")]


class TestSentenceSplitter:
    @pytest.mark.parametrize("language", ["en", "de", "xx"])
    def test_tokens_are_those_of_spacy(self, language):
        paragraph = (
            'Dr. Smith paid $3.50 in the U.S. (est. 1990), e.g. for "well-known" e-mails. Isn\'t '
            "that http://example.com/a?b=1 :-) And so on... naïve façades, l'homme, 10km/h."
        )
        expected = [token.text for token in spacy.blank(language)(paragraph)]
        actual = " ".join(SentenceSplitter(language).split(paragraph)).split(" ")
        assert actual == expected

    @pytest.mark.parametrize(
        ("language", "paragraph"),
        [
            (
                "en",
                "Dr. J. Smith left the U.S. in May.| It has vitamin C.| It came at 5 p.m. today.",
            ),
            ("en", "The cat left...| Nobody saw it…| It… was No. 5 in 1990.| 1991 was worse."),
            ("en", "Really?!| Yes.| He left (at six.)| (She came.)| No mark at the end"),
            ("en", "It is to (1) measure it, and (2) compare.| See (a) or (b). ...| Go! .| No."),
            ("en", "1. Stir it.| 2.1. Cook it.| IV. Eat it.| Q. Was it good?| A. Yes.| 1."),
            ("en", "XL. He came.| 2.1.3. He went.| i. It rains.| ii. It snows."),
            ("en", "It came back…| Everyone cheered.| “Well…”| She … left.| She… left."),
            ("de", "Im 19. Jahrhundert, am 3. Mai und am 6. Tag.| Es war 1990.| Er kam."),
            ("fr", "M. Dupont et MM. Durand partent.| Il habite à Paris."),
            ("el", "Πού πήγε η γάτα;| Πήγε στο σπίτι.| Τι έφαγε;| Έφαγε ψάρι."),
            ("hy", "Ես գնացի տուն։| Նա եկավ:| Ով է նա:"),
            ("hi", "हिंदी वाक्य।| दूसरा वाक्य।"),
            ("xx", "हिंदी वाक्य।| दूसरा वाक्य।"),
            ("xx", "ကျွန်တော် သွားတယ်။| သူ လာတယ်။"),
            ("ml", "ഞാൻ വീട്ടിൽ പോയി.| അവൻ വന്നു."),
            ("xx", "ខ្ញុំទៅផ្សារ។| ថ្ងៃទី៕"),
            ("he", "הארץ׃| והארץ׃"),
            ("grc", "τί ποιεῖς;| οὐδέν.| τί;"),
            ("bo", "ང་འགྲོ།| ང་ཡོང་།"),
            ("xx", "როგორ ხართ?| კარგად ვარ!| მე სახლში წავედი."),
            ("yo", "Ọmọ mi.| Ọ̀rẹ́ kan.| Wo ìgbẹ́ rẹ̀."),
            ("yo", "Mr. Ade ati J. B. Ojo ri mi.| O lọ kan."),
            ("xx", "Nyemele o.| Meyi aƒeme.| Dafa gis mi.| Dem na.| A. Fall ak Dr. Sarr."),
            ("kmr", "Ew bajarek e.| Ez li malê me.| Ew hat."),
            ("nb", "Han ble født 8. mai 1849 i Oslo.| Han døde i det 19. århundre."),
            ("hr", "Rođen je 8. veljače 1849. u Zagrebu.| Umro je u 19. stoljeću."),
            ("pl", "Urodził się 8. lutego 1849 r. w Krakowie.| Zmarł."),
            ("ru", "Он умер, т. е. в XIX в. в России.| Мы знаем."),
            ("en", "i can't.| he can.| it was the 1990s.| i don’t.| c u l8r.| bye"),
            ("sv", "Han bor t.ex. där.| Hon gick."),
            ("lb", "Den 8. Februar, am 19. Joerhonnert.| Hie koum."),
            ("hi", "मूल्य ३.५ करोड़ है।| वह गया।"),
            ("fa", "قیمت آن ۲۰۰۰.۱ ریال است.| او آمد."),
            ("xx", "ის წავიდა 1990.| ის მოვიდა."),
            ("zh", "这是一个句子。|2个句子！|1907年。|iPhone很好。"),
        ],
    )
    def test_sentences_are_those_of_a_reader(self, language, paragraph):
        assert _sentences(language, paragraph.replace("|", "")) == _pieces(paragraph)

    @pytest.mark.parametrize(
        ("language", "paragraph"),
        [
            ("en", 'He left.| "Why?" she asked.| "Go!"| He went.'),
            ("en", "“I came.| I saw.| I left,” he said.| “Good.”| She smiled."),
            ("en", "‘I came.| I saw,’ said the dogs’ man.| Don’t ask.| 'Yes.| No,' she said."),
            ("en", "He left. (she did not.)"),
            ("de", "Er sagte: „Ja.“| Sie auch.| »Ja.«| Er kam.| „Ja.| Nein!“"),
            ("fr", "« Oui. »| Il part.| « Non ! » dit-il."),
            ("ru", "«Иди!» — сказал он.| — Что? — спросил я.| — Нет."),
            ("zh", "“他说。”|‘对。’|“好。”"),
            # A mark that is never closed.
            ("en", 'One " two.| Three.| Four.'),
        ],
    )
    def test_direct_speech(self, language, paragraph):
        assert _sentences(language, paragraph.replace("|", "")) == _pieces(paragraph)

    @given(
        st.lists(
            st.sampled_from(["One", "two.", "Dr.", "U.S.", "No!", "So?", "5", "p.m.", "a", "It"])
        )
    )
    def test_without_quotation_marks_the_sentences_are_those_of_sentencex(self, words):
        text = " ".join(words)
        expected = ["".join(sentence.split()) for sentence in sentencex.segment("en", text)]
        actual = [sentence.replace(" ", "") for sentence in ENGLISH.split(text)]
        assert actual == [sentence for sentence in expected if sentence]

    @pytest.mark.parametrize("language", ["yo", "xx"])
    @pytest.mark.parametrize("form", ["NFC", "NFD"])
    def test_a_letter_with_diacritics_is_a_letter(self, language, form):
        paragraph = unicodedata.normalize(form, "Wo ìgbẹ́ rẹ̀. Àbújá ni, ọ̀rẹ́.")
        expected = ["Wo ìgbẹ́ rẹ̀ .", "Àbújá ni , ọ̀rẹ́ ."]
        assert SentenceSplitter(language).split(paragraph) == [
            unicodedata.normalize("NFC", sentence) for sentence in expected
        ]

    def test_a_word_of_english_is_not_a_contraction(self):
        assert ENGLISH.split("See id. at 5, Id 7, on Wed, but I'd say we'd wed.") == [
            "See id . at 5 , Id 7 , on Wed , but I 'd say we 'd wed ."
        ]

    @pytest.mark.parametrize("language", ["am", "ar", "fa", "grc", "ht", "ti"])
    @pytest.mark.parametrize("word", ["بَلَى", "2014", "7", "مرحبا )", 'مرحبا "', "﴿ مرحبا ﴾"])
    def test_a_full_stop_is_split_off(self, language, word):
        text = word.replace(" ", "") + "."
        assert SentenceSplitter(language).split(text) == [f"{word} ."]

    def test_a_word_of_persian_is_not_two(self):
        assert SentenceSplitter("fa").split("تنش و زیبایی خویش.") == ["تنش و زیبایی خویش ."]

    @pytest.mark.parametrize(
        ("language", "text"),
        [
            ("sv", "Jag vet det .|Den är min .|Så var hon .|Vi ses kl. 12.30 hos prof. Ek ."),
            ("nb", "Vi får se .|Vi er to .|Vi møtte hr. Dahl kl. 12.30 i dag ."),
            ("la", "Vidit me .|Fecit id .|Haec est res .|M. Tullius venit ."),
            ("sl", "Reci ne .|Ni čas .|Dr. Kos je prišel k dr. Rozman ."),
            ("et", "Seda tegin ma .|Nii ka me .|Siis ."),
            ("en", "It was me .|Susan felt ill .|Ask Dr. Lee or No . 5 .|Bake 10 min .|Stir ."),
            ("it", "Lo disse a te .|Non so .|Venne il prof. Bianchi ."),
            ("es", "Dijo que no .|Vio el mar .|El Sr. Gil vino ."),
            ("nl", "Ik weet dat .|Hij ook al .|Drs. Jansen sprak met drs. Smit ."),
            ("fr", "Je vois cet art .|M. Paul vole ."),
            ("da", "Som det var .|Hr. Hansen kom med .|Kom ind ."),
            ("de", "Er ist von dieser Art .|Das ist Art . 5 davon ."),
            *((language, "Ew bajar e .|J. Fall o .") for language in ("kmr", "yo", "xx")),
        ],
    )
    def test_a_sentence_ends_at_a_word_that_looks_like_an_abbreviation(self, language, text):
        raw = text.replace("|", " ").replace(" .", ".")
        assert SentenceSplitter(language).split(raw) == text.split("|")

    def test_a_sentence_ends_at_a_mark_without_a_space(self):
        sentences = ["وہ گیا ۔", "اس نے کہا ۔"]
        assert SentenceSplitter("ur").split("وہ گیا۔اس نے کہا۔") == sentences
        assert SentenceSplitter("xx").split("हाँ।वह गया।") == ["हाँ ।", "वह गया ।"]

    @pytest.mark.parametrize("language", ["en", "xx", "zh"])
    def test_a_grapheme_cluster_is_a_token(self, language):
        clusters = ["❤️", "👩‍💻", "🏳️‍🌈", "1️⃣", "🇩🇪", "👍🏽", "🏴\U000e0067\U000e0062\U000e007f"]
        splitter = SentenceSplitter(language)
        assert splitter.split("love " + " ".join(clusters)) == ["love " + " ".join(clusters)]
        assert splitter.split("".join(clusters)) == [" ".join(clusters)]
        assert splitter.split("\u200d \ufe0f so \u200d\ufe0f❤️ !") == ["so ❤️ !"]

    def test_text_without_spaces(self):
        assert SentenceSplitter("zh").split("我有3.5个iPhone11，很好。ฉันไป カタカナ12。") == [
            "我 有 3.5 个 iPhone11 ， 很 好 。",
            "ฉั น ไ ป カタカナ 12 。",
        ]

    @settings(max_examples=300, deadline=None)
    @given(st.text(st.characters() | st.sampled_from("aA1.,!?\"'”»() \n\u2028\x85\x0b\0")))
    @example("\u0301 abc")
    @example("\u06dd 1 of 286")
    def test_no_character_is_lost_and_no_separator_gets_through(self, text):
        for splitter in (ENGLISH, CHINESE):
            sentences = splitter.split(text)
            for sentence in sentences:
                assert sentence.splitlines() == [sentence]
                assert sentence.split(" ") == sentence.split()
                sentence.encode("utf-8")
                assert "\0" not in sentence
            assert "".join(sentences).replace(" ", "") == normalize(text).replace(" ", "")

    def test_long_lines_and_long_words_pass(self):
        # Longer than a text that spaCy's pipelines accept.
        line = "word " * 250_000
        assert [len(sentence.split()) for sentence in ENGLISH.split(line)] == [250_000]
        word = "(" * 10_000
        assert ENGLISH.split(f"Before {word} after.") == [f"Before {word} after ."]

    @pytest.mark.parametrize("piece", ["彼は「行った。」そして帰った。", "海！a"])
    def test_much_text_is_read_in_parts(self, piece, monkeypatch):
        # The time of sentencex is quadratic in their length.
        lengths, find = [], sentencex.get_sentence_boundaries
        monkeypatch.setattr(
            sentencex,
            "get_sentence_boundaries",
            lambda *args: lengths.append(len(args[1])) or find(*args),
        )
        text = "漢" * 9_000 + piece * (40_000 // len(piece))
        assert "".join(CHINESE.split(text)).replace(" ", "") == text.replace(" ", "")
        assert max(lengths) < 9100

    def test_a_long_text_without_spaces_has_the_sentences_of_a_short_one(self):
        text = "海浪来了。他（说）：“好。”她走了！"
        assert CHINESE.split(text * 2000) == CHINESE.split(text) * 2000

    def test_a_full_vocabulary_is_replaced_without_a_trace(self, monkeypatch):
        paragraph = "It isn't there, e.g. in Rome. Dr. No says so."
        expected = ENGLISH.split(paragraph)
        monkeypatch.setattr("allennlp_semfit.corpus.sentences._MAX_STRINGS", 1)
        splitter = SentenceSplitter("en")
        splitter.split("Zyxwvut")
        assert splitter.split(paragraph) == expected
        assert "Zyxwvut" not in splitter._nlp.vocab.strings

    def test_long_text_without_spaces_is_split_before_its_tokenizer_fails(self, monkeypatch):
        monkeypatch.setattr("allennlp_semfit.corpus.sentences._MAX_SEGMENTER_CHARACTERS", 4)
        assert SentenceSplitter("zh").split("一二三四五 六七八九十") == [
            "一 二 三 四 五 六 七 八 九 十"
        ]

    @pytest.mark.parametrize("language", ["zz", "", "../en"])
    def test_an_unknown_language_is_one_clear_error(self, language):
        with pytest.raises(ConfigurationError, match="no tokenizer for the language"):
            SentenceSplitter(language)


class TestBlankPipeline:
    @pytest.mark.parametrize("language", ["en", "yo", "ar", "xx", "zh"])
    def test_its_words_and_sentences_are_those_of_the_corpus(self, language):
        nlp, splitter = blank_pipeline(language), SentenceSplitter(language)
        pieces = [
            "Wọ́n rẹ̀.",
            "ის წავიდა სახლში. ბავშვი ძინავს.",
            "co\xadope\u200brate",
            "e\u0301.",
            "❤️",
            "\u2067ب\u2069.",
        ]
        pieces += [
            "“No. 5,” he said. “Go!” ",
            "他说：“好。”2个iPhone11。",
            "हिंदी।",
            " ",
            "(" * 2001,
            "U.S. ",
        ]

        @settings(max_examples=100, deadline=None)
        @given(st.lists(st.sampled_from(pieces) | st.text(), max_size=6).map("".join))
        def check(text):
            doc = nlp(text)
            assert doc.text == normalize(text)
            sentences = [[token.text for token in sentence] for sentence in doc.sents]
            assert sentences == [sentence.split(" ") for sentence in splitter.split(text)]

        check()

    def test_words_have_the_norms_of_spacy(self):
        # Those of plain text are spaCy's own tokens, which is faster than new ones.
        norms = [token.norm_ for token in blank_pipeline("en")("It isn't.")]
        assert norms == ["it", "is", "not", "."]

    @pytest.mark.parametrize("language", ["yo", "zh"])
    def test_it_is_saved(self, language, tmp_path):
        nlp = blank_pipeline(language)
        nlp.to_disk(tmp_path)
        text = "Wọ́n rẹ̀. 他说iPhone11。好。"
        docs = nlp(text), spacy.load(tmp_path)(text)
        texts = [[sentence.text for sentence in doc.sents] for doc in docs]
        assert texts[0] == texts[1]
        assert len(texts[0]) == 3


def test_normalize_keeps_words_and_nothing_else():
    assert normalize(" a\u2028b\x85c\0d\ud800e\tf\u00a0g\x1ch\n") == "a b c d e f g h"
    assert normalize("\u200cنمی\u200cخواهم\u200c") == "نمی\u200cخواهم"
    assert normalize("K\ufeffini ex\xadample\u200bb\u200e") == "Kini example b"
    assert normalize("of\ufb01ce \ufb03 \xb2") == "office ffi \xb2"
    assert normalize("\ufee3\ufeae\ufea3\ufe92\ufe8e \ufefb \ufba9\ufbfd") == "مرحبا لا ہی"
    assert normalize("e\u0301 \u1eb9\u0301") == "\xe9 \u1eb9\u0301"


@pytest.mark.usefixtures("fail_instead_of_hanging")
@pytest.mark.parametrize("invisible", ["\xad", "\u200d", "\ufe0f"])
def test_many_invisible_characters_take_linear_time(invisible):
    assert len(normalize(f"a{invisible * 400_000}b")) < 20


@pytest.mark.parametrize(
    "invisible",
    [
        *"\xad\u034f\u061c\u180e\u200e\u2060\u2064\u2067\u2069\u3164\ufe0e\ufe0f\ufeff\U000e0001\U000e0100"
    ],
)
def test_what_is_not_shown_is_removed(invisible):
    assert normalize(f"a{invisible}b {invisible} c{invisible}.") == "ab c."


@pytest.mark.parametrize(
    "word",
    ["क्\u200dष", "ന്\u200d", "می\u200cخواهم", "ه\u200d", "ᠬᠠ\u180eᠠ", "👩\u200d💻", "1\ufe0f\u20e3"],
)
def test_what_changes_how_others_are_shown_is_kept(word):
    assert normalize(word) == word
