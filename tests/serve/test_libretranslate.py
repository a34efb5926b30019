"""Clients of LibreTranslate, as its documentation writes them, and as its Python package does."""

from types import SimpleNamespace
from typing import Any

import pytest

from mt import Translator
from mt.decoding.translation import Translation
from mt.search.hypothesis import EMPTY
from mt.serve.libretranslate import _wholes, run_for
from mt.serve.limits import RequestError
from tests.serve.clients import Client

FORM = {"content-type": "application/x-www-form-urlencoded"}


def test_several_texts_of_several_lines(client: Client, translator: Translator):
    texts = ["two cats\n\nthe dogs find streets", "", "three birds"]
    answer = client.post("/translate", {"q": texts, "source": "en", "target": "de"}).json
    lines = [translator.translate(text).text for text in ("two cats", "the dogs find streets", "three birds")]
    assert answer == {"translatedText": [f"{lines[0]}\n\n{lines[1]}", "", lines[2]]}


@pytest.mark.parametrize(
    "around", ["{}\n\n", " {}\t", "\r\n{}\r\n{}", "{}\u2028{}\x0b{}\x0c{}\x1c{}\x85", "\n", " \u3000"]
)
def test_white_space_stays_as_it_came(client: Client, translator: Translator, around: str):
    count = around.count("{}")
    body = {"q": around.format(*["two cats"] * count), "source": "en", "target": "de"}
    expected = around.format(*[translator.translate("two cats").text] * count)
    assert client.post("/translate", body).json == {"translatedText": expected}
    assert client.post("/translate", body | {"q": [body["q"]] * 2}).json == {"translatedText": [expected] * 2}


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("?q=two+cats&source=en&target=de", ""),
        ("?q=two+cats", "q=three+birds&source=en&target=de"),  # what stands in the address comes first
        ("", "q=two+cats&q=three+birds&source=en&source=xx&target=de"),
        ("?target=de", "q=two%20cats&source=en&format=&alternatives=0&api_key="),
        ("", "q=two cats&source=en&target=de"),
    ],
)
def test_fields_of_a_form_and_of_an_address(client: Client, translator: Translator, address: str, body: str):
    answer = client.ask("POST", f"/translate{address}", body.encode(), FORM)
    assert answer.json == {"translatedText": translator.translate("two cats").text}


def test_a_form_has_its_letters_and_the_ends_of_lines_of_a_text(client: Client, translator: Translator):
    expected = {"translatedText": "\n".join(translator.translate(text).text for text in ("find 鳥", "two"))}
    for q in ("find 鳥\r\ntwo".encode(), b"find%20%E9%B3%A5%0D%0Atwo"):
        assert client.ask("POST", "/translate", b"source=en&target=de&q=" + q, FORM).json == expected


def part(name: str, value: bytes = b"two", more: str = "") -> bytes:
    return f'--x\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + value + b"\r\n"


def test_a_form_of_several_parts_as_a_browser_sends_it(client: Client, translator: Translator):
    fields = {"q": "find 鳥", "source": "en", "target": "de", "format": "text"}
    body = b"".join(part(name, text.encode()) for name, text in fields.items()) + b"--x--\r\n"
    answer = client.ask("POST", "/translate", body, {"content-type": "multipart/form-data; boundary=x"})
    assert answer.json["translatedText"] == translator.translate("find 鳥").text


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(21)), "Max number of"),
        ("application/x-www-form-urlencoded", b"q=\xff\xfe&source=en", "'utf-8' codec can't decode byte 0xff"),
        ("multipart/form-data; boundary=x", b"".join(part(f"a{number}") for number in range(21)), "Too many fields"),
        ("multipart/form-data; boundary=x", part("q", more='; filename="f"'), "Too many files"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n" * 100_000, "The Content-Disposition header field"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" * 9999, "The "),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Type: message/rfc822\r\n\r\n" * 20_000, "The Content"),
        ("multipart/form-data; boundary=x", b"{}", "Invalid multipart data"),
        ("multipart/form-data; boundary=x; charset=punycode", part("q", b"-" * 900_000), "its characters are not in"),
        ("multipart/form-data", part("q"), "Missing boundary"),
    ],
)
def test_a_form_that_is_none_is_told_so(client: Client, kind: str, body: bytes, reason: str):
    answer = client.ask("POST", "/translate", body, {"content-type": kind})
    assert answer.status == 400
    assert answer.json["error"].startswith(f"the form cannot be read ({reason}")


