"""Definitions for tests, and what is served for them."""

from __future__ import annotations

from typing import Any

from support.client import Answer, Object
from support.things import Space, Things
from support.waiting import eventually

GROUP = "apiextensions.@"


def version(name: str = "v1", *, storage: bool = True, **more: Any) -> Object:
    """A version with a `spec` of two numbers and two texts, and a `status`."""
    fields: Object = {
        "size": {"type": "integer"},
        "replicas": {"type": "integer"},
        "color": {"type": "string"},
        "since": {"type": "string"},
        "owner": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    states: Object = {
        "phase": {"type": "string"},
        "replicas": {"type": "integer"},
        "selector": {"type": "string"},
    }
    schema: Object = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": fields},
            "status": {"type": "object", "properties": states},
        },
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        **more,
    }


class Kind:
    """A definition in a group of its own, and the objects of its kind."""

    def __init__(
        self,
        space: Space,
        *versions: Object,
        plural: str = "widgets",
        kind: str = "Widget",
        scope: str = "Namespaced",
        group: str = "",
        names: Object | None = None,
        **spec: Any,
    ) -> None:
        self.space = space
        self.client = space.client
        self.group = group or f"{space.name}.example.com"
        self.plural, self.kind, self.scope = plural, kind, scope
        self.name = f"{plural}.{self.group}"
        self.definitions = space.everywhere("customresourcedefinitions", GROUP)
        self.body: Object = {
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "scope": scope,
                "names": {"plural": plural, "kind": kind, **(names or {})},
                "versions": list(versions) or [version()],
                **spec,
            },
        }

    def post(self) -> Answer:
        return self.client.post(self.definitions.path, self.body)

    def install(self) -> Kind:
        """Create the definition and wait until its first served version is. It goes with the test:
        clients ask for every group that there is, some of them 5 a second."""
        answer = self.post()
        assert answer.status == 201, answer.text
        self.space.left.append(self.remove)
        first = next(one["name"] for one in self.body["spec"]["versions"] if one["served"])
        self.wait(first)
        return self

    def wait(self, name: str = "v1", *, status: int = 200) -> None:
        path = self.things(name).path
        eventually(lambda: self.client.get(path).status == status, f"{path} answers {status}")

    def things(self, name: str = "v1") -> Things:
        if self.scope == "Cluster":
            return self.space.everywhere(self.plural, self.group, name)
        return self.space.things(self.plural, self.group, name)

    def value(self, name: str, api_version: str = "v1", **fields: Any) -> Object:
        metadata = {"name": name, **fields.pop("metadata", {})}
        full = f"{self.group}/{api_version}"
        return {"apiVersion": full, "kind": self.kind, "metadata": metadata, **fields}

    def create(self, name: str, api_version: str = "v1", **fields: Any) -> Object:
        path = self.things(api_version).path
        answer = self.client.post(path, self.value(name, api_version, **fields))
        assert answer.status == 201, answer.text
        made: Object = answer.body
        return made

    def definition(self) -> Object:
        return self.definitions.read(self.name)

    def condition(self, kind: str) -> Object | None:
        listed = self.definition()["status"]["conditions"] or ()
        return next((one for one in listed if one["type"] == kind), None)

    def said(self, kind: str) -> tuple[str, str, str] | None:
        found = self.condition(kind)
        return (found["status"], found["reason"], found["message"]) if found else None

    def has(self, kind: str, status: str) -> bool:
        found = self.said(kind)
        return found is not None and found[0] == status

    def change(self, patch: Object) -> None:
        answer = self.definitions.patch(self.name, patch)
        assert answer.status == 200, answer.text

    def set_versions(self, *versions: Object) -> None:
        self.change({"spec": {"versions": list(versions)}})

    def remove(self) -> Answer:
        return self.definitions.delete(self.name)
