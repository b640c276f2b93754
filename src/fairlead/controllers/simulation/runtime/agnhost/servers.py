"""The smaller servers of agnhost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs

from fairlead.controllers.simulation.runtime.agnhost.flags import parse_flags
from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.process import Process, Program
from fairlead.controllers.simulation.runtime.serving import serve
from fairlead.controllers.simulation.runtime.surroundings import (
    SCTP,
    TCP,
    UDP,
    Answer,
    Listener,
    Request,
)

_HEALTHY_SECONDS = 10.0  # of the server that fails
_SERVED = re.compile(r"SERVE_(?:(TLS|SCTP|UDP|TCP)_)?PORT_(\d{1,5})")
_MAX_SOURCES, _MAX_NAME = 1_000, 100


def redirect(place: str, status: int = 302) -> Answer:
    """Sends a client to another place."""
    body = f'<a href="{place}">{HTTPStatus(status).phrase}</a>.\n\n'.encode()
    return Answer(status, body, {"location": place})


def serve_hostname(process: Process, words: list[str]) -> Program:
    defaults = {"tcp": "false", "udp": "false", "http": "true", "close": "false", "port": "9376"}
    flags = parse_flags(words, defaults)
    port, name = flags.number("port"), process.hostname.encode()
    listeners: dict[tuple[str, int], Listener] = {}
    if flags.is_set("tcp"):
        listeners[TCP, port] = Listener(text=lambda data, client: name, greets=True)
    if flags.is_set("udp"):
        listeners[UDP, port] = Listener(text=lambda data, client: name)
    if not listeners and flags.is_set("http"):
        listeners[TCP, port] = Listener(http=lambda request: Answer(body=name))
    process.surroundings.log(f"Serving on port {port}.")
    return (yield from serve(process, listeners))


def test_webserver(process: Process, words: list[str]) -> Program:
    flags = parse_flags(words, {"port": "80"})
    return (yield from serve(process, {(TCP, flags.number("port")): files_server(process)}))


def files_server(process: Process, directory: str = "/") -> Listener:
    """Serves the files of a container; directories show what is in them."""

    def answer(request: Request) -> Answer:
        path = request.target.partition("?")[0].lstrip("/")
        try:
            place = process.files.absolute(path, directory)
            entry = process.files.entry(place)
            if entry is not None and entry.data is None:
                names = "".join(
                    f'<a href="{name}">{name}</a>\n' for name in process.files.list(place)
                )
                return Answer(body=f"<pre>\n{names}</pre>\n".encode())
            return Answer(body=process.files.read(place))
        except FileError:
            return Answer(404, b"404 page not found\n")

    return Listener(http=answer)


def liveness(process: Process, words: list[str]) -> Program:
    began, clock = process.time(), process.surroundings

    def answer(request: Request) -> Answer:
        path, _, query = request.target.partition("?")
        passed = clock.now() - began
        if path == "/healthz" and passed > _HEALTHY_SECONDS:
            return Answer(500, f"error: {passed}".encode())
        if path == "/redirect":
            return redirect(parse_qs(query).get("loc", ["/"])[0])
        if path == "/started":
            return Answer(body=f"{passed}".encode())
        return Answer(body=b"ok") if path == "/healthz" else Answer(404, b"404 page not found\n")

    return (yield from serve(process, {(TCP, 8080): Listener(http=answer)}))


def grpc_health(process: Process, words: list[str]) -> Program:
    defaults = {"delay-unhealthy-sec": "-1", "port": "5000", "http-port": "8080", "service": ""}
    defaults |= {"tls-cert-file": "", "tls-private-key-file": ""}
    flags = parse_flags(words, defaults)
    began, shared = process.time(), process.surroundings
    delay, told = flags.number("delay-unhealthy-sec"), {"serves": True}

    def check(request: Request) -> Answer:
        late = 0 <= delay <= shared.now() - began
        return Answer(200 if told["serves"] and not late else 503)

    def control(request: Request) -> Answer:
        if request.target in ("/make-serving", "/make-not-serving"):
            told["serves"] = request.target == "/make-serving"
        return Answer()

    ports = {
        (TCP, flags.number("port")): Listener(http=check),
        (TCP, flags.number("http-port")): Listener(http=control),
    }
    return (yield from serve(process, ports))


def porter(process: Process, words: list[str]) -> Program:
    flags = parse_flags(words, {"json-response": "false"})
    listeners = {}
    for name, text in process.environment.items():
        if match := _SERVED.fullmatch(name):
            kind, port = match[1] or TCP, int(match[2])
            if kind in (SCTP, UDP):
                listeners[kind, port] = Listener(text=_always(text.encode()))
            else:
                listeners[TCP, port] = Listener(
                    http=_porter_page(text, flags.is_set("json-response"))
                )
    return (yield from serve(process, listeners))


def _always(data: bytes) -> Callable[[bytes, str], bytes]:
    return lambda sent, client: data


def _porter_page(text: str, in_json: bool) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        if not in_json:
            return Answer(body=text.encode())
        body = json.dumps({"Method": request.method, "Body": text}, separators=(",", ":"))
        return Answer(body=body.encode())

    return answer


def update_demo(process: Process) -> Program:
    """The server of the images `kitten` and `nautilus`: their files."""
    return (yield from serve(process, {(TCP, 80): files_server(process)}))


def nettest(process: Process, words: list[str]) -> Program:
    """Keeps count of who has written to it."""
    defaults = {"port": "8080", "peers": "8", "service": "", "namespace": "default"}
    flags = parse_flags(words, {**defaults, "delay-shutdown": "0"})
    received: dict[str, int] = {}

    def answer(request: Request) -> Answer:
        path = request.target.partition("?")[0]
        if path == "/write":
            try:
                source = str(json.loads(request.body or b"{}").get("Source", ""))[:_MAX_NAME]
            except (ValueError, AttributeError):
                return Answer(400, b"not an object\n")
            if len(received) < _MAX_SOURCES:
                received[source] = received.get(source, 0) + 1
            told: object = {"Hostname": process.hostname}
        elif path == "/read":
            told = {
                "Hostname": process.hostname,
                "Sent": {},
                "Received": received,
                "Errors": None,
                "Log": [],
                "StillContactingPeers": True,
            }
        elif path == "/status":
            return Answer(body=b"running")
        else:
            return Answer(404, b"404 page not found\n")
        return Answer(body=json.dumps(told, separators=(",", ":")).encode())

    return (yield from serve(process, {(TCP, flags.number("port")): Listener(http=answer)}))
