"""Finds devices for the claims of a pod, and allocates them on the chosen node.

The search for devices may take long, so it runs in a thread, on nodes that other rules accept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from fairlead.base import budget, meter
from fairlead.base.dialect import Dialect
from fairlead.base.release import Release
from fairlead.controllers.devices.allocation import (
    AllocationError,
    Allocator,
    Matcher,
)
from fairlead.controllers.devices.claims import (
    CLAIMS,
    CLASSES,
    SLICES,
    claim_names,
    extended_claim_name,
    is_owned_by,
    is_reserved_for,
)
from fairlead.controllers.devices.extended_resources import (
    new_claim,
    requests_of,
)
from fairlead.controllers.devices.inventory import Inventory, Stock, read_version
from fairlead.controllers.devices.readiness import READY, Readiness, readiness
from fairlead.controllers.simulation.scheduler.cluster import Event, NodeSummary, Refusal
from fairlead.controllers.simulation.scheduler.facts import PendingPod
from fairlead.controllers.simulation.scheduler.reservations import Devices
from fairlead.controllers.simulation.scheduler.selection import terms_match
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.resource.claims import exact_requests
from fairlead.resources.resource.extended_names import classes_by_resource
from fairlead.storage.version import Version

_UNTIL = Event.NODE | Event.POD_GONE | Event.DEVICE
_MAX_CONSUMERS = 256
_MAX_CLAIMS = 256  # of one pod
_MAX_FITTING = 100  # nodes to compare if requests have alternatives
_MAX_ALTERNATIVES = 8
SECONDS = 2.0  # of CPU for the search of one pod
_READING_SECONDS = 20.0
_OWNER = "simulated-scheduler"
_NOT_CREATED = "waiting for the resource claim controller to create the claims of the pod"
_TIMED_OUT = "timed out trying to allocate devices"

Result = TypeVar("Result")


class NoDevices(NamedTuple):
    """Why each node is rejected. `unavailable` are allocated claims that cannot be used on one."""

    refusals: dict[str, Refusal]
    unavailable: Sequence[Object] = ()


class _Task(NamedTuple):
    """What the search needs, read on the event loop. `claims` are those of the pod, by name."""

    nodes: Sequence[NodeSummary]
    pending: PendingPod
    claims: Mapping[str, Version | None]
    classes: Mapping[str, Version]
    stock: Stock


class DeviceRule:
    def __init__(
        self, client: Client, dialect: Dialect, release: Release, *, extended: bool
    ) -> None:
        self._client = client
        self._dialect = dialect
        self._release = release
        self._extended = extended
        self._inventory = Inventory()
        self._by_resource: dict[str, str] | None = None

    def forget_classes(self) -> None:
        """Called when a class changes."""
        self._by_resource = None

    def with_delegated(self, pending: PendingPod) -> PendingPod:
        """The pod with the resources that it asks for and device classes stand for."""
        names = [name for name, amount in pending.facts.requests.items() if "/" in name and amount]
        if not names or not self._extended:
            return pending
        if self._by_resource is None:
            self._by_resource = classes_by_resource(self._client.list(CLASSES), self._dialect)
        known = self._by_resource
        return pending._replace(delegated={name: known[name] for name in names if name in known})

    async def find(self, pending: PendingPod, nodes: Sequence[NodeSummary]) -> Devices | NoDevices:
        """The devices of a pod on the first of these nodes that has them, or, if requests have
        alternatives, on the one with the best alternatives."""
        names = claim_names(pending.pod)
        if len(names) > _MAX_CLAIMS:
            return _everywhere(nodes, "pod has more claims than the simulated scheduler weighs")
        published, claims = (self._client.collection(key).newest("") for key in (SLICES, CLAIMS))
        stock = await _in_thread(
            partial(self._inventory.stock, published, claims), _READING_SECONDS
        )
        versions = self._versions(pending.pod, names)
        classes = {each.name: each for each in self._client.collection(CLASSES).newest("")}
        task = _Task(nodes, pending, versions, classes, stock)
        return await _in_thread(partial(self._search, task))

    def _versions(self, pod: Object, names: Iterable[str]) -> dict[str, Version | None]:
        claims, namespace = self._client.collection(CLAIMS), pod["metadata"]["namespace"]
        return {name: claims.get(f"{namespace}/{name}") if name else None for name in names}

    async def state(self, pod: Object) -> tuple[Readiness, Sequence[Object]]:
        """Whether all claims of a pod are ready for it to be bound, and the claims."""
        versions = self._versions(pod, [*claim_names(pod), extended_claim_name(pod)])
        existing = [each for each in versions.values() if each is not None]
        return await _in_thread(partial(_state, existing), _READING_SECONDS)

    def _search(self, task: _Task) -> Devices | NoDevices:
        refusals: dict[str, Refusal] = {}
        fitting: list[Devices] = []
        unavailable: dict[str, Object] = {}
        try:
            claims = _usable(task)
            classes, stock = _classes(claims, task), task.stock
            matcher = Matcher(self._release, classes)
            most = _MAX_FITTING if any(map(_has_alternatives, claims)) else 1
            for node in task.nodes:
                try:
                    unallocated = _unallocated(claims, node, unavailable)
                    devices = list(stock.pools.on(node.name, node.labels))
                    allocator = Allocator(node.name, devices, stock.usage, classes, matcher)
                    fitting.append(self._on(node, task.pending, claims, unallocated, allocator))
                except AllocationError as error:
                    refusals[node.name] = Refusal((str(error),), True, _UNTIL)
                if len(fitting) >= most:
                    break
        except AllocationError as error:
            return _everywhere(task.nodes, str(error))
        except meter.TimeLimitExceeded:
            for node in task.nodes:
                refusals.setdefault(node.name, Refusal((_TIMED_OUT,), True, _UNTIL))
        if fitting:
            return max(fitting, key=_preference)
        return NoDevices(refusals, list(unavailable.values()))

    def _on(
        self,
        node: NodeSummary,
        pending: PendingPod,
        claims: Sequence[Object],
        unallocated: Sequence[Object],
        allocator: Allocator,
    ) -> Devices:
        """Raises AllocationError."""
        mappings: list[Object] = []
        missing = {
            name: device_class
            for name, device_class in pending.delegated.items()
            if not node.allocatable.get(name)
        }
        wanted = list(unallocated)
        if missing:
            requests, mappings = requests_of(pending.pod, missing)
            wanted.append(new_claim(pending.pod, self._dialect, requests))
        allocations = allocator.allocate(wanted)
        allocated = [claim for claim in claims if allocation_in(claim) is not None]
        return Devices(node, allocated, list(zip(wanted, allocations, strict=True)), mappings)


async def _in_thread(work: Callable[[], Result], seconds: float = SECONDS) -> Result:
    """Run work with so many seconds of CPU, which are not those of later writes."""
    meter.begin(_OWNER)
    meter.current_budget().seconds = seconds
    try:
        return await budget.run(meter.MAX_BYTES_ON_LOOP + 1, work)
    finally:
        meter.begin(_OWNER)


def allocation_in(claim: Object) -> Object | None:
    allocation: Object | None = (claim.get("status") or {}).get("allocation")
    return allocation


def _everywhere(nodes: Iterable[NodeSummary], reason: str) -> NoDevices:
    refusal = Refusal((reason,), True, _UNTIL)
    return NoDevices({node.name: refusal for node in nodes})


def _usable(task: _Task) -> list[Object]:
    """The claims of the pod; raises AllocationError if it cannot use one."""
    pod = task.pending.pod
    named = {each.get("resourceClaimName") for each in pod["spec"].get("resourceClaims") or ()}
    claims = []
    for name, version in task.claims.items():
        if not name:
            raise AllocationError(_NOT_CREATED)
        if version is None:
            raise AllocationError(f'resourceclaim "{name}" not found')
        claim = read_version(version)
        problem = _problem(claim, pod, is_named=name in named)
        if problem:
            raise AllocationError(f'resourceclaim "{name}" {problem}')
        claims.append(claim)
    return claims


def _problem(claim: Object, pod: Object, *, is_named: bool) -> str:
    if claim["metadata"].get("deletionTimestamp"):
        return "is being deleted"
    if not is_named and not is_owned_by(claim, pod):
        return "was not created for the pod (pod is not owner)"
    reserved = (claim.get("status") or {}).get("reservedFor") or ()
    if len(reserved) >= _MAX_CONSUMERS and not is_reserved_for(claim, pod):
        return "is in use by too many pods"
    return ""


def _classes(claims: Iterable[Object], task: _Task) -> dict[str, Object]:
    """The classes that requests need; raises AllocationError if one does not exist."""
    names = set(task.pending.delegated.values())
    for claim in claims:
        if allocation_in(claim) is None:
            names.update(request["deviceClassName"] for request in exact_requests(claim["spec"]))
    for name in names:
        if name not in task.classes:
            raise AllocationError(f"device class {name} does not exist")
    return {name: read_version(task.classes[name]) for name in names}


def _has_alternatives(claim: Object) -> bool:
    requests = claim["spec"]["devices"]["requests"] or ()
    return any(request.get("firstAvailable") for request in requests)


def _unallocated(
    claims: Iterable[Object], node: NodeSummary, unavailable: dict[str, Object]
) -> list[Object]:
    """The claims that need devices. Raises AllocationError if the devices of another one cannot be
    used on the node, and adds that to `unavailable`."""
    unallocated = []
    for claim in claims:
        allocation = allocation_in(claim)
        if allocation is None:
            unallocated.append(claim)
        elif not _is_on(allocation, node) or readiness(claim).problem:
            unavailable[claim["metadata"]["name"]] = claim
            raise AllocationError("resourceclaim not available on the node")
    return unallocated


def _state(versions: Iterable[Version]) -> tuple[Readiness, Sequence[Object]]:
    claims = [read_version(version) for version in versions]
    states = [readiness(claim) for claim in claims]
    for state in states:
        if state.problem:
            return state, claims
    return min((state for state in states if state.until), default=READY), claims


def _is_on(allocation: Object, node: NodeSummary) -> bool:
    selector = allocation.get("nodeSelector")
    return selector is None or terms_match(
        selector["nodeSelectorTerms"] or (), node.labels, node.name
    )


def _preference(devices: Devices) -> int:
    """How early the chosen alternatives are in their lists."""
    score = 0
    for claim, allocation in devices.allocations:
        chosen = {result["request"] for result in allocation["devices"]["results"]}
        for request in claim["spec"]["devices"]["requests"] or ():
            for index, each in enumerate(request.get("firstAvailable") or ()):
                if f"{request['name']}/{each['name']}" in chosen:
                    score += _MAX_ALTERNATIVES - index
    return score
