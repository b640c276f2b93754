"""Workloads and their pods, which become ready when a test makes them: there are no nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from support.client import Client, Object
from support.namespaces import Collection, Space
from support.waiting import eventually

LABELS = {"app": "web"}
READY: Object = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def template(image: str = "one", **spec: Any) -> Object:
    """Return a pod template; the image identifies revisions."""
    containers = [{"name": "c", "image": image}]
    return {"metadata": {"labels": LABELS}, "spec": {"containers": containers, **spec}}


def replicated(replicas: int, image: str = "one", **spec: Any) -> Object:
    """Return the spec of a workload with so many pods."""
    created = spec.pop("template", None) or template(image)
    return {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": created, **spec}


class Workloads:
    """The workloads of a namespace. Methods wait only if their description says so."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.pods = space.collection("pods")
        self.replica_sets = space.collection("replicasets", "apps")
        self.deployments = space.collection("deployments", "apps")
        self.stateful_sets = space.collection("statefulsets", "apps")
        self.daemon_sets = space.collection("daemonsets", "apps")
        self.revisions = space.collection("controllerrevisions", "apps")
        self.events = space.collection("events")
        space.ready_for_pods()

    def reconnect(self, client: Client) -> None:
        """Continue with the same namespace after its server was restarted."""
        self.space.client = client
        for part in vars(self).values():
            if isinstance(part, Collection):
                part.client = client

    def living(self, **query: str) -> list[Object]:
        """Return the pods that are not being deleted."""
        items = self.pods.list(**query).body["items"]
        return [pod for pod in items if "deletionTimestamp" not in pod["metadata"]]

    def names(self, **query: str) -> set[str]:
        return {pod["metadata"]["name"] for pod in self.living(**query)}

    def await_pods(self, count: int) -> set[str]:
        """Return the names of the living pods, once there are so many."""
        eventually(lambda: len(self.living()) == count, f"{count} pods")
        return self.names()

    def set_status(self, names: Iterable[str], **status: Any) -> None:
        for name in names:
            answer = self.space.client.patch(self.pods.item(name, "status"), {"status": status})
            assert answer.status in (200, 404), answer.text

    def make_ready(self, names: Iterable[str] | None = None) -> None:
        """Mark pods as ready; by default, all pending ones."""
        if names is None:
            names = [
                pod["metadata"]["name"]
                for pod in self.living()
                if pod["status"].get("phase") == "Pending"
            ]
        self.set_status(names, **READY)

    def status(self, of: Collection, name: str) -> Object:
        result: Object = of.read(name)["status"]
        return result

    def await_status(self, of: Collection, name: str, **wanted: Any) -> Object:
        """Return the status, once it has these values; a missing field counts as 0."""

        def holds() -> bool:
            status = self.status(of, name)
            return all(status.get(field, 0) == value for field, value in wanted.items())

        eventually(holds, f"{name} has {wanted}")
        return self.status(of, name)

    def await_observed(self, of: Collection, name: str) -> Object:
        """Return the object, once its controller has observed the newest generation."""

        def holds() -> bool:
            value = of.read(name)
            seen = value["status"].get("observedGeneration", 0)
            return bool(seen >= value["metadata"]["generation"])

        eventually(holds, f"{name} was looked at")
        return of.read(name)

    def condition(self, of: Collection, name: str, kind: str) -> Object:
        """Return a condition of the status, or an empty one."""
        result = self.status(of, name).get("conditions", [])
        return next((item for item in result if item["type"] == kind), {})

    def await_condition(self, of: Collection, name: str, kind: str, reason: str) -> Object:
        eventually(
            lambda: self.condition(of, name, kind).get("reason") == reason, f"{kind}: {reason}"
        )
        return self.condition(of, name, kind)

    def await_event(self, reason: str, text: str = "") -> Object:
        """Return the first event of a reason whose message contains a text."""

        def found() -> list[Object]:
            events = self.events.list().body["items"]
            return [
                event for event in events if event["reason"] == reason and text in event["message"]
            ]

        eventually(lambda: bool(found()), f"an event {reason} {text}")
        return found()[0]

    def create_deployment(self, replicas: int = 1, name: str = "web", **spec: Any) -> Object:
        return self.deployments.create(name, spec=replicated(replicas, **spec))

    def revise(self, name: str = "web", **spec: Any) -> None:
        """Change the spec of a Deployment."""
        answer = self.deployments.patch(name, {"spec": spec})
        assert answer.status == 200, answer.text

    def set_image(self, image: str, name: str = "web") -> None:
        self.revise(name, template={"spec": {"containers": [{"name": "c", "image": image}]}})

    def finish(self, name: str = "web", patience: float = 60.0) -> Object:
        """Mark pods as ready until a Deployment is rolled out, and return it."""

        def complete() -> bool:
            self.make_ready()
            return is_complete(self.deployments.read(name))

        eventually(complete, f"{name} is rolled out", patience)
        return self.deployments.read(name)

    def sizes(self) -> dict[str, int]:
        """Return the desired sizes of the ReplicaSets by the image of their template."""
        return {
            item["spec"]["template"]["spec"]["containers"][0]["image"]: item["spec"]["replicas"]
            for item in self.replica_sets.list().body["items"]
        }

    def await_sizes(self, **wanted: int) -> None:
        eventually(lambda: self.sizes() == wanted, f"sizes {wanted}")

    def images(self) -> dict[str, str]:
        """Return the images of the living pods, by name."""
        return {
            pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in self.living()
        }

    def await_images(self, **wanted: str) -> None:
        """Wait until the living pods are these; `_` in names stands for `-`."""
        output = {name.replace("_", "-"): image for name, image in wanted.items()}
        eventually(lambda: self.images() == output, f"pods {output}")

    def uid(self, pod: str) -> str:
        result: str = self.pods.read(pod)["metadata"]["uid"]
        return result

    def end(self, *names: str) -> None:
        """Delete pods at once, like a node agent after they stopped."""
        for name in names:
            answer = self.pods.delete(name, gracePeriodSeconds="0")
            assert answer.status in (200, 404), answer.text

    def replica_set_of(self, image: str) -> Object:
        """Return the ReplicaSet whose template has this image, once there is one."""

        def found() -> list[Object]:
            listed = self.replica_sets.list().body["items"]
            return [
                item
                for item in listed
                if item["spec"]["template"]["spec"]["containers"][0]["image"] == image
            ]

        eventually(lambda: bool(found()), f"a ReplicaSet of {image}")
        return found()[0]


def is_complete(deployment: Object) -> bool:
    status, wanted = deployment["status"], deployment["spec"]["replicas"]
    if status.get("observedGeneration", 0) < deployment["metadata"]["generation"]:
        return False
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    return all(status.get(name, 0) == wanted for name in counts)
