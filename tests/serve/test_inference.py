"""A client of the Open Inference Protocol, as its specification (inference_rest.md) writes it."""

import pytest

from mt import Translator
from mt.metrics.alignment import to_pharaoh
from tests.serve.clients import Client

TEXTS = ["two cats", "three birds find streets"]


def tensor(**changes) -> dict:
    return {"name": "text", "shape": [2], "datatype": "BYTES", "data": TEXTS} | changes


def test_health_and_metadata(client: Client):
    assert client.get("/v2/health/live").json == {"live": True}
    assert client.get("/v2/health/ready").json["ready"]
    assert set(client.get("/v2").json) == {"name", "version", "extensions"}
    assert client.get("/v2/models/tiny/ready").json == {"name": "tiny", "ready": True}
    model = client.get("/v2/models/tiny").json
    assert model["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert {one["name"]: one["datatype"] for one in model["outputs"]} == {
        "translation": "BYTES",
        "score": "FP32",
        "alignment": "BYTES",
    }


def test_inference_gives_all_outputs(client: Client, translator: Translator):
    answer = client.post("/v2/models/tiny/infer", {"id": "42", "inputs": [tensor()]}).json
    best = translator.translate(TEXTS)
    assert (answer["model_name"], answer["id"]) == ("tiny", "42")
    assert answer["outputs"] == [
        {"name": "translation", "shape": [2], "datatype": "BYTES", "data": [one.text for one in best]},
        {"name": "score", "shape": [2], "datatype": "FP32", "data": [one.score for one in best]},
        {"name": "alignment", "shape": [2], "datatype": "BYTES", "data": [to_pharaoh(one.links) for one in best]},
    ]


def test_nested_data_and_chosen_outputs(client: Client, translator: Translator):
    body = {"inputs": [tensor(shape=[2, 1], data=[[text] for text in TEXTS])], "outputs": [{"name": "translation"}]}
    answer = client.post("/v2/models/tiny/infer", body).json
    (output,) = answer["outputs"]
    assert "id" not in answer
    assert (output["shape"], output["data"]) == ([2, 1], [one.text for one in translator.translate(TEXTS)])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"inputs": []}, 400),
        ({"inputs": [tensor(name="audio")]}, 400),
        ({"inputs": [tensor(datatype="FP32")]}, 400),
        ({"inputs": [tensor(shape=[3])]}, 400),
        ({"inputs": [tensor(shape=[-2])]}, 400),
        ({"inputs": [tensor(shape=[1 << 80])]}, 400),
        ({"inputs": [tensor(data=[1, 2])]}, 400),
        ({"inputs": [tensor()], "outputs": [{"name": "logits"}]}, 400),
        ({}, 400),
    ],
)
def test_what_is_wrong_has_a_status_and_a_sentence(client: Client, body, status):
    answer = client.post("/v2/models/tiny/infer", body)
    assert answer.status == status
    assert list(answer.json) == ["error"]
    assert client.post("/v2/models/other/infer", {"inputs": [tensor()]}).status == 404
