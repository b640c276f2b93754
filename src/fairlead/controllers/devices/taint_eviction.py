"""Evicts pods that use devices with NoExecute taints, unless their claims tolerate them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.controllers.devices.claims import (
    CLAIMS,
    PODS,
    SLICES,
    claim_names,
    is_reserved_for,
)
from fairlead.controllers.events import NORMAL, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.pod_status import disrupted, write_status
from fairlead.controllers.tolerations import tolerates
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.pods import NO_EXECUTE
from fairlead.resources.resource.claim_status import results_of
from fairlead.storage.version import Change

_Pool = tuple[str, str]
_DeviceKey = tuple[str, str, str]
_REASON = "DeletionByDeviceTaintManager"
_TEXT = "Device Taint manager: deleting due to NoExecute taint"


class DeviceTaintEviction:
    """Keys are `namespace/name` of pods. Taints of slices that a newer generation of their pool
    replaces do not count."""

    workers = 8

    def __init__(self, client: Client, recorder: Recorder) -> None:
        self._client = client
        self._recorder = recorder
        # Generations of slices by pool, and taints of devices, both by the names of slices.
        self._generations: dict[_Pool, dict[str, int]] = {}
        self._taints: dict[_DeviceKey, dict[str, list[Object]]] = {}
        self._users: dict[_DeviceKey, set[str]] = {}  # keys of claims by their devices
        self._devices: dict[str, list[_DeviceKey]] = {}  # devices by keys of claims
        self._due: dict[str, float] = {}  # eviction time by pod

    def follows(self) -> Mapping[str, Keys]:
        return {SLICES: self._slice, CLAIMS: self._claim, PODS: self._pod}

    def _slice(self, change: Change) -> Iterable[str]:
        concerned: set[_DeviceKey] = set()
        if change.before is not None:
            spec = change.before.object()["spec"]
            self._generations.get(_pool(spec), {}).pop(change.name, None)
            for key in _evicting(spec):
                self._taints.get(key, {}).pop(change.name, None)
                if not self._taints.get(key, True):
                    del self._taints[key]
                concerned.add(key)
        if change.after is not None:
            spec = change.after.object()["spec"]
            of_pool = self._generations.setdefault(_pool(spec), {})
            of_pool[change.name] = spec["pool"]["generation"]
            for key, taints in _evicting(spec).items():
                self._taints.setdefault(key, {})[change.name] = taints
                concerned.add(key)
        claims = {claim for key in concerned for claim in self._users.get(key, ())}
        return [pod for claim in claims for pod in self._pods_of(claim)]

    def _claim(self, change: Change) -> Iterable[str]:
        for key in self._devices.pop(change.key, ()):
            users = self._users[key]
            users.discard(change.key)
            if not users:
                del self._users[key]
        version = change.after
        if version is not None and version.mentions("allocation"):
            results = results_of(version.object().get("status") or {})
            keys = [(result["driver"], result["pool"], result["device"]) for result in results]
            self._devices[change.key] = keys
            for key in keys:
                self._users.setdefault(key, set()).add(change.key)
        is_tainted = any(key in self._taints for key in self._devices.get(change.key, ()))
        return self._pods_of(change.key) if self._due or is_tainted else ()

    def _pods_of(self, claim: str) -> list[str]:
        """The keys of the pods that a claim is reserved for."""
        namespace, _, name = claim.partition("/")
        found = self._client.find(CLAIMS, namespace, name) or {}
        consumers = (found.get("status") or {}).get("reservedFor") or ()
        return [
            f"{namespace}/{consumer['name']}"
            for consumer in consumers
            if consumer["resource"] == "pods" and not consumer.get("apiGroup")
        ]

    def _pod(self, change: Change) -> Iterable[str]:
        version = change.after
        if change.key in self._due:
            return (change.key,)
        return (change.key,) if version is not None and version.mentions("resourceClaims") else ()

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        pod = self._client.find(PODS, namespace, name)
        if pod is None or pod["metadata"].get("deletionTimestamp") is not None:
            self._due.pop(key, None)
            return None
        moment = self._leaves_at(pod)
        before = self._due.pop(key, None)
        if moment == inf:
            if before is not None:
                self._record(pod, "Cancelling deletion")
            return None
        left = moment - clock.time()
        if left > 0:
            self._due[key] = moment
            return left
        self._record(pod, "Marking for deletion")
        if await write_status(self._client, disrupted(pod, _REASON, _TEXT), "patch"):
            options = DeleteOptions(uid=pod["metadata"]["uid"])
            await self._client.delete(PODS, namespace, name, options)
        return None

    def _leaves_at(self, pod: Object) -> float:
        """When a pod must leave; inf if it may stay."""
        if not pod["spec"].get("nodeName"):
            return inf
        moment = inf
        for name in claim_names(pod):
            claim = self._client.find(CLAIMS, pod["metadata"]["namespace"], name) if name else None
            if claim is not None and is_reserved_for(claim, pod):
                for result in results_of(claim.get("status") or {}):
                    moment = min(moment, self._ends_at(result))
        return moment

    def _ends_at(self, result: Object) -> float:
        """Until when the taints of an allocated device are tolerated. Only tolerations of the
        effect NoExecute count."""
        key = result["driver"], result["pool"], result["device"]
        generations = self._generations.get(key[:2], {})
        newest, moment = max(generations.values(), default=0), inf
        tolerations = [
            toleration
            for toleration in result.get("tolerations") or ()
            if toleration.get("effect") == NO_EXECUTE
        ]
        for name, taints in self._taints.get(key, {}).items():
            for taint in taints if generations.get(name) == newest else ():
                moment = min(moment, _tolerated_until(taint, tolerations))
        return moment

    def _record(self, pod: Object, text: str) -> None:
        resource = self._client.resource(PODS)
        self._recorder.record(resource, pod, NORMAL, "DeviceTaintManagerEviction", text)


def _pool(spec: Object) -> _Pool:
    return spec["driver"], spec["pool"]["name"]


def _evicting(spec: Object) -> dict[_DeviceKey, list[Object]]:
    """The NoExecute taints of the devices of a slice."""
    found = {}
    for device in spec.get("devices") or ():
        taints = [taint for taint in device.get("taints") or () if taint["effect"] == NO_EXECUTE]
        if taints:
            found[(*_pool(spec), device["name"])] = taints
    return found


def _tolerated_until(taint: Object, tolerations: Iterable[Object]) -> float:
    since = parse_time(taint["timeAdded"]).timestamp() if taint.get("timeAdded") else clock.time()
    seconds = [
        inf
        if toleration.get("tolerationSeconds") is None
        else max(0, toleration["tolerationSeconds"])
        for toleration in tolerations
        if tolerates(toleration, taint)
    ]
    if inf in seconds:
        return inf
    return since + min(seconds, default=0)
