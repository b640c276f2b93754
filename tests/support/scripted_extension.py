"""Extension servers with scripted answers, and a server in front of them."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairlead.process.certificates.authority import ensure_pki
from support.client import Client
from support.neighbour import Asked, Neighbour, Says
from support.process import MOVABLE_CLOCK, ServerProcess
from support.things import Things
from support.waiting import eventually


class ScriptedExtension(Neighbour):
    """Answers by path, without the query, from `says`; other paths return an empty object."""

    def __init__(self, directory: Path) -> None:
        pair = ensure_pki(directory, ["127.0.0.1"]).serving
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        super().__init__(context)
        self.says: dict[str, Callable[[Asked], Says]] = {}
        self.answer = self._answer

    def _answer(self, asked: Asked) -> Says:
        say = self.says.get(asked.path.partition("?")[0])
        return say(asked) if say is not None else Says(body=b"{}")

    def say(self, path: str, value: Any, code: int = 200, **headers: str) -> None:
        """Set the answer of a path; with an `ETag`, 304 to requests that have it."""
        content = value if isinstance(value, bytes) else json.dumps(value).encode()

        def answer(asked: Asked) -> Says:
            has_it = "ETag" in headers and asked.headers["If-None-Match"] == headers["ETag"]
            return Says(304, headers) if has_it else Says(code, headers, content)

        self.says[path] = answer

    def calls(self, path: str) -> list[Asked]:
        return [one for one in self.asked if one.path.partition("?")[0] == path]


class Extended:
    """A server with a movable clock that may connect to any port of this machine that an APIService
    names; `flags` are added to its flags."""

    def __init__(self, directory: Path, dialect: str, *flags: str) -> None:
        flags = ("--proxy-allowed-networks", "127.0.0.0/8", *flags)
        self.server = ServerProcess(directory, dialect, flags, MOVABLE_CLOCK).start()
        self.client: Client = self.server.client()
        group = self.server.dialect.group_name("apiregistration.@")
        self.api_services = Things(self.client, f"/apis/{group}/v1/apiservices")
        here = {"type": "ExternalName", "externalName": "127.0.0.1"}
        Things(self.client, "/api/v1/namespaces/default/services").create("here", spec=here)

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
        return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)
