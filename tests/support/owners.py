"""Owners and dependents for tests."""

from __future__ import annotations

from functools import partial
from typing import Any

from support.client import Object
from support.namespaces import Collection, Space
from support.waiting import eventually


def reference(owner: Object, **more: Any) -> Object:
    """Return an owner reference."""
    metadata = owner["metadata"]
    value = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**value, "name": metadata["name"], "uid": metadata["uid"], **more}


def blocking(owner: Object) -> Object:
    return reference(owner, blockOwnerDeletion=True)


def depend(collection: Collection, name: str, *references: Object, **metadata: Any) -> Object:
    """Create an object that has owners."""
    return collection.create(name, metadata={"ownerReferences": list(references), **metadata})


def owners(collection: Collection, name: str) -> list[str]:
    """The names of an object's owners."""
    listed = collection.read(name)["metadata"].get("ownerReferences") or ()
    return [item["name"] for item in listed]


def is_gone(collection: Collection, name: str) -> bool:
    return collection.get(name).status == 404


def await_deletion(collection: Collection, *names: str) -> None:
    for name in names:
        eventually(partial(is_gone, collection, name), f"{name} goes")


def is_going(collection: Collection, name: str) -> bool:
    return collection.read(name)["metadata"].get("deletionTimestamp") is not None


def release(collection: Collection, name: str) -> None:
    """Take all finalizers away."""
    assert collection.patch(name, {"metadata": {"finalizers": None}}).status == 200


class Widgets:
    """A definition of the test's own, in a group that is named after its namespace."""

    def __init__(self, space: Space, scope: str = "Namespaced") -> None:
        self._space = space
        self.group = f"{space.name}.example.com"
        self.api_version = f"{self.group}/v1"
        self.definitions = space.everywhere("customresourcedefinitions", "apiextensions.@")
        self.name = f"widgets.{self.group}"
        find = space.collection if scope == "Namespaced" else space.everywhere
        self.collection = find("widgets", self.group)
        self.scope = scope

    def install(self) -> Widgets:
        marker = f"x-{'kubernetes' if self._space.dialect.name == 'kubernetes' else 'cluster'}"
        schema = {"type": "object", f"{marker}-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True}
        self.definitions.create(
            self.name,
            spec={
                "group": self.group,
                "scope": self.scope,
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
            },
        )
        eventually(lambda: self.collection.list().status == 200, "the definition is served")
        return self

    def create(self, name: str, **metadata: Any) -> Object:
        return self.collection.create(
            name, metadata=metadata, apiVersion=self.api_version, kind="Widget"
        )
