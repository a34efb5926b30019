"""Our own routes."""

import base64
import json
from pathlib import Path

import numpy as np
import soundfile

from mt import Translator
from mt.metrics.alignment import to_pharaoh
from mt.search.config import revised_search
from tests.serve.clients import Client


def test_a_translation_is_that_of_the_translator(client: Client, translator: Translator):
    answer = client.post("/api/translate", {"text": "two cats find birds", "n_best": 2})
    assert answer.status == 200, answer.body
    expected = translator.n_best("two cats find birds", 2)
    assert answer.json["run"] == "tiny"
    assert [one["text"] for one in answer.json["translations"]] == [one.text for one in expected]


def test_the_runs_say_what_they_are(client: Client):
    (run,) = client.get("/api/runs").json["runs"]
    assert (run["name"], run["source"], run["target"], run["field"]) == ("tiny", "en", "de", "text")
    assert (run["streams"], run["attention"]) == (False, "general")


def test_what_is_wrong_with_a_request_is_one_sentence(client: Client):
    cases = {
        b'{"text": 1}': (400, "the request: text=1 is not possible: input should be a valid string"),
        b'{"txet": "a"}': (400, "the request: unknown option txet: did you mean text?"),
        b'{"text": "a", "n_bets": 1}': (400, "the request: unknown option n_bets: did you mean n_best?"),
        b'{"text": "a", "search": {"beam": 2}}': (422, "unknown option search.beam: did you mean beam_size?"),
        b'{"text": "a", "search": {"beam_size": 51}}': (422, "51 hypotheses of a text are more than this server's 50"),
        b'{"text": "a", "run": "other"}': (404, "there is no run other here: choose of tiny"),
        json.dumps({"text": 5001 * "a"}).encode(): (422, "a text has 5001 characters, more than the 5000"),
        b'{"text": "\\ud800"}': (400, "the request: "),
        b"[" * 100_000: (400, "the request: "),
        b"\xff\x00": (400, "the request: "),
    }
    for body, (status, sentence) in cases.items():
        answer = client.ask("POST", "/api/translate", body)
        assert answer.status == status, body[:80]
        assert answer.json["error"].startswith(sentence), answer.json


def test_a_record_says_what_the_attention_did(client: Client, translator: Translator):
    answer = client.post("/api/translate", {"text": "two big cats", "top": 4, "n_best": 2}).json
    best, second = answer["translations"]
    expected, _ = translator.n_best("two big cats", 2)
    assert best["ids"] == list(expected.ids)
    assert best["links"] == to_pharaoh(expected.links)
    assert [len(step) for step in best["top"]] == [4] * len(expected.tokens)
    # The first of the search's own tokens are the most probable ones here, each with its number.
    assert [step[0][2] for step in best["top"]] == best["ids"]
    assert "top" not in second


def test_what_is_asked_of_a_translation(client: Client, translator: Translator):
    asked = {"constraints": ["Hunde", {"any_of": ["Häuser", "Brücken"]}], "avoid": ["zwei"], "prefix": "drei "}
    answer = client.post("/api/translate", {"text": "two cats see streets", "search": {"beam_size": 8}} | asked)
    assert answer.status == 200, answer.body
    text = answer.json["translations"][0]["text"]
    assert text.startswith("drei ")
    assert "Hunde" in text
    assert "Häuser" in text or "Brücken" in text
    assert "zwei" not in text
    impossible = client.post("/api/translate", {"text": "two cats", "constraints": ["鱼"]})
    assert (impossible.status, impossible.json["error"][:15]) == (422, "text 1 asks for")


def test_terms_of_a_glossary_are_written_where_they_are_read(client: Client):
    body = {"text": "two cats see streets", "glossary": [{"source": "cats", "target": ["Hunde", "Katzen"]}]}
    assert client.post("/api/translate", body).status == 200
    body["glossary"] = [{"source": "cats", "target": "Hunde"}]
    for more in ({}, {"tree": True}):
        assert "Hunde" in client.post("/api/translate", body | more).json["translations"][0]["text"]
    assert client.post("/api/translate", body | {"glossary": "/etc/passwd"}).status == 400, "no file is read"
    assert client.post("/api/translate", body | {"glossary": [{"source": "", "target": "a"}]}).status == 422


