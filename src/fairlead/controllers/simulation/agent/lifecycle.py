"""What probes and hooks do to the containers of a pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from time import thread_time

from fairlead.base import clock
from fairlead.base.caches import BoundedCache
from fairlead.codec.types.times import now
from fairlead.controllers.simulation.agent.containers import (
    FAMILIES,
    NEVER,
    Moment,
    ran_long,
    state_of,
)
from fairlead.controllers.simulation.agent.handlers import Handlers
from fairlead.controllers.simulation.agent.probes import Probes, Verdict
from fairlead.controllers.simulation.agent.termination import Running, Terminations, running
from fairlead.controllers.simulation.behaviour import (
    ContainerBehaviour,
    Health,
    HookRun,
    Kill,
    PodBehaviour,
)
from fairlead.operations.api import Object
from fairlead.resources.core.pods.totals import is_sidecar

_MAX_CACHED = 4_096
_DEFAULT_GRACE = 30
_RETRY = 0.2  # seconds until a hook is tried again whose server has not started yet
_NEXT_TURN = 0.01
_MAX_BUSY = 0.02  # seconds that the hooks of a pod compute before other work gets a turn


@dataclass(slots=True)
class _Busy:
    """How long the hooks of a pod have computed in one go."""

    seconds: float = 0.0


class Lifecycle:
    """Completes the behaviour of pods by their probes and postStart hooks."""

    def __init__(self, handlers: Handlers, probes: Probes, terminations: Terminations) -> None:
        self._handlers = handlers
        self._probes = probes
        self._terminations = terminations
        # By container ID; a hook runs again if the server was restarted meanwhile.
        self._hooks: BoundedCache[str, HookRun] = BoundedCache(_MAX_CACHED)
        # Restarts before the last long run, by pod and container; lost with the server.
        self._forgiven: BoundedCache[tuple[str, str], int] = BoundedCache(_MAX_CACHED)

    def complete(self, key: str, pod: Object, behaviour: PodBehaviour) -> PodBehaviour:
        named: dict[str, ContainerBehaviour] = {}
        for name, verdict in self._probes.follow(key, pod).items():
            own = behaviour.of(name)
            kill = self._kill(pod, name, own, verdict) if verdict.failed else None
            named[name] = replace(own, health=Health(verdict.is_started, verdict.is_ready, kill))
        busy = _Busy()
        for container, path in _with_hooks(pod):
            name, hook = container["name"], container["lifecycle"]["postStart"]
            if hook.get("sleep") is not None or self._handlers.decides(pod, container, hook):
                own = named.get(name) or behaviour.of(name)
                run = partial(self._run_hook, pod, container, path, own, busy)
                named[name] = replace(own, post_start=run)
        for name, restarts in self._forgiven_restarts(pod):
            named[name] = replace(named.get(name) or behaviour.of(name), forgiven=restarts)
        return replace(behaviour, named={**behaviour.named, **named}) if named else behaviour

    def _forgiven_restarts(self, pod: Object) -> Iterator[tuple[str, int]]:
        """The containers whose back-off began anew, because they ran long, and how many restarts
        they had before."""
        for _, list_name in FAMILIES[:2]:
            for status in pod["status"].get(list_name) or ():
                if not status.get("restartCount"):
                    continue
                key = pod["metadata"]["uid"], status["name"]
                end = state_of(status).get("terminated")
                if end is not None and ran_long(end, Moment(clock.time(), now())):
                    self._forgiven.keep(key, status["restartCount"], len(key[0]))
                if restarts := self._forgiven.get(key):
                    yield status["name"], restarts

    def _kill(
        self, pod: Object, name: str, behaviour: ContainerBehaviour, verdict: Verdict
    ) -> Kill | None:
        """How a container ends whose probe has failed."""
        each = next((each for each in running(pod) if each.name == name), None)
        if each is None:
            return None
        restarts = each.container.get("restartPolicy") or pod["spec"].get("restartPolicy")
        text = f"Container {name} failed {verdict.failed} probe"
        if each.is_sidecar:
            text = f"Init container {name} failed {verdict.failed} probe"
        elif restarts != NEVER:
            text += ", will be restarted"
        grace = grace_of(pod) if verdict.grace is None else verdict.grace
        return self._terminations.of_container(pod, each, behaviour, verdict.since, grace, text)

    def _run_hook(
        self,
        pod: Object,
        container: Object,
        path: str,
        behaviour: ContainerBehaviour,
        busy: _Busy,
        status: Object,
    ) -> HookRun:
        identity = status["containerID"]
        run = self._hooks.get(identity)
        if run is None:
            hook = container["lifecycle"]["postStart"]
            began = clock.time()
            if busy.seconds > _MAX_BUSY:  # the others have their turn next time
                return HookRun(began, now(), began + _NEXT_TURN)
            spent = thread_time()
            outcome = self._handlers.run_hook(pod, container, status, hook)
            busy.seconds += thread_time() - spent
            if outcome.again:
                return HookRun(began, now(), began + _RETRY)
            end, kill = began + outcome.seconds, None
            if not outcome.succeeded:
                each = Running(container, status, path, False)
                kill = self._terminations.of_container(pod, each, behaviour, end, grace_of(pod), "")
            run = HookRun(began, now(), end, kill)
            self._hooks.keep(identity, run, len(identity))
        return run


def _with_hooks(pod: Object) -> Iterator[tuple[Object, str]]:
    """The containers with postStart hooks, and their paths."""
    for family, _ in FAMILIES[:2]:
        for container in pod["spec"].get(family) or ():
            has_hook = bool((container.get("lifecycle") or {}).get("postStart"))
            if has_hook and (family == "containers" or is_sidecar(container)):
                yield container, f"spec.{family}{{{container['name']}}}"


def grace_of(pod: Object) -> float:
    seconds = pod["spec"].get("terminationGracePeriodSeconds")
    return float(_DEFAULT_GRACE if seconds is None else seconds)
