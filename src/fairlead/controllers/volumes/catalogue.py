"""The controllers of volumes and claims. Each is loaded lazily, when the first object for it
exists."""

from __future__ import annotations

from fairlead.controllers.dependencies import Later, Surroundings
from fairlead.controllers.framework import Reconciler

_CLAIMS, _VOLUMES = "core/v1/persistentvolumeclaims", "core/v1/persistentvolumes"


def _claim_protection(given: Surroundings) -> Reconciler:
    from fairlead.controllers.volumes.protection import ClaimProtection

    return ClaimProtection(given.client("pvc-protection-controller"), given.dialect)


def _volume_protection(given: Surroundings) -> Reconciler:
    from fairlead.controllers.volumes.protection import VolumeProtection

    return VolumeProtection(given.client("pv-protection-controller"), given.dialect)


def _volume_binder(given: Surroundings) -> Reconciler:
    from fairlead.controllers.volumes.binder import VolumeBinder

    client = given.client("persistent-volume-binder")
    recorder = given.recorder(client, "persistentvolume-controller")
    return VolumeBinder(given.api, client, recorder)


def _volume_expander(given: Surroundings) -> Reconciler:
    from fairlead.controllers.volumes.expander import VolumeExpander

    client = given.client("expand-controller")
    return VolumeExpander(given.api, client, given.recorder(client, "volume_expand"))


def _ephemeral_claims(given: Surroundings) -> Reconciler:
    from fairlead.controllers.volumes.ephemeral import EphemeralClaims

    client = given.client("ephemeral-volume-controller")
    return EphemeralClaims(given.api, client, given.recorder(client, "ephemeral_volume"))


BUILDERS: dict[str, Later] = {
    "ephemeral-volume": Later("ephemeral-volume-controller", ("core/v1/pods",), _ephemeral_claims),
    "persistentvolume-binder": Later(
        "persistentvolume-binder", (_CLAIMS, _VOLUMES), _volume_binder
    ),
    "persistentvolume-expander": Later("persistentvolume-expander", (_CLAIMS,), _volume_expander),
    "pv-protection": Later("pv-protection-controller", (_VOLUMES,), _volume_protection),
    "pvc-protection": Later("pvc-protection-controller", (_CLAIMS,), _claim_protection),
}
