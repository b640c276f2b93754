"""Raw servers behind an APIService, scripted by a test, and their registration."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fairlead.process.certificates.authority import ensure_pki
from support.client import PATIENCE, Client, Object
from support.namespaces import random_word
from support.process import ServerProcess

SERVICE = "extension"  # in `default`: its certificates are for extension.default.svc
HOST = f"{SERVICE}.default.svc"
SERVICES = "/apis/apiregistration.{domain}/v1/apiservices"
HERE = ("--proxy-allowed-networks", "127.0.0.0/8")


class Caller:
    """The server side of a connection to an extension server."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.rest = b""

    def head(self) -> bytes:
        """Return the header of the next request; empty at the end."""
        while b"\r\n\r\n" not in self.rest:
            more = self.sock.recv(65536)
            if not more:
                return b""
            self.rest += more
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        return head

    def take(self, size: int) -> bytes:
        while len(self.rest) < size:
            more = self.sock.recv(65536)
            if not more:
                break
            self.rest += more
        result, self.rest = self.rest[:size], self.rest[size:]
        return result

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)

    def answer(self, body: bytes = b"{}", code: int = 200, *headers: str) -> None:
        lines = "".join(f"{header}\r\n" for header in headers)
        head = f"HTTP/1.1 {code} X\r\ncontent-length: {len(body)}\r\n{lines}\r\n"
        self.say(head.encode() + body)

    def body(self, head: bytes) -> bytes:
        """Return the body of a request, by the length in its header."""
        return self.take(int((fields(head, "content-length") or ["0"])[0]))


Talk = Callable[[Caller, bytes], None]


def fields(head: bytes, name: str) -> list[str]:
    """Return all values of a header field, unchanged."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.split(": ", 1) for line in lines)
    return [value for key, value in pairs if key.lower() == name]


class RawExtension:
    """Passes each request with its header to `talk`, and records it in `heads`. Probes of the
    server itself are just answered. `connections` counts the connections with other requests.
    Speaks TLS by default."""

    def __init__(self, directory: Path, *, client_ca: Path | None = None, tls: bool = True) -> None:
        pki = ensure_pki(directory, [HOST])
        self.ca = pki.ca.certificate.read_bytes()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki.serving.certificate, pki.serving.key)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        self._context = context if tls else None
        self.talk: Talk = lambda caller, head: caller.answer()
        self.heads: list[bytes] = []
        self.connections = 0
        self.failures: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        raw.settimeout(PATIENCE * 3)
        try:
            wrap = self._context.wrap_socket if self._context is not None else None
            with wrap(raw, server_side=True) if wrap is not None else raw as sock:
                self._open.add(sock)
                is_counted = False
                caller = Caller(sock)
                while head := caller.head():
                    if _is_probe(head):
                        caller.answer()
                        continue
                    self.connections += not is_counted
                    is_counted = True
                    self.heads.append(head)
                    self.talk(caller, head)
        except OSError:
            pass
        except BaseException as failure:
            self.failures.append(failure)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        for sock in list(self._open):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def _is_probe(head: bytes) -> bool:
    """Return whether the request is a health or discovery probe of the server itself."""
    return fields(head, "x-remote-user")[:1] in (["system:kube-aggregator"], ["system:aggregator"])


class Registered:
    """A registered group of an extension server; `path` is that of its version `v1`."""

    def __init__(self, server: ServerProcess, port: int, group: str = "", **spec: object) -> None:
        self.client: Client = server.client()
        self.group = group or f"{random_word()}.example.com"
        self.name = f"v1.{self.group}"
        self.path = f"/apis/{self.group}/v1"
        self._services = SERVICES.format(domain=server.dialect.group_domain)
        self._place = f"/api/v1/namespaces/default/services/{SERVICE}"
        outer: Object = {"type": "ExternalName", "externalName": "127.0.0.1"}
        self.client.post(
            "/api/v1/namespaces/default/services", {"metadata": {"name": SERVICE}, "spec": outer}
        )
        service = {"namespace": "default", "name": SERVICE, "port": port}
        wanted = {
            "group": self.group,
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 10,
            "service": service,
            **spec,
        }
        answer = self.client.post(self._services, {"metadata": {"name": self.name}, "spec": wanted})
        assert answer.status == 201, answer.text
        self.tell_available("True")

    def tell_available(self, status: str) -> None:
        condition = {
            "type": "Available",
            "status": status,
            "reason": "Passed",
            "message": "",
            "lastTransitionTime": "2024-01-01T00:00:00Z",
        }
        answer = self.client.patch(
            f"{self._services}/{self.name}/status", {"status": {"conditions": [condition]}}
        )
        assert answer.status == 200, answer.text

    def change(self, **spec: object) -> None:
        changed = self.client.patch(f"{self._services}/{self.name}", {"spec": spec})
        assert changed.status == 200, changed.text

    def remove(self) -> None:
        self.client.delete(f"{self._services}/{self.name}")
        self.client.close()


def bundle(pem: bytes) -> str:
    return base64.b64encode(pem).decode()
