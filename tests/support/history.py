"""Asking for the past, and giving people rights."""

from __future__ import annotations

from typing import Any

from support.client import Answer, Client, Object, Query
from support.namespaces import Collection, Space, random_word
from support.waiting import eventually

RBAC = "rbac.authorization.@"


def history(collection: Collection, name: str = "", **query: Query) -> Answer:
    """The past of an object, or of its whole collection."""
    path = collection.item(name) if name else collection.path
    return collection.client.get(f"/history{path}", **query)


def items(answer: Answer) -> list[Object]:
    assert answer.status == 200, answer.text
    objects: list[Object] = answer.body["items"]
    return objects


def column(answer: Answer, name: str) -> list[Any]:
    """One fact of every item."""
    return [item.get(name) for item in items(answer)]


def at_revision(collection: Collection, name: str, revision: str, **query: Query) -> Answer:
    """An object as it was."""
    return history(collection, name, resourceVersion=revision, **query)


def revision(value: Object) -> str:
    return str(value["metadata"]["resourceVersion"])


class Granted:
    """Permissions of a user in a namespace, until they are revoked."""

    def __init__(self, space: Space, resource: str, *verbs: str, user: str = "alice") -> None:
        self._space, self._name = space, random_word()
        group = space.dialect.group_name(RBAC)
        rule = {"apiGroups": ["*"], "resources": [resource], "verbs": list(verbs)}
        space.collection("roles", RBAC).create(self._name, rules=[rule])
        space.collection("rolebindings", RBAC).create(
            self._name,
            roleRef={"apiGroup": group, "kind": "Role", "name": self._name},
            subjects=[{"apiGroup": group, "kind": "User", "name": user}],
        )

    def take_away(self) -> None:
        assert self._space.collection("rolebindings", RBAC).delete(self._name).status == 200


def grant_by_name(space: Space, resource: str, name: str, *verbs: str) -> None:
    """Give alice rights to objects of one name, outside namespaces."""
    role, group = random_word(), space.dialect.group_name(RBAC)
    rule = {"apiGroups": ["*"], "resources": [resource], "resourceNames": [name]}
    space.everywhere("clusterroles", RBAC).create(role, rules=[{**rule, "verbs": list(verbs)}])
    space.everywhere("clusterrolebindings", RBAC).create(
        role,
        roleRef={"apiGroup": group, "kind": "ClusterRole", "name": role},
        subjects=[{"apiGroup": group, "kind": "User", "name": "alice"}],
    )


def as_alice(space: Space, collection: Collection) -> Collection:
    """The same collection, seen by a user to whom nothing is bound."""
    return Collection(alice(space), collection.path)


def alice(space: Space) -> Client:
    return space.server.client("alice-token")


class Widgets(Collection):
    """Objects of a custom kind, which need kind and apiVersion."""

    def make(self, name: str, **fields: Any) -> Object:
        _, _, group, version, *_ = self.path.split("/")
        return self.create(name, apiVersion=f"{group}/{version}", kind="Widget", **fields)


def custom(space: Space) -> Widgets:
    """The collection of a new custom kind, in two versions; the first is stored."""
    group = f"{space.name}.example.com"
    schema = {
        "openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
        }
    }
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        for name in ("v1", "v2")
    ]
    names = {"plural": "widgets", "kind": "Widget"}
    space.everywhere("customresourcedefinitions", "apiextensions.@").create(
        f"widgets.{group}",
        spec={"group": group, "scope": "Namespaced", "names": names, "versions": versions},
    )
    created = Widgets(space.client, space.collection("widgets", group).path)
    eventually(lambda: created.list().status == 200, "the kind is served")
    return created
