"""Several replicas of a run behind Ray Serve, which goes beyond one machine: `serve run examples.ray_serve:translator`.

Needs `ray[serve]`, and MT_RUN, the folder of a run. Each replica has its own model and its own batches.
"""

import os

from ray import serve
from starlette.requests import Request

import mt


@serve.deployment(num_replicas=2, max_ongoing_requests=64)
class Translation:
    def __init__(self, run: str) -> None:
        self.translator = mt.load(run, device="cpu")

    @serve.batch(max_batch_size=32, batch_wait_timeout_s=0.005)
    async def translated(self, texts: list[str]) -> list[str]:
        return [one.text for one in self.translator.translate(texts)]

    async def __call__(self, request: Request) -> dict[str, str]:
        return {"translatedText": await self.translated((await request.json())["q"])}


translator = Translation.bind(os.environ["MT_RUN"])  # type: ignore[attr-defined]  # Without Ray nothing is known of it.
