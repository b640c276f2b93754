"""Writes of the binder: bindings, phases and events."""

from __future__ import annotations

from fairlead.base.caches import BoundedCache
from fairlead.codec.types.quantity import quantity
from fairlead.controllers.events import Recorder
from fairlead.controllers.volumes.facts import (
    attributes_class_of,
    is_bound_to,
    reserved,
    size_of,
)
from fairlead.controllers.volumes.names import (
    AVAILABLE,
    BOUND,
    CLAIMS,
    PENDING,
    VOLUMES,
    Annotations,
    annotations_of,
    phase_of,
    with_annotations,
)
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resources

_YES = "yes"
_CURRENT_CLASS = "currentVolumeAttributesClassName"
_MAX_CACHED = 4096


class EventRecorder:
    """Records events about claims and volumes."""

    def __init__(self, recorder: Recorder, resources: Resources) -> None:
        self._recorder = recorder
        self._resources = resources
        self._recorded: BoundedCache[str, tuple[str, str]] = BoundedCache(_MAX_CACHED)

    def record_event(self, resource: str, value: Object, kind: str, reason: str, text: str) -> None:
        self._recorder.record(self._resources.named(resource), value, kind, reason, text)

    def record_once(self, resource: str, value: Object, kind: str, reason: str, text: str) -> None:
        """Record an event unless it equals the last one about the object."""
        uid = value["metadata"]["uid"]
        if self._recorded.get(uid) != (reason, text):
            self._recorded.keep(uid, (reason, text), len(uid))
            self.record_event(resource, value, kind, reason, text)


class Writer:
    """Writes with a precondition on the version that was read: a concurrent write raises
    StatusError (409), and the binder retries."""

    def __init__(self, client: Client, names: Annotations) -> None:
        self._client = client
        self._names = names

    async def replace(self, resource: str, value: Object) -> Object:
        return await self._client.replace(resource, value)

    async def _replace_status(self, resource: str, value: Object) -> Object:
        metadata = value["metadata"]
        namespace = metadata.get("namespace", "")
        return await self._client.change(
            resource, namespace, metadata["name"], lambda _: value, "status"
        )

    async def bind(self, volume: Object, claim: Object) -> None:
        """Bind a volume and a claim, the volume first; skips steps already done."""
        volume = await self._bind_volume(volume, claim)
        volume = await self.set_volume_phase(volume, BOUND)
        claim = await self._bind_claim(claim, volume)
        await self.set_claim_status(claim, BOUND, volume)

    async def _bind_volume(self, volume: Object, claim: Object) -> Object:
        names = self._names
        reference = volume["spec"].get("claimRef") or {}
        if is_bound_to(volume, claim) and reference.get("uid"):
            return volume
        changed = reserved(volume, claim)
        if not is_bound_to(volume, claim):
            changed = with_annotations(changed, {names.bound_by_controller: _YES})
        return await self.replace(VOLUMES, changed)

    async def _bind_claim(self, claim: Object, volume: Object) -> Object:
        names, name = self._names, volume["metadata"]["name"]
        marks: dict[str, str | None] = {}
        changed = claim
        if claim["spec"].get("volumeName") != name:
            changed = {**claim, "spec": {**claim["spec"], "volumeName": name}}
            marks[names.bound_by_controller] = _YES
        if names.bind_completed not in annotations_of(claim):
            marks[names.bind_completed] = _YES
        if not marks:
            return claim
        return await self.replace(CLAIMS, with_annotations(changed, marks))

    async def unbind(self, volume: Object) -> None:
        """Undo a binding. A volume that a user reserved for a claim stays reserved."""
        spec = dict(volume["spec"])
        if self._names.bound_by_controller in annotations_of(volume):
            del spec["claimRef"]
            changed = with_annotations(
                {**volume, "spec": spec}, {self._names.bound_by_controller: None}
            )
        else:
            reference = spec["claimRef"]
            spec["claimRef"] = {name: reference[name] for name in reference if name != "uid"}
            changed = {**volume, "spec": spec}
        await self.set_volume_phase(await self.replace(VOLUMES, changed), AVAILABLE)

    async def set_volume_phase(self, volume: Object, phase: str, message: str = "") -> Object:
        if phase_of(volume) == phase:
            return volume
        status = {**volume["status"], "phase": phase}
        status.pop("message", None)
        if message:
            status["message"] = message
        return await self._replace_status(VOLUMES, {**volume, "status": status})

    async def set_claim_status(self, claim: Object, phase: str, volume: Object | None) -> Object:
        """Set the phase and access modes of a claim. Capacity and attributes class are set when it
        is bound; afterwards the expansion and the driver maintain them."""
        before = claim["status"]
        status = {**before, "phase": phase}
        if volume is None:
            status.pop("accessModes", None)
            status.pop("capacity", None)
            status.pop(_CURRENT_CLASS, None)
        else:
            status["accessModes"] = volume["spec"].get("accessModes")
            if phase_of(claim) != phase and not _has_size_of(claim, volume):
                status["capacity"] = volume["spec"]["capacity"]
            if phase_of(claim) == PENDING and phase == BOUND and attributes_class_of(volume):
                status[_CURRENT_CLASS] = attributes_class_of(volume)
        if status == before:
            return claim
        return await self._replace_status(CLAIMS, {**claim, "status": status})


def _has_size_of(claim: Object, volume: Object) -> bool:
    size = (claim["status"].get("capacity") or {}).get("storage")
    return size is not None and quantity(size) == size_of(volume)
