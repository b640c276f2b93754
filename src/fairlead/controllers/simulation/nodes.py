"""Maintains the Node objects and leases of simulated nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import inf
from random import uniform

from fairlead.base import clock
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import format_micro_time, parse_time
from fairlead.controllers.events import NORMAL, WARNING, EventWriter, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.node_behaviour import (
    READY,
    REBOOTING,
    UNREACHABLE,
    NodeBehaviour,
    next_end,
    node_behaviour,
    node_changes,
)
from fairlead.controllers.simulation.node_objects import (
    OWN_CONDITIONS,
    boot_id,
    declared_features,
    new_csi_node,
    new_node,
    node_allocatable,
    node_conditions,
    node_events,
    owner_of_own,
    with_drivers,
)
from fairlead.controllers.simulation.simulated_nodes import CSI_NODES, LEASES, NODES, SimulatedNodes
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change, Version

_NAMESPACES = "core/v1/namespaces"
_LEASE_SECONDS = 40
# Seconds. Rare enough to be cheap with many nodes, and two renewals fit into the 40 s after which a
# node counts as lost.
_RENEWAL = 18.0
_HEARTBEAT = 300.0


class NodeKeeper:
    """Keys are names of nodes. Registers nodes at start only, like a real agent: a deleted node
    stays away until the next start. `taint_remover` is a client that removes the initial not-ready
    taint if no lifecycle controller runs."""

    name = "simulated-nodes"
    workers = 32  # so that renewals share commits

    def __init__(
        self,
        api: Api,
        simulated_nodes: SimulatedNodes,
        version: str,
        taint_remover: Client | None,
        events: EventWriter,
    ) -> None:
        self._simulated_nodes = simulated_nodes
        self._dialect = api.dialect
        self._release = api.resources.release
        self._version = version
        self._features = declared_features(api.gates)
        self._reports_handlers = api.gates["RecursiveReadOnlyMounts"]
        self._taint_remover = taint_remover
        self._registered: set[str] = set()
        # The version that was last looked at, and until when only the lease is to be renewed.
        self._looked_at: dict[str, tuple[Version, float]] = {}
        self._events = events
        self._problems: dict[str, tuple[str, ...]] = {}

    def follows(self) -> Mapping[str, Keys]:
        return {NODES: self._own, _NAMESPACES: self._begin}

    def _own(self, change: Change) -> Iterable[str]:
        return (change.name,) if change.name in self._simulated_nodes else ()

    def _begin(self, change: Change) -> Iterable[str]:
        """All nodes, when the namespace for their leases is created."""
        if change.name == self._dialect.node_lease_namespace and change.added:
            return self._simulated_nodes.numbers
        return ()

    async def sync(self, key: str) -> float | None:
        client = self._simulated_nodes.client(key)
        version, moment = self._simulated_nodes.version(key), clock.time()
        looked_at, until = self._looked_at.pop(key, (None, 0.0))
        if version is not None and version is looked_at and moment < until:
            self._looked_at[key] = version, until
            return min(until - moment, await self._renew(client, key))
        node = client.find(NODES, "", key)
        if node is None:
            self._problems.pop(key, None)
            if key in self._registered:
                return None
            node = await self._register(client, key)
        if key not in self._registered:
            await self._register_drivers(client, node)
        self._registered.add(key)
        node = await self._settle(client, node)
        behaviour = node_behaviour(node["metadata"].get("annotations"))
        self._tell_problems(node, behaviour)
        if self._taint_remover is not None and behaviour.state == READY:
            await self._remove_not_ready_taint(self._taint_remover, node)
        due = [] if (ends := _ends_in(node)) is None else [ends]
        if behaviour.state != UNREACHABLE:
            due.append(await self._report(client, node, behaviour))
            if behaviour.state != REBOOTING:
                if version is not None:
                    self._looked_at[key] = version, moment + min(due)
                due.append(await self._renew(client, key))
        return min(due, default=None)

    async def _register(self, client: Client, name: str) -> Object:
        number = self._simulated_nodes.numbers[name]
        try:
            node = new_node(name, number, self._dialect, self._version, self._features)
            return await client.create(NODES, node)
        except StatusError as error:
            found = client.find(NODES, "", name)
            if error.reason != "AlreadyExists" or found is None:
                raise
            return found

    async def _register_drivers(self, client: Client, node: Object) -> None:
        """Create the CSINode, or take over that of an earlier node of the same name."""
        if not client.serves(CSI_NODES):
            return
        name = node["metadata"]["name"]
        new = new_csi_node(node, self._dialect, self._release)
        old = client.find(CSI_NODES, "", name)
        if old is None:
            await client.create(CSI_NODES, new)
        elif with_drivers(old, new) is not old:
            await client.change(CSI_NODES, "", name, lambda current: with_drivers(current, new))

    async def _remove_not_ready_taint(self, taint_remover: Client, node: Object) -> None:
        key, name = self._dialect.label("node.@/not-ready"), node["metadata"]["name"]

        def is_left(taint: Object) -> bool:
            return bool(taint["key"] != key or taint.get("timeAdded"))

        def without_taint(current: Object) -> Object:
            spec = dict(current["spec"])
            left = [taint for taint in spec.pop("taints", None) or () if is_left(taint)]
            return {**current, "spec": {**spec, "taints": left} if left else spec}

        if not all(map(is_left, node["spec"].get("taints") or ())):
            await taint_remover.change(NODES, "", name, without_taint)

    async def _settle(self, client: Client, node: Object) -> Object:
        """Write the annotations of states that begin for a time or are over."""
        metadata = node["metadata"]
        if not node_changes(metadata.get("annotations"), clock.time()):
            return node

        def settled(current: Object) -> Object:
            annotations = current["metadata"].get("annotations") or {}
            changed = {**annotations, **node_changes(annotations, clock.time())}
            left = {key: text for key, text in changed.items() if text is not None}
            return {**current, "metadata": {**current["metadata"], "annotations": left}}

        return await client.change(NODES, "", metadata["name"], settled)

    def _tell_problems(self, node: Object, behaviour: NodeBehaviour) -> None:
        name = node["metadata"]["name"]
        if self._problems.get(name, ()) == behaviour.problems:
            return
        self._problems[name] = behaviour.problems
        for problem in behaviour.problems:
            self._record(node, WARNING, "InvalidSimulation", problem)

    def _record(self, node: Object, kind: str, reason: str, text: str) -> None:
        name = node["metadata"]["name"]
        client = self._simulated_nodes.client(name)
        recorder = Recorder(self._events, client, self._dialect.node_agent, name)
        recorder.record(client.resource(NODES), node, kind, reason, text)

    async def _report(self, client: Client, node: Object, behaviour: NodeBehaviour) -> float:
        """Write conditions if they changed or are old, and the offer and the boot if they changed;
        returns the seconds until the next report."""
        name = node["metadata"]["name"]

        def offered(status: Object) -> Object:
            offer = {**status, "allocatable": node_allocatable(status, self._dialect)}
            if self._features:
                offer["declaredFeatures"] = self._features
            if self._reports_handlers:
                offer.pop("runtimeHandlers", None)
                if behaviour.handlers is not None:
                    names = ("", *behaviour.handlers)  # the default one has no name
                    offer["runtimeHandlers"] = [{"name": name} for name in names]
            if behaviour.booted is None:
                return offer
            boot = boot_id(name, behaviour.booted)
            return {**offer, "nodeInfo": {**(status.get("nodeInfo") or {}), "bootID": boot}}

        def reported(current: Object) -> Object:
            status = current["status"]
            conditions = node_conditions(status.get("conditions"), behaviour)
            return {**current, "status": {**offered(status), "conditions": conditions}}

        old = node["status"].get("conditions") or []
        age = _age(old)
        is_reported = _states(old) == _states(node_conditions(old, behaviour))
        if age < _HEARTBEAT and is_reported and offered(node["status"]) == node["status"]:
            return _HEARTBEAT - age
        new = await client.change(NODES, "", name, reported, "status", "patch")
        if (boot := _boot(new)) != _boot(node):
            text = f"Node {name} has been rebooted, boot id: {boot}"
            self._record(node, WARNING, "Rebooted", text)
        for reason in node_events(old, behaviour):
            self._record(node, NORMAL, reason, f"Node {name} status is now: {reason}")
        return _HEARTBEAT

    async def _renew(self, client: Client, name: str) -> float:
        namespace = self._dialect.node_lease_namespace
        lease = client.find(LEASES, namespace, name)
        moment = clock.now()
        if lease is None:
            if (node := client.find(NODES, "", name)) is not None:
                await client.create(LEASES, _new_lease(node, namespace, moment))
            return uniform(_RENEWAL / 4, _RENEWAL)  # spreads the renewals of nodes
        since = _since(lease["spec"].get("renewTime"), moment)
        due = _RENEWAL - since if since >= 0 else 0.0  # the clock was set back
        if due > 1:
            return due
        await client.change(LEASES, namespace, name, _renewed(moment))
        return _RENEWAL


def _ends_in(node: Object) -> float | None:
    """Seconds until a state or a pressure of a node ends."""
    moment = clock.time()
    end = next_end(node["metadata"].get("annotations"), moment)
    return None if end is None else max(0.0, end - moment)


def _boot(node: Object) -> str:
    identity: str = (node["status"].get("nodeInfo") or {}).get("bootID", "")
    return identity


def _new_lease(node: Object, namespace: str, moment: datetime) -> Object:
    name = node["metadata"]["name"]
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "ownerReferences": [owner_of_own(node)],
        },
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": _LEASE_SECONDS,
            "renewTime": format_micro_time(moment),
        },
    }


def _renewed(moment: datetime) -> Callable[[Object], Object]:
    def renewed(lease: Object) -> Object:
        return {**lease, "spec": {**lease["spec"], "renewTime": format_micro_time(moment)}}

    return renewed


def _since(text: str | None, moment: datetime) -> float:
    """Seconds since a time; inf if it is missing or in the future."""
    passed = (moment - parse_time(text)).total_seconds() if text else -inf
    return passed if passed > -1 else inf


def _age(conditions: Iterable[Object]) -> float:
    """Seconds since the oldest of our own conditions was written."""
    beats = {condition["type"]: condition.get("lastHeartbeatTime") for condition in conditions}
    moment = clock.now()
    return max(_since(beats.get(kind), moment) for kind in OWN_CONDITIONS)


def _states(conditions: Iterable[Object]) -> list[tuple[str, str, str]]:
    return sorted(
        (condition["type"], condition["status"], condition.get("reason", ""))
        for condition in conditions
    )
