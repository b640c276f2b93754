"""Extension servers that answer as a test says, and a server that has them behind it."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairlead.server.certificates import ensure_pki
from support.client import Client
from support.neighbour import Asked, Neighbour, Says
from support.process import MOVABLE_CLOCK, ServerProcess
from support.things import Things
from support.waiting import eventually


class ScriptedExtension(Neighbour):
    """Answers as `says` tells by path, without the query; all else is an empty object."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context)
        self.says: dict[str, Callable[[Asked], Says]] = {}
        self.answer = self._answer

    def _answer(self, asked: Asked) -> Says:
        say = self.says.get(asked.path.partition("?")[0])
        return say(asked) if say is not None else Says(body=b"{}")

    def say(self, path: str, value: Any, code: int = 200, **headers: str) -> None:
        """Answer so; with an `ETag`, 304 to those who have it."""
        content = value if isinstance(value, bytes) else json.dumps(value).encode()

        def answer(asked: Asked) -> Says:
            has_it = "ETag" in headers and asked.headers["If-None-Match"] == headers["ETag"]
            return Says(304, headers) if has_it else Says(code, headers, content)

        self.says[path] = answer

    def calls(self, path: str) -> list[Asked]:
        return [one for one in self.asked if one.path.partition("?")[0] == path]


class Extended:
    """A server whose clock can be moved, and extension servers that it can reach."""

    def __init__(self, directory: Path, dialect: str, most: int) -> None:
        pair = ensure_pki(directory / "extensions", ["127.0.0.1"]).serving
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        self._all = [ScriptedExtension(context) for _ in range(most)]
        self._unused = list(self._all)
        places = [f"default/e{one.port}=127.0.0.1:{one.port}" for one in self._all]
        flags = ("--service-address-map", ",".join(places))
        self.server = ServerProcess(directory, dialect, flags, MOVABLE_CLOCK).start()
        self.client: Client = self.server.client()
        group = self.server.dialect.group_name("apiregistration.@")
        self.api_services = Things(self.client, f"/apis/{group}/v1/apiservices")
        for one in self._all:
            service = {"metadata": {"name": f"e{one.port}"}, "spec": {"ports": [{"port": 443}]}}
            assert self.client.post("/api/v1/namespaces/default/services", service).status == 201

    def new(self) -> ScriptedExtension:
        return self._unused.pop()

    def register(self, extension: ScriptedExtension, group: str, **spec: Any) -> None:
        """Have it serve version v1 of a group, and wait until it does."""
        name = f"v1.{group}"
        self.api_services.create(
            name,
            spec={
                "group": group,
                "version": "v1",
                "groupPriorityMinimum": 1000,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"namespace": "default", "name": f"e{extension.port}"},
                **spec,
            },
        )
        eventually(lambda: self.is_available(name), f"{name} is available")

    def is_available(self, name: str) -> bool:
        conditions = self.api_services.read(name).get("status", {}).get("conditions", [])
        return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)

    def close(self) -> None:
        self.server.stop()
        for one in self._all:
            one.close()
