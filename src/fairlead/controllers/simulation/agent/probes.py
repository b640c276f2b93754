"""The probes of containers: when they run, and what follows from their results.

Only probes that can fail are run: commands that the simulation knows, and ports that a script
answers for. Containers without such probes cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import thread_time
from typing import NamedTuple

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import WARNING
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.agent.containers import FAMILIES, PodEvent, state_of
from fairlead.controllers.simulation.agent.handlers import Handlers
from fairlead.controllers.simulation.runtime.computing import ComputingTime
from fairlead.operations.api import Object

_STARTUP, _READINESS, _LIVENESS = "startupProbe", "readinessProbe", "livenessProbe"
# What a probe says of its container before it has run.
_INITIAL: Mapping[str, bool] = {_STARTUP: False, _READINESS: False, _LIVENESS: True}
_NAMES = {_STARTUP: "Startup", _READINESS: "Readiness", _LIVENESS: "Liveness"}
# All probes together may compute a fifth of the time, those of a namespace a twentieth; beyond that
# they run less often. Pauses are so many times as long as what was computed.
_PAUSES, _PAUSES_OF_NAMESPACE = 4, 19

Record = Callable[[Object, PodEvent], None]  # records an event about a pod


class Verdict(NamedTuple):
    """What probes say of a running container. `failed` is the kind of probe that wants it killed,
    and since when."""

    is_started: bool = True
    is_ready: bool = True
    failed: str = ""
    since: float = 0.0
    grace: int | None = None


@dataclass(slots=True)
class _Probe:
    """A probe of a running container. `result` is what it says of the container; `is_over` if
    nothing can change that any more."""

    kind: str
    spec: Object
    due: float
    result: bool
    is_over: bool = False
    last: bool | None = None
    repeated: int = 0  # how many times the last outcome came in a row
    ahead: float = 0.0  # of the clock, when it ran last

    @property
    def period(self) -> float:
        return float(self.spec.get("periodSeconds") or 10)

    def take(self, succeeded: bool, now: float) -> bool:
        """Count an outcome; returns whether the result changed. If the clock was moved, it counts
        for the times that were left out."""
        moved = clock.ahead() - self.ahead if self.last is not None else 0.0
        missed = max(0, int(moved / self.period))
        self.repeated = (self.repeated if succeeded == self.last else 0) + 1 + missed
        self.last, self.ahead = succeeded, clock.ahead()
        self.due = now + self.period
        name, default = ("successThreshold", 1) if succeeded else ("failureThreshold", 3)
        if self.repeated < (self.spec.get(name) or default):
            return False
        changed = self.result is not succeeded
        self.result = succeeded
        if self.kind == _STARTUP or (self.kind == _LIVENESS and not succeeded):
            self.is_over = changed = True
        return changed


@dataclass(slots=True)
class _Probed:
    """A running container with probes that can fail."""

    container: Object
    path: str
    status: Object
    probes: dict[str, _Probe]

    def verdict(self) -> Verdict:
        started, ready, alive = (self.probes.get(kind) for kind in _INITIAL)
        for probe in (alive, started):
            if probe is not None and probe.is_over and not probe.result:
                grace = probe.spec.get("terminationGracePeriodSeconds")
                since = probe.due - probe.period
                return Verdict(False, False, _NAMES[probe.kind].lower(), since, grace)
        is_started = started is None or started.result
        return Verdict(is_started, is_started and (ready is None or ready.result))

    def active(self) -> Iterator[_Probe]:
        """The probes that are to run: that of the start first, then the others."""
        first = self.probes.get(_STARTUP)
        if first is not None and not first.result:
            if not first.is_over:
                yield first
            return
        for probe in self.probes.values():
            if not probe.is_over:
                yield probe


@dataclass(slots=True)
class _ProbedPod:
    pod: Object
    containers: dict[str, _Probed] = field(default_factory=dict)  # by container ID


class Probes:
    """Runs the probes of pods. Keys are `namespace/name` of pods. The agents tell it of pods by
    `follow`, and are told by `changed` when a result has changed."""

    name = "simulated-probes"
    workers = 16

    def __init__(self, handlers: Handlers, record: Record) -> None:
        self._handlers = handlers
        self._record = record
        self._pods: dict[str, _ProbedPod] = {}
        self._add: Callable[[str], None] = lambda key: None
        self._computing = ComputingTime(_PAUSES, _PAUSES_OF_NAMESPACE, credit=0.0)
        self.changed: Callable[[str], None] = lambda key: None

    def follows(self) -> Mapping[str, Keys]:
        return {}

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add

    def forget(self, key: str) -> None:
        self._pods.pop(key, None)

    def follow(self, key: str, pod: Object) -> dict[str, Verdict]:
        """Probe the running containers of a pod from now on; returns what is known of containers,
        by name. Those that are not in it have no probe that can fail."""
        verdicts: dict[str, Verdict] = {}
        running: dict[str, _Probed] = {}
        known = self._pods[key].containers if key in self._pods else {}
        for identity, probed in self._probed(pod):
            if identity in known:
                known[identity].status = probed.status
                probed = known[identity]
            verdicts[probed.container["name"]] = probed.verdict()
            if identity:
                running[identity] = probed
        if running:
            self._pods[key] = _ProbedPod(pod, running)
            if running.keys() - known.keys():
                self._add(key)
        else:
            self._pods.pop(key, None)
        return verdicts

    def _probed(self, pod: Object) -> Iterator[tuple[str, _Probed]]:
        """The containers with probes that can fail, with the IDs of those that run."""
        for family, list_name in FAMILIES[:2]:
            statuses: dict[str, Object] = {}
            for container in pod["spec"].get(family) or ():
                if not any(container.get(kind) for kind in _INITIAL):
                    continue
                statuses = statuses or {s["name"]: s for s in pod["status"].get(list_name) or ()}
                status = statuses.get(container["name"], {})
                probes = self._probes(pod, container, status)
                if probes:
                    path = f"spec.{family}{{{container['name']}}}"
                    is_running = "running" in state_of(status)
                    identity = status.get("containerID", "") if is_running else ""
                    yield identity, _Probed(container, path, status, probes)

    def _probes(self, pod: Object, container: Object, status: Object) -> dict[str, _Probe]:
        run = state_of(status).get("running") or {}
        began = parse_time(run["startedAt"]).timestamp() if run.get("startedAt") else clock.time()
        ending = pod["metadata"].get("deletionTimestamp")
        probes = {}
        for kind, result in _INITIAL.items():
            spec = container.get(kind)
            if spec is None or (ending and kind != _READINESS):
                continue
            if self._handlers.decides(pod, container, spec):
                due = began + float(spec.get("initialDelaySeconds") or 0)
                if kind == _READINESS and run:  # after a restart of the server
                    result = bool(status.get("ready"))
                elif kind == _STARTUP and run:
                    result = bool(status.get("started"))
                over = kind == _STARTUP and result
                probes[kind] = _Probe(kind, spec, due, result, over, ahead=clock.ahead())
        return probes

    async def sync(self, key: str) -> float | None:
        followed = self._pods.get(key)
        if followed is None:
            return None
        for probed in list(followed.containers.values()):
            for probe in list(probed.active()):
                if clock.time() < probe.due:
                    continue
                if (wait := self._computing.pause(key.partition("/")[0])) > 0:
                    return wait
                if await self._run(followed.pod, probed, probe):
                    self.changed(key)
        dues = [probe.due for each in followed.containers.values() for probe in each.active()]
        return max(0.0, min(dues) - clock.time()) if dues else None

    async def _run(self, pod: Object, probed: _Probed, probe: _Probe) -> bool:
        """Run a probe; returns whether its result has changed."""
        began = thread_time()
        outcome = await self._handlers.probe(pod, probed.container, probed.status, probe.spec)
        if probe.spec.get("exec") is not None:  # the other kinds only wait for an answer
            self._computing.spend(pod["metadata"]["namespace"], thread_time() - began)
        if not outcome.succeeded:
            text = f"{_NAMES[probe.kind]} probe failed: {outcome.text}"
            self._record(pod, PodEvent(WARNING, "Unhealthy", text, probed.path))
        elif outcome.warning:
            text = f"{_NAMES[probe.kind]} probe warning: {outcome.warning}"
            self._record(pod, PodEvent(WARNING, "ProbeWarning", text, probed.path))
        changed = probe.take(outcome.succeeded, clock.time())
        if not outcome.is_known:  # it cannot fail
            changed = changed or not probe.result
            probe.result = probe.is_over = True
        return changed
