"""What endpoints need to know of a pod."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.controllers.pod_members import PodMembers, ready_condition
from fairlead.controllers.service_endpoints.ports import Port
from fairlead.kinds.core.pods import FINISHED
from fairlead.operations.api import Object

SERVICES = "core/v1/services"


class PodFacts(NamedTuple):
    """`ready_at` is when its readiness last changed, `ports` the named ones of its containers by
    name and protocol."""

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
        """Whether it can be reached at all; those that are going away only if asked for."""
        if self.finished or not self.addresses:
            return False
        return terminating or not self.terminating

    def hostname_for(self, service: Object) -> str:
        """Its name below that of the service, if the service governs its domain."""
        return self.hostname if self.subdomain == service["metadata"]["name"] else ""

    def offers(self, service: Object) -> list[Port]:
        """The ports of a service that lead somewhere in this pod."""
        found = []
        for port in service["spec"].get("ports") or ():
            protocol, target = port["protocol"], port["targetPort"]
            number = target if isinstance(target, int) else self.ports.get((target, protocol))
            if number is not None:
                application = port.get("appProtocol")
                found.append(Port(port.get("name") or "", number, protocol, application))
        return found


def selector_of(service: Object) -> Object | None:
    """What selects the pods of a service; None if it selects none, or they are somebody else's
    business."""
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
        tuple(one["ip"] for one in status.get("podIPs") or () if one.get("ip")),
        spec.get("nodeName") or "",
        spec.get("hostname") or "",
        spec.get("subdomain") or "",
        condition.get("status") == "True",
        condition.get("lastTransitionTime") or "",
        metadata.get("deletionTimestamp") is not None,
        status.get("phase") in FINISHED,
        ports,
    )


ServicePods = PodMembers[PodFacts]
