"""The controller of DaemonSets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fairlead.base import clock
from fairlead.base.caches import BoundedCache
from fairlead.base.errors import StatusError
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads.adoption import Claims
from fairlead.controllers.workloads.batches import run_all, run_growing
from fairlead.controllers.workloads.daemon_sets.placement import (
    NODES,
    Fit,
    Nodes,
    PlacementCache,
    concerns_daemons,
)
from fairlead.controllers.workloads.daemon_sets.plans import (
    ByNode,
    KeepPlan,
    Plan,
    RollingPlan,
    by_node,
)
from fairlead.controllers.workloads.daemon_sets.templates import (
    HASH_LABEL,
    Tolerated,
    daemon_template,
    for_node,
    is_updated,
    template_generation,
)
from fairlead.controllers.workloads.history import CurrentRevision, History, template_data
from fairlead.controllers.workloads.index import Owned, Selectors, owners_concerned
from fairlead.controllers.workloads.pod_control import (
    PodControl,
    is_namespace_terminating,
    pod_from,
)
from fairlead.controllers.workloads.pods import PODS, Pod, next_available
from fairlead.controllers.workloads.replicas import resolved, selector_of
from fairlead.controllers.workloads.statuses import update_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change

DAEMON_SETS = "apps/v1/daemonsets"
_BURST = 250  # pods created or deleted per sync


class DaemonSets:
    """Keys are `namespace/name` of DaemonSets."""

    workers = 5

    def __init__(self, api: Api, objects: Client, events: Recorder, pods: Owned[Pod]) -> None:
        self._resource = api.resources.named(DAEMON_SETS)
        self._objects = objects
        self._events = events
        self._pods = pods
        self._sets = objects.collection(DAEMON_SETS)
        self._selectors = Selectors(self._sets, selector_of)
        self._claims = Claims(objects, self._resource, PODS)
        self._control = PodControl(objects, events, self._resource)
        self._history = History(objects, self._resource, HASH_LABEL)
        self._tolerated = Tolerated(api.dialect)
        self._placing = PlacementCache(Nodes(objects.collection(NODES)), self._tolerated)
        self._backoff = Backoff()

    def follows(self) -> Mapping[str, Keys]:
        return {
            DAEMON_SETS: lambda change: (change.key,),
            PODS: self._owners_of_pod,
            NODES: self._all_sets,
        }

    def _owners_of_pod(self, change: Change) -> Iterable[str]:
        return owners_concerned(change, self._resource.kind, self._selectors)

    def _all_sets(self, change: Change) -> Iterable[str]:
        if not concerns_daemons(change):
            return ()
        return [version.key for version in self._sets.current("")]

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        owner = self._objects.find(DAEMON_SETS, namespace, name)
        if owner is None:
            self._placing.forget(key)
            return None
        if owner["metadata"].get("deletionTimestamp") is not None:
            return None
        await self._claims.claim(owner, selector_of(owner), self._pods)
        revisions = await self._history.of(owner)
        collisions = (owner.get("status") or {}).get("collisionCount") or 0
        current = await self._history.current(owner, revisions, template_data(owner), collisions)
        state = _SyncState(owner, await self._placing.of(key, owner), _hash_of(current.revision))
        failure: StatusError | None = None
        try:
            await self._keep(state)
            await self._roll(state)
        except StatusError as error:
            failure = None if is_namespace_terminating(error) else error
        pods = self._pods.of(owner)
        await self._write_status(state, pods, current)
        await self._forget_past(owner, pods, revisions, current)
        if failure is not None:
            raise failure
        soon = [next_available(pods, state.min_ready), state.pause]
        return min((seconds for seconds in soon if seconds is not None), default=None)

    async def _keep(self, state: _SyncState) -> None:
        keeping = KeepPlan(
            state.updated, partial(self._is_replaceable, state), state.min_ready, state.surges
        )
        await self._carry_out(state, keeping.plan(by_node(self._pods.of(state.owner)), state.fits))

    def _is_replaceable(self, state: _SyncState, node: str, pod: Pod) -> bool:
        """Whether a finished pod may be replaced now, or must wait for the back-off of its node."""
        owner, where = state.owner, f"{pod.namespace}/{pod.name} on node {node}"
        key = owner["metadata"]["uid"], owner["metadata"].get("generation", 0), node
        if left := self._backoff.left(key):
            state.wait(left)
            return False
        self._backoff.replaced(key)
        if pod.phase == "Failed":
            text = f"Found failed daemon pod {where}, will try to kill it"
            self._events.record(self._resource, owner, WARNING, "FailedDaemonPod", text)
        else:
            text = f"Found succeeded daemon pod {where}, will try to delete it"
            self._events.record(self._resource, owner, NORMAL, "SucceededDaemonPod", text)
        return True

    async def _roll(self, state: _SyncState) -> None:
        strategy = state.owner["spec"]["updateStrategy"]
        if strategy.get("type") != "RollingUpdate":
            return
        plan, steps = (
            sum(fit.runs for fit in state.fits.values()),
            strategy.get("rollingUpdate") or {},
        )
        unavailable = resolved(steps.get("maxUnavailable") or 0, plan, up=True)
        surge = resolved(steps.get("maxSurge") or 0, plan, up=True)
        if not unavailable and not surge:
            unavailable = 1
        rolling = RollingPlan(state.updated, state.min_ready, unavailable, surge)
        await self._carry_out(state, rolling.plan(by_node(self._pods.of(state.owner)), state.fits))

    async def _carry_out(self, state: _SyncState, plan: Plan) -> None:
        """Create and delete pods. Raises the first error after trying everything."""
        owner, control = state.owner, self._control
        template = daemon_template(owner, state.text, self._tolerated)
        pods = (
            pod_from(for_node(template, node), self._resource, owner) for node in plan.make[:_BURST]
        )
        gone = [partial(control.delete, owner, pod) for pod in plan.remove[:_BURST]]
        try:
            await run_growing([partial(control.create, owner, pod) for pod in pods])
        finally:
            failures = await run_all(gone)
        for failure in failures:
            raise failure

    async def _write_status(
        self, state: _SyncState, pods: Iterable[Pod], current: CurrentRevision
    ) -> None:
        owner = state.owner
        new_status = status(owner, by_node(pods), state.fits, state.updated, current.collisions)
        await update_status(self._objects, self._resource, owner, new_status)

    async def _forget_past(
        self,
        owner: Object,
        pods: Iterable[Pod],
        revisions: Sequence[Object],
        current: CurrentRevision,
    ) -> None:
        """Delete the oldest revisions beyond the limit. Revisions that pods still use stay, but
        count."""
        hashes = {pod.labels.get(HASH_LABEL) for pod in pods}
        named = {revision["metadata"]["name"]: _hash_of(revision) for revision in revisions}
        named.pop(current.revision["metadata"]["name"], None)
        live = {name for name, text in named.items() if text in hashes}
        limit = (owner["spec"].get("revisionHistoryLimit") or 0) - len(live)
        live.add(current.revision["metadata"]["name"])
        await self._history.truncate(revisions, live, max(0, limit))


class _SyncState:
    """One sync of a DaemonSet: its eligible nodes, the hash of its template, and the seconds until
    the next sync."""

    def __init__(self, owner: Object, fits: Mapping[str, Fit], text: str) -> None:
        self.owner = owner
        self.fits = fits
        self.text = text
        self.min_ready: int = owner["spec"].get("minReadySeconds") or 0
        self.pause: float | None = None
        self._generation = template_generation(owner)

    @property
    def updated(self) -> Callable[[Pod], bool]:
        return lambda pod: is_updated(pod, self._generation, self.text)

    @property
    def surges(self) -> bool:
        strategy = self.owner["spec"]["updateStrategy"]
        steps = strategy.get("rollingUpdate") or {}
        return strategy.get("type") == "RollingUpdate" and bool(
            resolved(steps.get("maxSurge") or 0, 100, up=True)
        )

    def wait(self, seconds: float) -> None:
        self.pause = seconds if self.pause is None else min(self.pause, seconds)


def _hash_of(revision: Object) -> str:
    """The hash label of a revision and its pods."""
    metadata = revision["metadata"]
    text: str = (metadata.get("labels") or {}).get(HASH_LABEL) or metadata["name"]
    return text


# Back-off for daemon pods that fail repeatedly on a node.

_FIRST_PAUSE, _MAX_PAUSE = 1.0, 900.0
_RESET_AFTER = 2 * _MAX_PAUSE  # seconds without a failure after which the back-off is reset
_MAX_CACHED = 10_000

Key = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class _Pause:
    since: float
    seconds: float


class Backoff:
    """Keyed by uid of the set, generation and node. In memory only: after a restart the next pod is
    replaced immediately."""

    def __init__(self) -> None:
        self._pauses: BoundedCache[Key, _Pause] = BoundedCache(_MAX_CACHED)

    def left(self, key: Key) -> float:
        """Seconds until a failed pod may be replaced."""
        pause = self._pauses.get(key)
        return 0.0 if pause is None else max(0.0, pause.since + pause.seconds - clock.time())

    def replaced(self, key: Key) -> None:
        """Record a replacement; doubles the pause before the next one."""
        pause, now = self._pauses.get(key), clock.time()
        seconds = _FIRST_PAUSE
        if pause is not None and now - pause.since < _RESET_AFTER:
            seconds = min(2 * pause.seconds, _MAX_PAUSE)
        self._pauses.keep(key, _Pause(now, seconds), len(key[0]) + len(key[2]))


# The status of a DaemonSet.

_ALWAYS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
)


def status(
    owner: Object,
    pods: ByNode,
    fits: Mapping[str, Fit],
    updated: Callable[[Pod], bool],
    collisions: int,
) -> Object:
    """The status for these pods. If a node has several, the oldest counts."""
    scheduled = [node for node, fit in fits.items() if fit.runs]
    unwanted = [node for node, fit in fits.items() if not fit.runs and pods.get(node)]
    first = [pods[node][0] for node in scheduled if pods.get(node)]
    min_ready = owner["spec"].get("minReadySeconds") or 0
    available = sum(pod.available(min_ready) for pod in first)
    counts = {
        "currentNumberScheduled": len(first),
        "numberMisscheduled": len(unwanted),
        "desiredNumberScheduled": len(scheduled),
        "numberReady": sum(pod.ready for pod in first),
        "observedGeneration": owner["metadata"].get("generation", 0),
        "updatedNumberScheduled": sum(updated(pod) for pod in first),
        "numberAvailable": available,
        "numberUnavailable": len(scheduled) - available,
        "collisionCount": collisions,
    }
    status = {name: count for name, count in counts.items() if count or name in _ALWAYS}
    if (owner.get("status") or {}).get("collisionCount") is not None:
        status["collisionCount"] = collisions
    return status
