"""How the commands of containers, and what they need, decide their lives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fairlead.codec.types.times import now
from fairlead.controllers.simulation.agent.containers import CREATING, state_of
from fairlead.controllers.simulation.agent.pods import FAMILIES
from fairlead.controllers.simulation.behaviour import ContainerBehaviour, Obstacle, PodBehaviour
from fairlead.controllers.simulation.pod_sources import PodSources
from fairlead.controllers.simulation.runtime.commands import Commands, is_known
from fairlead.controllers.simulation.runtime.sources import MissingSource, Sources
from fairlead.operations.api import Api, Object

_CONFIG_ERROR = "CreateContainerConfigError"
_SHOWN = ("configMap", "secret", "projected")


class CommandBehaviour:
    """Completes the behaviour of pods by their commands. Annotations take precedence."""

    def __init__(self, api: Api) -> None:
        self._sources = PodSources(api)
        self._commands = Commands()

    def complete(self, pod: Object, behaviour: PodBehaviour) -> PodBehaviour:
        sources = self._sources.of(pod)
        unmounted = _unmounted(pod, sources)
        named: dict[str, ContainerBehaviour] = {}
        for container, status in _containers(pod):
            name = container["name"]
            if unmounted is not None:
                named[name] = replace(behaviour.of(name), obstacle=unmounted)
            elif _needs_sources(container) or is_known(container):
                own = behaviour.of(name)
                named[name] = self._with_command(own, pod, container, status, sources)
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
            if not is_known(container) or own.exit_after is not None or own.exit_code is not None:
                sources.environment(container)
                return own
            run = self._commands.run(pod, container, started, sources)
        except MissingSource as missing:
            return replace(own, obstacle=Obstacle(_CONFIG_ERROR, "Failed", f"Error: {missing}"))
        return replace(own, exit_after=run.end, exit_code=run.code)


def _needs_sources(container: Object) -> bool:
    """Whether the environment of a container comes from other objects."""
    variables = container.get("env") or ()
    return bool(container.get("envFrom")) or any(
        variable.get("valueFrom") is not None for variable in variables
    )


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
