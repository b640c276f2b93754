"""StatefulSets and the claims of their pods."""

from __future__ import annotations

from typing import Any

from support.client import Object
from support.waiting import eventually
from support.workloads import Workloads, replicated, template

CLAIM: Object = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def mounting(image: str = "one", **spec: Any) -> Object:
    """Return a template whose container mounts the claim."""
    created = template(image, **spec)
    created["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return created


class Sets(Workloads):
    """A namespace with StatefulSets called `web`."""

    def create(self, replicas: int, **spec: Any) -> Object:
        spec = {"serviceName": "service", **spec}
        return self.stateful_sets.create("web", spec=replicated(replicas, **spec))

    def scale(self, replicas: int) -> None:
        path = self.stateful_sets.item("web", "scale")
        assert self.space.client.patch(path, {"spec": {"replicas": replicas}}).status == 200

    def await_set(self, **wanted: Any) -> Object:
        return self.await_status(self.stateful_sets, "web", **wanted)

    def grow(self, replicas: int) -> None:
        """Mark pods as ready until there are so many, all of them ready."""

        def grown() -> bool:
            self.make_ready()
            reported = self.status(self.stateful_sets, "web")
            return bool(reported.get("readyReplicas") == reported["replicas"] == replicas)

        eventually(grown, f"{replicas} pods")

    def claim_names(self) -> list[str]:
        return self.space.collection("persistentvolumeclaims").names()

    def update(self, image: str) -> None:
        """Change the template's image."""
        self.change(template={"spec": {"containers": [{"name": "c", "image": image}]}})

    def change(self, **spec: Any) -> None:
        answer = self.stateful_sets.patch("web", {"spec": spec})
        assert answer.status == 200, answer.text

    def numbers(self) -> dict[str, int]:
        """Return the numbers of the revisions by their image."""
        return {
            item["data"]["spec"]["template"]["spec"]["containers"][0]["image"]: item["revision"]
            for item in self.revisions.list().body["items"]
        }

    def finish_update(self, image: str, patience: float = 60.0) -> Object:
        """Mark pods as ready until all have this image and the status reports it."""

        def complete() -> bool:
            self.make_ready()
            value = self.stateful_sets.read("web")
            reported, wanted = value["status"], value["spec"]["replicas"]
            return bool(
                set(self.images().values()) == {image}
                and reported["observedGeneration"] == value["metadata"]["generation"]
                and reported.get("readyReplicas") == reported.get("updatedReplicas") == wanted
                and reported["currentRevision"] == reported["updateRevision"]
            )

        eventually(complete, f"all pods have {image}", patience)
        return self.status(self.stateful_sets, "web")
