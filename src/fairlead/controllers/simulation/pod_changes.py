"""Wakes those who wait for what happens to simulated pods."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.controllers.simulation.agent.containers import state_of, status_of
from fairlead.controllers.simulation.simulated_nodes import PODS, SimulatedNodes
from fairlead.operations.api import Object
from fairlead.storage.version import Change


class PodChanges:
    """The owner must pass pod events to `changed`."""

    def __init__(self, simulated_nodes: SimulatedNodes) -> None:
        self._simulated_nodes = simulated_nodes
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self.is_stopping = False

    def current(self, pod: Object) -> Object | None:
        """The pod as it is now; None if it is gone."""
        metadata = pod["metadata"]
        client = self._simulated_nodes.client(pod["spec"]["nodeName"])
        current = client.find(PODS, metadata["namespace"], metadata["name"])
        is_same = current is not None and current["metadata"]["uid"] == metadata["uid"]
        return current if is_same else None

    @contextmanager
    def watch(self, pod: Object) -> Iterator[asyncio.Event]:
        """Set an event when a pod changes, and when the server shuts down."""
        metadata = pod["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        changed = asyncio.Event()
        self._waiting[key].add(changed)
        try:
            yield changed
        finally:
            self._waiting[key].discard(changed)
            if not self._waiting[key]:
                del self._waiting[key]

    async def end_of(self, pod: Object, container: str) -> None:
        """Wait until a running container stops, or the server shuts down."""
        with self.watch(pod) as changed:
            while not self.is_stopping:
                changed.clear()
                current = self.current(pod)
                if current is None or "running" not in state_of(status_of(current, container)):
                    return
                await changed.wait()

    def stop_waiting(self) -> None:
        self.is_stopping = True
        for waiting in self._waiting.values():
            for changed in waiting:
                changed.set()

    def changed(self, change: Change) -> None:
        for changed in self._waiting.get(change.key, ()):
            changed.set()
