"""A server that answers the page as ours does, and notes what it was asked."""

import json
import re
from typing import Any

from mt.explorer import page
from tests.explorer.conftest import HOUSE

HOST = "127.0.0.1:9"
TEXT = {
    "name": "en-de",
    "source": "en",
    "target": "de",
    "field": "text",
    "unit": "word",
    "streams": True,
    "forces": True,
}
OFFLINE = {**TEXT, "name": "slow", "streams": False, "forces": False}
SOUND = {**TEXT, "name": "spoken", "field": "audio", "rate": 8000}
PICTURE = {**OFFLINE, "name": "seen", "field": "image"}
TREE = [
    [-1, "", 0, 0, "open"],
    [0, "▁das", -0.1, -0.1, "best"],
    [0, "▁ein", -2.0, -2.0, "dropped"],
    [1, "▁alte", -0.5, -0.4, "best"],
    [1, "▁neue", -0.6, -0.5, "dropped"],
    [2, "▁Haus", -3.0, -2.5, "dropped"],
    [3, "</s>", -0.6, -0.4, "best"],
]

ASKED = {
    *("run", "text", "audio", "image", "search", "n_best", "format", "constraints", "avoid", "prefix", "glossary"),
    *("prefix_ids", "force", "top", "tree", "target", "hard", "gold"),
}
"""What our routes take; another name is refused."""


class Server:
    """Answers the requests of a tab, and words over a WebSocket by the same words in capitals."""

    def __init__(self, tab: Any, *runs: dict[str, Any], key: str | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.received: list[Any] = []
        self.status = 200
        self.record: dict[str, Any] = {}
        self.key = key
        self._characters = bool(runs) and runs[0]["unit"] == "char"
        self._page = page("mt", runs, live=True)
        tab.route(f"http://{HOST}/**", self._answer)
        tab.route_web_socket(f"ws://{HOST}/api/stream", self._stream)

    def _answer(self, route: Any) -> None:
        request = route.request
        if request.method == "GET":
            route.fulfill(body=self._page, content_type="text/html; charset=utf-8")
            return
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            route.fulfill(status=401, json={"error": "this server asks for a key"})
            return
        body = request.post_data_json
        assert set(body) <= ASKED, body
        self.asked.append({"path": request.url.split(HOST)[1], **body})
        if request.url.endswith("/api/sentences"):
            route.fulfill(json={"run": body["run"], "sentences": re.findall(r"[^.!?。\n]+[.!?。\n]*\s*", body["text"])})
            return
        record = {**HOUSE, "source": body.get("text", ""), **self.record}
        if self.status != 200:
            route.fulfill(status=self.status, json={"error": "the text is too long"})
        elif request.url.endswith("/api/align"):
            route.fulfill(json={"run": body["run"], "translation": record, "aer": 25.0})
        elif body.get("format") == "html":
            route.fulfill(json={"run": body["run"], "translations": [{"text": body["text"].upper()}], "tree": None})
        else:
            tree = {"nodes": TREE} if body.get("tree") else None
            route.fulfill(json={"run": body["run"], "translations": [record], "tree": tree})

    def _stream(self, socket: Any) -> None:
        words: list[str] = []
        first: dict[str, Any] = {}

        def hear(message: Any) -> None:
            content = message if isinstance(message, bytes) else json.loads(message)
            self.received.append(content)
            if isinstance(content, bytes):
                words.append(f"w{len(words)}")
                socket.send(json.dumps({"read": 100 * len(words), "written": words[-1:], "words": words, "changed": 0}))
            elif not first:
                first.update(content)
            elif "words" in content:
                new = [word.upper() for word in content["words"].split()]
                words.extend(new)
                if first.get("search"):  # the last word but one becomes another
                    shown = [*words[:-2], *(word.lower() for word in words[-2:-1]), words[-1]]
                    text = " ".join(shown)
                    answer = {"text": text, "words": re.findall(r"\s*\S", text) if self._characters else shown}
                else:
                    answer = {"written": new, "words": words}
                socket.send(json.dumps({"read": len(words), "changed": 0, **answer}))
            else:
                socket.send(
                    json.dumps(
                        {"read": len(words), "words": words, "written": [], "text": " ".join(words), "done": True}
                    )
                )
                words.clear()

        socket.on_message(hear)


def shown(tab: Any) -> None:
    tab.locator(".detail .target .word").first.wait_for()
