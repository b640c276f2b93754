"""The state that every verb works with: resources, behaviours, store, admission and authorizer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from math import ceil, frexp
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeVar

from fairlead.admission.chain import Chain
from fairlead.auth.authentication.factory import Authentication
from fairlead.auth.authorization.attributes import Attributes, Decision
from fairlead.auth.authorization.chain import Authorizer
from fairlead.base.backlog import Slice
from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object as Object
from fairlead.fields.entries import Versions
from fairlead.operations.apply_cache import KnownApplies
from fairlead.operations.operation import Auditor, Operation, RevisionAuthors
from fairlead.resources.behaviour import Behaviour
from fairlead.resources.catalogue import behaviour_of, field_selector
from fairlead.resources.context import Context
from fairlead.resources.core.services.allocation import ServiceAllocators
from fairlead.resources.gated_fields import disabled_fields
from fairlead.resources.gates import Gates
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.collection import Collection
from fairlead.storage.store import Store
from fairlead.storage.version import Version
from fairlead.wire.outgoing.cluster import ClusterDialer
from fairlead.wire.outgoing.request import Route

# Called after every operation with its HTTP code (the equivalent for internal calls) and seconds.
Observer = Callable[[Operation, int, float], None]


class Work(Protocol):
    """The queue of a controller: items waiting, items in progress, and items that are retried after
    a failure."""

    @property
    def working(self) -> int: ...

    @property
    def retries(self) -> int: ...

    @property
    def is_paused(self) -> bool: ...

    def __len__(self) -> int: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Api:
    """One server's API in one dialect. `admission`, `authentication` and `authorizer` are set after
    construction, because they need the API themselves.

    `overrides` are the stores of resources that are kept in another etcd cluster, by their names in
    the store; `store` has all others. Revisions of two stores cannot be compared.
    """

    authentication: Authentication
    authorizer: Authorizer

    def __init__(
        self,
        resources: Resources,
        store: Store,
        gates: Gates,
        overrides: Mapping[str, Store] = MappingProxyType({}),
    ) -> None:
        self.resources = resources
        self.types = resources.types
        self.dialect: Dialect = resources.dialect
        self.store = store
        self._overrides = overrides
        self.admission = Chain([])
        self.gates = gates
        self.observers: list[Observer] = []
        self.auditor: Auditor | None = None
        self._behaviours: dict[str, Behaviour] = {}
        self._collections: dict[str, Collection] = {}
        self.versions: dict[str, Versions] = {}
        self.allocators: ServiceAllocators | None = None
        self.known_applies = KnownApplies()
        self.actors = RevisionAuthors()
        self.alarms = TimerGroup()
        self.watch_slice = Slice()  # for watches that send more than a little at once
        self.reach = ClusterDialer()
        self.shortest_watch = 1800.0  # seconds, for watches without timeoutSeconds; 0: no limit
        self.simulated: Simulated | None = None
        self.work: dict[str, Work] = {}  # queues of the controllers, by name
        self._namespaces = self.collection(resources.named("core/v1/namespaces"))
        self.consultations = 0  # count of lookups beyond the written object, see `known_applies`

    def collection(self, resource: Resource) -> Collection:
        """The collection of a resource, or of a subresource's parent."""
        collection = self._collections.get(resource.key)
        if collection is None:
            main = resource.main
            name = self.resources.stored_as(main)
            collection = self.store_of(name).collection(name)
            if collection.select_fields is None:
                collection.select_fields = field_selector(main)
                collection.api_version = self._recorded_version(main)
            self._collections[resource.key] = collection
        return collection

    def store_of(self, name: str) -> Store:
        """The store of a collection, by its name."""
        return self._overrides.get(name, self.store)

    def store_for(self, resource: Resource) -> Store:
        """The store of a resource, or of a subresource's parent."""
        return self.store_of(self.resources.stored_as(resource.main))

    @property
    def stores(self) -> list[Store]:
        """The main store, then those of other clusters."""
        return [self.store, *self.kept_apart()]

    def kept_apart(self) -> dict[Store, list[str]]:
        """Return the stores of other clusters, with the names of the resources in them."""
        kept: dict[Store, list[str]] = {}
        for name, store in self._overrides.items():
            kept.setdefault(store, []).append(name)
        return kept

    def _recorded_version(self, resource: Resource) -> str:
        if resource.custom is not None:
            return resource.custom.definition.storage.api_version
        return self.resources.api_version_of(resource.stored_version)

    def withdraw(self, resource: Resource) -> None:
        """Stop serving a resource: end its watches and drop its caches. Its objects stay in the
        store."""
        self.store.forget(self.resources.stored_as(resource))
        self.resources.remove(resource)
        self.forget(resource)

    def forget(self, resource: Resource) -> None:
        """Drop everything cached for a resource and its subresources."""
        for member in (resource, *resource.subresources.values()):
            for cache in (self._collections, self._behaviours, self.versions):
                cache.pop(member.key, None)

    def behaviour(self, resource: Resource) -> Behaviour:
        """The behaviour of the kind in its stored version."""
        main = resource.main
        behaviour = self._behaviours.get(main.key)
        if behaviour is None:
            stored = self.in_stored_version(main)
            behaviour = self._behaviours[main.key] = behaviour_of(stored)
            if main.custom is None:
                behaviour.disabled_fields = disabled_fields(stored.stored_struct, self.gates)
        return behaviour

    def in_stored_version(self, resource: Resource) -> Resource:
        """The same resource in the version in which its objects are stored."""
        if resource.stored_version == resource.group_version.table_name:
            return resource
        return self.resources.named(f"{resource.stored_version}/{resource.name}")

    def lookup(self, key: str, namespace: str, name: str) -> Object | None:
        """A copy of the newest version of an object. `key` is the internal name, such as
        `core/v1/pods`."""
        version = self.newest(key, namespace, name)
        return version.object() if version is not None else None

    def newest(self, key: str, namespace: str, name: str) -> Version | None:
        """The newest version, which may still be uncommitted."""
        self.consultations += 1
        resource = self.resources.named(key)
        return self.collection(resource).latest(resource.storage_key(namespace, name))

    def namespace(self, name: str) -> Version | None:
        """The newest version of a namespace. Not counted in `consultations`, so it is only for a
        write's own namespace: cached applies are compared with that namespace's revision (see
        `known_applies`)."""
        return self._namespaces.latest(name)

    def releases_addresses(self, resource: Resource) -> bool:
        """Whether objects of a resource have addresses that are objects themselves."""
        allocators = self.allocators
        if allocators is None or allocators.objects is None:
            return False
        return self.behaviour(resource).claims_values

    def context(self, operation: Operation, dry_run: bool = False) -> Context:
        resource = operation.resource
        return Context(
            self.dialect,
            self.gates,
            self.lookup,
            operation.namespace,
            resource.subresource,
            operation.user.name,
            dry_run,
            operation.warnings,
            resource.group_version.table_name,
            self.allocators,
            annotations=operation.annotations,
            user=operation.user,
            deadline=operation.deadline,
        )

    def allowed(self, attributes: Attributes) -> Awaitable[bool]:
        """Whether the authorizer allows a request, for rules and admission plugins."""
        self.consultations += 1
        return self.authorizer.allowed(attributes)

    def decide(self, attributes: Attributes) -> Awaitable[Decision]:
        """The authorizer's decision with its reasons."""
        self.consultations += 1
        return self.authorizer.authorize(attributes)


