"""Languages by the codes and names that people use, for metrics that depend on the language. Tables come first, then
the functions that look names up."""

import re

from mt.errors import UserError, shown, suggested
from mt.text_io import COMPRESSED

# Other names of languages: codes of ISO 639-2 and -3, codes of countries, and English names. In ISO 639 kr is Kanuri
# and chn is Chinook Jargon, but there is hardly any text in them, so that here they mean Korean and Chinese.
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
# Endings of file names after the language: compression, and the number of a reference.
_ENDING = re.compile(rf"(?:{'|'.join(map(re.escape, (*COMPRESSED, '.txt')))}|\.[0-9]+)$")
_CODE = re.compile(r"([a-z]+)[0-9]*")


def language(name: str | None) -> str:
    """Returns the code of a language, the one of ISO 639-1 if there are several: `zh` for `ZH-cn`, `cmn`, `zho_Hant`,
    `Chinese`, `test.zh`, `test.zh.gz`, `zh2` and `ref.zh.2`. "" if the name has no language in it."""
    plain = (name or "").lower()
    # Endings may follow one another, as in ref.zh.2.gz.
    while ending := _ENDING.search(plain):
        plain = plain[: ending.start()]
    first, *others = re.split("[-_]", plain.rpartition(".")[2])
    code = _CODE.fullmatch(first)  # a number tells references apart
    if code is None or _IN_LATIN_LETTERS in others:
        return ""
    return _CODE_OF.get(code[1], code[1])


def english_name(code: str) -> str:
    """Returns the English name of a language, or its code if the name is not in the table."""
    # Four letters may be a code, as zhcn, or a name, as Thai: longer ones come first.
    names = sorted(_NAMES.get(language(code), "").split(), key=lambda name: len(name) < 5)
    return next((name.capitalize() for name in names if len(name) > 3), code)


def require_language(name: str | None, where: str) -> None:
    """Raises UserError for a name that is neither two or three letters, as codes of ISO 639 are, nor a known name of a
    language. where: the option with the name."""
    code = "en" if name is None else re.split("[-_]", name.lower())[0]
    if code not in _CODE_OF and not re.fullmatch("[a-z]{2,3}", code):
        raise UserError(
            f"{where}={shown(name or '')} is no language: {suggested(code, _CODE_OF)}give a code of ISO 639, such as "
            "zh, ja, ko or de, with or without a region"
        )
