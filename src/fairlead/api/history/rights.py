"""Which resources' past a user may read, and from which revision on."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.api.history.walk import Walk
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes
from fairlead.auth.authorization.chain import Authorizer
from fairlead.base.caches import BoundedCache
from fairlead.operations.api import Api, Object
from fairlead.resources.registry import Resource
from fairlead.storage.collection import Collection
from fairlead.storage.version import ADDED, Change

NEVER = 1 << 63  # after every revision
_UID_BYTES = 36


class Namespaces:
    """The creation revisions of existing namespaces. A namespace that was deleted and recreated may
    have other users, whose rights begin with its creation."""

    def __init__(self, api: Api) -> None:
        resource = api.resources.find("", "v1", "namespaces")
        assert resource is not None
        self._store = api.store
        self._collection = api.collection(resource)
        self._creations: BoundedCache[str, int] = BoundedCache(
            10_000, name="creations of namespaces"
        )

    async def created(self, name: str) -> int:
        """The revision of its creation; 0 if older than the stored history, NEVER if there is no
        such namespace."""
        namespace = self._collection.get(name)
        if namespace is None:
            return NEVER
        uid: str = namespace.object()["metadata"]["uid"]
        revision = self._creations.get(uid)
        if revision is None:
            revision = await self._last_creation(name)
            self._creations.keep(uid, revision, _UID_BYTES)
        return revision

    async def _last_creation(self, name: str) -> int:
        async def make_item(change: Change) -> Object | None:
            return {} if change.kind == ADDED else None

        walk = Walk(self._store, {self._collection.resource: self._collection}, name)
        async for batch in walk.backwards(self._store.revision, 0, make_item):
            if batch.items:
                return batch.items[-1].revision
        return 0


class Rights:
    """Checks whether the user may read a namespace (or the cluster, for cluster-scoped objects).
    The authorizer caches its decisions, so there is no cache here."""

    def __init__(
        self, authorizer: Authorizer, namespaces: Namespaces, user: User, verb: str
    ) -> None:
        self._authorizer = authorizer
        self._namespaces = namespaces
        self._user = user
        self._verb = verb

    async def allows(self, resource: Resource, namespace: str, name: str = "") -> bool:
        version = resource.group_version.version
        attributes = Attributes(
            self._user, self._verb, resource.group, version, resource.name, "", namespace, name
        )
        decision = self._authorizer.decide_cached(attributes)
        if decision is None:
            decision = await self._authorizer.authorize(attributes)
        return decision.allowed

    async def allows_change(self, resource: Resource, change: Change) -> bool:
        namespace = change.namespace
        if not await self.allows(resource, namespace):
            return False
        return not namespace or change.revision >= await self.first_revision(resource, namespace)

    async def first_revision(self, resource: Resource, namespace: str, name: str = "") -> int:
        """The first revision that the user may read of a namespace: its creation, or 0 if the user
        may read all namespaces."""
        if await self.allows(resource, "", name):
            return 0
        return await self._namespaces.created(namespace)


# The served resource that represents a collection

_NOISY = ("events", "leases")  # written constantly by components, not by users


class ServedCollection:
    """A collection and the served resource that represents it."""

    __slots__ = ("collection", "names", "noisy", "resource")

    def __init__(self, resource: Resource, collection: Collection) -> None:
        self.resource = resource
        self.collection = collection
        self.noisy = resource.name in _NOISY and resource.custom is None
        self.names = {
            "group": resource.group,
            "version": resource.group_version.version,
            "kind": resource.kind,
            "resource": resource.name,
        }


class Served:
    """All served collections of the main store by their names in it; recomputed when the served
    resources change."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._generation = -1
        self._collections: dict[str, ServedCollection] = {}

    @property
    def collections(self) -> Mapping[str, ServedCollection]:
        resources = self._api.resources
        if self._generation != resources.generation:
            self._generation = resources.generation
            self._collections = {}
            for group_version in resources.group_versions():  # preferred versions come first
                for resource in group_version.resources.values():
                    if "list" in resource.verbs and "watch" in resource.verbs:
                        collection = self._api.collection(resource)
                        if self._api.store_of(collection.resource) is not self._api.store:
                            continue
                        served = ServedCollection(resource, collection)
                        self._collections.setdefault(collection.resource, served)
        return self._collections

    def select(self, namespace: str, *, noisy: bool) -> dict[str, ServedCollection]:
        """The collections with objects in a namespace, or all."""
        return {
            name: collection
            for name, collection in self.collections.items()
            if (noisy or not collection.noisy) and (not namespace or collection.resource.namespaced)
        }
