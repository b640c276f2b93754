"""A real admission webhook: HTTPS, with its own CA."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairlead.process.certificates.authority import ensure_pki
from support import http_server
from support.client import Object
from support.namespaces import Space
from support.waiting import eventually

# An HTTP status, a body, and additional headers.
Raw = tuple[int, bytes, *tuple[tuple[str, str], ...]]
# Maps the request of a review to the response, or to a raw answer.
Respond = Callable[[Object], Any]


def allow(request: Object) -> Object:
    return {"allowed": True}


def deny(message: str = "no", **status: Any) -> Respond:
    return lambda request: {"allowed": False, "status": {"message": message, **status}}


def patching(*operations: Object) -> Respond:
    """Patch any object."""
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": encoded(operations)}


def encoded(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


class WebhookServer:
    """Answers at each path as `serve` configures it; `reviews` are the reviews received there,
    `headers` the headers of their requests."""

    def __init__(self, directory: Path, *hosts: str) -> None:
        outer = self
        self._responds: dict[str, Respond] = {}
        self.reviews: dict[str, list[Object]] = {}
        self.headers: dict[str, list[dict[str, str]]] = {}
        self.connections = 0
        self.closes = False  # close each connection after its answer, without announcing it
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        pki = ensure_pki(directory, ["127.0.0.1", *hosts])
        self.pem = pki.ca.certificate.read_bytes()

        class Handler(http_server.Handler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # send an answer in one piece

            def setup(self) -> None:
                super().setup()
                outer.connections += 1
                outer._open.add(self.connection)

            def finish(self) -> None:
                outer._open.discard(self.connection)
                super().finish()

            def do_POST(self) -> None:
                path = self.path.partition("?")[0]
                head = {name.lower(): value for name, value in self.headers.items()}
                self.reply(*outer.answer(path, {**head, ":path": self.path}, self.read_body()))
                self.close_connection = outer.closes

        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pki.serving.certificate, pki.serving.key)
        self._server = http_server.HttpServer(Handler, self._context, "0.0.0.0")
        self.port = self._server.server_port

    def renew(self, directory: Path) -> None:
        """Switch to a certificate of another CA."""
        pki = ensure_pki(directory, ["127.0.0.1"])
        self._context.load_cert_chain(pki.serving.certificate, pki.serving.key)
        self.pem = pki.ca.certificate.read_bytes()

    @property
    def bundle(self) -> str:
        return self.bundle_of(self.pem)

    @staticmethod
    def bundle_of(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    def drop_connections(self) -> None:
        for connection in list(self._open):
            connection.shutdown(socket.SHUT_RDWR)

    def serve(self, path: str, respond: Respond) -> None:
        with self._lock:
            self._responds[path] = respond
            self.reviews[path], self.headers[path] = [], []

    def answer(self, path: str, head: dict[str, str], body: bytes) -> Raw:
        review = json.loads(body)
        with self._lock:
            respond = self._responds.get(path)
            if respond is None:
                return 404, b"{}"
            self.reviews[path].append(review)
            self.headers[path].append(head)
        created = respond(review["request"])
        if isinstance(created, tuple):
            raw: Raw = created
            return raw
        if "response" not in created:
            response = {"uid": review["request"]["uid"], **created}
            created = {"kind": review["kind"], "apiVersion": review["apiVersion"]}
            created["response"] = response
        return 200, json.dumps(created).encode()

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        self._server.stop()


class Hooked:
    """Webhook configurations for the objects of one namespace; they are removed after the test."""

    def __init__(self, space: Space, server: WebhookServer) -> None:
        # Wait for the objects that controllers create in every namespace: they must not call
        # webhooks.
        eventually(lambda: space.config_maps.names() != [], "the CA is published")
        self.space = space
        self.server = server
        self._made: list[tuple[str, str]] = []
        self._count = 0

    def mutate(self, respond: Respond = allow, **webhook: Any) -> str:
        """Install a mutating webhook with this response; return its path."""
        return self._hook("mutating", respond, webhook)

    def validate(self, respond: Respond = allow, **webhook: Any) -> str:
        return self._hook("validating", respond, webhook)

    def _hook(self, kind: str, respond: Respond, webhook: Object) -> str:
        path = f"/{self.space.name}/{self._count}"
        self.server.serve(path, respond)
        self.install(kind, self.webhook(path, **webhook))
        return path

    def webhook(self, path: str, **fields: Any) -> Object:
        """Return a webhook entry for the config maps of the namespace."""
        label = self.space.dialect.label("@/metadata.name")
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["*"],
            "resources": ["configmaps"],
        }
        value: Object = {
            "name": f"{self.name_of(path)}.example.com",
            "clientConfig": {"url": self.server.url(path), "caBundle": self.server.bundle},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {label: self.space.name}},
        }
        for name in ("operations", "apiGroups", "apiVersions", "resources", "scope"):
            if name in fields:
                rule[name] = fields.pop(name)
        return {**value, **fields}

    @staticmethod
    def name_of(path: str) -> str:
        return f"w{path.rpartition('/')[2]}.{path.split('/')[1]}"

    def install(self, kind: str, *webhooks: Object, name: str = "") -> Object:
        """Create a configuration, named by the order of creation."""
        name = name or f"{self.space.name}-{self._count}"
        self._count += 1
        things = self.configurations(kind)
        value: Object = things.create(name, webhooks=list(webhooks))
        self._made.append((kind, name))
        return value

    def configurations(self, kind: str) -> Any:
        return self.space.everywhere(f"{kind}webhookconfigurations", "admissionregistration.@")

    def requests(self, path: str) -> list[Object]:
        return [review["request"] for review in self.server.reviews[path]]

    def remove(self) -> None:
        for kind, name in self._made:
            self.configurations(kind).delete(name)
        self._made.clear()
