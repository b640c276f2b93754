"""Empties volumes for reuse, with a pod that deletes all files."""

from __future__ import annotations

from fairlead.controllers.volumes.facts import size_of
from fairlead.controllers.volumes.names import PODS
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.pods import FINISHED

RECYCLER_PREFIX = "recycler-for-"
RECYCLER_NAMESPACE = "default"

_IMAGE = "registry.k8s.io/debian-base:v2.0.0"
_SCRUB = (
    "test -e /scrub && rm -rf /scrub/..?* /scrub/.[!.]* /scrub/*  &&"
    ' test -z "$(ls -A /scrub)" || exit 1'
)
# Minimum deadline of the pod in seconds, and seconds per GiB.
_DEADLINES = {"hostPath": (60, 30), "nfs": (300, 30)}
_GIB = 1 << 30


class Recycler:
    """Runs one pod per volume. The pod holds all state."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def can_recycle(self, volume: Object) -> bool:
        return any(volume["spec"].get(source) is not None for source in _DEADLINES)

    async def recycle(self, volume: Object) -> str | None:
        """Returns "" when the volume is empty, an error text if the pod failed, None while it
        runs."""
        recycler_pod = _pod_for(volume)
        name = recycler_pod["metadata"]["name"]
        pod = self._client.find(PODS, RECYCLER_NAMESPACE, name)
        if pod is None:
            await self._client.create(PODS, recycler_pod)
            return None
        status = pod.get("status") or {}
        if status.get("phase") not in FINISHED:
            return None
        options = DeleteOptions(uid=pod["metadata"]["uid"])
        await self._client.delete(PODS, RECYCLER_NAMESPACE, name, options)
        if status["phase"] == "Succeeded":
            return ""
        return status.get("message") or "pod failed, pod.Status.Message unknown"


def _pod_for(volume: Object) -> Object:
    source = next(name for name in _DEADLINES if volume["spec"].get(name) is not None)
    minimum, for_each = _DEADLINES[source]
    container = {
        "name": "pv-recycler",
        "image": _IMAGE,
        "command": ["/bin/sh"],
        "args": ["-c", _SCRUB],
        "resources": {},
        "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
    }
    spec = {
        "activeDeadlineSeconds": max(minimum, for_each * int(size_of(volume) // _GIB)),
        "restartPolicy": "Never",
        "volumes": [{"name": "vol", source: volume["spec"][source]}],
        "containers": [container],
    }
    name = f"{RECYCLER_PREFIX}{volume['metadata']['name']}"
    return {"metadata": {"name": name, "namespace": RECYCLER_NAMESPACE}, "spec": spec, "status": {}}
