"""What became of the owners that an object names."""

from __future__ import annotations

from enum import Enum, auto

from fairlead.controllers.elsewhere import Elsewhere
from fairlead.controllers.garbage.graph import Graph
from fairlead.controllers.garbage.references import Reference, steps_of
from fairlead.controllers.namespaces import NAMESPACES
from fairlead.controllers.versions import uid_of
from fairlead.operations.api import Api
from fairlead.operations.delete import FOREGROUND
from fairlead.resources.registry import Resource

_NEEDED = frozenset({"delete", "get", "list", "watch"})


class State(Enum):
    """SOLID is there, WAITING is there until its dependents are gone, DANGLING is not there (or
    another object has its name). Nothing can be said of an UNKNOWN kind, nor of an owner in a
    namespace that something outside of namespaces names (MISPLACED)."""

    SOLID = auto()
    WAITING = auto()
    DANGLING = auto()
    UNKNOWN = auto()
    MISPLACED = auto()


def is_collected(resource: Resource) -> bool:
    """Whether objects of a resource can be owners and dependents. Events are about objects and do
    not belong to them."""
    return _NEEDED.issubset(resource.verbs) and resource.kind != "Event"


class Owners:
    """Looks owners up as the newest versions are, those on their way to the disk included. Those
    that other servers keep are of an unknown kind."""

    def __init__(self, api: Api, graph: Graph, elsewhere: Elsewhere) -> None:
        self._api = api
        self._graph = graph
        self._elsewhere = elsewhere
        self._resolved: dict[tuple[str, str], Resource] = {}
        self._generation = -1

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """The resource of a kind in a version that is served."""
        group, _, version = api_version.rpartition("/")
        if self._elsewhere.serves(group, version):
            return None
        resources = self._api.resources
        if self._generation != resources.generation:
            self._generation = resources.generation
            self._resolved.clear()
        known = self._resolved.get((api_version, kind))
        if known is not None:
            return known
        for found in filter(is_collected, resources.of_kind(api_version, kind)):
            self._resolved[api_version, kind] = found
            return found
        return None

    def state(self, reference: Reference, namespace: str) -> State:
        """What became of an owner that an object in a namespace names."""
        resource = self.resource(reference.api_version, reference.kind)
        if resource is None:
            # What is known to be gone stays gone when its definition goes as well.
            return State.DANGLING if self._graph.is_absent(reference.uid) else State.UNKNOWN
        if resource.namespaced and not namespace:
            return State.MISPLACED
        key = resource.storage_key(namespace, reference.name)
        owner = self._api.store.latest(self._api.collection(resource), key)
        if owner is None or uid_of(owner) != reference.uid:
            return State.DANGLING
        return State.WAITING if FOREGROUND in steps_of(owner) else State.SOLID

    def is_elsewhere(self, reference: Reference, namespace: str) -> bool:
        """Whether an owner that is not where it should be lies in another namespace."""
        resource = self.resource(reference.api_version, reference.kind)
        if resource is None or not resource.namespaced or self._graph.is_absent(reference.uid):
            return False
        collection = self._api.collection(resource)
        namespaces = self._api.collection(self._api.resources.named(NAMESPACES))
        others = (one.key for one in namespaces.current("") if one.key != namespace)
        found = (collection.get(f"{other}/{reference.name}") for other in others)
        return any(one is not None and uid_of(one) == reference.uid for one in found)
