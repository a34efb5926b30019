"""Our own routes."""

import json

from mt import Translator
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
        b'{"txet": "a"}': (400, "the request: text is missing: give it a value"),
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
