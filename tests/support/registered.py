"""An extension server with one resource, and its registration."""

from __future__ import annotations

import base64
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairlead.process.certificates.authority import ensure_pki
from support.client import Object
from support.namespaces import Collection, Space, random_word
from support.neighbour import Neighbour, ReceivedRequest, Reply
from support.process import MOVABLE_CLOCK, ServerProcess
from support.waiting import eventually

VERBS = ("create", "delete", "deletecollection", "get", "list")


class Shelf:
    """Serves `books` in any group and version. `content` has them by namespace; deletes of books
    with finalizers do nothing. `reply` replaces the answers if it is set, `refuses` only those to
    deletes, `lists` only those to lists of books."""

    def __init__(self, directory: Path, *hosts: str) -> None:
        pki = ensure_pki(directory, ["localhost", *hosts])
        self.bundle = base64.b64encode(pki.ca.certificate.read_bytes()).decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki.serving.certificate, pki.serving.key)
        self._neighbour = Neighbour(context)
        self._neighbour.answer = self._answer
        self.port = self._neighbour.port
        self.requests = self._neighbour.requests
        self.reset()

    def reset(self) -> None:
        self.content: dict[str, list[Object]] = {}
        self.verbs: tuple[str, ...] = VERBS
        self.reply: Reply | None = None
        self.refuses: Reply | None = None
        self.lists: Reply | None = None

    def close(self) -> None:
        self._neighbour.close()

    def put(self, namespace: str, name: str, *finalizers: str) -> None:
        metadata = {"name": name, "namespace": namespace, "finalizers": list(finalizers)}
        self.content.setdefault(namespace, []).append({"metadata": metadata})

    def calls(self, method: str) -> list[ReceivedRequest]:
        return [request for request in self.requests if request.method == method]

    def _answer(self, request: ReceivedRequest) -> Reply:
        if self.reply is not None:
            return self.reply
        if self.refuses is not None and request.method == "DELETE":
            return self.refuses
        _, _, group, version, *rest = urlsplit(request.path).path.split("/")
        match request.method, rest:
            case "GET", []:
                return _reply_of(self._resources(f"{group}/{version}"))
            case "GET", ["namespaces", _, "books"] if self.lists is not None:
                return self.lists
            case "GET", ["namespaces", namespace, "books"]:
                typed = {"apiVersion": f"{group}/{version}", "kind": "Book"}
                items = [{**typed, **item} for item in self.content.get(namespace, [])]
                return _reply_of({**typed, "kind": "BookList", "metadata": {}, "items": items})
            case "DELETE", ["namespaces", namespace, "books"] if "deletecollection" in self.verbs:
                self._remove(namespace)
                return _reply_of({"kind": "Status", "status": "Success"})
            case "DELETE", ["namespaces", namespace, "books", name]:
                self._remove(namespace, name)
                return _reply_of({"kind": "Status", "status": "Success"})
        return Reply(405)

    def _resources(self, group_version: str) -> Object:
        books = {"name": "books", "singularName": "", "namespaced": True, "kind": "Book"}
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": group_version,
            "resources": [{**books, "verbs": self.verbs}, {**books, "name": "books/status"}],
        }

    def _remove(self, namespace: str, name: str = "") -> None:
        self.content[namespace] = [
            item
            for item in self.content.get(namespace, [])
            if item["metadata"]["finalizers"] or (name and item["metadata"]["name"] != name)
        ]


def _reply_of(value: Object) -> Reply:
    return Reply(200, {"Content-Type": "application/json"}, json.dumps(value).encode())


class Shelved:
    """A server that knows the addresses of the service `default/shelf`, and of `default/nobody`,
    where nothing listens."""

    def __init__(self, directory: Path, dialect: str, *more: str) -> None:
        self.shelf = Shelf(directory / "shelf", "shelf.default.svc")
        places = f"default/shelf=127.0.0.1:{self.shelf.port},default/nobody=127.0.0.1:1"
        flags = ("--service-address-map", places, *more)
        self.server = ServerProcess(directory, dialect, flags, MOVABLE_CLOCK).start()
        self.client = self.server.client()
        self.services = Collection(
            self.client,
            f"/apis/{self.server.dialect.group_name('apiregistration.@')}/v1/apiservices",
        )

    def close(self) -> None:
        self.server.stop()
        self.shelf.close()

    def space(self) -> Space:
        return Space(self.server, self.client)

    def register(
        self, service: str = "shelf", version: str = "v1", group: str = "", **spec: Any
    ) -> str:
        """Register a version of a group, by default of a random one; return its name."""
        group = group or f"{random_word()}.example.com"
        trust: Object = {"caBundle": self.shelf.bundle}
        if "insecureSkipTLSVerify" in spec:
            trust = {}
        self.services.create(
            f"{version}.{group}",
            spec={
                "group": group,
                "version": version,
                "groupPriorityMinimum": 2000,
                "versionPriority": 10,
                "service": {"namespace": "default", "name": service},
                **trust,
                **spec,
            },
        )
        return f"{version}.{group}"

    def condition(self, name: str) -> Object:
        listed = self.services.read(name).get("status", {}).get("conditions") or ()
        return next((item for item in listed if item["type"] == "Available"), {})

    def becomes(self, name: str, status: str, reason: str = "") -> Object:
        """Wait for a condition of an APIService."""

        def holds() -> bool:
            result = self.condition(name)
            return result.get("status") == status and reason in ("", result["reason"])

        eventually(holds, f"{name} is {status} {reason}")
        return self.condition(name)

    def looks_again(self) -> None:
        """Advance the clock until extension servers are probed again."""
        self.server.advance(31)


class Gadgets:
    """A definition with two versions, in its own group."""

    def __init__(self, space: Space) -> None:
        self.group = f"{space.name}.example.com"
        self.name = f"gadgets.{self.group}"
        self.definitions = space.everywhere("customresourcedefinitions", "apiextensions.@")
        schema = {"openAPIV3Schema": {"type": "object"}}
        versions = [
            {"name": "v1", "served": True, "storage": True, "schema": schema},
            {"name": "v1beta1", "served": True, "storage": False, "schema": schema},
        ]
        self.definitions.create(
            self.name,
            spec={
                "group": self.group,
                "scope": "Namespaced",
                "names": {"plural": "gadgets", "kind": "Gadget"},
                "versions": versions,
            },
        )

    def service(self, version: str = "v1") -> str:
        """Return the name of its APIService."""
        return f"{version}.{self.group}"
