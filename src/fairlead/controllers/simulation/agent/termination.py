"""How containers stop: their preStop hooks, what their processes do on SIGTERM, and in which
order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import thread_time
from typing import NamedTuple

from fairlead.base.caches import BoundedCache
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL, WARNING
from fairlead.controllers.simulation.agent.containers import (
    ALWAYS,
    FAMILIES,
    KILLED,
    STOPPED,
    PodEvent,
    state_of,
)
from fairlead.controllers.simulation.agent.handlers import Handlers, MainProcessOf
from fairlead.controllers.simulation.behaviour import ContainerBehaviour, Kill, PodBehaviour
from fairlead.controllers.simulation.runtime.computing import SLICE
from fairlead.controllers.simulation.runtime.lifetimes import FOREVER
from fairlead.controllers.simulation.runtime.sources import MissingSource
from fairlead.operations.api import Object
from fairlead.resources.core.pods.totals import is_sidecar

_MAX_CACHED = 4_096
_LEAST_GRACE = 2.0  # seconds that a container has at least after SIGTERM

Record = Callable[[Object, PodEvent], None]  # records an event about a pod


class Running(NamedTuple):
    """A running container."""

    container: Object
    status: Object
    path: str
    is_sidecar: bool

    @property
    def name(self) -> str:
        name: str = self.container["name"]
        return name


def running(pod: Object) -> Iterator[Running]:
    """The running containers of a pod, those that other ones need last."""
    for family, list_name in (*FAMILIES[1:], FAMILIES[0]):
        statuses = {each["name"]: each for each in pod["status"].get(list_name) or ()}
        first = family == "initContainers"
        containers = pod["spec"].get(family) or ()
        for container in reversed(containers) if first else containers:
            status = statuses.get(container["name"])
            if status is not None and "running" in state_of(status):
                path = f"spec.{family}{{{container['name']}}}"
                yield Running(container, status, path, first and is_sidecar(container))


class _Stop(NamedTuple):
    """How a container stops: when its hook has ended, and how many seconds its process takes from
    SIGTERM to its end."""

    hooked: float
    seconds: float
    code: int

    def kill(self, killed: float, turn: float) -> Kill:
        """When it ends if its grace period is over at `killed`. SIGTERM is not sent before `turn`;
        however late that is, the container has a little time after it."""
        signal = _signal(self.hooked, killed, turn)
        last, end = max(killed, signal + _LEAST_GRACE), signal + self.seconds
        return Kill(last, KILLED) if end > last else Kill(end, self.code)


def _signal(hooked: float, killed: float, turn: float) -> float:
    """When SIGTERM is sent."""
    return min(max(hooked, turn), killed)


class Terminations:
    """Stops containers. What was decided of one is kept while it stops; after a restart of the
    server it is decided again."""

    def __init__(self, handlers: Handlers, main_process: MainProcessOf, record: Record) -> None:
        self._handlers = handlers
        self._main_process = main_process
        self._record = record
        self._stops: BoundedCache[str, _Stop] = BoundedCache(_MAX_CACHED)

    async def of_pod(
        self, pod: Object, behaviour: PodBehaviour, begin: float, killed: float
    ) -> dict[str, Kill]:
        """When the running containers of a pod end that has finished or is deleted, by name. All
        hooks begin at once; sidecars stop after the others, one after the other."""
        computing, namespace = self._handlers.computing, pod["metadata"]["namespace"]
        kills: dict[str, Kill] = {}
        turn, spent = begin, thread_time()
        for each in running(pod):
            if thread_time() - spent > SLICE:
                await computing.turn(namespace)
                spent = thread_time()
            own = behaviour.of(each.name)
            if each.is_sidecar:
                turn = max((kill.end for kill in kills.values()), default=begin)
            with computing.measured(namespace):
                text = f"Stopping container {each.name}"
                stop = self._stop(pod, each, own, begin, killed, turn, text)
            kills[each.name] = _sooner(stop.kill(killed, turn), each, own)
        return kills

    def of_container(
        self,
        pod: Object,
        each: Running,
        behaviour: ContainerBehaviour,
        begin: float,
        grace: float,
        text: str,
    ) -> Kill:
        """When a container ends that is stopped within its pod. `text` is told, unless empty."""
        killed = begin + grace
        stop = self._stop(pod, each, behaviour, begin, killed, begin, text)
        return _sooner(stop.kill(killed, begin), each, behaviour)

    def _stop(
        self,
        pod: Object,
        each: Running,
        behaviour: ContainerBehaviour,
        begin: float,
        killed: float,
        turn: float,
        text: str,
    ) -> _Stop:
        identity = each.status.get("containerID", "")
        stop = self._stops.get(identity)
        if stop is None:
            if text:
                self._record(pod, PodEvent(NORMAL, "Killing", text, each.path))
            hooked = begin + self._run_hook(pod, each)
            moment = _signal(hooked, killed, turn)
            stop = _Stop(hooked, *self._end_on_signal(pod, each, behaviour, moment))
            self._stops.keep(identity, stop, len(identity))
        return stop

    def _run_hook(self, pod: Object, each: Running) -> float:
        hook = (each.container.get("lifecycle") or {}).get("preStop")
        if hook is None:
            return 0.0
        outcome = self._handlers.run_hook(pod, each.container, each.status, hook)
        if not outcome.succeeded and outcome.seconds != FOREVER:
            event = PodEvent(WARNING, "FailedPreStopHook", "PreStopHook failed", each.path)
            self._record(pod, event)
        return outcome.seconds

    def _end_on_signal(
        self, pod: Object, each: Running, behaviour: ContainerBehaviour, moment: float
    ) -> tuple[float, int]:
        """How many seconds after SIGTERM a container ends, and its exit code."""
        spec = pod["spec"]
        code = 0 if spec.get("restartPolicy", ALWAYS) == ALWAYS else STOPPED
        if behaviour.stop_after is not None or not behaviour.runs_command:
            return behaviour.stop_after or 0.0, code
        if spec.get("shareProcessNamespace") or spec.get("hostPID"):
            return 0.0, STOPPED  # only the first process of a container may ignore signals
        try:
            main = self._main_process(pod, each.container, each.status)
        except MissingSource:
            return 0.0, code
        at = moment - main.began
        run = main.terminate(at)
        return (FOREVER, KILLED) if run is None else (max(0.0, run.end - at), run.code)


def _sooner(kill: Kill, each: Running, behaviour: ContainerBehaviour) -> Kill:
    """The end that a container comes to by itself, if it is earlier."""
    started = each.status["state"]["running"].get("startedAt")
    if behaviour.exit_after is None or not started:
        return kill
    end = parse_time(started).timestamp() + behaviour.exit_after
    return Kill(end, behaviour.exit_code or 0) if end < kill.end else kill
