"""Removes the tracking finalizer from counted pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from fairlead.base.errors import StatusError
from fairlead.controllers.workloads.adoption import without_finalizer
from fairlead.controllers.workloads.batches import all_of
from fairlead.controllers.workloads.pods import PODS, Pod
from fairlead.operations.api import Object
from fairlead.operations.client import Client


class Tracking:
    """Removes the tracking finalizer."""

    def __init__(self, objects: Client, finalizer: str) -> None:
        self._objects = objects
        self._finalizer = finalizer

    async def release_all(self, pods: Iterable[Pod]) -> tuple[set[str], list[Exception]]:
        """Remove it from all pods that have it; returns the uids that succeeded and the exceptions
        of the others."""
        released: set[str] = set()

        async def release(pod: Pod) -> None:
            await self.release(pod)
            released.add(pod.uid)

        holding = (pod for pod in pods if self._finalizer in pod.finalizers)
        failures = await all_of([partial(release, pod) for pod in holding])
        return released, failures

    async def release(
        self, pod: Pod, *, if_still: Callable[[Object], bool] = lambda current: True
    ) -> None:
        """Remove it from a pod if `if_still` holds for its current value. A deleted pod is
        ignored."""

        def released(current: Object) -> Object:
            metadata = current["metadata"]
            if metadata["uid"] == pod.uid and if_still(current):
                metadata = without_finalizer(metadata, self._finalizer)
            return {**current, "metadata": metadata}

        try:
            await self._objects.change(PODS, pod.namespace, pod.name, released, verb="patch")
        except StatusError as error:
            if error.code != 404:
                raise
