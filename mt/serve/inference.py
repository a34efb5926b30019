"""The Open Inference Protocol, version 2, over HTTP, which KServe, Triton and Seldon speak.

A run takes a tensor `text` of BYTES. It gives `translation` (BYTES), `score` (FP32) and `alignment` (BYTES, word links
in Pharaoh's format), each of the shape of the input.
"""

import math
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field

from mt.common.about import VERSION
from mt.errors import shown
from mt.metrics.alignment import to_pharaoh
from mt.serve.bodies import Foreign, Key, body_of, parsed
from mt.serve.limits import RequestError
from mt.serve.runs import Runs, ServedRun

OUTPUTS = {"translation": "BYTES", "score": "FP32", "alignment": "BYTES"}
_MOST = 1 << 40


class Tensor(Foreign):
    """An input; nested lists are taken row by row."""

    name: str
    shape: list[int] = Field(max_length=8)
    datatype: str
    data: list[Any]


class Output(Foreign):
    """An output that is asked for."""

    name: str


class InferenceRequest(Foreign):
    """A request of inference."""

    id: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    inputs: list[Tensor]
    outputs: list[Output] | None = None


def router(runs: Runs, key: Key) -> APIRouter:
    """Returns the routes below /v2."""
    routes = APIRouter(prefix="/v2", tags=["Open Inference Protocol"])

    # The server.
    @routes.get("")
    async def server() -> dict[str, Any]:
        """Describes the server."""
        return {"name": "mt", "version": VERSION, "extensions": []}

    @routes.get("/health/live")
    async def live() -> dict[str, bool]:
        """Says that the server answers."""
        return {"live": True}

    @routes.get("/health/ready")
    async def ready() -> dict[str, bool]:
        """Says that all runs are loaded, which they are from the beginning."""
        return {"live": True, "ready": True}

    # Its runs, which the protocol calls models.
    @routes.get("/models/{name}")
    async def model(name: str) -> dict[str, Any]:
        """Describes a run."""
        run = runs.named(name)
        outputs = [{"name": output, "datatype": datatype, "shape": [-1]} for output, datatype in OUTPUTS.items()]
        inputs = [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
        return {"name": run.name, "versions": [], "platform": "mt", "inputs": inputs, "outputs": outputs}

    @routes.get("/models/{name}/ready")
    async def model_ready(name: str) -> dict[str, Any]:
        """Says that a run is loaded."""
        return {"name": runs.named(name).name, "ready": True}

    @routes.post("/models/{name}/infer", openapi_extra=body_of(InferenceRequest))
    async def infer(name: str, request: Request) -> dict[str, Any]:
        """Translates the texts of a tensor."""
        key.check(request)
        run = runs.named(name)
        asked = parsed(await request.body(), InferenceRequest)
        return await _inferred(run, asked)

    return routes


async def _inferred(run: ServedRun, asked: InferenceRequest) -> dict[str, Any]:
    texts = [run.require_text(text) for text in _texts(asked)]
    wanted = list(OUTPUTS) if asked.outputs is None else [output.name for output in asked.outputs]
    if unknown := [output for output in wanted if output not in OUTPUTS]:
        raise RequestError(400, f"there is no output {shown(unknown[0])}: choose of {', '.join(OUTPUTS)}")
    best = [hypotheses[0] for hypotheses in await run.translate(texts, run.search())]
    data = {
        "translation": [translation.text for translation in best],
        "score": [translation.score for translation in best],
        "alignment": [to_pharaoh(translation.links) for translation in best],
    }
    shape = asked.inputs[0].shape
    outputs = [{"name": output, "shape": shape, "datatype": OUTPUTS[output], "data": data[output]} for output in wanted]
    answer = {"model_name": run.name, "outputs": outputs}
    return answer if asked.id is None else answer | {"id": asked.id}


def _texts(asked: InferenceRequest) -> list[str]:
    """Returns the texts of the input. Raises RequestError where it is no tensor of texts."""
    if [tensor.name for tensor in asked.inputs] != ["text"] or asked.inputs[0].datatype != "BYTES":
        raise RequestError(400, "inputs is not what a run takes: give one tensor, named text, of datatype BYTES")
    tensor = asked.inputs[0]
    texts = list(_flat(tensor.data))
    if any(size < 0 or size > _MOST for size in tensor.shape) or math.prod(tensor.shape) != len(texts):
        raise RequestError(400, f"the tensor text has {len(texts)} elements, and its shape has not: make them agree")
    if not all(isinstance(text, str) for text in texts):
        raise RequestError(400, "data of datatype BYTES is to be text: give strings")
    return texts


def _flat(data: list[Any]) -> Iterator[Any]:
    for element in data:
        if isinstance(element, list):
            yield from _flat(element)
        else:
            yield element