def test_a_translation_is_tried_out(client: Client, translator: Translator):
    """A runner-up is taken, attention is forced, and the tree shows the rest."""
    text = "two big cats find birds"
    first = client.post("/api/translate", {"text": text, "top": 3, "tree": True}).json
    (best,) = first["translations"]
    nodes = first["tree"]["nodes"]
    assert nodes[0][:2] == [-1, ""]
    assert [node[1] for node in nodes if node[4] == "best"] == ["", *best["tokens"]]
    assert {node[4] for node in nodes} == {"open", "ended", "dropped", "best"}
    (_, _, other), chosen = best["top"][1][1], best["ids"][:1]
    body = {"text": text, "prefix_ids": [*chosen, other], "force": [[0, 0], [0, 2]], "top": 1}
    (again,) = client.post("/api/translate", body).json["translations"]
    assert again["ids"][:2] == [*chosen, other]
    assert again["rows"][0] == [0, 500, 0, 500]
    wrong = client.post("/api/translate", {"text": text, "force": [[0, 99]]})
    assert (wrong.status, wrong.json["error"][:27]) == (422, "the source has 6 positions,")


def test_a_document_is_translated_with_its_tags(client: Client, translator: Translator):
    document = "<p>two <b>big</b> cats</p>"
    expected = translator.translate(document, format="html").text
    assert "<b>" in expected
    answer = client.post("/api/translate", {"text": document, "format": "html"})
    assert answer.json["translations"] == [{"text": expected}]
    body = {"q": [document], "source": "en", "target": "de", "format": "html", "alternatives": 2}
    assert client.post("/translate", body).json == {"translatedText": [expected], "alternatives": [[]]}
    refused = client.post("/api/translate", {"text": document, "format": "html", "top": 3})
    assert (refused.status, refused.json["error"][:6]) == (422, "top is")


def test_words_are_asked_of_a_document(client: Client, translator: Translator):
    document = "<p>two <b>big</b> cats see streets</p>"
    asked = {"constraints": ["Hunde", {"any_of": ["Häuser", "Brücken"]}], "avoid": ["zwei"], "prefix": "drei "}
    search = revised_search(translator.config.search, {"beam_size": 8})
    given = {name: [value] for name, value in asked.items()}
    expected = translator.translate([document], search, **given, format="html")[0].text
    body = {"text": document, "format": "html", "search": {"beam_size": 8}}
    answer = client.post("/api/translate", body | asked)
    assert answer.json["translations"] == [{"text": expected}], answer.body
    assert expected.startswith("<p>drei ") and "Hunde" in expected and "<b>" in expected
    glossary = [{"source": "cats", "target": "Hunde"}]
    assert "Hunde" in client.post("/api/translate", body | {"glossary": glossary}).json["translations"][0]["text"]
    several = client.post(
        "/api/translate", body | {"text": "<p>Two cats</p><p>Two birds</p>", "constraints": ["Hunde"]}
    )
    assert (several.status, several.json["error"][:22]) == (422, "text 1 has 2 sentences")


def test_links_of_a_given_translation_are_scored_against_gold(client: Client, translator: Translator):
    target = translator.translate("two big cats").text
    body = {"text": "two big cats", "target": target, "gold": "0-0 1-1 2-2"}
    answer = client.post("/api/align", body)
    aligned = translator.align("two big cats", target)
    assert answer.json["translation"]["links"] == to_pharaoh(aligned.links)
    assert answer.json["aer"] == (0.0 if aligned.links == {(0, 0), (1, 1), (2, 2)} else answer.json["aer"])
    assert client.post("/api/align", body | {"gold": "0-"}).status == 422


def test_no_file_of_the_machine_is_read_for_a_client(serving, sounds: Translator, tmp_path: Path):
    """A path is a source of the Python API, and is none here; a file comes as its bytes."""
    path = tmp_path / "sound.wav"
    soundfile.write(path, np.zeros(16_000, np.int16), sounds.config.dataset.field.rate)
    with serving({"sounds": sounds}) as client:
        for route, body in (
            ("/api/translate", {"text": str(path)}),
            ("/translate", {"q": str(path), "source": "x", "target": sounds.config.dataset.target}),
        ):
            assert client.post(route, body).status in (400, 422), route
        audio = base64.b64encode(path.read_bytes()).decode()
        answer = client.post("/api/translate", {"audio": audio})
        assert answer.status == 200, answer.body
        assert answer.json["translations"][0]["text"] == sounds.translate(path).text
        assert client.post("/api/translate", {"image": audio}).status == 422
        assert client.post("/api/translate", {"audio": "?"}).status == 400
        assert client.post("/api/translate", {"audio": base64.b64encode(b"RIFF").decode()}).status == 422