# Timers for very many waiters: deadlines close to each other share one timer of the event loop.

_MAX_LATENESS: Final = 6  # an alarm is late by at most 1/2**6 of its delay
_MAX_BATCH: Final = 50  # callbacks before yielding to the event loop


class Sleeper(Protocol):
    """A waiter with at most one alarm at a time."""

    def ring(self) -> None: ...


class TimerGroup:
    """All alarms of one event loop; times are those of the loop's clock."""

    def __init__(self) -> None:
        self._sleepers: dict[float, set[Sleeper]] = {}
        self._timers: dict[float, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def set(self, due: float, sleeper: Sleeper) -> float:
        """Call `sleeper.ring()` at `due` or slightly later. Returns the handle that `cancel`
        takes."""
        loop = asyncio.get_running_loop()
        time = _rounded(due, max(due - loop.time(), 0.0))
        sleepers = self._sleepers.get(time)
        if sleepers is None:
            sleepers = self._sleepers[time] = set()
            self._timers[time] = loop.call_at(time, self._ring, time)
        sleepers.add(sleeper)
        return time

    def cancel(self, time: float, sleeper: Sleeper) -> None:
        """Cancel an alarm; does nothing if it has fired."""
        sleepers = self._sleepers.get(time)
        if sleepers is None:
            return
        sleepers.discard(sleeper)
        if not sleepers:
            self._forget(time)

    def _forget(self, time: float) -> None:
        self._sleepers.pop(time, None)
        timer = self._timers.pop(time, None)
        if timer is not None:
            timer.cancel()

    def _ring(self, time: float) -> None:
        sleepers = self._sleepers[time]
        batch = [sleepers.pop() for _ in range(min(_MAX_BATCH, len(sleepers)))]
        if sleepers:
            loop = asyncio.get_running_loop()
            self._timers[time] = loop.call_later(0, self._ring, time)
        else:
            self._forget(time)
        for sleeper in batch:
            sleeper.ring()


def _rounded(due: float, delay: float) -> float:
    """Round `due` up to the next multiple of a step that grows with the delay: at most 1/64 of
    it."""
    step = 2.0 ** (frexp(delay)[1] - 1 - _MAX_LATENESS) if delay else 1 / 256
    return ceil(due / step) * step


# The interface of simulated nodes


class LogOptions(NamedTuple):
    """The requested part of a log: lines since a time, the last lines, or a number of bytes."""

    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None


class CommandStreams(Protocol):
    """The client's side of a command in a container."""

    def read(self) -> Awaitable[bytes]:
        """Wait for input; empty at its end."""

    def write(self, stream: int, data: bytes) -> Awaitable[None]:
        """Write to the standard output (1) or the standard error (2)."""


ConnectionProtocol = TypeVar("ConnectionProtocol", bound=asyncio.Protocol)


class Simulated(Protocol):
    """Answers for containers that are simulated."""

    has_scheduler: bool

    def has(self, node: str) -> bool:
        """Whether a node is simulated."""

    def log(self, pod: Object, container: str, options: LogOptions) -> bytes:
        """The log of a container; raises StatusError."""

    def follow_log(
        self, pod: Object, container: str, options: LogOptions
    ) -> tuple[bytes, AsyncIterator[bytes]]:
        """The log of a container so far, and what comes until it ends; raises StatusError."""

    def check_running(self, pod: Object, container: str) -> None:
        """Raises StatusError if a container is not running."""

    def execute(
        self,
        pod: Object,
        container: str,
        words: list[str],
        streams: CommandStreams,
        *,
        has_terminal: bool,
    ) -> Awaitable[int]:
        """Run a command in a container, or attach to its own without words; returns the exit
        code."""

    def connect(
        self, pod: Object, route: Route, protocol: Callable[[], ConnectionProtocol]
    ) -> Awaitable[ConnectionProtocol]:
        """Connect to a port of a pod; raises CallError."""

    def address_of(
        self, namespace: str, endpoint: Object, port: int
    ) -> Awaitable[tuple[str, int] | None]:
        """The address that a port of a simulated pod is forwarded to, by the pod's entry in
        Endpoints; None if the pod is not simulated. Raises CallError."""

    def connect_to_node(
        self, node: str, route: Route, protocol: Callable[[], ConnectionProtocol]
    ) -> Awaitable[ConnectionProtocol]:
        """Connect to a port of a node; raises CallError."""

    def end_of(self, pod: Object, container: str) -> Awaitable[None]:
        """Wait until a container is not running, or the server stops."""

    def stop_waiting(self) -> None:
        """Release all waiters of `end_of`, because the server stops."""

    @property
    def metrics(self) -> ResourceMetrics:
        """What the containers use."""


class ResourceMetrics(Protocol):
    """What simulated nodes and their containers use, as objects of the group metrics.k8s.io without
    kind and apiVersion."""

    def of_pod(self, pod: Version) -> Object | None:
        """The PodMetrics of a pod; None if no container of it runs on a simulated node."""

    def of_nodes(self, nodes: Sequence[Version]) -> Awaitable[list[Object]]:
        """The NodeMetrics of those nodes that are simulated and can be reached."""
