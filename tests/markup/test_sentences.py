"""Where sentences end, in the languages that have rules of their own."""

import sys

import pytest
import sentencex
from hypothesis import given, strategies as st

from mt.markup.sentences import WINDOW, sentences
from tests.marks import examples
from tests.refusals.sentences import require_refusal

ONE = {
    "de": [
        "Im 19. Jahrhundert war Ludwig XIV. König, usw. und so fort.",
        "Im 1. Weltkrieg und im 3. Quartal stieg der Umsatz um 4,5 Mio. Euro.",
        "Ende des 19. und Anfang des 20. Jahrhunderts gewann die 1. Mannschaft.",
        "Wir kaufen z. B. Äpfel, Birnen usw. und zahlen ca. 5 Euro bzw. 6.",
        "Die Fa. Schmidt GmbH & Co. KG und Dr. med. Müller wohnen in der Goethestr. 5.",
        "Vgl. Abb. 3 auf S. 17 ff. des Berichts, Nr. 5, Abs. 2.",
        "„Ist das wahr?“, fragte Papst Johannes Paul II. leise.",
        "V. Meier sah am Fr., den 5. Mai, nichts.",
    ],
    "en": [
        "Mrs. Smith of Acme Inc. met Prof. Lee vs. Gen. Grant at 5 p.m. on Jan. 5.",
        "See Fig. 3, Figs. 4 and 5, Eq. 6 and Vol. 2, approx. Two pages.",
        '"Is it true?" he asked, e.g. in St. Louis, No. 10 Downing St. in the morning.',
        "It costs $3.50 at www.example.com, version 2.0.",
        "I saw Mr. x. and left.",
    ],
    "fr": ["M. Dupont, Mme Roth et le Dr. Petit vivent bd. Voltaire, p. 12.", "« Venez ! » dit-il, av. J.-C."],
    "es": ["El Sr. García y la Profa. López viven en EE. UU. y pagan G. 300 (pág. 5)."],
    "it": ["Il sig. Rossi e la dott.ssa Bianchi, pag. 3, ecc. e così via."],
    "pt": ["O Sr. Silva e a Profa. Costa, na pág. 3 do vol. 2."],
    "nl": ["Dhr. Jansen en mevr. De Vries komen o.a. Maandag."],
    "pl": ["Pan dr. Kowalski z ul. Długiej żył w XX w. blisko.", "Dnia 5. maja padało."],
    "cs": ["V 19. století žil Karel IV. v Praze, viz str. 5, např. Brno.", "Karel IV. Lucemburský žil v Praze."],
    "ru": ["А. С. Пушкин, проф. Иванов и г-н Роот жили на ул. Ленина, см. рис. 3 и т. д. до конца."],
    "uk": ["Це м. Київ, вул. Хрещатик, див. рис. 3."],
    "tr": ["II. Abdülhamid ve Dr. Ahmet Bey 5. katta oturuyor."],
    "hu": ["IV. Béla király az 5. fejezet."],
    "ro": ["Dl. Popescu locuiește pe str. Lungă nr. 5."],
    "id": ["Dr. Budi tinggal di Jl. Merdeka No. 5, dsb. dan lain-lain."],
    "vi": ["TS. Nguyễn Văn A sống ở TP. Hồ Chí Minh."],
    "sv": ["T.ex. kommer Anna kl. 5 till Lund."],
    "no": ["Den 17. mai er nasjonaldag."],
    "sl": ["Cesar Karel IV. Luksemburški je živel v Pragi."],
    "lv": ["1. janvārī ir brīvdiena."],
    "hr": ["Dana 5. svibnja Ivan Pavao II. bio je papa."],
    "ja": ["「行きますか。」と彼は聞いた。"],
    "hi": ["डॉ. शर्मा के पास रु. 500 हैं।"],
    "ar": ["د. أحمد يعمل هنا."],
}
SEVERAL = {
    "de": [
        "Wir treffen uns am 29. Juli 2026 in Berlin.|Der Zug fährt um 7.30 Uhr.",
        "Er kam am 12. an.|Sie ging am 13. wieder.|Das Haus steht seit 1905.|Es ist alt.",
        "Sie wohnt im Haus Nr. 12.|Er wohnt auch dort.|Was?|Ja!|Gut.|Dann komm.",
        'Er schwieg. |"Das ist gut." |"Und nun?"',
    ],
    "en": [
        "It rained.|He left at 6 p.m.|Mr. Lee stayed.|Why?!|No idea.",
        "Dr. J. R. R. Tolkien wrote it.|I read it.",
        "i went home.|then i slept.",
    ],
    "fr": ["Quelle heure est-il ?|Il est midi.|L'hépatite B est rare.|Voilà."],
    "es": ["¿Qué hora es?|¡Es tarde!|Vámonos."],
    "ru": ["Который час?|Уже поздно!|Это стоит 5 руб. в магазине.|Да."],
    "el": ["Τι ώρα είναι;|Είναι αργά."],
    "zh": [
        "火车七点半开往柏林。|票价是二十欧元。|你好吗？|谢谢！|版本2.0发布了。|3 月更新。|OK。",
        "他说：“我来了。”|她笑了。",
    ],
    "ja": ["列車は七時半に出ます。|料金は二十ユーロです。|本当ですか？|はい！|1 つです。|Mozilla です。"],
    "ko": ["기차는 일곱 시에 떠납니다.|표는 이십 유로입니다.|몇 시입니까?|늦었습니다."],
    "hi": ["रेल सात बजे जाती है।|टिकट बीस यूरो का है।|ठीक है?|हाँ।"],
    "ta": ["ரயில் ஏழு மணிக்கு புறப்படும்.|டிக்கெட் இருபது யூரோ."],
    "ar": ["يغادر القطار في السابعة.|كم الساعة؟|الوقت متأخر."],
    "my": ["ရထား ခုနစ်နာရီ ထွက်သည်။|လက်မှတ် ယူရိုနှစ်ဆယ်။"],
    # No rules of its own, or no language that is known.
    "gn": ["Mba'éichapa?|Iporã."],
    "xx": ["One.|Two."],
}
WITHOUT_BLANKS = ("zh", "ja")


