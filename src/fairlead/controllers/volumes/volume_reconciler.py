"""Reconciles volumes: sets their phase, and reclaims those whose claim is gone or has another
volume."""

from __future__ import annotations

from fairlead.controllers.events import NORMAL, WARNING
from fairlead.controllers.volumes.claim_reconciler import BinderParts, ClaimRules
from fairlead.controllers.volumes.facts import (
    claim_key_of,
    class_of,
    is_going,
    key_of,
    volume_mode_of,
)
from fairlead.controllers.volumes.names import (
    AVAILABLE,
    BOUND,
    CLAIMS,
    FAILED,
    RELEASED,
    VOLUMES,
    annotations_of,
    phase_of,
    with_annotations,
)
from fairlead.controllers.volumes.pods import is_finished, pods_using
from fairlead.controllers.volumes.recycler import Recycler
from fairlead.operations.api import Object
from fairlead.operations.options import DeleteOptions


class VolumeRules:
    def __init__(self, parts: BinderParts, claims: ClaimRules) -> None:
        self._client = parts.client
        self._names = parts.names
        self._plugins = parts.plugins
        self._writer = parts.writer
        self._events = parts.events
        self._index = parts.index
        self._reclaimer = Reclaimer(parts)
        self._claims = claims

    async def reconcile(self, volume: Object) -> None:
        """Set the phase of a volume, offer or reclaim it."""
        volume = await self._with_driver(volume)
        reference = volume["spec"].get("claimRef")
        if reference is None or not reference.get("uid"):
            if phase_of(volume) != AVAILABLE:
                await self._writer.set_volume_phase(volume, AVAILABLE)
            elif reference is None:
                await self._offer(volume)
            return
        claim = self._client.find(CLAIMS, reference.get("namespace", ""), reference.get("name", ""))
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            await self._reclaimer.release(volume)
        else:
            await self._settle_claimed(volume, claim)

    async def _with_driver(self, volume: Object) -> Object:
        provisioner = annotations_of(volume).get(self._names.provisioned_by)
        if changes := self._plugins.migration(volume, provisioner):
            return await self._writer.replace(VOLUMES, with_annotations(volume, changes))
        return volume

    async def _settle_claimed(self, volume: Object, claim: Object) -> None:
        named = claim["spec"].get("volumeName") or ""
        if not named:
            self._report_if_unusable(volume, claim)  # the claim's own sync binds it
        elif named == volume["metadata"]["name"]:
            await self._writer.set_volume_phase(volume, BOUND)
        elif self._was_made_for_claim(volume):
            await self._reclaimer.release(volume)
        else:
            await self._writer.unbind(volume)

    def _was_made_for_claim(self, volume: Object) -> bool:
        """Whether a volume was provisioned for its claim, so that it is deleted if the claim has
        another volume."""
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        return policy == "Delete" and self._names.provisioned_by in annotations_of(volume)

    def _report_if_unusable(self, volume: Object, claim: Object) -> None:
        if volume_mode_of(volume) == volume_mode_of(claim):
            return
        name, claim_name = volume["metadata"]["name"], claim["metadata"]["name"]
        why, reason = "due to incompatible volumeMode.", "VolumeMismatch"
        of_volume = f'PersistentVolume to requested PersistentVolumeClaim "{claim_name}"'
        of_claim = f'PersistentVolume "{name}" to requested PersistentVolumeClaim'
        self._events.record_once(VOLUMES, volume, WARNING, reason, f"Cannot bind {of_volume} {why}")
        self._events.record_once(CLAIMS, claim, WARNING, reason, f"Cannot bind {of_claim} {why}")

    async def _offer(self, volume: Object) -> None:
        """Sync waiting claims that match, until one has taken the volume."""
        class_name, name = class_of(volume, self._names), volume["metadata"]["name"]
        waiting = self._index.waiting.fitting(volume, class_name)
        if not waiting or self._claims.is_delayed(class_name):
            return
        for key in waiting:
            namespace, _, claim_name = key.partition("/")
            claim = self._client.find(CLAIMS, namespace, claim_name)
            if claim is None or not self._claims.fits(volume, claim):
                continue
            await self._claims.reconcile(claim)
            newest = self._client.find(VOLUMES, "", name)
            if newest is None or newest["spec"].get("claimRef") is not None:
                return


# Reclaiming of volumes whose claim is gone.


class Reclaimer:
    """Implements reclaim policies."""

    def __init__(self, parts: BinderParts) -> None:
        self._client = parts.client
        self._names = parts.names
        self._plugins = parts.plugins
        self._writer = parts.writer
        self._events = parts.events
        self._recycler = Recycler(parts.client)

    async def release(self, volume: Object) -> None:
        """Reclaim a volume. The phase Failed stays visible."""
        if phase_of(volume) not in (RELEASED, FAILED):
            volume = await self._writer.set_volume_phase(volume, RELEASED)
        if annotations_of(volume).get(self._names.migrated_to):
            return  # the CSI driver does it
        match volume["spec"].get("persistentVolumeReclaimPolicy"):
            case "Retain":
                pass
            case "Delete":
                await self._delete(volume)
            case "Recycle":
                await self._recycle(volume)
            case _:
                text = "Volume has unrecognized PersistentVolumeReclaimPolicy"
                await self._fail(volume, "VolumeUnknownReclaimPolicy", text)

    async def _delete(self, volume: Object) -> None:
        if is_going(volume) or self._plugins.is_deleted_by_others(volume):
            return
        if why := self._plugins.deleting_refusal(volume):
            await self._fail(volume, "VolumeFailedDelete", why)
            return
        metadata = volume["metadata"]
        await self._client.delete(VOLUMES, "", metadata["name"], DeleteOptions(uid=metadata["uid"]))

    async def _recycle(self, volume: Object) -> None:
        namespace, _, name = (claim_key_of(volume) or "").partition("/")
        if self._client.find(CLAIMS, namespace, name) is None:
            users = pods_using(self._client, namespace, name)
            busy = sorted(key_of(pod) for pod in users if not is_finished(pod))
            if busy:
                text = f"Volume is used by pods: {','.join(busy)}"
                self._events.record_once(VOLUMES, volume, NORMAL, "VolumeFailedRecycle", text)
                return
        if not self._recycler.can_recycle(volume):
            text = "No recycler plugin found for the volume!"
            await self._fail(volume, "VolumeFailedRecycle", text)
            return
        outcome = await self._recycler.recycle(volume)
        if outcome is None:
            return  # the recycler pod is running
        if outcome:
            await self._fail(volume, "VolumeFailedRecycle", f"Recycle failed: {outcome}")
            return
        self._events.record_event(VOLUMES, volume, NORMAL, "VolumeRecycled", "Volume recycled")
        await self._writer.unbind(volume)

    async def _fail(self, volume: Object, reason: str, text: str) -> None:
        if phase_of(volume) == FAILED:
            return
        failed = await self._writer.set_volume_phase(volume, FAILED, text)
        self._events.record_event(VOLUMES, failed, WARNING, reason, text)
