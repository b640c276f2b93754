"""What becomes of a volume whose claim is gone."""

from __future__ import annotations

from fairlead.controllers.events import NORMAL, WARNING
from fairlead.controllers.volumes.facts import claim_key_of, is_going, key_of
from fairlead.controllers.volumes.names import (
    CLAIMS,
    FAILED,
    RELEASED,
    VOLUMES,
    annotations_of,
    phase_of,
)
from fairlead.controllers.volumes.parts import Parts
from fairlead.controllers.volumes.pods import is_finished, pods_using
from fairlead.controllers.volumes.recycler import Recycler
from fairlead.operations.api import Object
from fairlead.operations.options import DeleteOptions


class Reclaimer:
    """Carries out reclaim policies."""

    def __init__(self, parts: Parts) -> None:
        self._client = parts.client
        self._names = parts.names
        self._plugins = parts.plugins
        self._writer = parts.writer
        self._teller = parts.teller
        self._recycler = Recycler(parts.client)

    async def release(self, volume: Object) -> None:
        """A volume is for nobody any more. That it failed before stays to be seen."""
        if phase_of(volume) not in (RELEASED, FAILED):
            volume = await self._writer.set_volume_phase(volume, RELEASED)
        if annotations_of(volume).get(self._names.migrated_to):
            return  # its driver sees to it
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
                self._teller.say_once(VOLUMES, volume, NORMAL, "VolumeFailedRecycle", text)
                return
        if not self._recycler.can_recycle(volume):
            text = "No recycler plugin found for the volume!"
            await self._fail(volume, "VolumeFailedRecycle", text)
            return
        outcome = await self._recycler.recycle(volume)
        if outcome is None:
            return  # its pod is still at it
        if outcome:
            await self._fail(volume, "VolumeFailedRecycle", f"Recycle failed: {outcome}")
            return
        self._teller.say(VOLUMES, volume, NORMAL, "VolumeRecycled", "Volume recycled")
        await self._writer.unbind(volume)

    async def _fail(self, volume: Object, reason: str, text: str) -> None:
        if phase_of(volume) == FAILED:
            return
        failed = await self._writer.set_volume_phase(volume, FAILED, text)
        self._teller.say(VOLUMES, failed, WARNING, reason, text)
