"""Roles, bindings and requests, written the short way, and a store to follow them in."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.aggregation import ClusterRoleAggregation
from fairlead.auth.authorization.attributes import Attributes, Decision
from fairlead.auth.authorization.bindings import Listener
from fairlead.auth.authorization.chain import Authorizer, Epoch
from fairlead.auth.authorization.rbac import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    Rbac,
)
from fairlead.base.dialect import KUBERNETES, Dialect
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version, body_of, encode, existing

Object = dict[str, Any]

GROUP = KUBERNETES.group_name("rbac.authorization.@")


class Objects:
    """Collections in memory whose changes reach followers as the store's do. Also what the
    reconciliation of bootstrap objects writes to."""

    def __init__(self) -> None:
        self._collections: dict[str, Collection] = {}
        self._revision = 0
        self.writes = 0

    def collection(self, key: str) -> Collection:
        return self._collections.setdefault(key, Collection(key))

    def follow(self, key: str, listener: Listener) -> None:
        self.show(key, listener)
        self.collection(key).followers.add(listener, self._revision, essential=True)

    def show(self, key: str, listener: Listener) -> None:
        """Call a listener with the current objects only."""
        for version in self.collection(key).current(""):
            listener(existing(key, version))

    def put(self, key: str, value: Object) -> None:
        value = deepcopy(value)
        metadata = value.pop("metadata")
        metadata.pop("resourceVersion", None)
        self._write(key, _key(metadata), {"metadata": metadata, **value})

    def remove(self, key: str, namespace: str, name: str) -> None:
        self._write(key, _key({"namespace": namespace, "name": name}), None)

    def _write(self, key: str, object_key: str, value: Object | None) -> None:
        collection = self.collection(key)
        self._revision += 1
        self.writes += 1
        body = body_of(encode(value), self._revision) if value is not None else None
        version = Version(object_key, self._revision, "", body, collection.fields_of)
        collection.followers.notify_essential(collection.add(version))

    def serves(self, key: str) -> bool:
        return True

    def find(self, key: str, namespace: str, name: str) -> Object | None:
        result = self.collection(key).get(_key({"namespace": namespace, "name": name}))
        return result.object() if result is not None else None

    async def create(self, key: str, value: Object) -> None:
        self.put(key, value)

    async def replace(self, key: str, value: Object) -> None:
        self.put(key, value)

    async def delete(self, key: str, namespace: str, name: str) -> None:
        self.remove(key, namespace, name)


def _key(metadata: Object) -> str:
    namespace = metadata.get("namespace", "")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def rule(groups: str, resources: str, verbs: str, names: str = "") -> Object:
    """Words apart; the group `core` is the one without a name."""
    value: Object = {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
    }
    if names:
        value["resourceNames"] = names.split()
    return value


def paths(urls: str, verbs: str) -> Object:
    return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}


def user(name: str, *groups: str) -> User:
    return User(name, "", groups)


def subject(text: str) -> Object:
    """`user:alice`, `group:dev`, `account:namespace/name`."""
    kind, _, name = text.partition(":")
    if kind == "account":
        namespace, _, name = name.rpartition("/")
        account = {"kind": "ServiceAccount", "name": name}
        return {**account, "namespace": namespace} if namespace else account
    return {"kind": kind.title(), "apiGroup": GROUP, "name": name}


def ask(who: User, verb: str, what: str, namespace: str = "", name: str = "") -> Attributes:
    """A question about `group:resource/subresource`, or about a path."""
    if what.startswith("/"):
        return Attributes(who, verb, path=what, is_resource=False)
    group, _, resource = what.rpartition(":")
    resource, _, subresource = resource.partition("/")
    return Attributes(who, verb, group, "v1", resource, subresource, namespace, name)


class World:
    """RBAC objects and an authorizer over them."""

    def __init__(self, dialect: Dialect = KUBERNETES) -> None:
        self.objects = Objects()
        self.epoch = Epoch()
        self.rbac = Rbac(dialect, self.epoch)
        self.rbac.follow(self.objects.follow)
        self.authorizer = Authorizer([self.rbac], self.epoch)

    def role(self, name: str, *rules: Object, namespace: str = "") -> None:
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        key = ROLES if namespace else CLUSTER_ROLES
        self.objects.put(key, {"metadata": metadata, "rules": list(rules)})

    def bind(
        self, name: str, role: str, *subjects: str, namespace: str = "", kind: str = ""
    ) -> None:
        """`kind` is of the role: ClusterRole unless the binding has a namespace."""
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        kind = kind or ("Role" if namespace else "ClusterRole")
        value = {
            "metadata": metadata,
            "subjects": [subject(text) for text in subjects],
            "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        }
        self.objects.put(ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS, value)

    def decide(self, *question: Any) -> Decision:
        return self.rbac.decide(ask(*question))

    def allows(self, *question: Any) -> bool:
        return self.decide(*question).allowed


def change(objects: Objects, key: str, namespace: str, name: str, **parts: Any) -> Object:
    stored = objects.find(key, namespace, name)
    assert stored is not None
    annotations = parts.pop("annotations", None)
    if annotations is not None:
        stored["metadata"]["annotations"] = annotations
    objects.put(key, {**stored, **parts})
    return stored


def aggregate(objects: Objects) -> int:
    async def write(name: str, rules: list[Object]) -> None:
        change(objects, CLUSTER_ROLES, "", name, rules=rules)

    async def run() -> None:
        aggregation = ClusterRoleAggregation(write)
        aggregation.follow(objects.follow)
        await aggregation.reconcile()

    before = objects.writes
    asyncio.run(run())
    return objects.writes - before
