"""A small world of stored objects, and writes that plugins look at."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

import pytest

from fairlead.admission.catalogue import Dependencies
from fairlead.admission.plugin import CREATE, DELETE, UPDATE, Attributes, Plugin
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization import attributes as questions
from fairlead.auth.authorization.attributes import Decision
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.errors import StatusError
from fairlead.base.release import V1_25, Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.resources.catalogue import behaviour_of
from fairlead.resources.context import Context
from fairlead.resources.gates import Gates
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version, body_of, encode

Object = dict[str, Any]

NAMESPACE = "ns"
PODS = "core/v1/pods"
USER = User("jane", groups=("system:authenticated",))
both_dialects = pytest.mark.parametrize("dialect", [KUBERNETES, CLUSTER], ids=lambda d: d.name)


class World:
    """Objects of one dialect. `rights` are the (verb, name) pairs that users have on signers."""

    def __init__(
        self, dialect: Dialect = KUBERNETES, release: Release = V1_25, **gates: bool
    ) -> None:
        self.dialect = dialect
        self.resources = Resources(dialect, BuiltinTypes(dialect, release))
        self.rights: set[tuple[str, str]] = set()
        self.authorizations: list[questions.Attributes] = []
        self.provisioned: list[str] = []
        self._gates = Gates(gates, release)
        self._collections: dict[str, Collection] = {}
        self._revision = 0

    @property
    def needs(self) -> Dependencies:
        return Dependencies(
            find=self.find,
            namespace=self.namespace,
            collection=self.collection,
            allowed=self._allowed,
            decide=self.decide,
            create_namespace=self._create_namespace,
            resources=self.resources,
        )

    async def _allowed(self, attributes: questions.Attributes) -> bool:
        return (await self.decide(attributes)).allowed

    async def decide(self, attributes: questions.Attributes) -> Decision:
        self.authorizations.append(attributes)
        return Decision(allowed=(attributes.verb, attributes.name) in self.rights)

    async def _create_namespace(self, name: str) -> None:
        self.provisioned.append(name)

    def collection(self, key: str) -> Collection:
        return self._collections.setdefault(key, Collection(key))

    def find(self, key: str, namespace: str, name: str) -> Version | None:
        place = self.resources.named(key).storage_key(namespace, name)
        return self.collection(key).get(place)

    def namespace(self, name: str) -> Version | None:
        return self.find("core/v1/namespaces", "", name)

    def lookup(self, key: str, namespace: str, name: str) -> Object | None:
        version = self.find(key, namespace, name)
        return version.object() if version is not None else None

    def put(self, key: str, value: Object) -> Object:
        """Store a new version of an object."""
        item = self.decode(key, value)
        self._add(key, item, body_of(encode(_ordered(item)), self._revision + 1))
        return item

    def remove(self, key: str, name: str) -> None:
        self._add(key, {"metadata": {"name": name, "namespace": NAMESPACE}}, None)

    def _add(self, key: str, value: Object, body: bytes | None) -> None:
        self._revision += 1
        metadata = value["metadata"]
        place = self.resources.named(key).storage_key(NAMESPACE, metadata["name"])
        collection = self.collection(key)
        collection.add(Version(place, self._revision, "", body))

    def decode(self, key: str, value: Object) -> Object:
        """An object as it comes to admission: decoded and with its defaults."""
        resource = self.resources.named(key)
        return _decoded(resource, value, self.context())

    def context(self, *, dry_run: bool = False) -> Context:
        return Context(self.dialect, self._gates, self.lookup, NAMESPACE, dry_run=dry_run)

    def create(
        self, plugin: Plugin, key: str, value: Object, user: User = USER, *, dry_run: bool = False
    ) -> Object:
        """Return a new object after a plugin has admitted it."""
        return self._write(plugin, CREATE, key, self.decode(key, value), None, user, dry_run)

    def update(
        self, plugin: Plugin, key: str, old: Object, value: Object, user: User = USER
    ) -> Object:
        new, before = self.decode(key, value), self.decode(key, old)
        return self._write(plugin, UPDATE, key, new, before, user)

    def delete(self, plugin: Plugin, key: str, old: Object, user: User = USER) -> None:
        self._write(plugin, DELETE, key, None, self.decode(key, old), user)

    def _write(
        self,
        plugin: Plugin,
        operation: str,
        key: str,
        value: Object | None,
        old: Object | None,
        user: User,
        dry_run: bool = False,
    ) -> Object:
        resource = self.resources.named(key)
        name = (value or old or {})["metadata"].get("name", "")
        namespace = NAMESPACE if resource.namespaced else ""
        if value is not None and resource.namespaced:
            namespace = value["metadata"]["namespace"]
        attributes = Attributes(
            operation, resource, namespace, name, value, old, user, self.context(dry_run=dry_run)
        )
        run_step(plugin.admit, attributes)
        run_step(plugin.validate, attributes)
        return value or {}


def run_step(step: Callable[[Attributes], Awaitable[None] | None], attributes: Attributes) -> None:
    """Run a step of a plugin or of a chain, to its end if it waits."""

    async def run() -> None:
        if (waiting := step(attributes)) is not None:
            await waiting

    asyncio.run(run())


def _decoded(resource: Resource, value: Object, context: Context) -> Object:
    whole = resource.subresource not in ("binding", "eviction", "token")
    struct = resource.stored_struct if whole else resource.struct
    item: Object = decoder(struct)(deepcopy(value), [])
    metadata = item["metadata"]
    if not metadata.get("generateName"):
        metadata.setdefault("name", "a")
    if resource.namespaced:
        metadata.setdefault("namespace", NAMESPACE)
    metadata.setdefault("creationTimestamp", "2024-01-01T00:00:00Z")
    fill_defaults(struct, item)
    if whole:
        behaviour_of(resource.parent or resource).fill_defaults(item, context)
    return item


def _ordered(value: Object) -> Object:
    return {"metadata": value["metadata"], **value}


def refused(message: str, code: int = 403) -> Any:
    """Expects a refusal with exactly this message."""
    return _Refused(code, message)


class _Refused:
    def __init__(self, code: int, message: str) -> None:
        self._wanted = (code, message)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        assert isinstance(error, StatusError), error or "nothing was refused"
        assert (error.code, error.message) == self._wanted
        return True


def pod(**spec: Any) -> Object:
    """Return a pod, with one container by default."""
    return {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
