"""`guestbook`: a store of texts with replicas, and a page in front of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import parse_qs, quote

from fairlead.controllers.simulation.runtime.agnhost.flags import parse_flags
from fairlead.controllers.simulation.runtime.process import Process, Program, Wait
from fairlead.controllers.simulation.runtime.serving import serve
from fairlead.controllers.simulation.runtime.surroundings import (
    TCP,
    Answer,
    Listener,
    NetworkError,
    Request,
)

_PRIMARY, _REPLICA = "agnhost-primary", "agnhost-replica"
_MAX_ATTEMPTS = 100
_MAX_TEXTS = 1_000


def guestbook(process: Process, words: list[str]) -> Program:
    flags = parse_flags(words, {"http-port": "80", "backend-port": "6379", "replicaof": ""})
    book = _Book(process, flags.number("backend-port"))
    if primary := flags.text("replicaof"):
        yield from book.register(primary)
    listener = Listener(http=book.answer)
    return (yield from serve(process, {(TCP, flags.number("http-port")): listener}))


class _Book:
    def __init__(self, process: Process, port: int) -> None:
        self._process = process
        self._port = port
        self._texts: dict[str, str] = {}
        self._replicas: list[str] = []

    def register(self, primary: str) -> Program:
        network = self._process.surroundings.network
        for _ in range(_MAX_ATTEMPTS):
            try:
                target = f"/register?host={network.address}"
                answer = network.get(primary, self._port, Request(target=target))
            except NetworkError as failed:
                self._process.surroundings.log(f"cannot register at {primary}: {failed}")
                yield Wait(5.0)
                continue
            self._texts.update(json.loads(answer.body or b"{}").get("data") or {})
            self._process.surroundings.log(f"Registered to node: {primary}")
            return 0
        return 1

    def answer(self, request: Request) -> Answer:
        path, _, text = request.target.partition("?")
        query = {name: values[0] for name, values in parse_qs(text).items()}
        self._process.surroundings.log(f"GET {request.target}")
        key, value = query.get("key", ""), query.get("value", "")
        if path == "/register":
            if query.get("host") not in (None, *self._replicas):
                self._replicas.append(query["host"])
            return _told({"data": self._texts})
        if path == "/get":
            return _told({"data": self._texts.get(key, "") if key else self._texts})
        if path == "/set":
            return self._set(key, value)
        if path == "/guestbook":
            return self._forward(query.get("cmd", ""), key, value)
        return Answer(404, b"404 page not found\n")

    def _set(self, key: str, value: str) -> Answer:
        if not key or len(self._texts) >= _MAX_TEXTS:
            return Answer(400, b"cannot set with empty key.\n")
        self._texts[key] = value
        target = f"/set?key={quote(key)}&value={quote(value)}"
        for host in self._replicas:
            try:
                self._process.surroundings.network.get(host, self._port, Request(target=target))
            except NetworkError as failed:
                return Answer(417, f"cannot propagate to replica '{host}': {failed}\n".encode())
        return _told({"message": "Updated"})

    def _forward(self, command: str, key: str, value: str) -> Answer:
        if command not in ("get", "set"):
            return Answer(400, f"unsupported cmd: '{command}'\n".encode())
        host = _PRIMARY if command == "set" else _REPLICA
        target = f"/{command}?key={quote(key)}" + (f"&value={quote(value)}" if value else "")
        network = self._process.surroundings.network
        try:
            return network.get(host, self._port, Request(target=target))
        except NetworkError as failed:
            return Answer(417, f"encountered error: {failed}\n".encode())


def _told(value: Mapping[str, object]) -> Answer:
    return Answer(body=json.dumps(value, separators=(",", ":")).encode())
