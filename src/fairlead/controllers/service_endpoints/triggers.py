"""Computes last-change-trigger-time: when the oldest unpublished change happened."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.controllers.service_endpoints.pods import PodFacts
from fairlead.operations.api import Object


class TriggerTimes:
    """Remembers the readiness times of pods per service at the last sync. In memory only: after a
    restart the first annotation is less precise, but not wrong."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, dict[str, str]]] = {}

    def forget(self, key: str) -> None:
        self._known.pop(key, None)

    def look(self, key: str, service: Object, pods: Iterable[PodFacts]) -> str:
        """The earliest change since the last call, or empty. For a new service it is its
        creation."""
        created = service["metadata"]["creationTimestamp"]
        times = {pod.name: pod.ready_at for pod in pods if pod.ready_at}
        known = self._known.get(key)
        self._known[key] = (created, times)
        if known is None:
            return str(created)
        last, last_times = known
        news = [moment for name, moment in times.items() if moment > last_times.get(name, "")]
        if created > last:
            news.append(created)
        return min(news, default="")
