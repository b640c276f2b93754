"""A server with one kind and scripted answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from support import http_server

Object = dict[str, Any]

_SECRETS = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [
        {
            "name": "secrets",
            "singularName": "",
            "namespaced": True,
            "kind": "Secret",
            "verbs": ["get", "list", "watch"],
        }
    ],
}


def secret(name: str, version: int) -> Object:
    metadata = {"name": name, "namespace": "default", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def secrets(version: int, *items: Object) -> Object:
    metadata = {"resourceVersion": str(version)}
    return {"kind": "SecretList", "apiVersion": "v1", "metadata": metadata, "items": list(items)}


def event(kind: str, value: Object) -> Object:
    return {"type": kind, "object": value}


EXPIRED = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410}


class ScriptedApi:
    """Answers lists and watches from the given sequences; a watch ends after its events, and the
    last one stays open."""

    def __init__(self, lists: list[Object], watches: list[list[Object]]) -> None:
        self.lists = lists
        self.watches = watches
        self.watched_from: list[str] = []
        self._done = threading.Event()
        outer = self

        class Handler(http_server.Handler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = parse_qs(parts.query)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                for value in outer._answers(parts.path, query):
                    self.wfile.write(json.dumps(value).encode() + b"\n")
                    self.wfile.flush()

        self._server = http_server.HttpServer(Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def _answers(self, path: str, query: dict[str, list[str]]) -> Iterator[Object]:
        if not path.endswith("/secrets"):
            yield _SECRETS
        elif "watch" not in query:
            yield self.lists.pop(0)
        else:
            self.watched_from += query["resourceVersion"]
            yield from self.watches.pop(0)
            if not self.watches:
                self._done.wait()

    def config(self, directory: Path) -> Path:
        """Write a kubeconfig for it."""
        path = directory / "config"
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.address}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path.write_text(yaml.safe_dump(content))
        return path

    def close(self) -> None:
        self._done.set()
        self._server.stop()


@contextmanager
def scripted_api(lists: list[Object], watches: list[list[Object]]) -> Iterator[ScriptedApi]:
    api = ScriptedApi(lists, watches)
    try:
        yield api
    finally:
        api.close()
