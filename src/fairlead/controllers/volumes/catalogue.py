"""The controllers of volumes and claims."""

from __future__ import annotations

from fairlead.controllers.framework import Controller
from fairlead.controllers.surroundings import Build, Surroundings
from fairlead.controllers.volumes.binder import VolumeBinder
from fairlead.controllers.volumes.ephemeral import EphemeralClaims
from fairlead.controllers.volumes.expander import VolumeExpander
from fairlead.controllers.volumes.protection import ClaimProtection, VolumeProtection


def _claim_protection(given: Surroundings) -> Controller:
    return ClaimProtection(given.client("pvc-protection-controller"), given.dialect)


def _volume_protection(given: Surroundings) -> Controller:
    return VolumeProtection(given.client("pv-protection-controller"), given.dialect)


def _volume_binder(given: Surroundings) -> Controller:
    client = given.client("persistent-volume-binder")
    recorder = given.recorder(client, "persistentvolume-controller")
    return VolumeBinder(given.api, client, recorder)


def _volume_expander(given: Surroundings) -> Controller:
    client = given.client("expand-controller")
    return VolumeExpander(given.api, client, given.recorder(client, "volume_expand"))


def _ephemeral_claims(given: Surroundings) -> Controller:
    client = given.client("ephemeral-volume-controller")
    return EphemeralClaims(given.api, client, given.recorder(client, "ephemeral_volume"))


BUILDERS: dict[str, Build] = {
    "ephemeral-volume": _ephemeral_claims,
    "persistentvolume-binder": _volume_binder,
    "persistentvolume-expander": _volume_expander,
    "pv-protection": _volume_protection,
    "pvc-protection": _claim_protection,
}
