"""Clients of LibreTranslate, as its documentation writes them, and as its Python package does."""

from urllib.parse import urlencode

import pytest

from mt import Translator
from tests.serve.clients import Client

FORM = {"content-type": "application/x-www-form-urlencoded"}


def test_several_texts_of_several_lines(client: Client, translator: Translator):
    texts = ["two cats\n\nthe dogs find streets", "", "three birds"]
    answer = client.post("/translate", {"q": texts, "source": "en", "target": "de"}).json
    lines = [translator.translate(text).text for text in ("two cats", "the dogs find streets", "three birds")]
    assert answer == {"translatedText": [f"{lines[0]}\n\n{lines[1]}", "", lines[2]]}


def test_a_form_as_the_python_package_sends_it(client: Client, translator: Translator):
    body = urlencode({"q": "two cats", "source": "en", "target": "de"}).encode()
    answer = client.ask("POST", "/translate", body, FORM)
    assert answer.json["translatedText"] == translator.translate("two cats").text


def test_a_form_of_several_parts_as_a_browser_sends_it(client: Client, translator: Translator):
    fields = {"q": "find 鳥", "source": "en", "target": "de", "format": "text"}
    parts = [f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in fields.items()]
    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = client.ask("POST", "/translate", f"{''.join(parts)}--x--\r\n".encode(), headers)
    assert answer.json["translatedText"] == translator.translate("find 鳥").text


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
    assert languages == [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": []},
    ]
    assert client.get("/health").json == {"status": "ok"}
    settings = client.get("/frontend/settings").json
    assert (settings["charLimit"], settings["keyRequired"], settings["suggestions"]) == (5000, False, False)
    assert settings["language"] == {
        "source": {"code": "en", "name": "English"},
        "target": {"code": "de", "name": "German"},
    }


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q": None}, "the request: q"),
        ({"q": ""}, "q is empty: give a text to translate"),
        ({"target": "fr"}, "en into fr is not translated here: choose en into de"),
        ({"source": "xx"}, "xx into de is not translated here: choose en into de"),
        ({"format": "pdf"}, "the request: format=pdf is an invalid choice"),
        ({"alternatives": -1}, "the request: alternatives=-1 is not possible"),
    ],
)
def test_what_is_wrong_is_answered_as_libretranslate_does(client: Client, changes, sentence):
    answer = client.post("/translate", {"q": "two", "source": "en", "target": "de"} | changes)
    assert answer.status == 400
    assert list(answer.json) == ["error"]
    assert answer.json["error"].startswith(sentence)
