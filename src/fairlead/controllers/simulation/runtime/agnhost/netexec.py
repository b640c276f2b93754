"""`netexec`: a server over HTTP and UDP that tells who calls, calls others, runs commands and ends
when it is told to."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import parse_qs

from fairlead.base.digits import whole_number
from fairlead.codec.types.durations import parse_duration
from fairlead.controllers.simulation.runtime.agnhost.flags import Flags, parse_flags
from fairlead.controllers.simulation.runtime.agnhost.servers import redirect
from fairlead.controllers.simulation.runtime.process import Process, Program
from fairlead.controllers.simulation.runtime.serving import serve
from fairlead.controllers.simulation.runtime.surroundings import (
    SCTP,
    TCP,
    UDP,
    Answer,
    Listener,
    NetworkError,
    Request,
)

_DEFAULTS = {
    "http-port": "8080",
    "udp-port": "8081",
    "sctp-port": "-1",
    "tls-cert-file": "",
    "tls-private-key-file": "",
    "http-override": "",
    "udp-listen-addresses": "",
    "delay-shutdown": "0",
}
_FAILED = 417  # what a call of another server has failed with
_MAX_TRIES = 100

Query = Mapping[str, str]
Page = Callable[[Request, Query], Answer]


def netexec(process: Process, words: list[str]) -> Program:
    flags = parse_flags(words, _DEFAULTS)
    server = _Server(process, flags)
    listeners = {(TCP, flags.number("http-port")): Listener(http=server.answer)}
    for protocol, name in ((UDP, "udp-port"), (SCTP, "sctp-port")):
        if (port := flags.number(name)) >= 0:
            listeners[protocol, port] = Listener(text=partial(server.reply, port))
    yield from serve(process, listeners, flags.number("delay-shutdown"))
    return 0


class _Server:
    def __init__(self, process: Process, flags: Flags) -> None:
        self._process = process
        self._port = flags.number("http-port")
        self._override = flags.text("http-override")
        self._pages: Mapping[str, Page] = {
            "/clientip": lambda request, query: _text(request.client),
            "/dial": self._dial,
            "/echo": _echo,
            "/exit": self._exit,
            "/header": _header,
            "/healthz": lambda request, query: Answer(),
            "/hostName": lambda request, query: _text(process.hostname),
            "/hostname": lambda request, query: _text(process.hostname),
            "/readyz": self._ready,
            "/redirect": _redirect,
            "/serverport": lambda request, query: _text(str(self._port)),
            "/shell": self._shell,
            "/shutdown": self._exit,
        }

    def answer(self, request: Request) -> Answer:
        target = self._override or request.target
        path, _, text = target.partition("?")
        query = {name: values[0] for name, values in parse_qs(text).items()}
        page = self._pages.get(path)
        self._process.surroundings.log(_logged(request.method, path, text, query, page is not None))
        if page is not None:
            return page(request, query)
        return _text(f"NOW: {self._process.time():f}")

    def reply(self, port: int, data: bytes, client: str) -> bytes:
        """The answer to a datagram."""
        command, _, rest = data.decode(errors="replace").strip().partition(" ")
        answers = {"echo": rest, "clientip": client, "serverport": str(port)}
        return answers.get(
            command.lower(), self._process.hostname if _asks_name(command) else ""
        ).encode()

    def _ready(self, request: Request, query: Query) -> Answer:
        if self._process.surroundings.is_ending:
            return Answer(503, b"shutting down")
        return _text("ok")

    def _exit(self, request: Request, query: Query) -> Answer:
        code, wait = query.get("code") or "0", query.get("wait") or "0s"
        number = whole_number(code)
        if number is None or number > 127:
            return _text(f"argument 'code' must be an integer [0-127] or empty, got \"{code}\"\n")
        try:
            seconds = parse_duration(wait)
        except ValueError:
            text = "must be a valid golang duration or empty"
            return _text(f"argument 'wait' {text}, got \"{wait}\"\n")
        self._process.surroundings.stop(number, seconds)
        return Answer()

    def _shell(self, request: Request, query: Query) -> Answer:
        words = ["sh", "-c", query.get("shellCommand") or query.get("cmd") or ""]
        code, out = self._process.surroundings.run(self._process, words)
        told = {"output": out} if code == 0 else {"output": out, "error": f"exit status {code}"}
        return _json(told, 200 if code == 0 else _FAILED)

    def _dial(self, request: Request, query: Query) -> Answer:
        tries, wanted = query.get("tries") or "1", query.get("request") or ""
        protocol, port = query.get("protocol") or "http", query.get("port") or ""
        count, number = whole_number(tries), whole_number(port)
        if count is None or count > _MAX_TRIES:
            return Answer(400, f"tries parameter is invalid. {tries}\n".encode())
        if not wanted:
            return Answer(400, b"request parameter not specified.\n")
        if protocol not in ("http", "udp", "sctp"):
            return Answer(400, f"unsupported protocol. {protocol}\n".encode())
        if number is None:
            return Answer(400, f"host and/or port param are invalid. {port}\n".encode())
        responses: list[str] = []
        errors: list[str] = []
        for _ in range(count):
            try:
                responses.append(self._call(protocol, query.get("host", ""), number, wanted))
            except NetworkError as failed:
                errors.append(str(failed))
        told = {"responses": responses} if responses else {}
        return _json(told | ({"errors": errors} if errors else {}))

    def _call(self, protocol: str, host: str, port: int, wanted: str) -> str:
        network = self._process.surroundings.network
        if protocol != "http":
            return network.send(protocol.upper(), host, port, wanted.encode()).decode()
        return network.get(host, port, Request(target=f"/{wanted}")).body.decode(errors="replace")


def _asks_name(command: str) -> bool:
    return command.lower() == "hostname"


def _logged(method: str, path: str, text: str, query: Query, is_known: bool) -> str:
    """The line of a request in the log."""
    if not is_known:
        return "GET /"
    shown = "&".join(f"{name}={query.get(name, '')}" for name in _LOGGED.get(path, ()))
    return f"GET {path}?{shown}" if shown else f"GET {path}"


# The parameters of pages that are logged.
_LOGGED = {
    "/dial": ("host", "protocol", "port", "request", "tries"),
    "/echo": ("msg", "code"),
    "/exit": ("code", "timeout", "wait"),
    "/shell": ("cmd",),
}


def _text(text: str, status: int = 200) -> Answer:
    return Answer(status, text.encode())


def _json(value: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value, separators=(",", ":")).encode())


def _echo(request: Request, query: Query) -> Answer:
    code = query.get("code") or "200"
    number = whole_number(code)
    if number is None or not 200 <= number < 600:
        return _text(f"argument 'code' must be an integer or empty, got \"{code}\"\n")
    return _text(query.get("msg", ""), number)


def _header(request: Request, query: Query) -> Answer:
    if key := query.get("key"):
        return _text(request.headers.get(key.lower(), ""))
    named = {
        "-".join(part.capitalize() for part in name.split("-")): [value]
        for name, value in sorted(request.headers.items())
    }
    return _json(named)


def _redirect(request: Request, query: Query) -> Answer:
    code, place = query.get("code") or "302", query.get("location", "")
    if code not in ("301", "302", "303", "307", "308"):
        return _text(f"argument 'code' must be an integer or empty, got \"{code}\"\n")
    if not place.startswith("/") and "://" not in place:
        place = posixpath.join("/", place)
    return redirect(place, int(code))
