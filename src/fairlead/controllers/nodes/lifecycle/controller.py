"""The node lifecycle controller: sets conditions and taints of nodes that stop sending
heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.nodes.lifecycle.conditions import ready_condition, with_unknown_conditions
from fairlead.controllers.nodes.lifecycle.taints import NodeTaints
from fairlead.controllers.nodes.lifecycle.zones import Rates, Zones
from fairlead.controllers.nodes.pods_by_node import NODES, PODS, PodsByNode, node_of
from fairlead.controllers.pod_status import copied_over, not_ready, write_status
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change, Version

LEASES = "coordination/v1/leases"
_POD_KEY_MARK = "/"  # occurs in keys of pods, not in names of nodes
_BATCH_SIZE = 100
_GONE = 404


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. `silence`: without a heartbeat until a node counts as lost; `startup`:
    the same for a node that never reported; `settling`: from the loss until pods are evicted."""

    silence: float
    startup: float
    settling: float


class NodeLifecycle:
    """Keys are names of nodes, and `namespace/name` of pods that were bound to a node that is not
    ready."""

    workers = 4

    def __init__(
        self,
        objects: Client,
        recorder: Recorder,
        dialect: Dialect,
        pods: PodsByNode,
        patience: Timeouts,
        rates: Rates,
    ) -> None:
        self._objects = objects
        self._recorder = recorder
        self._pods = pods
        self._patience = patience
        self._lease_namespace = dialect.node_lease_namespace
        self._marks = NodeTaints(dialect)
        self._zones = Zones(dialect, rates)
        self._heartbeats = Heartbeats()
        self._lost_since: dict[str, float] = {}
        self._uids: dict[str, str] = {}  # uids by node
        # Nodes that were ready when lost; their pods are still to be marked.
        self._lost_while_ready: set[str] = set()
        self._unplaced: set[str] = set()
        self._add: Callable[[str], None] = lambda _: None

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add

    def follows(self) -> Mapping[str, Keys]:
        return {LEASES: self._lease, NODES: self._node, PODS: self._pod}

    def _node(self, change: Change) -> Iterable[str]:
        if change.name not in self._uids:
            self._unplaced.add(change.name)
        return (change.name,)

    def _lease(self, change: Change) -> Iterable[str]:
        if change.namespace == self._lease_namespace:
            self._heartbeats.lease(change.name, change.after)
        return ()

    def _pod(self, change: Change) -> Iterable[str]:
        """The key of a pod that was just bound to a lost node."""
        node = node_of(change.after)
        if node in self._lost_since and node != node_of(change.before):
            return (change.key,)
        return ()

    async def sync(self, key: str) -> float | None:
        if _POD_KEY_MARK in key:
            await self._mark_pod(key)
            return None
        node = self._objects.find(NODES, "", key)
        if node is None:
            self._forget(key)
            return None
        try:
            return await self._look_after(key, node)
        except StatusError as error:
            if error.code != _GONE:
                raise
            return None

    def _forget(self, name: str) -> None:
        uid = self._uids.pop(name, None)
        if uid is not None:
            gone = {"metadata": {"name": name, "uid": uid}}
            text = f"Node {name} event: Removing Node {name} from Controller"
            self._record(gone, "RemovingNode", text)
        self._heartbeats.forget(name)
        self._lost_since.pop(name, None)
        self._lost_while_ready.discard(name)
        self._zones.remove(name)
        self._queue_lost_nodes(name)

    async def _look_after(self, name: str, node: Object) -> float | None:
        silent_in = self._heartbeats.last(node) + self._grace(node) - clock.steady()
        is_known = self._uids.get(name) == node["metadata"]["uid"]
        if not is_known:
            text = f"Node {name} event: Registered Node {name} in Controller"
            self._record(node, "RegisteredNode", text)
        self._zones.place(node, ready=silent_in > 0 and _readiness(node) == "True")
        self._queue_lost_nodes(name)
        if silent_in <= 0:
            node = await self._mark_silent(name, node)
        status = _readiness(node)
        if status == "True":
            self._lost_since.pop(name, None)
            self._lost_while_ready.discard(name)
        else:
            self._lost_since.setdefault(name, clock.time())
        given_up_in = await self._mark_node(name, node, status)
        # A node that reports its own readiness also reports its pods.
        if name in self._lost_while_ready or (status in ("False", "Unknown") and not is_known):
            await self._mark_pods(name)
            self._lost_while_ready.discard(name)
        self._uids[name] = node["metadata"]["uid"]
        return min((wait for wait in (silent_in, given_up_in) if wait > 0), default=None)

    def _grace(self, node: Object) -> float:
        return self._patience.silence if _readiness(node) else self._patience.startup

    def _queue_lost_nodes(self, placed: str) -> None:
        """Queue lost nodes again when the eviction rate of their zone changed. Waits until all
        nodes found at start are placed, since the first few say nothing about a zone."""
        self._unplaced.discard(placed)
        if self._unplaced:
            return
        before = self._zones.all_disrupted
        if self._zones.update_rates():
            if before and not self._zones.all_disrupted:
                self._heartbeats.reset_heartbeats()
            for name in self._zones.lost():
                self._add(name)

    async def _mark_silent(self, name: str, node: Object) -> Object:
        updated = with_unknown_conditions(node)
        if updated is node:
            return node
        # Written with a precondition on the version: a node that reports meanwhile is not lost.
        change = partial(copied_over, updated)
        written = await self._objects.change(NODES, "", name, change, "status")
        if _readiness(node) == "True":
            self._lost_while_ready.add(name)
            self._record(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        return written

    async def _mark_node(self, name: str, node: Object, status: str) -> float:
        """Write labels and taints; returns the seconds until the eviction decision, 0 if none is
        pending."""
        decided, wait = self._decide(name, node, status)

        def marked(old: Object) -> Object:
            new = self._marks.labelled(self._marks.keeping_pods_away(old))
            if decided is None or _readiness(old) != status:
                return new
            return self._marks.with_no_execute_taint(new, decided)

        if marked(node) is not node:
            await self._objects.change(NODES, "", name, marked)
        return wait

    def _decide(self, name: str, node: Object, status: str) -> tuple[str | None, float]:
        """The eviction decision: a readiness to taint the node for, "" to remove the taint, or None
        if undecided, with the seconds until it is decided."""
        if not status:
            return None, 0.0
        if status == "True" or self._zones.all_disrupted:
            return "", 0.0
        if self._marks.evicting(node) is not None:
            return status, 0.0
        now = clock.time()
        settled = self._lost_since[name] + self._patience.settling
        if settled > now:
            return None, settled - now
        evicted_at = self._zones.eviction_time(name, now)
        if evicted_at is None:
            return None, 0.0
        return (None, evicted_at - now) if evicted_at > now else (status, 0.0)

    async def _mark_pods(self, node: str) -> None:
        keys = list(self._pods.of(node))
        for start in range(0, len(keys), _BATCH_SIZE):
            batch = keys[start : start + _BATCH_SIZE]
            await asyncio.gather(*map(self._mark_pod, batch))

    async def _mark_pod(self, key: str) -> None:
        """Set a pod on a node that is not ready to not ready."""
        namespace, _, name = key.partition(_POD_KEY_MARK)
        pod = self._objects.find(PODS, namespace, name)
        node = self._objects.find(NODES, "", pod["spec"].get("nodeName", "")) if pod else None
        if pod is None or node is None or _readiness(node) in ("", "True"):
            return
        updated = not_ready(pod)
        if updated is not pod and await write_status(self._objects, updated):
            resource, message = self._objects.resource(PODS), "Node is not ready"
            self._recorder.record(resource, pod, WARNING, "NodeNotReady", message)

    def _record(self, node: Object, reason: str, text: str) -> None:
        self._recorder.record(self._objects.resource(NODES), node, NORMAL, reason, text)


def _readiness(node: Object) -> str:
    """The status of the Ready condition; empty without one."""
    ready = ready_condition(node)
    return "" if ready is None else str(ready["status"])


# Heartbeats: when nodes last reported, in their status or by renewing their lease.
#
# A lease renewal only updates a dict, without queueing the node: thousands of nodes renew every few
# seconds.


@dataclass(slots=True)
class _Heartbeat:
    """`reported` is lastHeartbeatTime of the Ready condition, None without the condition; `seen` is
    when it changed, by our monotonic clock."""

    uid: str
    reported: str | None
    seen: float


class Heartbeats:
    """Times are those when this server saw the heartbeat, by its monotonic clock; the node's own
    clock is ignored. After a restart all nodes count as just seen."""

    def __init__(self) -> None:
        self._beats: dict[str, _Heartbeat] = {}
        self._leases: dict[str, tuple[str, float]] = {}

    def lease(self, name: str, lease: Version | None) -> None:
        """Record the current lease of a node."""
        if lease is None:
            cached = self._leases.pop(name, None)
            beat = self._beats.get(name)
            if cached is not None and beat is not None:
                beat.seen = max(beat.seen, cached[1])
            return
        renewed: str | None = (lease.object().get("spec") or {}).get("renewTime")
        before = self._leases.get(name)
        if renewed and (before is None or before[0] != renewed):
            self._leases[name] = renewed, clock.steady()

    def last(self, node: Object) -> float:
        """Time of the last heartbeat on the monotonic clock. For a node that never reported it is
        its creation."""
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        ready = ready_condition(node)
        heartbeat = None if ready is None else ready.get("lastHeartbeatTime") or ""
        beat = self._beats.get(name)
        if beat is None or beat.uid != uid:
            created = parse_time(node["metadata"]["creationTimestamp"]).timestamp()
            age = clock.time() - created if heartbeat is None else 0.0
            beat = _Heartbeat(uid, heartbeat, clock.steady() - age)
            self._beats[name] = beat
        elif beat.reported != heartbeat:
            beat.reported, beat.seen = heartbeat, clock.steady()
        lease = self._leases.get(name)
        return beat.seen if lease is None else max(beat.seen, lease[1])

    def forget(self, name: str) -> None:
        self._beats.pop(name, None)

    def reset_heartbeats(self) -> None:
        """Treat all nodes as just seen, after an outage on our side."""
        for beat in self._beats.values():
            beat.seen = clock.steady()
