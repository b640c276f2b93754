"""The controllers of volumes and claims. Each is loaded lazily, when the first object for it
exists."""

from __future__ import annotations

from fairlead.controllers.dependencies import Dependencies, LazyBuild
from fairlead.controllers.framework import Reconciler
from fairlead.controllers.volumes import binder, ephemeral, expander, protection

_CLAIMS, _VOLUMES = "core/v1/persistentvolumeclaims", "core/v1/persistentvolumes"


def _claim_protection(dependencies: Dependencies) -> Reconciler:
    return protection.ClaimProtection(
        dependencies.client("pvc-protection-controller"), dependencies.dialect
    )


def _volume_protection(dependencies: Dependencies) -> Reconciler:
    return protection.VolumeProtection(
        dependencies.client("pv-protection-controller"), dependencies.dialect
    )


def _attributes_class_protection(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("volumeattributesclass-protection-controller")
    return protection.AttributesClassProtection(client, dependencies.dialect)


def _volume_binder(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("persistent-volume-binder")
    recorder = dependencies.recorder(client, "persistentvolume-controller")
    return binder.VolumeBinder(dependencies.api, client, recorder)


def _volume_expander(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("expand-controller")
    return expander.VolumeExpander(
        dependencies.api, client, dependencies.recorder(client, "volume_expand")
    )


def _ephemeral_claims(dependencies: Dependencies) -> Reconciler:
    client = dependencies.client("ephemeral-volume-controller")
    return ephemeral.EphemeralClaims(
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
    "volumeattributesclass-protection-controller": LazyBuild(
        "volumeattributesclass-protection-controller",
        ("storage/v1/volumeattributesclasses",),
        _attributes_class_protection,
    ),
}