@pytest.mark.parametrize(
    ("language", "text"), [(code, text) for table in (ONE, SEVERAL) for code, texts in table.items() for text in texts]
)
def test_where_sentences_end(language: str, text: str) -> None:
    blank = "" if language in WITHOUT_BLANKS else " "
    wanted = [part.strip() for part in text.split("|")]
    assert [part.strip() for part in sentences(blank.join(wanted), language)] == wanted


def test_a_code_may_name_a_region_and_may_be_missing() -> None:
    text = "Am 1. Tag kam er. Sie ging."
    assert sentences(text, "de-AT") == sentences(text, "de_DE") == ["Am 1. Tag kam er. ", "Sie ging."]
    assert sentences("One. Two.", None) == sentences("One. Two.", "") == ["One. ", "Two."]
    assert sentences("Den 17. mai kom ca. 5.", "nb") == ["Den 17. mai kom ca. 5."]
    assert sentences("Den 17. mai kom frk. Berg.", "nb") == ["Den 17. mai kom frk. Berg."]


def test_what_is_short_before_numbers_alone_ends_a_sentence_before_a_word() -> None:
    assert sentences("We saw the Figs. Then we went.", "en") == ["We saw the Figs. ", "Then we went."]
    assert sentences("We saw Figs. 3 and 4.", "en") == ["We saw Figs. 3 and 4."]


@pytest.mark.parametrize("language", ["ta", "en", "ja"])
def test_strange_blanks_behind_initials_are_kept(language: str) -> None:
    """sentencex broke down where a full stop stands behind such a blank."""
    for blank in "\u00a0\u2009\u202f\u3000":
        text = f"{blank}A.A{blank}.A3 im"
        assert "".join(sentences(text, language)) == text


PIECES = ["A", "b", "Mr", "im", "3", "IV", "。", "，", "「", "」", "“", "”", '"', "'", "(", ")", "<b>", "&amp;"]
PIECES += ["\ue000", ".", ".", "!", "?", "…", "؟", "।", " ", " ", "\n", "\n\n", "\t", "\r", "\u00a0", "\u200b", "*"]
PIECES += ["\u0301", "🚂"]


@examples(400)
@given(st.lists(st.sampled_from(PIECES)).map("".join), st.sampled_from([*ONE, *SEVERAL, None, "zh-Hant", "?"]))
def test_sentences_joined_are_the_text(text: str, language: str | None) -> None:
    found = sentences(text, language)
    assert "".join(found) == text and all(found)


@pytest.mark.parametrize("text", ["“x. ", "x", "A b. ", "「。a", ". ", "1. ", '"', "\n\n"])
def test_long_texts_are_cut_in_windows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    own = sentencex.segment

    def segment(language: str, part: str) -> list[str]:
        lengths.append(len(part))
        return own(language, part)

    monkeypatch.setattr(sentencex, "segment", segment)
    whole = (text * 20 * WINDOW)[: 5 * WINDOW + 7]
    assert "".join(sentences(whole, "en")) == whole
    # Each part of the text is read twice at most, or a sentence that is longer by windows of twice the length.
    assert sum(lengths) <= 4 * len(whole)


def test_sentencex_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    message = r"^a text is cut .* by sentencex, which is not installed: pip install 'attentive-mt\[markup\]'$"
    require_refusal(lambda: sentences("One. Two.", "en"), message)
