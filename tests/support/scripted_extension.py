"""Extension servers with scripted answers, and a server in front of them."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairlead.process.certificates.authority import ensure_pki
from support.client import Client
from support.namespaces import Collection
from support.neighbour import Neighbour, ReceivedRequest, Reply
from support.process import MOVABLE_CLOCK, ServerProcess
from support.waiting import eventually


class ScriptedExtension(Neighbour):
    """Answers by path, without the query, from `replies`; other paths return an empty object."""

    def __init__(self, directory: Path) -> None:
        pair = ensure_pki(directory, ["127.0.0.1"]).serving
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        super().__init__(context)
        self.replies: dict[str, Callable[[ReceivedRequest], Reply]] = {}
        self.answer = self._answer

    def _answer(self, request: ReceivedRequest) -> Reply:
        say = self.replies.get(request.path.partition("?")[0])
        return say(request) if say is not None else Reply(body=b"{}")

    def say(self, path: str, value: Any, code: int = 200, **headers: str) -> None:
        """Set the answer of a path; with an `ETag`, 304 to requests that have it."""
        content = value if isinstance(value, bytes) else json.dumps(value).encode()

        def answer(request: ReceivedRequest) -> Reply:
            has_it = "ETag" in headers and request.headers["If-None-Match"] == headers["ETag"]
            return Reply(304, headers) if has_it else Reply(code, headers, content)

        self.replies[path] = answer

    def calls(self, path: str) -> list[ReceivedRequest]:
        return [request for request in self.requests if request.path.partition("?")[0] == path]


class Extended:
    """A server with a movable clock that may connect to any port of this machine that an APIService
    names; `flags` are added to its flags."""

    def __init__(self, directory: Path, dialect: str, *flags: str) -> None:
        flags = ("--proxy-allowed-networks", "127.0.0.0/8", *flags)
        self.server = ServerProcess(directory, dialect, flags, MOVABLE_CLOCK).start()
        self.client: Client = self.server.client()
        group = self.server.dialect.group_name("apiregistration.@")
        self.api_services = Collection(self.client, f"/apis/{group}/v1/apiservices")
        here = {"type": "ExternalName", "externalName": "127.0.0.1"}
        Collection(self.client, "/api/v1/namespaces/default/services").create("here", spec=here)

    def register(self, port: int, group: str, **spec: Any) -> None:
        """Register the server at a port for version v1 of a group, and wait until it is
        available."""
        name = f"v1.{group}"
        self.api_services.create(
            name,
            spec={
                "group": group,
                "version": "v1",
                "groupPriorityMinimum": 1000,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"namespace": "default", "name": "here", "port": port},
                **spec,
            },
        )
        eventually(lambda: self.is_available(name), f"{name} is available")

    def is_available(self, name: str) -> bool:
        conditions = self.api_services.read(name).get("status", {}).get("conditions", [])
        return any(
            condition["type"] == "Available" and condition["status"] == "True"
            for condition in conditions
        )
