"""How the commands of containers, and what they need, decide their lives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import inf
from time import thread_time
from typing import Protocol

from fairlead.base import clock
from fairlead.codec.types.times import now
from fairlead.controllers.simulation.agent.containers import CREATING, FAMILIES, state_of
from fairlead.controllers.simulation.agent.images import missing_image
from fairlead.controllers.simulation.behaviour import ContainerBehaviour, Obstacle, PodBehaviour
from fairlead.controllers.simulation.pod_sources import PodSources
from fairlead.controllers.simulation.runtime.commands import Commands, last_message
from fairlead.controllers.simulation.runtime.computing import SLICE, ComputingTime
from fairlead.controllers.simulation.runtime.container_start import user_of
from fairlead.controllers.simulation.runtime.images import is_known_image
from fairlead.controllers.simulation.runtime.lifetimes import is_known, is_live, only_serves
from fairlead.controllers.simulation.runtime.main_processes import MainProcess
from fairlead.controllers.simulation.runtime.sources import MissingSource, Sources, sub_path
from fairlead.controllers.simulation.script import ScriptOf
from fairlead.operations.api import Object

_CONFIG_ERROR = "CreateContainerConfigError"
_SHOWN = ("configMap", "secret", "projected")


class LiveContainers(Protocol):
    """The containers whose commands run as the clock comes."""

    computing: ComputingTime
    sources: PodSources

    def main_process(self, pod: Object, container: Object, status: Object) -> MainProcess:
        """The first process of a running container. Raises MissingSource."""

    def known_process(self, pod: Object, status: Object) -> MainProcess | None:
        """The first process of a container, if somebody has talked to it."""

    def environment(self, pod: Object, container: Object) -> Mapping[str, str]:
        """The variables that a container would start with. Raises MissingSource."""

    def tell_by(self, add: Callable[[str], None]) -> None:
        """Say by which function to tell of pods whose processes were told to stop."""


class CommandBehaviour:
    """Completes the behaviour of pods by their commands and scripts. Annotations take
    precedence."""

    def __init__(self, scripts: ScriptOf, live: LiveContainers) -> None:
        self._scripts = scripts
        self._containers = live
        self._sources = live.sources
        self._commands = Commands(live.computing)

    async def complete(self, pod: Object, behaviour: PodBehaviour) -> PodBehaviour:
        """Other work gets turns between the containers of a pod that has many."""
        computing, namespace = self._containers.computing, pod["metadata"]["namespace"]
        busy = 0.0
        sources = self._sources.of(pod)
        unmounted = _unmounted(pod, sources)
        named: dict[str, ContainerBehaviour] = {}
        for container, status in _containers(pod):
            name = container["name"]
            script = self._scripts(pod, name)
            own = behaviour.of(name)
            failure = script.pull_failure or missing_image(container["image"])
            if failure and not own.pull_failure:
                own = named[name] = replace(own, pull_failure=failure)
            refused = unmounted or _refused_user(pod, container)
            if refused is not None:
                named[name] = replace(own, obstacle=refused)
            elif _needs_sources(container) or is_known(container, script):
                began = thread_time()
                with computing.measured(namespace):
                    named[name] = self._with_command(own, pod, container, status, sources)
                busy += thread_time() - began
                if busy > SLICE:
                    await computing.turn(namespace)
                    busy = 0.0
        return replace(behaviour, named={**behaviour.named, **named}) if named else behaviour

    def _with_command(
        self,
        own: ContainerBehaviour,
        pod: Object,
        container: Object,
        status: Object,
        sources: Sources,
    ) -> ContainerBehaviour:
        started = (state_of(status).get("running") or {}).get("startedAt") or now()
        try:
            is_decided = own.exit_after is not None or own.exit_code is not None
            if is_decided or not is_known(container, self._scripts(pod, container["name"])):
                self._check_start(pod, container)
                return own
            if is_live(pod, container):
                return self._live(own, pod, container, status)
            run = self._commands.run(pod, container, started, sources, self._scripts)
        except MissingSource as missing:
            return replace(own, obstacle=Obstacle(_CONFIG_ERROR, "Failed", f"Error: {missing}"))
        return replace(
            own, exit_after=run.end, exit_code=run.code, message=run.message, runs_command=True
        )

    def _check_start(self, pod: Object, container: Object) -> None:
        """Raises MissingSource if a container cannot start."""
        environment = self._containers.environment(pod, container)
        for mount in container.get("volumeMounts") or ():
            sub_path(mount, environment)

    def _live(
        self,
        own: ContainerBehaviour,
        pod: Object,
        container: Object,
        status: Object,
    ) -> ContainerBehaviour:
        """The behaviour of a container whose command runs as the clock comes. Raises
        MissingSource."""
        own = replace(own, exit_after=inf, runs_command=True)
        if "running" not in state_of(status):
            self._check_start(pod, container)
            return own
        if only_serves(container):
            main = self._containers.known_process(pod, status)
            if main is None:
                return own
            main.advance(clock.time() - main.began)
        else:
            main = self._containers.main_process(pod, container, status)
        run = main.run
        if not main.has_ended:
            due = min(run.end, main.stop_at)
            return own if due == inf else replace(own, looks_at=main.began + due)
        message = last_message(container, main)
        return replace(own, exit_after=run.end, exit_code=run.code, message=message)


def _needs_sources(container: Object) -> bool:
    """Whether the environment of a container comes from other objects, or decides its mounts."""
    return (
        bool(container.get("envFrom"))
        or any(each.get("valueFrom") is not None for each in container.get("env") or ())
        or any(each.get("subPathExpr") for each in container.get("volumeMounts") or ())
    )


def _refused_user(pod: Object, container: Object) -> Obstacle | None:
    """A container that must not run as root does not start if it would. Of images that are not
    known it is assumed that they have another user."""
    given = {
        **(pod["spec"].get("securityContext") or {}),
        **(container.get("securityContext") or {}),
    }
    if not given.get("runAsNonRoot") or user_of(pod, container) != 0:
        return None
    if given.get("runAsUser") == 0:
        text = "container's runAsUser breaks non-root policy"
    elif is_known_image(container):
        text = "container has runAsNonRoot and image will run as root"
    else:
        return None
    metadata = pod["metadata"]
    pod_name = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    told = f'Error: {text} (pod: "{pod_name}", container: {container["name"]})'
    return Obstacle(_CONFIG_ERROR, "Failed", told)


def _unmounted(pod: Object, sources: Sources) -> Obstacle | None:
    """The first volume that cannot be mounted, before the pod starts."""
    if pod["status"].get("podIP"):
        return None
    for volume in pod["spec"].get("volumes") or ():
        if not any(volume.get(kind) is not None for kind in _SHOWN):
            continue
        try:
            sources.check(volume)
        except MissingSource as missing:
            text = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {missing}'
            return Obstacle(CREATING, "FailedMount", text)
    return None


def _containers(pod: Object) -> Iterator[tuple[Object, Object]]:
    """The containers with their statuses."""
    for family, list_name in FAMILIES:
        statuses = {item["name"]: item for item in pod["status"].get(list_name) or ()}
        for container in pod["spec"].get(family) or ():
            yield container, statuses.get(container["name"], {})
