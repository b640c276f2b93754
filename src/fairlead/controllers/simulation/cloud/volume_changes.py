"""Expands volumes of the simulated driver, and changes their attributes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL
from fairlead.controllers.simulation.cloud.volumes import (
    DRIVER,
    ClassUsage,
    bytes_wanted,
    class_settings,
    size_text,
)
from fairlead.controllers.volumes.facts import attributes_class_of, key_of, size_of, volume_mode_of
from fairlead.controllers.volumes.names import CLAIMS, PODS, VOLUMES
from fairlead.controllers.volumes.pods import is_finished, pods_using
from fairlead.controllers.volumes.protection import ATTRIBUTES_CLASSES
from fairlead.controllers.volumes.resizing import (
    RESIZING,
    pending_on_node,
    resizing,
    waits_for_node,
    wants_more,
    with_size,
    with_state,
)
from fairlead.controllers.volumes.writes import EventRecorder
from fairlead.controllers.workloads.statuses import find_condition, write_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client

_CURRENT = "currentVolumeAttributesClassName"


class VolumeChanges:
    """`waiting_for_pod` are keys of claims whose volume has grown and whose file system grows when
    a pod runs."""

    def __init__(self, api: Api, client: Client, events: EventRecorder, usage: ClassUsage) -> None:
        self._client = client
        self._events = events
        self._usage = usage
        self._claims = api.resources.named(CLAIMS)
        self._gives_reason = api.dialect.resizing_has_reason
        self._tracks_allocation = api.gates["RecoverVolumeExpansionFailure"]
        self.waiting_for_pod: set[str] = set()

    async def settle(
        self, claim: Object, volume: Object, storage_class: Object | None
    ) -> float | None:
        """Bring a bound claim's volume to what the claim asks for; raises VolumeError."""
        if attributes_class_of(claim) and attributes_class_of(claim) != _current_class(claim):
            await self._modify(claim, volume)
        if wants_more(claim):
            return await self._grow(claim, volume, storage_class)
        self.waiting_for_pod.discard(key_of(claim))
        if _resizing_since(claim) is not None or waits_for_node(claim):
            await self._write(claim, lambda current: with_state(_settled(current)))
        return None

    # Expansion: the volume first, then its file system.

    async def _grow(
        self, claim: Object, volume: Object, storage_class: Object | None
    ) -> float | None:
        size = bytes_wanted(claim)
        if size > size_of(volume):
            delay = class_settings(storage_class).delay
            left = await self._begin(claim, volume, size, delay)
            if left > 0:
                return left
            volume = await self._expand(claim, volume, storage_class, size)
        if volume_mode_of(volume) == "Block":
            await self._finish(claim, volume)
            text = "Resize volume succeeded"
            self._events.record_event(CLAIMS, claim, NORMAL, "VolumeResizeSuccessful", text)
            return None
        await self._grow_file_system(claim, volume)
        return None

    async def _begin(self, claim: Object, volume: Object, size: Decimal, delay: float) -> float:
        """Say that a volume is being resized; returns the seconds that it still takes."""
        since = _resizing_since(claim)
        if since is not None:
            return since + delay - clock.time()
        text = f"External resizer is resizing volume {volume['metadata']['name']}"
        self._events.record_event(CLAIMS, claim, NORMAL, "Resizing", text)
        allocated = size_text(claim, size)

        def begun(current: Object) -> Object:
            state = resizing(gives_reason=self._gives_reason)
            changed = with_state(current, state)
            return self._with_allocation(changed, "ControllerResizeInProgress", allocated)

        await self._write(claim, begun)
        return delay

    async def _expand(
        self, claim: Object, volume: Object, storage_class: Object | None, size: Decimal
    ) -> Object:
        name, class_name = volume["metadata"]["name"], volume["spec"].get("storageClassName") or ""
        self._usage.take(name, class_name, size, class_settings(storage_class).capacity)
        capacity = {**volume["spec"]["capacity"], "storage": size_text(claim, size)}
        grown = {**volume, "spec": {**volume["spec"], "capacity": capacity}}
        try:
            return await self._client.replace(VOLUMES, grown)
        except BaseException:
            self._usage.observe(name, self._client.find(VOLUMES, "", name))
            raise

    async def _grow_file_system(self, claim: Object, volume: Object) -> None:
        metadata, name = claim["metadata"], volume["metadata"]["name"]
        users = pods_using(self._client, metadata["namespace"], metadata["name"])
        running = (pod for pod in users if pod["status"].get("phase") == "Running")
        pod = next((pod for pod in running if not is_finished(pod)), None)
        if pod is not None:
            await self._finish(claim, volume)
            text = f'MountVolume.NodeExpandVolume succeeded for volume "{name}"'
            node = pod["spec"]["nodeName"]
            self._events.record_event(
                PODS, pod, NORMAL, "FileSystemResizeSuccessful", f"{text} {node}"
            )
            return
        self.waiting_for_pod.add(key_of(claim))
        if waits_for_node(claim):
            return

        def pending(current: Object) -> Object:
            return self._with_allocation(
                with_state(current, pending_on_node()), "NodeResizePending"
            )

        await self._write(claim, pending)
        text = "Require file system resize of volume on node"
        self._events.record_event(CLAIMS, claim, NORMAL, "FileSystemResizeRequired", text)

    async def _finish(self, claim: Object, volume: Object) -> None:
        size = volume["spec"]["capacity"]["storage"]
        await self._write(claim, lambda current: with_size(with_state(_settled(current)), size))
        self.waiting_for_pod.discard(key_of(claim))

    def _with_allocation(self, claim: Object, state: str, size: str = "") -> Object:
        if not self._tracks_allocation:
            return claim
        status = {**claim["status"], "allocatedResourceStatuses": {"storage": state}}
        if size:
            status["allocatedResources"] = {"storage": size}
        return {**claim, "status": status}

    # Attributes.

    def lacks_attributes_class(self, claim: Object) -> bool:
        """Whether a claim names a VolumeAttributesClass that our driver does not have."""
        name = attributes_class_of(claim)
        found = self._client.find(ATTRIBUTES_CLASSES, "", name) if name else None
        return bool(name) and (found is None or found["driverName"] != DRIVER)

    async def _modify(self, claim: Object, volume: Object) -> None:
        """Give a volume the attributes of another class, once that exists."""
        target, name = attributes_class_of(claim), volume["metadata"]["name"]
        if self.lacks_attributes_class(claim):
            state = {"targetVolumeAttributesClassName": target, "status": "Pending"}
            if claim["status"].get("modifyVolumeStatus") != state:
                await self._write(claim, lambda current: _with(current, modifyVolumeStatus=state))
            return
        text = f"external resizer is modifying volume {name} with vac {target}"
        self._events.record_once(CLAIMS, claim, NORMAL, "VolumeModify", text)
        if attributes_class_of(volume) != target:
            spec = {**volume["spec"], "volumeAttributesClassName": target}
            await self._client.replace(VOLUMES, {**volume, "spec": spec})
        await self._write(
            claim, lambda current: _with(current, modifyVolumeStatus=None, **{_CURRENT: target})
        )
        text = f"external resizer modified volume {name} with vac {target} successfully"
        self._events.record_event(CLAIMS, claim, NORMAL, "VolumeModifySuccessful", text)

    async def _write(self, claim: Object, change: Callable[[Object], Object]) -> None:
        await write_status(self._client, self._claims, claim, change)


def _current_class(claim: Object) -> str:
    return claim["status"].get(_CURRENT) or ""


def _resizing_since(claim: Object) -> float | None:
    begun = find_condition(claim["status"].get("conditions") or (), RESIZING)
    if begun is None or not begun.get("lastTransitionTime"):
        return None
    return parse_time(begun["lastTransitionTime"]).timestamp()


def _with(claim: Object, **fields: object) -> Object:
    """The claim with fields of its status; None removes one."""
    changed = {**claim["status"], **fields}
    status = {name: part for name, part in changed.items() if part is not None}
    return {**claim, "status": status}


def _settled(claim: Object) -> Object:
    """The claim without the progress of a resize."""
    return _with(claim, allocatedResourceStatuses=None)
