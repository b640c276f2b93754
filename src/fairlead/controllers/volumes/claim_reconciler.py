"""Reconciles claims: selects and binds a volume, or reports why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.volumes.facts import (
    class_of,
    could_hold,
    is_bound_to,
    is_selected,
    key_of,
    mismatch,
)
from fairlead.controllers.volumes.index import Index
from fairlead.controllers.volumes.names import (
    AVAILABLE,
    CLAIMS,
    CLASSES,
    LOST,
    PENDING,
    VOLUMES,
    Annotations,
    annotations_of,
    phase_of,
    with_annotations,
)
from fairlead.controllers.volumes.plugins import Plugins
from fairlead.controllers.volumes.pods import is_finished, pods_using
from fairlead.controllers.volumes.writes import EventRecorder, Writer
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client

_DELAYED = "WaitForFirstConsumer"


class ClaimRules:
    def __init__(self, parts: BinderParts) -> None:
        self._client = parts.client
        self._group = parts.storage_group
        self._names = parts.names
        self._plugins = parts.plugins
        self._writer = parts.writer
        self._events = parts.events
        self._index = parts.index

    async def reconcile(self, claim: Object) -> None:
        """Reconcile a claim: bind it, or set its phase and record an event."""
        claim = await self._with_driver(claim)
        if self._names.bind_completed in annotations_of(claim):
            await self._reconcile_bound(claim)
        elif claim["spec"].get("volumeName"):
            await self._reconcile_named(claim)
        else:
            await self._settle_unbound(claim)

    async def _with_driver(self, claim: Object) -> Object:
        annotations = annotations_of(claim)
        provisioner = annotations.get(
            self._names.provisioner, annotations.get(self._names.beta_provisioner)
        )
        if changes := self._plugins.migration(claim, provisioner):
            return await self._writer.replace(CLAIMS, with_annotations(claim, changes))
        return claim

    async def _reconcile_bound(self, claim: Object) -> None:
        """A claim that was bound keeps its volume, or is Lost."""
        name = claim["spec"].get("volumeName") or ""
        if not name:
            text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            await self._mark_lost(claim, "ClaimLost", text)
            return
        volume = self._client.find(VOLUMES, "", name)
        if volume is None:
            text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            await self._mark_lost(claim, "ClaimLost", text)
            return
        reference = volume["spec"].get("claimRef")
        if reference is None or reference.get("uid", "") == claim["metadata"]["uid"]:
            await self._writer.bind(volume, claim)
        else:
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._mark_lost(claim, "ClaimMisbound", text)

    async def _mark_lost(self, claim: Object, reason: str, text: str) -> None:
        if phase_of(claim) != LOST:
            lost = await self._writer.set_claim_status(claim, LOST, None)
            self._events.record_event(CLAIMS, lost, WARNING, reason, text)

    async def _reconcile_named(self, claim: Object) -> None:
        """A claim that names a volume waits for that one."""
        name = claim["spec"]["volumeName"]
        volume = self._client.find(VOLUMES, "", name)
        if volume is not None:
            if volume["spec"].get("claimRef") is None:
                why = mismatch(volume, claim, self._names)
                if not why:
                    await self._writer.bind(volume, claim)
                    return
                text = f'Cannot bind to requested volume "{name}": {why}'
                self._events.record_once(CLAIMS, claim, WARNING, "VolumeMismatch", text)
            elif is_bound_to(volume, claim):
                await self._writer.bind(volume, claim)
                return
            else:
                text = f'volume "{name}" already bound to a different claim.'
                self._events.record_once(CLAIMS, claim, WARNING, "FailedBinding", text)
                if self._names.bound_by_controller in annotations_of(claim):
                    return
        await self._writer.set_claim_status(claim, PENDING, None)

    async def _settle_unbound(self, claim: Object) -> None:
        name = class_of(claim, self._names)
        delayed = self.is_delayed(name)
        volume = self._best_volume(claim, name, delayed)
        if volume is not None:
            await self._writer.bind(volume, claim)
            return
        if delayed and self._names.selected_node not in annotations_of(claim):
            self._report_waiting(claim)
        elif name:
            await self._await_provisioner(claim, name)
            return
        else:
            text = "no persistent volumes available for this claim and no storage class is set"
            self._events.record_once(CLAIMS, claim, NORMAL, "FailedBinding", text)
        await self._writer.set_claim_status(claim, PENDING, None)

    def is_delayed(self, name: str) -> bool:
        """Whether claims of a class are bound by the scheduler, when a pod is placed."""
        storage_class = self._client.find(CLASSES, "", name) if name else None
        return storage_class is not None and storage_class.get("volumeBindingMode") == _DELAYED

    def _best_volume(self, claim: Object, class_name: str, delayed: bool) -> Object | None:
        """A volume reserved for the claim, else the smallest free one that matches."""
        for name in sorted(self._index.reserved.keys_of(key_of(claim))):
            volume = self._client.find(VOLUMES, "", name)
            if volume is not None and is_bound_to(volume, claim) and could_hold(volume, claim):
                return volume
        if delayed:
            return None
        for name in self._index.free.matching(claim, class_name):
            volume = self._client.find(VOLUMES, "", name)
            if volume is not None and self.fits(volume, claim):
                return volume
        return None

    def fits(self, volume: Object, claim: Object) -> bool:
        """Whether a claim may take an unreserved volume."""
        return (
            volume["spec"].get("claimRef") is None
            and phase_of(volume) == AVAILABLE
            and could_hold(volume, claim)
            and is_selected(volume, claim)
            and class_of(volume, self._names) == class_of(claim, self._names)
        )

    def _report_waiting(self, claim: Object) -> None:
        metadata = claim["metadata"]
        pods = [
            pod["metadata"]["name"]
            for pod in pods_using(self._client, metadata["namespace"], metadata["name"])
            if not pod["spec"].get("nodeName") and not is_finished(pod)
        ]
        if pods:
            what = f"pod {pods[0]}" if len(pods) == 1 else f"pods {','.join(pods)}"
            reason, text = "WaitForPodScheduled", f"waiting for {what} to be scheduled"
        else:
            reason = _DELAYED
            text = "waiting for first consumer to be created before binding"
        self._events.record_once(CLAIMS, claim, NORMAL, reason, text)

    async def _await_provisioner(self, claim: Object, class_name: str) -> None:
        """Write the name of the external provisioner to the claim, which then creates the
        volume."""
        storage_class = self._client.find(CLASSES, "", class_name)
        if storage_class is None:
            self._report_failure(claim, f'storageclass.{self._group} "{class_name}" not found')
            return
        provisioner = storage_class["provisioner"]
        if why := self._plugins.provisioning_refusal(provisioner):
            self._report_failure(claim, why)
            return
        claim = await self._with_provisioner(
            claim, self._plugins.driver(provisioner) or provisioner
        )
        if self._plugins.is_host_path(provisioner):
            text = f'provisioning in volume plugin "{provisioner}" is disabled'
            self._report_failure(claim, f"Failed to create provisioner: {text}")
            return
        name = annotations_of(claim)[self._names.provisioner]
        text = (
            f'waiting for a volume to be created, either by external provisioner "{name}" or'
            " manually created by system administrator"
        )
        self._events.record_once(CLAIMS, claim, NORMAL, "ExternalProvisioning", text)

    async def _with_provisioner(self, claim: Object, provisioner: str) -> Object:
        names = self._names
        if annotations_of(claim).get(names.provisioner) == provisioner:
            return claim
        marks: dict[str, str | None] = {
            names.beta_provisioner: provisioner,
            names.provisioner: provisioner,
            **self._plugins.migration(claim, provisioner),
        }
        return await self._writer.replace(CLAIMS, with_annotations(claim, marks))

    def _report_failure(self, claim: Object, text: str) -> None:
        self._events.record_once(CLAIMS, claim, WARNING, "ProvisioningFailed", text)


# Objects shared by the parts of the binder.


@dataclass(frozen=True, slots=True)
class BinderParts:
    """`storage_group` is the API group of storage classes."""

    client: Client
    names: Annotations
    plugins: Plugins
    index: Index
    writer: Writer
    events: EventRecorder
    storage_group: str

    @classmethod
    def of(cls, api: Api, client: Client, recorder: Recorder) -> BinderParts:
        names = Annotations.of(api.dialect)
        return cls(
            client,
            names,
            Plugins(api.dialect, names),
            Index(names),
            Writer(client, names),
            EventRecorder(recorder, api.resources),
            api.dialect.group_name("storage.@"),
        )