@pytest.mark.parametrize("format", ["text", "html"])
def test_so_many_texts_and_no_more(client: Client, format: str):
    body = {"q": ["a"] * 129, "source": "en", "target": "de", "format": format}
    answer = client.post("/translate", body)
    assert (answer.status, answer.json["error"][:46]) == (422, "129 texts in a request are more than this serv")
    for text in ("a\n", "A dog. "):
        answer = client.post("/translate", body | {"q": [text * 200] * 2, "format": "text"})
        assert (answer.status, answer.json["error"][:46]) == (422, "400 sentences in a request are more than this ")


def test_the_public_client(client: Client, translator: Translator):
    public = pytest.importorskip("libretranslatepy", reason="the public client is not installed")
    api = public.LibreTranslateAPI(f"http://localhost:{client.port}")
    assert api.translate("two cats", "en", "de") == translator.translate("two cats").text
    assert {one["code"] for one in api.languages()} == {"en", "de"}


def test_alternatives_differ_from_the_best_and_from_one_another(client: Client, translator: Translator):
    answer = client.post("/translate", {"q": "two big cats", "source": "en", "target": "de", "alternatives": 3}).json
    hypotheses = [one.text for one in translator.n_best("two big cats", 4)]
    assert answer["translatedText"] == hypotheses[0]
    assert answer["alternatives"] == list(dict.fromkeys(hypotheses))[1:]
    assert len(answer["alternatives"]) >= 2
    batch = client.post("/translate", {"q": ["two"], "source": "en", "target": "de", "alternatives": 1}).json
    assert [len(others) for others in batch["alternatives"]] == [1]


def test_auto_is_the_only_source_there_is(client: Client):
    body = {"q": "two cats", "source": "auto", "target": "de", "api_key": "xxxxxx"}
    answer = client.post("/translate", body).json
    assert answer["detectedLanguage"] == {"language": "en", "confidence": 0.0}


def test_languages_health_and_settings(client: Client):
    languages = client.get("/languages").json
    targets = {(one["code"], one["name"]): one["targets"] for one in languages}
    assert targets == {("en", "English"): ["de"], ("de", "German"): []}
    assert client.get("/health").json == {"status": "ok"}
    assert (client.ask("HEAD", "/health").status, client.ask("HEAD", "/health").body) == (200, b"")
    settings = client.get("/frontend/settings").json
    assert (settings["charLimit"], settings["keyRequired"], settings["suggestions"]) == (5000, False, False)
    assert settings["language"]["source"] == {"code": "en", "name": "English"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q": None}, "the request: q"),
        ({"q": ""}, "q is empty: give a text to translate"),
        ({"target": "fr"}, "en into fr is not translated here: choose en into de"),
        ({"source": "xx"}, "xx into de is not translated here: choose en into de"),
        ({"format": "pdf"}, "the request: format=pdf is an invalid choice"),
        ({"alternatives": -1}, "the request: alternatives=-1 is not possible"),
        ({"source": None}, "the request: source is missing"),
        ({"q": [1]}, "the request: q"),
        ({"q": []}, "q is empty: give a text to translate"),
    ],
)
def test_what_is_wrong_is_answered_as_libretranslate_does(client: Client, changes, sentence):
    answer = client.post("/translate", {"q": "two", "source": "en", "target": "de"} | changes)
    assert answer.status == 400
    assert list(answer.json) == ["error"]
    assert answer.json["error"].startswith(sentence)


def test_sentences_of_a_line_are_translated_one_by_one(client: Client, translator: Translator):
    texts = ["two big cats.", "See 2 houses!", "the dogs see Dr. Cat"]
    one, two, three = (translator.translate(text).text for text in texts)
    asked = {"q": f" {texts[0]}  {texts[1]}\n\n{texts[2]}\n", "source": "en", "target": "de"}
    assert client.post("/translate", asked).json == {"translatedText": f" {one}  {two}\n\n{three}\n"}


def test_a_language_that_is_not_clear_is_refused_and_those_of_several_runs_are_named_once():
    runs: Any = SimpleNamespace(all=[SimpleNamespace(source=one, target="de") for one in ("fr", "en", "fr")])
    assert run_for(runs, "en", "de").source == "en"
    with pytest.raises(RequestError, match=r"^the language of a text is not detected here: give source, one of en, fr"):
        run_for(runs, "auto", "de")
    with pytest.raises(RequestError, match=r"^auto into it is not translated here: choose fr into de, en into de$"):
        run_for(runs, "auto", "it")


def test_alternatives_that_are_the_same_text_are_one():
    found = [Translation(text, 0.0, (), (), EMPTY) for text in ("eins", "eins", "zwei")]
    assert _wholes(["one"], [found], 3) == ["eins", "zwei"]
