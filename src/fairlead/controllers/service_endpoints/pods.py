"""The view that endpoint controllers have of pods, and when these last changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fairlead.controllers.pod_members import SelectedPods, ready_condition
from fairlead.controllers.service_endpoints.ports import Port
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED

SERVICES = "core/v1/services"
_BYTES_EACH = 64  # estimated cost of a pod or port


class PodFacts(NamedTuple):
    """`ready_at` is when its readiness last changed; `ports` are the named container ports by name
    and protocol."""

    namespace: str
    name: str
    uid: str
    addresses: tuple[str, ...]
    node: str
    hostname: str
    subdomain: str
    ready: bool
    ready_at: str
    terminating: bool
    finished: bool
    ports: dict[tuple[str, str], int]

    @property
    def reference(self) -> Object:
        return {
            "kind": "Pod",
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }

    def is_published(self, *, terminating: bool) -> bool:
        """Whether it has an address and has not finished; `terminating` includes pods that are
        being deleted."""
        if self.finished or not self.addresses:
            return False
        return terminating or not self.terminating

    def hostname_for(self, service: Object) -> str:
        """Its hostname, if the service is its subdomain."""
        return self.hostname if self.subdomain == service["metadata"]["name"] else ""


class OfferedPorts:
    """The ports of a service as resolved in a pod, ordered by `order`. Pods with the same numbers
    for the named ports share one tuple."""

    def __init__(
        self, service: Object, order: Callable[[Iterable[Port]], Iterable[Port]] = list
    ) -> None:
        self._ports: list[Object] = service["spec"].get("ports") or []
        self._order = order
        targets = [(port["targetPort"], port["protocol"]) for port in self._ports]
        self._names = [target for target in targets if not isinstance(target[0], int)]
        self._cached: dict[tuple[int | None, ...], tuple[Port, ...]] = {}

    def of(self, pod: PodFacts) -> tuple[Port, ...]:
        numbers = tuple(map(pod.ports.get, self._names))
        shared = self._cached.get(numbers)
        if shared is None:
            shared = self._cached[numbers] = tuple(self._order(self._in(pod)))
        return shared

    def _in(self, pod: PodFacts) -> Iterator[Port]:
        for port in self._ports:
            protocol, target = port["protocol"], port["targetPort"]
            number = target if isinstance(target, int) else pod.ports.get((target, protocol))
            if number is not None:
                yield Port(port.get("name") or "", number, protocol, port.get("appProtocol"))


def weight(service: Object, pods: list[PodFacts]) -> int:
    """Estimated cost of computing the endpoints of a service, for `budget.run`."""
    ports = len(service["spec"].get("ports") or ())
    return (len(pods) + ports) * _BYTES_EACH


def selector_of(service: Object) -> Object | None:
    """The label selector of a service; None without a selector or for ExternalName."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName" or not spec.get("selector"):
        return None
    return {"matchLabels": spec["selector"]}


def facts_of(pod: Object) -> PodFacts:
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    condition = ready_condition(pod)
    ports: dict[tuple[str, str], int] = {}
    for container in spec["containers"]:
        for port in container.get("ports") or ():
            if port.get("name"):
                ports.setdefault((port["name"], port["protocol"]), port["containerPort"])
    return PodFacts(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        tuple(address["ip"] for address in status.get("podIPs") or () if address.get("ip")),
        spec.get("nodeName") or "",
        spec.get("hostname") or "",
        spec.get("subdomain") or "",
        condition.get("status") == "True",
        condition.get("lastTransitionTime") or "",
        metadata.get("deletionTimestamp") is not None,
        status.get("phase") in FINISHED,
        ports,
    )


ServicePods = SelectedPods[PodFacts]


# Computes last-change-trigger-time: when the oldest unpublished change happened.


class TriggerTimes:
    """Remembers the readiness times of pods per service at the last sync. In memory only: after a
    restart the first annotation is less precise, but not wrong."""

    def __init__(self) -> None:
        self._cached: dict[str, tuple[str, dict[str, str]]] = {}

    def forget(self, key: str) -> None:
        self._cached.pop(key, None)

    def look(self, key: str, service: Object, pods: Iterable[PodFacts]) -> str:
        """Return the time of the earliest change since the last call, "" without one. The first
        call for a service returns the time of its creation."""
        created = service["metadata"]["creationTimestamp"]
        times = {pod.name: pod.ready_at for pod in pods if pod.ready_at}
        previous = self._cached.get(key)
        self._cached[key] = (created, times)
        if previous is None:
            return str(created)
        last, last_times = previous
        changes = [moment for name, moment in times.items() if moment > last_times.get(name, "")]
        if created > last:
            changes.append(created)
        return min(changes, default="")
