"""Shortcuts for objects in a namespace."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

from support.client import Answer, Client, Object, Query, Watch
from support.process import ServerProcess
from support.waiting import eventually

Names = list[str]
Objects = list[Object]


def random_word(length: int = 8) -> str:
    return "".join(random.choices(string.ascii_lowercase, k=length))


class Collection:
    """A collection; `path` is its URL. A failed create fails the test."""

    def __init__(self, client: Client, path: str) -> None:
        self.client = client
        self.path = path

    def item(self, name: str, subresource: str = "") -> str:
        return f"{self.path}/{name}/{subresource}" if subresource else f"{self.path}/{name}"

    def create(self, name: str, *, labels: dict[str, str] | None = None, **fields: Any) -> Object:
        metadata: Object = {"name": name, **fields.pop("metadata", {})}
        if labels is not None:
            metadata["labels"] = labels
        answer = self.client.post(self.path, {"metadata": metadata, **fields})
        assert answer.status == 201, answer.text
        document: Object = answer.body
        return document

    def create_all(self, *names: str) -> Objects:
        return [self.create(name) for name in names]

    def read(self, name: str) -> Object:
        answer = self.get(name)
        assert answer.status == 200, answer.text
        document: Object = answer.body
        return document

    def update(self, value: Object, **query: Query) -> Object:
        answer = self.put(value, **query)
        assert answer.status == 200, answer.text
        changed: Object = answer.body
        return changed

    def label(self, name: str, **labels: str) -> Object:
        """Replace all labels of an object."""
        value = self.read(name)
        value["metadata"]["labels"] = labels
        return self.update(value)

    def remove(self, name: str) -> None:
        answer = self.delete(name)
        assert answer.status == 200, answer.text

    def get(self, name: str, **query: Query) -> Answer:
        return self.client.get(self.item(name), **query)

    def put(self, value: Object, **query: Query) -> Answer:
        return self.client.put(self.item(value["metadata"]["name"]), value, **query)

    def patch(self, name: str, value: Any, **query: Query) -> Answer:
        return self.client.patch(self.item(name), value, **query)

    def delete(self, name: str, body: Any = None, **query: Query) -> Answer:
        return self.client.delete(self.item(name), body, **query)

    def list(self, **query: Query) -> Answer:
        return self.client.get(self.path, **query)

    def names(self, **query: Query) -> Names:
        answer = self.list(**query)
        assert answer.status == 200, answer.text
        return answer.names

    def version(self) -> str:
        """Return the newest resourceVersion."""
        return self.list().version

    def watch(self, **query: Query) -> Watch:
        return self.client.watch(self.path, **query)


class Space:
    """A new namespace of a server.

    Tests that count objects use Secrets: controllers write none into a namespace.
    """

    def __init__(self, server: ServerProcess, client: Client) -> None:
        self.server = server
        self.dialect = server.dialect
        self.client = client
        self.name = f"test-{random_word()}"
        answer = client.post("/api/v1/namespaces", {"metadata": {"name": self.name}})
        assert answer.status == 201, answer.text
        self.secrets = self.collection("secrets")
        self.config_maps = self.collection("configmaps")
        self.cleanups: list[Callable[[], object]] = []  # removes objects that outlive the namespace

    def leave(self) -> None:
        for take_away in self.cleanups:
            take_away()

    def collection(self, resource: str, group: str = "", version: str = "v1") -> Collection:
        """Return a collection of this namespace; `@` in a group's name is the dialect's domain."""
        return Collection(
            self.client, f"{self.base(group, version)}/namespaces/{self.name}/{resource}"
        )

    def everywhere(self, resource: str, group: str = "", version: str = "v1") -> Collection:
        """Return a collection of all namespaces, or of a cluster-scoped resource."""
        return Collection(self.client, f"{self.base(group, version)}/{resource}")

    def base(self, group: str = "", version: str = "v1") -> str:
        if not group:
            return f"/api/{version}"
        return f"/apis/{self.dialect.group_name(group)}/{version}"

    def furnished(self) -> None:
        """Wait for the objects that controllers create in every new namespace: then they write no
        more."""
        account, authority = self.collection("serviceaccounts"), self.dialect.ca_config_map
        eventually(lambda: account.get("default").status == 200, "there is a service account")
        eventually(lambda: self.config_maps.get(authority).status == 200, "there is the authority")

    def ready_for_pods(self) -> None:
        """Create the service account `default`, which pods need and a controller might create
        later."""
        body = {"metadata": {"name": "default"}}
        assert self.collection("serviceaccounts").client.post(
            self.collection("serviceaccounts").path, body
        ).status in (201, 409)
