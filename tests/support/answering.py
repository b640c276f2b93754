"""An external server for webhooks to call."""

from __future__ import annotations

import json
import ssl
from typing import Any

from support import http_server


class Answering:
    """Returns the queued answers in turn, and records the requests."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        outer = self
        self.answers: list[tuple[int, bytes]] = []
        self.seen: list[tuple[dict[str, str], Any]] = []

        class Handler(http_server.Handler):
            def do_POST(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.seen.append((headers, json.loads(self.read_body())))
                self.reply(*outer.answers.pop(0))

        self._server = http_server.HttpServer(Handler, context)
        self.port = self._server.server_port

    def close(self) -> None:
        self._server.stop()
