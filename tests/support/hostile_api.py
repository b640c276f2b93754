"""A proxy between a command and a real server that puts control characters into every text."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support import http_server
from support.process import ServerProcess

# Clears the screen, blinks, sets the title, also by C1 controls; overwrites; rings; reverses text.
HOSTILE = "\x1b[2J\x1b[5mX\x1b]0;t\x07\x9b2J\x9d\x9c\r\x08\x7f\u202e\u2066\u2069\u200f\u061c"
# Clients cannot process an answer without these.
_KEPT = {"apiVersion", "group", "groupVersion", "kind", "singularName", "type", "uid", "version"}
_KEPT |= {"resourceVersion", "verbs", "format", "x-kubernetes-group-version-kind", "$ref"}
_KEPT |= {"versions", "preferredVersion", "token", "scope", "shortNames"}
_GROUP = f"x{HOSTILE}".replace("\r", "")  # CR would be refused before the request
_DISCOVERY = ("APIResourceList", "APIGroupList", "APIVersions", "APIGroup")


def spoiled(value: Any, key: str = "") -> Any:
    """Append the hostile text to all texts in JSON except those that identify things."""
    if isinstance(value, dict):
        return {name: spoiled(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [spoiled(inner, key) for inner in value]
    is_time = isinstance(value, str) and value[:2] == "20" and value[-1:] == "Z"
    if not isinstance(value, str) or key in _KEPT or is_time:
        return value
    return f"{value}{HOSTILE}"


def _discovered(value: dict[str, Any]) -> dict[str, Any]:
    """Add resources with hostile names to the discovery."""
    if value["kind"] == "APIGroupList":
        odd = {"groupVersion": f"{_GROUP}/v1", "version": "v1"}
        group = {"name": _GROUP, "versions": [odd], "preferredVersion": odd}
        value["groups"].append(group)
    for resource in value.get("resources", ())[:1]:
        names = {
            name: f"{resource.get(name)}{HOSTILE}" for name in ("name", "singularName", "kind")
        }
        lists = {name: [f"a{HOSTILE}"] for name in ("shortNames", "categories")}
        value["resources"].append(
            {**resource, **names, **lists, "verbs": ["get", f"list{HOSTILE}"]}
        )
    return value


def _answer(line: bytes) -> bytes:
    try:
        value = json.loads(line)
    except ValueError:
        return line + HOSTILE.encode() + b"\x9b\n"  # a log
    if isinstance(value, dict) and value.get("kind") in _DISCOVERY:
        return json.dumps(_discovered(value), ensure_ascii=False).encode()
    return json.dumps(spoiled(value), ensure_ascii=False).encode() + b"\n"


class _Handler(http_server.Handler):
    behind: ServerProcess
    refuses: bool
    watched: set[str]
    trust: ssl.SSLContext
    idle: list[HTTPSConnection]

    def _pass_on(self) -> None:
        body = self.read_body()
        kept = ("accept", "content-type")
        headers = {name: value for name, value in self.headers.items() if name.lower() in kept}
        if self.path.startswith("/apis/x"):
            self._answer_odd_group()
            return
        connection = self._connection()
        is_watch = "watch=" in self.path
        path = f"{self.path}&timeoutSeconds=1" if is_watch else self.path
        connection.request(self.command, path, body, headers)
        answer = connection.getresponse()
        is_about_objects = "/namespaces/" in self.path or self.path.startswith("/history")
        code = 403 if self.refuses and is_about_objects else answer.status
        if is_watch:
            where = urlsplit(self.path).path
            # Refused the second time, which ends the watch.
            code = 403 if where in self.watched else code
            self.watched.add(where)
        self.send_response(code)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Warning", '299 - "beware\x9b2J"')
        self.end_headers()
        if code == answer.status:
            for line in answer:
                self.wfile.write(_answer(line.rstrip(b"\n")))
                self.wfile.flush()
            answer.read()
            self.idle.append(connection)
        else:
            answer.close()
            connection.close()
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
            causes = {"causes": [{"field": "spec", "message": "no", "reason": "FieldValueInvalid"}]}
            item = {**status, "message": "no", "reason": "Forbidden", "details": causes}
            self.wfile.write(json.dumps(spoiled(item), ensure_ascii=False).encode())

    def _answer_odd_group(self) -> None:
        value = {"name": f"things{HOSTILE}", "singularName": "", "kind": f"Thing{HOSTILE}"}
        resource = {**value, "namespaced": True, "verbs": ["get", "list"]}
        listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{_GROUP}/v1"}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({**listed, "resources": [resource]}).encode())

    def _connection(self) -> HTTPSConnection:
        with suppress(IndexError):
            return self.idle.pop()
        return HTTPSConnection(urlsplit(self.behind.address).netloc, context=self.trust)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on


@contextmanager
def hostile_api(behind: ServerProcess, directory: Path, *, refuses: bool) -> Iterator[Path]:
    """Yield a kubeconfig whose server spoils every answer, or refuses everything."""
    keys = behind.data / "pki"
    trust = ssl.create_default_context(cafile=str(keys / "ca.crt"))
    trust.load_cert_chain(keys / "admin.crt", keys / "admin.key")
    idle: list[HTTPSConnection] = []
    value = {"behind": behind, "refuses": refuses, "watched": set(), "trust": trust, "idle": idle}
    handler = type("Handler", (_Handler,), value)
    server = http_server.HttpServer(handler)
    odd = f"odd{HOSTILE}"
    config = {
        "current-context": odd,
        "clusters": [
            {
                "name": odd,
                "cluster": {"server": f"http://127.0.0.1:{server.server_port}"},
            }
        ],
        "users": [{"name": odd, "user": {}}],
        "contexts": [
            {"name": odd, "context": {"cluster": odd, "user": odd}},
            {"name": f"broken{HOSTILE}", "context": {"cluster": f"gone{HOSTILE}"}},
        ],
    }
    path = directory / "hostile.kubeconfig"
    path.write_text(json.dumps(config))
    yield path
    server.stop()
    for connection in idle:
        connection.close()
