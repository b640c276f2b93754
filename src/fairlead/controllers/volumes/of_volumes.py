"""The rules of volumes: their phases, and what becomes of one whose claim went elsewhere."""

from __future__ import annotations

from fairlead.controllers.events import WARNING
from fairlead.controllers.volumes.facts import class_of, volume_mode_of
from fairlead.controllers.volumes.names import (
    AVAILABLE,
    BOUND,
    CLAIMS,
    VOLUMES,
    annotations_of,
    phase_of,
    with_annotations,
)
from fairlead.controllers.volumes.of_claims import ClaimRules
from fairlead.controllers.volumes.parts import Parts
from fairlead.controllers.volumes.reclaim import Reclaimer
from fairlead.operations.api import Object


class VolumeRules:
    def __init__(self, parts: Parts, claims: ClaimRules) -> None:
        self._client = parts.client
        self._names = parts.names
        self._plugins = parts.plugins
        self._writer = parts.writer
        self._teller = parts.teller
        self._index = parts.index
        self._reclaimer = Reclaimer(parts)
        self._claims = claims

    async def settle(self, volume: Object) -> None:
        """Bring a volume into the phase that it is in."""
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
            self._say_if_unusable(volume, claim)  # and the claim's own turn comes
        elif named == volume["metadata"]["name"]:
            await self._writer.set_volume_phase(volume, BOUND)
        elif self._was_made_for_claim(volume):
            await self._reclaimer.release(volume)
        else:
            await self._writer.unbind(volume)

    def _was_made_for_claim(self, volume: Object) -> bool:
        """A volume that was made for a claim is of no use when that has another one."""
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        return policy == "Delete" and self._names.provisioned_by in annotations_of(volume)

    def _say_if_unusable(self, volume: Object, claim: Object) -> None:
        if volume_mode_of(volume) == volume_mode_of(claim):
            return
        name, claim_name = volume["metadata"]["name"], claim["metadata"]["name"]
        why, reason = "due to incompatible volumeMode.", "VolumeMismatch"
        of_volume = f'PersistentVolume to requested PersistentVolumeClaim "{claim_name}"'
        of_claim = f'PersistentVolume "{name}" to requested PersistentVolumeClaim'
        self._teller.say_once(VOLUMES, volume, WARNING, reason, f"Cannot bind {of_volume} {why}")
        self._teller.say_once(CLAIMS, claim, WARNING, reason, f"Cannot bind {of_claim} {why}")

    async def _offer(self, volume: Object) -> None:
        """Let the claims that wait look again, until one has taken the volume."""
        class_name, name = class_of(volume, self._names), volume["metadata"]["name"]
        waiting = self._index.waiting.that_fit(volume, class_name)
        if not waiting or self._claims.is_delayed(class_name):
            return
        for key in waiting:
            namespace, _, claim_name = key.partition("/")
            claim = self._client.find(CLAIMS, namespace, claim_name)
            if claim is None or not self._claims.fits(volume, claim):
                continue
            await self._claims.settle(claim)
            newest = self._client.find(VOLUMES, "", name)
            if newest is None or newest["spec"].get("claimRef") is not None:
                return
