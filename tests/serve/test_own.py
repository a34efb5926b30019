"""Our own routes."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from mt import Translator
from mt.common.links import to_pharaoh
from mt.search.config import revised_search
from mt.serve.limits import Limits
from mt.serve.own import TranslateBody
from tests.marks import combined
from tests.serve.clients import Client

LIMITS = Limits()


def test_the_runs_say_what_they_are(client: Client):
    (run,) = client.get("/api/runs").json["runs"]
    assert (run["name"], run["source"], run["target"], run["field"]) == ("tiny", "en", "de", "text")
    assert (run["streams"], run["attention"]) == (True, "general")


def test_what_is_wrong_with_a_request_is_one_sentence(client: Client):
    cases = {
        b'{"text": 1}': (400, "the request: text=1 is not possible: input should be a valid string"),
        b'{"txet": "a"}': (400, "the request: unknown option txet: did you mean text?"),
        b'{"text": "a", "n_bets": 1}': (400, "the request: unknown option n_bets: did you mean n_best?"),
        b'{"text": "a", "search": {"beam": 2}}': (422, "unknown option search.beam: did you mean beam_size?"),
        b'{"text": "a", "search": {"beam_size": 51}}': (422, "51 hypotheses of a text are more than this server's 50"),
        b'{"text": "a", "run": "other"}': (404, "there is no run other here: choose of tiny"),
        json.dumps({"text": 5001 * "a"}).encode(): (422, "5001 characters of a text are more than this server's 5000"),
        b'{"text": "\\ud800"}': (400, "the request cannot be read (invalid JSON: unexpected end of hex escape"),
        b"[" * 100_000: (400, "the request cannot be read (invalid JSON: recursion limit exceeded"),
        b"\xff\x00": (400, "the request cannot be read (invalid JSON: expected value"),
        b"[1]": (400, "the request cannot be read (input should be"),
        b'{"text": "a", "top": NaN}': (400, "the request has a number beyond all bounds: give a smaller one"),
        b'{"text": "a", "top": 1e999}': (400, "the request has a number beyond all bounds: give a smaller one"),
        b'{"top": %s}' % (b"9" * 5000): (400, "the request cannot be read (invalid JSON: number out of range"),
        b'{"a": [%s1]}' % (b"1," * 9000): (422, "the request has more than this server's 4096 values: send less"),
    }
    for body, (status, sentence) in cases.items():
        answer = client.ask("POST", "/api/translate", body)
        assert answer.status == status, body[:80]
        assert answer.json["error"].startswith(sentence), answer.json


TERM: dict[str, Any] = {"source": "a", "target": "b"}
BOUNDS = {
    "phrases": [{"constraints": ["a"] * 65}, {"avoid": ["a"] * 65}, {"constraints": [{"any_of": ["a"] * 65}]}],
    "terms": [{"glossary": [{"source": "a", "target": "b"}] * 501}, {"glossary": [TERM | {"target": ["b"] * 501}]}],
    "phrase": [
        *({"constraints": ["a" * 201]}, {"avoid": ["a" * 201]}, {"constraints": [{"any_of": ["a", "a" * 201]}]}),
        {"glossary": [TERM | {"source": "a " * 101}]},
        {"glossary": [TERM | {"target": ["b", "b " * 101]}]},
    ],
    "prefix": [{"prefix": "a " * 501}, {"prefix_ids": [5] * 1001}],
    "forced": [{"force": [[0, 0]] * 257}],
    "top": [{"top": 21}],
    "length": [
        {"search": {"max_length": 2049}},
        {"search": {"min_length": 2048}},
        {"search": {"name": "retranslate", "max_length": 10**5}},
    ],
    "beam_size": [{"n_best": 51}, {"search": {"name": "sample", "samples": 51}}, {"n_best": 10**30}],
    "characters": [{"text": "a" * 5001}, {"text": "<p>a</p>" * 626, "format": "html"}],
}


@pytest.mark.parametrize(("bound", "more"), [(bound, more) for bound, cases in BOUNDS.items() for more in cases])
def test_what_is_asked_is_bounded(client: Client, bound: str, more: dict):
    answer = client.post("/api/translate", {"text": "two cats"} | more)
    assert answer.status == 422
    assert f"are more than this server's {getattr(LIMITS, bound)}: " in answer.json["error"]


def test_the_positions_of_a_source_are_bounded(serving, translator: Translator):
    with serving({"tiny": translator}, Limits(positions=16, work=40)) as client:
        for text, more, sentence in (
            ("two cats " * 9, {}, "19 positions of a source are more than this server's 16: split it into sentences"),
            ("two cats " * 5, {"n_best": 5}, "55 positions times hypotheses are more than this server's 40: send a"),
        ):
            answer = client.post("/api/translate", {"text": text} | more)
            assert (answer.status, answer.json["error"][: len(sentence)]) == (422, sentence)


WRONG: list[object] = [None, True, -1, 1.5, 10**20, "", "\U0010ffff", "\ufffe\x00", [], [None], [[]], {}, {"a": {}}]
WRONG += [["\U0010ffff"], [["a", 1]], [[0, 10**9]], [{"source": "", "target": []}], [{"any_of": [""]}], [0, -1]]
WRONG += [{"name": value} for value in (None, [], {}, 1, "\ud7ff", "beam", "online", "wait_k", "retranslate", "sample")]
WRONG += [
    {"name": "beam", option: value} for option in ("beam_size", "max_ratio", "utility") for value in (None, [], -1)
]


@combined(
    field=sorted(TranslateBody.model_fields), more=[{}, {"format": "html"}, {"tree": True, "n_best": 2, "top": 1}]
)
def test_an_odd_value_is_answered_and_never_a_fault(client: Client, field: str, more: dict):
    """Whatever a field holds, the answer is a translation or a sentence."""
    for value in WRONG:
        body = {"text": "two cats"} | more | {field: value}
        answer = client.post("/api/translate", body)
        assert answer.status in (200, 400, 404, 422), (body, answer.body)
        assert answer.status == 200 or len(answer.json["error"]) > 20, body


def test_a_compressed_body_is_refused(client: Client):
    answer = client.ask("POST", "/api/translate", b"{}", {"content-encoding": "gzip"})
    assert (answer.status, answer.json["error"][:26]) == (415, "the request is compressed:")


def test_a_record_says_what_the_attention_did(client: Client, translator: Translator):
    answer = client.post("/api/translate", {"text": "two big cats", "top": 4, "n_best": 2}).json
    best, second = answer["translations"]
    expected, other = translator.n_best("two big cats", 2)
    assert (answer["run"], best["text"], second["text"]) == ("tiny", expected.text, other.text)
    assert (best["ids"], best["links"]) == (list(expected.ids), to_pharaoh(expected.links))
    assert [len(step) for step in best["top"]] == [4] * len(expected.tokens)
    # The first of the search's own tokens are the most probable ones here, each with its number.
    assert [step[0][2] for step in best["top"]] == best["ids"]
    assert "top" not in second


ASKED: dict[str, Any] = {
    "constraints": ["Hunde", {"any_of": ["Häuser", "Brücken"]}],
    "avoid": ["zwei"],
    "prefix": "drei ",
}


@pytest.mark.parametrize(
    ("text", "form"), [("two cats see streets", {}), ("<p>two <b>big</b> cats see streets</p>", {"format": "html"})]
)
def test_what_is_asked_of_a_translation_is_that_of_python(client: Client, translator: Translator, text, form):
    search = revised_search(translator.config.search, {"beam_size": 8})
    given = {name: [value] for name, value in ASKED.items()} | {"glossary": {"cats": "Hunde"}}
    expected = translator.translate([text], search, **given, **form)[0].text
    asked = ASKED | {"glossary": [{"source": "cats", "target": "Hunde"}]}
    answer = client.post("/api/translate", {"text": text, "search": {"beam_size": 8}} | asked | form)
    assert answer.json["translations"][0]["text"] == expected, answer.body
    assert expected.removeprefix("<p>").startswith("drei ") and "Hunde" in expected and "zwei" not in expected
    assert ("Häuser" in expected or "Brücken" in expected) and ("<b>" in expected) == bool(form)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"text": "two cats", "constraints": ["鱼"]}, "text 1 asks for"),
        ({"text": "<p>Two cats</p><p>Two birds</p>", "format": "html"}, "text 1 has 2 sentences"),
    ],
)
def test_what_cannot_be_asked_of_a_translation_is_told(client: Client, body: dict, sentence: str):
    refused = client.post("/api/translate", ASKED | body)
    assert (refused.status, refused.json["error"][: len(sentence)]) == (422, sentence)


def test_terms_of_a_glossary_are_written_where_they_are_read(client: Client):
    body = {"text": "two cats see streets", "glossary": [{"source": "cats", "target": ["Hunde", "Katzen"]}]}
    assert client.post("/api/translate", body).status == 200
    body["glossary"] = [{"source": "cats", "target": "Hunde"}]
    twice = [*body["glossary"], {"source": "cats", "target": "Katzen"}]  # either will do
    joined = [{"source": "cats", "target": ["Hunde", "Katzen"]}]
    one, other = (client.post("/api/translate", body | {"glossary": terms}).json for terms in (twice, twice[::-1]))
    assert one == other == client.post("/api/translate", body | {"glossary": joined}).json
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


def test_a_document_says_how_its_placeholders_are_written(client: Client):
    asked = {"text": "<p>two %L1 zzq cats</p>", "format": "html", "placeholders": ["qt"]}
    assert client.post("/api/translate", asked).json["translations"][0]["text"].count("%L1") == 1
    wrong = client.post("/api/translate", {**asked, "placeholders": ["qtt"]})
    assert wrong.status in (400, 422) and "qtt is an invalid choice: did you mean qt?" in wrong.json["error"]
    refused = client.post("/api/translate", {**asked, "format": "text"})
    assert (refused.status, refused.json["error"][:12]) == (422, "placeholders")


def test_a_text_is_cut_into_sentences(client: Client):
    text = "Dr. Roth saw 2 cats. Then?\r\n\r\n  No end\nOne house."
    answer = client.post("/api/sentences", {"text": text})
    parts = ["Dr. Roth saw 2 cats. ", "Then?\r\n\r\n", "  No end\n", "One house."]
    assert answer.json == {"run": client.get("/api/runs").json["runs"][0]["name"], "sentences": parts}
    assert client.post("/api/sentences", {"text": ""}).json["sentences"] == []
    assert client.post("/api/sentences", {"text": "a", "run": "x"}).status == 404
    assert client.post("/api/sentences", {"text": "a" * 50_001}).status == 422


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
