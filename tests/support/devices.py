"""Devices of simulated nodes, and claims on them."""

from __future__ import annotations

from typing import Any

from support.namespaces import Collection, random_word
from support.simulation import Pods, container

Object = dict[str, Any]
GROUP = "resource.k8s.io"
PROTECTION = "resource.kubernetes.io/delete-protection"


class Devices:
    """Devices of one node, and claims on them."""

    def __init__(self, pods: Pods, node: str, count: int = 1, **fields: Any) -> None:
        """`fields` are those of each device."""
        self.pods = pods
        self.driver = f"{random_word()}.example.com"
        self.claims: Collection = pods.space.collection("resourceclaims", GROUP)
        self._templates = pods.space.collection("resourceclaimtemplates", GROUP)
        self._slices = pods.space.everywhere("resourceslices", GROUP)
        self._classes = pods.space.everywhere("deviceclasses", GROUP)
        self.publish(node, [{"name": f"d{index}", **fields} for index in range(count)])
        selector = {"cel": {"expression": f"device.driver == '{self.driver}'"}}
        self._classes.create(self.driver, spec={"selectors": [selector]})

    def publish(self, node: str, devices: list[Object]) -> None:
        """Add a slice with the devices of a node."""
        spec = {
            "driver": self.driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        }
        self._slices.create(f"{self.driver}-{node}", spec=spec)

    def taint(self, node: str, *taints: Object) -> None:
        """Set the taints of the only device of a node."""
        devices = [{"name": "d0", "taints": list(taints)}]
        answer = self._slices.patch(f"{self.driver}-{node}", {"spec": {"devices": devices}})
        assert answer.status == 200, answer.text

    def stand_for(self, resource: str) -> None:
        """Let the class of the devices stand for an extended resource."""
        change = {"spec": {"extendedResourceName": resource}}
        assert self._classes.patch(self.driver, change).status == 200

    def _spec(self, **fields: Any) -> Object:
        exactly = {"deviceClassName": self.driver, **fields}
        return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}

    def claim(self, name: str, **fields: Any) -> None:
        """Create a claim; `fields` are those of its request."""
        self.claims.create(name, spec=self._spec(**fields))

    def template(self, name: str) -> None:
        self._templates.create(name, spec={"spec": self._spec()})

    def report(self, name: str, *conditions: Object) -> None:
        """Set the conditions of the first device of a claim."""
        (result, *_) = self.status(name)["allocation"]["devices"]["results"]
        device = {key: result[key] for key in ("driver", "pool", "device")}
        patch = {"status": {"devices": [{**device, "conditions": list(conditions)}]}}
        answer = self.pods.space.client.patch(self.claims.item(name, "status"), patch)
        assert answer.status == 200, answer.text

    def use(self, pod: str, **fields: Any) -> None:
        """Create a pod with a claim."""
        settings = fields.pop("annotations", {})
        spec: Object = {"resourceClaims": [{"name": "device", **fields}]}
        if any("exit" in name for name in settings):
            spec["restartPolicy"] = "Never"
        user = container(resources={"claims": [{"name": "device"}]})
        self.pods.create(pod, user, annotations=settings, **spec)

    def is_protected(self, name: str) -> bool:
        return PROTECTION in self.claims.read(name)["metadata"].get("finalizers", [])

    def status(self, name: str) -> Object:
        status: Object = self.claims.read(name).get("status") or {}
        return status
