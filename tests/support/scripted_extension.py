"""Extension servers that answer as a test says, and a server that has them behind it."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fairlead.server.certificates import ensure_pki
from support.client import Client, Object
from support.process import MOVABLE_CLOCK, ServerProcess
from support.waiting import eventually

# A code, headers and a body.
Said = tuple[int, dict[str, str], bytes]
Say = Callable[[dict[str, str]], Said]


class ScriptedExtension:
    """Answers GET as `says` tells by path, without the query; all else that is asked for is an
    empty object. `asked` are the requests: the path, and the headers by lower-case name."""

    def __init__(self, certificate: Path, key: Path) -> None:
        outer = self
        self.says: dict[str, Say] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_GET(self) -> None:
                head = {name.lower(): value for name, value in self.headers.items()}
                outer.asked.append((self.path, head))
                say = outer.says.get(self.path.partition("?")[0])
                code, headers, content = say(head) if say is not None else (200, {}, b"{}")
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *arguments: Any) -> None:
                pass  # who leaves before the end

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def say(self, path: str, value: Any, code: int = 200, **headers: str) -> None:
        """Answer so; with an `ETag`, 304 to those who have it."""
        content = value if isinstance(value, bytes) else json.dumps(value).encode()

        def answer(head: dict[str, str]) -> Said:
            has_it = headers.get("ETag") and head.get("if-none-match") == headers["ETag"]
            return (304, headers, b"") if has_it else (code, headers, content)

        self.says[path] = answer

    def times_asked(self, path: str) -> int:
        return sum(1 for asked, _ in self.asked if asked.partition("?")[0] == path)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Extended:
    """A server whose clock can be moved, and extension servers that it can reach."""

    def __init__(self, directory: Path, dialect: str, most: int) -> None:
        pair = ensure_pki(directory / "extensions", ["127.0.0.1"]).serving
        self._unused = [ScriptedExtension(pair.certificate, pair.key) for _ in range(most)]
        self._all = list(self._unused)
        places = [f"default/e{one.port}=127.0.0.1:{one.port}" for one in self._all]
        flags = ("--service-address-map", ",".join(places))
        self.server = ServerProcess(directory, dialect, flags, MOVABLE_CLOCK).start()
        self.client: Client = self.server.client()
        group = self.server.dialect.group_name("apiregistration.@")
        self.api_services = f"/apis/{group}/v1/apiservices"
        for one in self._all:
            service = {"metadata": {"name": f"e{one.port}"}, "spec": {"ports": [{"port": 443}]}}
            assert self.client.post("/api/v1/namespaces/default/services", service).status == 201

    def new(self) -> ScriptedExtension:
        return self._unused.pop()

    def register(
        self, extension: ScriptedExtension, group: str, *, available: bool = True, **spec: Any
    ) -> Object:
        """Have it serve version v1 of a group, and wait until it does."""
        name = f"v1.{group}"
        value = {
            "metadata": {"name": name},
            "spec": {
                "group": group,
                "version": "v1",
                "groupPriorityMinimum": 1000,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"namespace": "default", "name": f"e{extension.port}"},
                **spec,
            },
        }
        made = self.client.post(self.api_services, value)
        assert made.status == 201, made.text
        if available:
            eventually(lambda: self.is_available(name), f"{name} is available")
        return value

    def is_available(self, name: str) -> bool:
        found = self.client.get(f"{self.api_services}/{name}").body
        conditions = found.get("status", {}).get("conditions", [])
        return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)

    def close(self) -> None:
        self.server.stop()
        for one in self._all:
            one.close()
