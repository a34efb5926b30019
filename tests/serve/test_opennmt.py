"""A client of OpenNMT-py's server, as its documentation writes it."""

from mt import Translator
from mt.metrics.alignment import to_pharaoh
from mt.search.config import BeamConfig
from tests.serve.clients import Client


def test_a_list_of_sources(client: Client, translator: Translator):
    body = [{"src": " two cats find birds ", "id": 0}, {"src": "", "id": 0}]
    answer = client.post("/translator/translate", body)
    best = translator.translate("two cats find birds")
    (ranked,) = answer.json
    assert ranked[0] == {
        "src": " two cats find birds ",
        "tgt": f" {best.text} ",
        "n_best": 1,
        "pred_score": best.score,
        "align": [to_pharaoh(best.links)],
    }
    assert (ranked[1]["tgt"], ranked[1]["align"]) == ("", [""])


def test_each_rank_has_its_list(serving, translator: Translator):
    config = translator.config.model_copy(update={"search": BeamConfig(beam_size=3, n_best=3)})
    with serving({"three": Translator(translator.network, translator.tokenizers, config)}) as client:
        answer = client.post("/translator/translate", [{"src": "two cats", "id": "three"}, {"src": "birds"}]).json
    assert [[one["n_best"] for one in ranked] for ranked in answer] == [[3, 3]] * 3
    expected = translator.n_best("two cats", 3, BeamConfig(beam_size=3))
    assert [ranked[0]["tgt"] for ranked in answer] == [one.text for one in expected]


def test_the_models(client: Client):
    (model,) = client.get("/translator/models").json
    assert (model["model_id"], model["models"], model["loaded"]) == (0, ["tiny"], True)
    assert model["opt"] == {"n_best": 1, "beam_size": 3}


def test_what_is_wrong_has_a_status_and_a_sentence(client: Client):
    for body, status in (([{"src": "a", "id": 1}], 404), ([], 400), ({"src": "a"}, 400), ([{"id": 0}], 400)):
        answer = client.post("/translator/translate", body)
        assert (answer.status, answer.json["status"]) == (status, "error")
        assert len(answer.json["error"]) > 20
