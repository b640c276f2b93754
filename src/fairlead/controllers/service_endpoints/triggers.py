"""Since when there was something new to publish: what last-change-trigger-time says."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.controllers.service_endpoints.pods import PodFacts
from fairlead.operations.api import Object


class TriggerTimes:
    """Remembers by service when its pods had become ready or not as of the last look. It is lost
    with the process; what is written then says nothing wrong, only less."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, dict[str, str]]] = {}

    def forget(self, key: str) -> None:
        self._known.pop(key, None)

    def look(self, key: str, service: Object, pods: Iterable[PodFacts]) -> str:
        """The earliest of the moments that are news since the last look; empty if there is none.
        For a service that is new it is when it was made."""
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
