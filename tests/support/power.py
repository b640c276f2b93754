"""The testing API of a server with `--testing`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from support.client import Answer, Client, Object
from support.namespaces import Collection, Space, random_word


@dataclass
class Power:
    """The testing API, and the objects of a new namespace."""

    space: Space
    base: str = "/apis/testing.fairlead.dev/v1"

    @property
    def client(self) -> Client:
        return self.space.client

    @property
    def maps(self) -> Collection:
        return self.space.config_maps

    def do(self, path: str, **spec: Any) -> Object:
        """POST and return the resulting object."""
        answer = self.ask(path, **spec)
        assert answer.status == 201, answer.text
        document: Object = answer.body
        return document

    def ask(self, path: str, **spec: Any) -> Answer:
        return self.client.post(f"{self.base}/{path}", {"spec": spec} if spec else {})

    def snapshot(self) -> str:
        name = random_word()
        answer = self.client.post(f"{self.base}/snapshots", {"metadata": {"name": name}})
        assert answer.status == 201, answer.text
        return name

    def restore(self, name: str) -> Object:
        status: Object = self.do(f"snapshots/{name}/restore")["status"]
        return status

    def fault(self, match: Object | None = None, **spec: Any) -> str:
        """Create a fault, by default for requests to this namespace."""
        name = random_word()
        match = {"namespaces": [self.space.name]} if match is None else match
        body = {"metadata": {"name": name}, "spec": {"match": match, **spec}}
        answer = self.client.post(f"{self.base}/faults", body)
        assert answer.status == 201, answer.text
        return name

    def happened(self, fault: str) -> Object:
        status: Object = self.client.get(f"{self.base}/faults/{fault}").body["status"]
        return status

    def requests(self, *rules: str) -> list[Object]:
        """Return the recorded requests to this namespace."""
        selector = ",".join((f"spec.namespace={self.space.name}", *rules))
        answer = self.client.get(f"{self.base}/requests", fieldSelector=selector)
        assert answer.status == 200, answer.text
        return list(answer.body["items"] or [])
