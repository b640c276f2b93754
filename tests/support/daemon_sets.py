"""DaemonSets, and nodes for them alone."""

from __future__ import annotations

from typing import Any

from support.client import Object
from support.namespaces import Space, random_word
from support.waiting import eventually
from support.workloads import LABELS, Workloads, template


class Daemons(Workloads):
    """A namespace with DaemonSets called `web`, and its own nodes, because tests share the
    server."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.nodes = space.everywhere("nodes")
        self.mark = random_word()

    def add_nodes(self, *names: str) -> None:
        """Create ready nodes; the mark is prepended to their names."""
        for name in names:
            self.nodes.create(self.node(name), labels={"for": self.mark})
            status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
            path = self.nodes.item(self.node(name), "status")
            assert self.space.client.patch(path, status).status == 200
            self.taint(name)

    def node(self, name: str) -> str:
        return f"{self.mark}-{name}"

    def taint(self, name: str, *effects: str) -> None:
        """Replace the taints of a node by one of each effect."""
        taints = [{"key": "example.com/bad", "effect": effect} for effect in effects]
        answer = self.nodes.patch(self.node(name), {"spec": {"taints": taints or None}})
        assert answer.status == 200, answer.text

    def remove_nodes(self) -> None:
        self.space.client.delete(self.nodes.path, labelSelector=f"for={self.mark}")

    def create(self, image: str = "one", **spec: Any) -> Object:
        """Create a DaemonSet for these nodes."""
        value = spec.pop("template", None) or template(image)
        value["spec"].setdefault("nodeSelector", {"for": self.mark})
        wanted = {"selector": {"matchLabels": LABELS}, "template": value, **spec}
        return self.daemon_sets.create("web", spec=wanted)

    def change(self, **spec: Any) -> None:
        answer = self.daemon_sets.patch("web", {"spec": spec})
        assert answer.status == 200, answer.text

    def update(self, image: str) -> None:
        self.change(template={"spec": {"containers": [{"name": "c", "image": image}]}})

    def await_set(self, **wanted: Any) -> Object:
        return self.await_status(self.daemon_sets, "web", **wanted)

    def on_nodes(self) -> dict[str, list[str]]:
        """Return the images of the living pods by their node, without the mark."""
        result: dict[str, list[str]] = {}
        for pod in self.living():
            name = target(pod).removeprefix(f"{self.mark}-")
            result.setdefault(name, []).append(pod["spec"]["containers"][0]["image"])
        return {name: sorted(images) for name, images in result.items()}

    def await_nodes(self, **wanted: str) -> None:
        """Wait until pods with these images are on these nodes; `one+two` are two pods."""
        output = {name: sorted(images.split("+")) for name, images in wanted.items()}
        eventually(lambda: self.on_nodes() == output, f"pods {output}")

    def pod_on(self, name: str, image: str = "") -> str:
        """Return the name of the pod on a node, with this image."""
        (result,) = (
            pod["metadata"]["name"]
            for pod in self.living()
            if target(pod) == self.node(name)
            and image in ("", pod["spec"]["containers"][0]["image"])
        )
        return str(result)

    def make_available(self, count: int) -> Object:
        """Mark the pods as ready, once there are so many."""
        self.await_pods(count)
        self.make_ready()
        return self.await_set(numberAvailable=count)

    def finish_update(self, image: str, count: int, patience: float = 60.0) -> None:
        """Mark pods as ready until there is one with this image on each of so many nodes."""

        def complete() -> bool:
            self.make_ready()
            reported = self.status(self.daemon_sets, "web")
            counts = ("updatedNumberScheduled", "numberAvailable", "desiredNumberScheduled")
            return list(self.on_nodes().values()) == [[image]] * count and all(
                reported.get(name) == count for name in counts
            )

        eventually(complete, f"{count} pods of {image}", patience)


def target(pod: Object) -> str:
    """Return the node for which a DaemonSet's pod was created."""
    required = pod["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    ((field,),) = (term["matchFields"] for term in required["nodeSelectorTerms"])
    assert (field["key"], field["operator"]) == ("metadata.name", "In")
    (name,) = field["values"]
    return str(name)
