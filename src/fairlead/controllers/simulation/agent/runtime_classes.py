"""Whether a node can run pods of a runtime class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairlead.controllers.simulation.agent.containers import CREATING
from fairlead.controllers.simulation.behaviour import ContainerBehaviour, Obstacle, PodBehaviour
from fairlead.operations.api import Api, Object

_CLASSES = "node/v1/runtimeclasses"


class RuntimeClasses:
    """The runtime classes of a server."""

    def __init__(self, api: Api) -> None:
        resource = api.resources.named(_CLASSES)
        self._classes = api.collection(resource)
        self._kind = f"{resource.kind.lower()}.{resource.group}"

    def complete(
        self, pod: Object, behaviour: PodBehaviour, handlers: Sequence[str] | None
    ) -> PodBehaviour:
        """The behaviour of a pod with a runtime class on a node. `handlers` are those of the node,
        None if it has all; without the handler of its class, no container of the pod starts."""
        if pod["status"].get("podIP"):
            return behaviour
        name = pod["spec"]["runtimeClassName"]
        version = self._classes.get(name)
        if version is None:
            problem = f'{self._kind} "{name}" not found'
        else:
            handler = version.object()["handler"]
            if handlers is None or handler in handlers:
                return behaviour
            problem = (
                "rpc error: code = Unknown desc = failed to get sandbox runtime:"
                f' no runtime for "{handler}" is configured'
            )
        text = f"Failed to create pod sandbox: {problem}"
        obstacle = Obstacle(CREATING, "FailedCreatePodSandBox", text)

        def held_up(own: ContainerBehaviour) -> ContainerBehaviour:
            return replace(own, pull_failure="", obstacle=obstacle)

        named = {container: held_up(own) for container, own in behaviour.named.items()}
        return replace(behaviour, common=held_up(behaviour.common), named=named)
