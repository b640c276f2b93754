"""The controllers of volumes and claims. Each is loaded lazily, when the first object for it
exists."""

from __future__ import annotations

from fairlead.controllers.dependencies import Dependencies, LazyBuild
from fairlead.controllers.framework import Reconciler

_CLAIMS, _VOLUMES = "core/v1/persistentvolumeclaims", "core/v1/persistentvolumes"


def _claim_protection(dependencies: Dependencies) -> Reconciler:
    from fairlead.controllers.volumes.protection import ClaimProtection

    return ClaimProtection(dependencies.client("pvc-protection-controller"), dependencies.dialect)


def _volume_protection(dependencies: Dependencies) -> Reconciler:
    from fairlead.controllers.volumes.protection import VolumeProtection

    return VolumeProtection(dependencies.client("pv-protection-controller"), dependencies.dialect)


def _volume_binder(dependencies: Dependencies) -> Reconciler:
    from fairlead.controllers.volumes.binder import VolumeBinder

    client = dependencies.client("persistent-volume-binder")
    recorder = dependencies.recorder(client, "persistentvolume-controller")
    return VolumeBinder(dependencies.api, client, recorder)


def _volume_expander(dependencies: Dependencies) -> Reconciler:
    from fairlead.controllers.volumes.expander import VolumeExpander

    client = dependencies.client("expand-controller")
    return VolumeExpander(dependencies.api, client, dependencies.recorder(client, "volume_expand"))


def _ephemeral_claims(dependencies: Dependencies) -> Reconciler:
    from fairlead.controllers.volumes.ephemeral import EphemeralClaims

    client = dependencies.client("ephemeral-volume-controller")
    return EphemeralClaims(
        dependencies.api, client, dependencies.recorder(client, "ephemeral_volume")
    )


BUILDERS: dict[str, LazyBuild] = {
    "ephemeral-volume": LazyBuild(
        "ephemeral-volume-controller", ("core/v1/pods",), _ephemeral_claims
    ),
    "persistentvolume-binder": LazyBuild(
        "persistentvolume-binder", (_CLAIMS, _VOLUMES), _volume_binder
    ),
    "persistentvolume-expander": LazyBuild(
        "persistentvolume-expander", (_CLAIMS,), _volume_expander
    ),
    "pv-protection": LazyBuild("pv-protection-controller", (_VOLUMES,), _volume_protection),
    "pvc-protection": LazyBuild("pvc-protection-controller", (_CLAIMS,), _claim_protection),
}
