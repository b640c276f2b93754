"""Asking for the past, and giving people rights."""

from __future__ import annotations

from typing import Any

from support.client import Answer, Client, Object, Query
from support.things import Space, Things, random_word
from support.waiting import eventually

RBAC = "rbac.authorization.@"


def history(things: Things, name: str = "", **query: Query) -> Answer:
    """The past of an object, or of its whole collection."""
    path = things.item(name) if name else things.path
    return things.client.get(f"/history{path}", **query)


def items(answer: Answer) -> list[Object]:
    assert answer.status == 200, answer.text
    found: list[Object] = answer.body["items"]
    return found


def column(answer: Answer, name: str) -> list[Any]:
    """One fact of every item."""
    return [item.get(name) for item in items(answer)]


def at(things: Things, name: str, revision: str, **query: Query) -> Answer:
    """An object as it was."""
    return history(things, name, resourceVersion=revision, **query)


def revision(value: Object) -> str:
    return str(value["metadata"]["resourceVersion"])


class Granted:
    """Rights that somebody has, in a namespace, until they are taken away."""

    def __init__(self, space: Space, resource: str, *verbs: str, user: str = "alice") -> None:
        self._space, self._name = space, random_word()
        group = space.dialect.group_name(RBAC)
        rule = {"apiGroups": ["*"], "resources": [resource], "verbs": list(verbs)}
        space.things("roles", RBAC).create(self._name, rules=[rule])
        space.things("rolebindings", RBAC).create(
            self._name,
            roleRef={"apiGroup": group, "kind": "Role", "name": self._name},
            subjects=[{"apiGroup": group, "kind": "User", "name": user}],
        )

    def take_away(self) -> None:
        assert self._space.things("rolebindings", RBAC).delete(self._name).status == 200


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


def as_alice(space: Space, things: Things) -> Things:
    """The same collection, seen by a user to whom nothing is bound."""
    return Things(alice(space), things.path)


def alice(space: Space) -> Client:
    return space.server.client("alice-token")


class Widgets(Things):
    """Objects of a custom kind, which have to say what they are."""

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
    made = Widgets(space.client, space.things("widgets", group).path)
    eventually(lambda: made.list().status == 200, "the kind is served")
    return made
