"""Makes volumes for the claims of classes with the simulated provisioner, and deletes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from fairlead.base.errors import StatusError
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.cloud.settings import (
    delay_left,
    is_delayed,
    with_delay,
    without_delay,
)
from fairlead.controllers.simulation.cloud.volume_changes import VolumeChanges
from fairlead.controllers.simulation.cloud.volumes import (
    DRIVER,
    ClassUsage,
    VolumeError,
    bytes_wanted,
    class_settings,
    is_simulated,
    new_volume,
    volume_name,
)
from fairlead.controllers.simulation.simulated_nodes import NODES
from fairlead.controllers.volumes.facts import (
    attributes_class_of,
    class_of,
    is_going,
    key_of,
    size_of,
)
from fairlead.controllers.volumes.names import (
    BOUND,
    CLAIMS,
    CLASSES,
    PODS,
    RELEASED,
    VOLUMES,
    Annotations,
    annotations_of,
    phase_of,
    with_annotations,
)
from fairlead.controllers.volumes.pods import claims_of, may_use_claims
from fairlead.controllers.volumes.protection import ATTRIBUTES_CLASSES
from fairlead.controllers.volumes.writes import EventRecorder
from fairlead.controllers.workloads.statuses import write_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.storage.version import Change

_DELAYED_BINDING = "WaitForFirstConsumer"


class Provisioner:
    """Keys are `namespace/name` of claims, names of volumes, and `/name` of classes. A volume is
    named after the uid of its claim, and the volumes themselves are what a class has used: a server
    that was killed leaves nothing behind that the next one does not see."""

    workers = 4

    def __init__(self, api: Api, client: Client, recorder: Recorder) -> None:
        self._client = client
        self._claims = api.resources.named(CLAIMS)
        self._names = Annotations.of(api.dialect)
        self._events = EventRecorder(recorder, api.resources)
        self._usage = ClassUsage()
        self._changes = VolumeChanges(api, client, self._events, self._usage)
        # Claims by what they wait for: a change of their class or room in it, or the key of a claim
        # to clone; with the bytes they need.
        self._waiting: dict[str, dict[str, Decimal]] = defaultdict(dict)
        self._waits_for: dict[str, str] = {}
        self._add: Callable[[str], None] = lambda key: None

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add

    def follows(self) -> Mapping[str, Keys]:
        return {
            VOLUMES: self._volume,
            CLAIMS: lambda change: (change.key, *self._waiting.get(change.key, ())),
            CLASSES: self._storage_class,
            ATTRIBUTES_CLASSES: lambda change: tuple(self._waits_for),
            PODS: self._pod,
        }

    def _volume(self, change: Change) -> Iterable[str]:
        version = change.after or change.before
        if version is None or not version.mentions("driver", DRIVER):
            return ()
        volume = change.after.object() if change.after is not None else None
        if volume is not None and not is_simulated(volume):
            return ()
        roomier = self._usage.observe(change.name, volume)
        keys = [change.name] if volume is not None and phase_of(volume) == RELEASED else []
        return (*keys, f"/{roomier}") if roomier in self._waiting else keys

    def _storage_class(self, change: Change) -> Iterable[str]:
        return tuple(self._waiting.get(change.name, ()))

    def _pod(self, change: Change) -> Iterable[str]:
        """Claims whose file system grows when a pod that uses them runs."""
        waiting, version = self._changes.waiting_for_pod, change.after
        if not waiting or version is None or not may_use_claims(version):
            return ()
        keys = (f"{change.namespace}/{name}" for name in claims_of(version.object()))
        return [key for key in keys if key in waiting]

    async def sync(self, key: str) -> float | None:
        namespace, slash, name = key.partition("/")
        if not slash:
            await self._reclaim(key)
        elif not namespace:
            self._share_room(name)
        else:
            awaited = self._stop_waiting(key)
            left = await self._sync_claim(namespace, name)
            if awaited is not None and key not in self._waits_for:
                # Room that was offered to this claim and not taken is for the others.
                self._share_room(awaited)
            return left
        return None

    async def _sync_claim(self, namespace: str, name: str) -> float | None:
        claim = self._client.find(CLAIMS, namespace, name)
        if claim is None:
            self._changes.waiting_for_pod.discard(f"{namespace}/{name}")
            return None
        return None if is_going(claim) else await self._settle(claim)

    async def _settle(self, claim: Object) -> float | None:
        try:
            if claim["spec"].get("volumeName"):
                return await self._settle_bound(claim)
            return await self._provision_if_wanted(claim)
        except VolumeError as error:
            self._wait(claim, error.needed, error.source)
            self._report_failure(claim, error)
            return None

    async def _settle_bound(self, claim: Object) -> float | None:
        if is_delayed(claim["status"]):
            await self._write_status(claim, without_delay)
        volume = self._client.find(VOLUMES, "", claim["spec"]["volumeName"])
        if phase_of(claim) != BOUND or volume is None or not is_simulated(volume):
            return None
        if self._changes.lacks_attributes_class(claim):
            self._wait(claim)
        return await self._changes.settle(claim, volume, self._class(claim))

    # Provisioning.

    async def _provision_if_wanted(self, claim: Object) -> float | None:
        annotations, storage_class = annotations_of(claim), self._class(claim)
        named = annotations.get(self._names.provisioner)
        if named is None:
            named = annotations.get(self._names.beta_provisioner)
        if named != DRIVER or storage_class is None or storage_class["provisioner"] != DRIVER:
            if named == DRIVER:
                self._wait(claim)
            return None
        if storage_class.get("volumeBindingMode") != _DELAYED_BINDING:
            return await self._provision(claim, storage_class, None)
        selected = annotations.get(self._names.selected_node)
        if not selected:
            return None
        node = self._client.find(NODES, "", selected)
        if node is None:  # the scheduler chooses another one
            unselected = with_annotations(claim, {self._names.selected_node: None})
            await self._client.replace(CLAIMS, unselected)
            return None
        return await self._provision(claim, storage_class, node)

    async def _provision(
        self, claim: Object, storage_class: Object, node: Object | None
    ) -> float | None:
        text = f'External provisioner is provisioning volume for claim "{key_of(claim)}"'
        self._events.record_once(CLAIMS, claim, NORMAL, "Provisioning", text)
        settings, size = class_settings(storage_class), bytes_wanted(claim)
        if not self._is_sourced(claim, size):
            return None
        if self._changes.lacks_attributes_class(claim):
            name = attributes_class_of(claim)
            raise VolumeError("NotFound", f"there is no VolumeAttributesClass {name} of {DRIVER}")
        left = delay_left(claim["status"], settings.delay)
        if left > 0:
            if not is_delayed(claim["status"]):
                await self._write_status(claim, with_delay)
            return left
        name, class_name = volume_name(claim), storage_class["metadata"]["name"]
        if self._client.find(VOLUMES, "", name) is not None:
            return None
        self._usage.take(name, class_name, size, settings.capacity)
        try:
            await self._create(new_volume(claim, storage_class, size, node, self._names))
        except BaseException:
            self._usage.drop(name)
            raise
        text = f"Successfully provisioned volume {name}"
        self._events.record_event(CLAIMS, claim, NORMAL, "ProvisioningSucceeded", text)
        return None

    async def _create(self, volume: Object) -> None:
        try:
            await self._client.create(VOLUMES, volume)
        except StatusError as error:
            if error.reason == "AlreadyExists":
                return
            if error.code == 422:
                raise VolumeError("InvalidArgument", str(error)) from None
            raise

    def _is_sourced(self, claim: Object, size: Decimal) -> bool:
        """Whether a claim's content can be made: it is empty or a clone of another claim. False if
        a populator makes it. Raises VolumeError."""
        if claim["spec"].get("selector"):
            raise VolumeError("InvalidArgument", "claims with a selector are not provisioned")
        source = claim["spec"].get("dataSourceRef") or claim["spec"].get("dataSource")
        if source is None:
            return True
        if source.get("apiGroup") or source["kind"] != "PersistentVolumeClaim":
            return False
        namespace = claim["metadata"]["namespace"]
        if source.get("namespace", namespace) != namespace:
            raise VolumeError("InvalidArgument", "claims of other namespaces are not cloned")
        self._check_origin(f"{namespace}/{source['name']}", size)
        return True

    def _check_origin(self, key: str, size: Decimal) -> None:
        """Check a claim that is to be cloned; raises VolumeError."""
        namespace, _, name = key.partition("/")
        origin = self._client.find(CLAIMS, namespace, name)
        if origin is None:
            raise VolumeError("NotFound", f"there is no claim {name} to clone", source=key)
        volume = self._client.find(VOLUMES, "", origin["spec"].get("volumeName") or "")
        if phase_of(origin) != BOUND or volume is None or not is_simulated(volume):
            text = f"claim {name} has no volume that can be cloned"
            raise VolumeError("FailedPrecondition", text, source=key)
        if size < size_of(volume):
            raise VolumeError("OutOfRange", f"the volume of claim {name} is larger")

    def _class(self, claim: Object) -> Object | None:
        name = class_of(claim, self._names)
        return self._client.find(CLASSES, "", name) if name else None

    async def _write_status(self, claim: Object, change: Callable[[Object], Object]) -> None:
        await write_status(
            self._client,
            self._claims,
            claim,
            lambda current: {**current, "status": change(current["status"])},
        )

    def _report_failure(self, claim: Object, error: VolumeError) -> None:
        if name := claim["spec"].get("volumeName"):
            reason, text = "VolumeResizeFailed", f'resize volume "{name}" failed: {error}'
        else:
            what = f'failed to provision volume with StorageClass "{class_of(claim, self._names)}"'
            reason, text = "ProvisioningFailed", f"{what}: {error}"
        self._events.record_event(CLAIMS, claim, WARNING, reason, text)

    # Claims that wait.

    def _wait(self, claim: Object, needed: Decimal = Decimal(0), source: str = "") -> None:
        key, awaited = key_of(claim), source or class_of(claim, self._names)
        self._waiting[awaited][key] = needed
        self._waits_for[key] = awaited

    def _stop_waiting(self, key: str) -> str | None:
        """Returns what the claim waited for: a class, or the key of a claim to clone."""
        awaited = self._waits_for.pop(key, None)
        if awaited is not None:
            waiting = self._waiting[awaited]
            del waiting[key]
            if not waiting:
                del self._waiting[awaited]
        return awaited

    def _share_room(self, class_name: str) -> None:
        """Queue the claims that fit into the room that a class has now."""
        storage_class = self._client.find(CLASSES, "", class_name)
        try:
            room = self._usage.room(class_name, class_settings(storage_class).capacity)
        except VolumeError:
            return
        for key, needed in self._waiting.get(class_name, {}).items():
            if room is None or needed <= room:
                self._add(key)
                room = None if room is None else room - needed

    # Deleting.

    async def _reclaim(self, name: str) -> None:
        """Delete a volume whose claim is gone, if its policy says so."""
        volume = self._client.find(VOLUMES, "", name)
        if volume is None or is_going(volume) or phase_of(volume) != RELEASED:
            return
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        is_own = annotations_of(volume).get(self._names.provisioned_by) == DRIVER
        if policy == "Delete" and is_own and is_simulated(volume):
            options = DeleteOptions(uid=volume["metadata"]["uid"])
            await self._client.delete(VOLUMES, "", name, options)
