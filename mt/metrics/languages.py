"""Languages by the codes and names that people use, for metrics that depend on the language. Tables come first, then
how a name is looked up in them."""

import difflib
import re

from mt.errors import UserError, shown
from mt.text_io import COMPRESSED

# ISO 639-1.
_TWO_LETTERS = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
    et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki
    kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no
    nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te
    tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()  # noqa: SIM905 - a table
)
# What else people call them: codes of ISO 639-2 and -3, of countries, and names. Kanuri is kr in ISO 639-1, and Chinook
# Jargon chn in ISO 639-3. Of both there is hardly any text, so that they mean Korean and Chinese here.
_NAMES = {
    "zh": "zho chi cmn yue chn cn hk chs cht zhs zht zhcn zhtw chinese mandarin cantonese",
    "ja": "jpn jp jap japanese",
    "ko": "kor kr korean",
    "ar": "arabic",
    "cs": "cz czech",
    "da": "dk danish",
    "de": "at german",
    "el": "gr greek",
    "en": "us gb english",
    "es": "spanish",
    "fa": "ir persian",
    "fi": "finnish",
    "fr": "french",
    "he": "il iw hebrew",
    "hi": "hindi",
    "id": "in indonesian",
    "it": "italian",
    "kk": "kz kazakh",
    "km": "kh khmer",
    "my": "mm burmese",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "mo romanian",
    "ru": "russian",
    "sr": "sh serbian",
    "sv": "swedish",
    "th": "thai",
    "tr": "turkish",
    "uk": "ua ukrainian",
    "vi": "vn vietnamese",
    "yi": "ji yiddish",
}
_CODE_OF = {name: code for code, names in _NAMES.items() for name in names.split()}
_IN_LATIN_LETTERS = "latn"
"""The script of pinyin and romaji (ISO 15924)."""
# Of a file's name, after the language: how it is compressed, and which of several references it is.
_ENDING = re.compile(rf"(?:{'|'.join(map(re.escape, (*COMPRESSED, '.txt')))}|\.[0-9]+)$")
_CODE = re.compile(r"([a-z]+)[0-9]*")


def language(name: str | None) -> str:
    """Returns the code of a language, that of ISO 639-1 where people call it in several ways: `zh` of `ZH-cn`, `cmn`,
    `zho_Hant`, `Chinese`, `test.zh`, `test.zh.gz`, `zh2` and `ref.zh.2`; "" where nothing says which it is."""
    plain = (name or "").lower()
    while ending := _ENDING.search(plain):
        plain = plain[: ending.start()]
    first, *others = re.split("[-_]", plain.rpartition(".")[2])
    code = _CODE.fullmatch(first)  # a number tells references apart
    if code is None or _IN_LATIN_LETTERS in others:
        return ""
    return _CODE_OF.get(code[1], code[1])


def english_name(code: str) -> str:
    """Returns what a language is called in English; its code where that is not known here."""
    names = sorted(_NAMES.get(language(code), "").split(), key=lambda name: len(name) < 5)
    return next((name.capitalize() for name in names if len(name) > 3), code)


def require_language(name: str | None, where: str) -> None:
    """Raises UserError where a name is neither a code nor a known name of a language. All codes of three letters are
    accepted, which are many thousands. where: the option that has it."""
    if name is None:
        return
    code = re.split("[-_]", name.lower())[0]
    if code in _TWO_LETTERS or code in _CODE_OF or re.fullmatch("[a-z]{3}", code):
        return
    close = difflib.get_close_matches(code[:100], sorted({*_CODE_OF, *_TWO_LETTERS}), n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise UserError(
        f"{where}={shown(name)} is no language: {hint}give a code of ISO 639, such as zh, ja, ko or de, with or "
        "without a region"
    )
