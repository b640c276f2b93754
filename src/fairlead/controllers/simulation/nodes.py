"""Maintains the Node objects and leases of simulated nodes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import inf
from random import uniform

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import format_micro_time, parse_time
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.behaviour import READY, UNREACHABLE, BehaviourError, node_state
from fairlead.controllers.simulation.node_objects import (
    OWN_CONDITIONS,
    new_node,
    node_allocatable,
    node_conditions,
)
from fairlead.controllers.simulation.simulated_nodes import LEASES, NODES, SimulatedNodes
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change

logger = logging.getLogger("fairlead.controllers.simulation")

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
    workers = 4

    def __init__(
        self,
        simulated_nodes: SimulatedNodes,
        dialect: Dialect,
        version: str,
        taint_remover: Client | None,
    ) -> None:
        self._simulated_nodes = simulated_nodes
        self._dialect = dialect
        self._version = version
        self._taint_remover = taint_remover
        self._registered: set[str] = set()
        self._problems: dict[str, str] = {}

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
        node = client.find(NODES, "", key)
        if node is None:
            if key in self._registered:
                return None
            node = await self._register(client, key)
        self._registered.add(key)
        state = self._state(node)
        if self._taint_remover is not None and state == READY:
            await self._remove_not_ready_taint(self._taint_remover, node)
        if state == UNREACHABLE:
            return None
        report_in = await self._report(client, node, state)
        return min(report_in, await self._renew(client, node))

    async def _register(self, client: Client, name: str) -> Object:
        number = self._simulated_nodes.numbers[name]
        try:
            return await client.create(NODES, new_node(name, number, self._dialect, self._version))
        except StatusError as error:
            node = client.find(NODES, "", name)
            if error.reason != "AlreadyExists" or node is None:
                raise
            return node

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

    def _state(self, node: Object) -> str:
        name = node["metadata"]["name"]
        try:
            state = node_state(node["metadata"].get("annotations"))
        except BehaviourError as error:
            if self._problems.get(name) != str(error):
                self._problems[name] = str(error)
                logger.warning("node %s: %s", name, error)
            return self._simulated_nodes.state(name)
        self._problems.pop(name, None)
        return state

    async def _report(self, client: Client, node: Object, state: str) -> float:
        """Write conditions if they changed or are old, and allocatable if it changed; returns the
        seconds until the next report."""
        name = node["metadata"]["name"]

        def offered(status: Object) -> Object:
            return {**status, "allocatable": node_allocatable(status, self._dialect)}

        def reported(current: Object) -> Object:
            status = current["status"]
            conditions = node_conditions(status.get("conditions"), state)
            return {**current, "status": {**offered(status), "conditions": conditions}}

        old = node["status"].get("conditions") or []
        age = _age(old)
        is_reported = _states(old) == _states(node_conditions(old, state))
        if age < _HEARTBEAT and is_reported and offered(node["status"]) == node["status"]:
            return _HEARTBEAT - age
        await client.change(NODES, "", name, reported, "status", "patch")
        return _HEARTBEAT

    async def _renew(self, client: Client, node: Object) -> float:
        name, namespace = node["metadata"]["name"], self._dialect.node_lease_namespace
        lease = client.find(LEASES, namespace, name)
        moment = clock.now()
        if lease is None:
            await client.create(LEASES, _new_lease(node, namespace, moment))
            return uniform(_RENEWAL / 4, _RENEWAL)  # spreads the renewals of nodes
        since = _since(lease["spec"].get("renewTime"), moment)
        due = _RENEWAL - since if since >= 0 else 0.0  # the clock was set back
        if due > 1:
            return due
        await client.change(LEASES, namespace, name, _renewed(moment))
        return _RENEWAL


def _new_lease(node: Object, namespace: str, moment: datetime) -> Object:
    metadata = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "metadata": {
            "name": metadata["name"],
            "namespace": namespace,
            "ownerReferences": [owner],
        },
        "spec": {
            "holderIdentity": metadata["name"],
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
