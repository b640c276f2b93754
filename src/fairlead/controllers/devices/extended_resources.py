"""Extended resources that device classes stand for: pods ask for them by name, and devices of the
class serve them through a claim that the scheduler creates."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.base.dialect import Dialect
from fairlead.codec.types.quantity import quantity
from fairlead.operations.api import Object
from fairlead.resources.resource.extended_names import EXTENDED_CLAIM


def new_claim(pod: Object, dialect: Dialect, requests: list[Object]) -> Object:
    metadata = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "metadata": {
            "generateName": f"{metadata['name']}-extended-resources-",
            "namespace": metadata["namespace"],
            "annotations": {dialect.label(EXTENDED_CLAIM): "true"},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"devices": {"requests": requests}},
    }


def requests_of(pod: Object, classes: Mapping[str, str]) -> tuple[list[Object], list[Object]]:
    """The requests of a claim for extended resources, and which containers use which request.
    `classes` maps resources to device classes. Init containers that end use the devices of later
    containers, and share the devices that they need in addition."""
    requests: list[Object] = []
    mappings: list[Object] = []
    for resource in sorted(classes):
        wanted = _ResourceRequests(pod["spec"], resource, classes[resource])
        requests += wanted.requests
        mappings += wanted.mappings
    return sorted(requests, key=lambda request: str(request["name"])), mappings


class _ResourceRequests:
    """The requests for one resource."""

    def __init__(self, spec: Object, resource: str, device_class: str) -> None:
        self._resource, self._class = resource, device_class
        init = spec.get("initContainers") or []
        containers = [*init, *spec["containers"]]
        short = [
            index
            for index, container in enumerate(init)
            if container.get("restartPolicy") != "Always"
        ]
        lasting: dict[int, Object] = {}
        self.mappings: list[Object] = []
        for index, container in enumerate(containers):
            count = self._count(container)
            if index not in short and count:
                lasting[index] = self._request(index, container, count)
                self._map(container, lasting[index]["name"])
        extra: Object | None = None
        sharing: list[Object] = []  # mappings to the additional devices of short-lived containers
        for index in short:
            container, left = containers[index], self._count(containers[index])
            for later in sorted(lasting):
                if later > index and left > 0:
                    self._map(container, lasting[later]["name"])
                    left -= lasting[later]["exactly"]["count"]
            if left > 0:
                request = self._request(index, container, left)
                if extra is None or extra["exactly"]["count"] < left:
                    extra = request
                sharing.append(self._map(container, request["name"]))
        for mapping in sharing:
            mapping["requestName"] = (extra or {})["name"]
        self.requests = [*([extra] if extra else []), *lasting.values()]

    def _count(self, container: Object) -> int:
        requests = (container.get("resources") or {}).get("requests") or {}
        amount = quantity(requests.get(self._resource) or "0")
        return int(amount) if amount == int(amount) else 0

    def _request(self, index: int, container: Object, count: int) -> Object:
        place = sorted(container["resources"]["requests"]).index(self._resource)
        exactly = {"deviceClassName": self._class, "allocationMode": "ExactCount", "count": count}
        return {"name": f"container-{index}-request-{place}", "exactly": exactly}

    def _map(self, container: Object, request: str) -> Object:
        mapping = {
            "containerName": container["name"],
            "resourceName": self._resource,
            "requestName": request,
        }
        self.mappings.append(mapping)
        return mapping
