"""Claims, volumes and classes for one test: the class is named after its namespace."""

from __future__ import annotations

from typing import Any

from support.client import Object
from support.namespaces import Space
from support.waiting import eventually

SOURCES = {"awsElasticBlockStore", "csi", "flexVolume", "hostPath", "iscsi", "nfs"}


class Storage:
    def __init__(self, space: Space) -> None:
        self.space = space
        self.label = space.dialect.label
        self.claims = space.collection("persistentvolumeclaims")
        self.volumes = space.everywhere("persistentvolumes")
        self.classes = space.everywhere("storageclasses", "storage.@")
        self.pods = space.collection("pods")

    def name(self, word: str) -> str:
        """Return a name for a cluster-scoped object."""
        return f"{self.space.name}-{word}"

    def volume(
        self, word: str, size: str = "1Gi", metadata: Object | None = None, **spec: Any
    ) -> Object:
        """Create a volume of the test's class, in any phase."""
        wanted = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.space.name,
            **spec,
        }
        if not SOURCES.intersection(spec):
            wanted["hostPath"] = {"path": "/data"}
        return self.volumes.create(self.name(word), metadata=metadata or {}, spec=wanted)

    def free_volume(self, word: str, size: str = "1Gi", **spec: Any) -> Object:
        """Create a volume and wait until it is available."""
        self.volume(word, size, **spec)
        return self.volume_in(word, "Available")

    def claim(
        self, name: str, size: str = "1Gi", metadata: Object | None = None, **spec: Any
    ) -> Object:
        wanted = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": self.space.name,
            **spec,
        }
        return self.claims.create(name, metadata=metadata or {}, spec=wanted)

    def storage_class(self, provisioner: str = "example.com/none", **fields: Any) -> Object:
        return self.classes.create(self.space.name, provisioner=provisioner, **fields)

    def volume_in(self, word: str, phase: str) -> Object:
        """Wait until a volume is in a phase, and return it."""
        name = self.name(word)
        eventually(
            lambda: self.volumes.read(name)["status"]["phase"] == phase, f"{word} is {phase}"
        )
        return self.volumes.read(name)

    def claim_in(self, name: str, phase: str) -> Object:
        """Wait until a claim is in a phase, and return it."""
        eventually(lambda: self.claims.read(name)["status"]["phase"] == phase, f"{name} is {phase}")
        return self.claims.read(name)

    def bound_volume(self, name: str) -> str:
        """Return the word of the volume to which a claim is bound."""
        volume_name: str = self.claim_in(name, "Bound")["spec"]["volumeName"]
        return volume_name.removeprefix(f"{self.space.name}-")

    def remove_claim(self, name: str) -> None:
        self.claims.remove(name)
        eventually(lambda: self.claims.get(name).status == 404, f"{name} is gone")

    def events(self, name: str, namespace: str = "") -> list[tuple[str, str, str]]:
        """Return type, reason and message of the events about an object."""
        path = f"/api/v1/namespaces/{namespace or self.space.name}/events"
        selector = f"involvedObject.name={name}"
        items = self.space.client.get(path, fieldSelector=selector).body["items"]
        return [(item["type"], item["reason"], item["message"]) for item in items]

    def hears(self, name: str, kind: str, reason: str, text: str, namespace: str = "") -> None:
        """Wait for an event about an object."""
        eventually(
            lambda: (kind, reason, text) in self.events(name, namespace),
            f"{name}: {reason}: {text}",
        )
