"""Definitions for tests, and their served resources."""

from __future__ import annotations

from typing import Any

from support.client import Answer, Object
from support.namespaces import Collection, Space
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
    """A definition in its own group, and the objects of its kind."""

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
        self.space.cleanups.append(self.remove)
        first = next(item["name"] for item in self.body["spec"]["versions"] if item["served"])
        self.wait(first)
        return self

    def wait(self, name: str = "v1", *, status: int = 200) -> None:
        path = self.collection(name).path
        eventually(lambda: self.client.get(path).status == status, f"{path} answers {status}")

    def collection(self, name: str = "v1") -> Collection:
        if self.scope == "Cluster":
            return self.space.everywhere(self.plural, self.group, name)
        return self.space.collection(self.plural, self.group, name)

    def value(self, name: str, api_version: str = "v1", **fields: Any) -> Object:
        metadata = {"name": name, **fields.pop("metadata", {})}
        full = f"{self.group}/{api_version}"
        return {"apiVersion": full, "kind": self.kind, "metadata": metadata, **fields}

    def create(self, name: str, api_version: str = "v1", **fields: Any) -> Object:
        path = self.collection(api_version).path
        answer = self.client.post(path, self.value(name, api_version, **fields))
        assert answer.status == 201, answer.text
        document: Object = answer.body
        return document

    def definition(self) -> Object:
        return self.definitions.read(self.name)

    def condition(self, kind: str) -> Object | None:
        listed = self.definition()["status"]["conditions"] or ()
        return next((item for item in listed if item["type"] == kind), None)

    def brief_condition(self, kind: str) -> tuple[str, str, str] | None:
        """Return status, reason and message."""
        condition = self.condition(kind)
        if condition is None:
            return None
        return condition["status"], condition["reason"], condition["message"]

    def has(self, kind: str, status: str) -> bool:
        condition = self.condition(kind)
        return condition is not None and condition["status"] == status

    def change(self, patch: Object) -> None:
        answer = self.definitions.patch(self.name, patch)
        assert answer.status == 200, answer.text

    def set_versions(self, *versions: Object) -> None:
        self.change({"spec": {"versions": list(versions)}})

    def remove(self) -> Answer:
        return self.definitions.delete(self.name)
