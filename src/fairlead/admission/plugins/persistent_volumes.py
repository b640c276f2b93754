"""Plugins for persistent volumes and claims: PersistentVolumeLabel, PersistentVolumeClaimResize and
StorageObjectInUseProtection.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import Object, PluginBase, mutation_error, refusal
from fairlead.admission.plugins.default_classes import CLAIMS, CLASSES
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.base.dialect import Dialect
from fairlead.base.logs import Logger
from fairlead.codec.types.quantity import quantity
from fairlead.resources.core.persistent_volumes import CLASS_ANNOTATION

logger = Logger("fairlead")

VOLUMES = "core/v1/persistentvolumes"
_PROVISIONED_BY = "pv.@/provisioned-by"
_TO_BE_PROVISIONED = "placeholder-for-provisioning"
_LABELS = (
    ("topology.@/zone", "topology.@/region"),
    ("failure-domain.beta.@/zone", "failure-domain.beta.@/region"),
)
_ZONES_APART = "__"
_ZONED_ID = re.compile(r"aws://([^/]+)/.+", re.ASCII)
_REGION_OF_ZONE = re.compile(r"(?:[a-zA-Z]+-)+[0-9]+", re.ASCII)


class _Cloud(NamedTuple):
    """The field and identifier of a cloud's volumes, and the words for the error message."""

    source: str
    identifier: str
    volume: str
    unreachable: str


_CLOUDS = (
    _Cloud("awsElasticBlockStore", "volumeID", "AWS EBS volume", "AWS cloud provider for EBS"),
    _Cloud("gcePersistentDisk", "pdName", "GCE PD volume", "GCE cloud provider for PD"),
    _Cloud("azureDisk", "diskName", "AzureDisk volume", "Azure cloud provider for AzureDisk"),
    _Cloud("cinder", "volumeID", "Cinder volume", "OpenStack cloud provider for Cinder disk"),
    _Cloud("vsphereVolume", "volumePath", "vSphere Volume", "vSphere cloud provider"),
)


class PersistentVolumeLabel(PluginBase):
    """Labels a cloud volume with region and zone, and restricts it to nodes there.

    There is no cloud API to query. The location comes from the labels that the provisioner set, or
    from a zone in the volume's identifier. A cloud volume with neither is rejected, with the error
    for an unreachable cloud.
    """

    name = "PersistentVolumeLabel"

    def __init__(self, dialect: Dialect) -> None:
        logger.warning("an admission plugin is deprecated", plugin=self.name)
        self._provisioned_by = dialect.label(_PROVISIONED_BY)
        self._labels = [(dialect.label(zone), dialect.label(region)) for zone, region in _LABELS]

    def admit(self, attributes: Attributes) -> None:
        value = attributes.value
        if attributes.resource.key != VOLUMES or attributes.operation != CREATE or value is None:
            return
        labels = self._provisioned_labels(value["metadata"])
        if labels is None:
            labels = self._find_location(attributes, value["spec"])
        if labels:
            metadata = value["metadata"]
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
            zones = {zone for zone, _ in self._labels}
            _add_node_affinity(
                value["spec"], [_requirement(*pair, zones) for pair in sorted(labels.items())]
            )

    def _provisioned_labels(self, metadata: Object) -> dict[str, str] | None:
        """The labels of a dynamically provisioned volume, as set by its provisioner; None if
        missing."""
        if self._provisioned_by not in (metadata.get("annotations") or {}):
            return None
        labels = metadata.get("labels") or {}
        for pair in self._labels:
            if all(name in labels for name in pair):
                return {name: labels[name] for name in pair}
        return None

    def _find_location(self, attributes: Attributes, spec: Object) -> dict[str, str]:
        for cloud in _CLOUDS:
            source = spec.get(cloud.source)
            if source is None:
                continue
            identifier = source.get(cloud.identifier, "")
            if identifier == _TO_BE_PROVISIONED:
                return {}
            zoned = _ZONED_ID.fullmatch(identifier)
            region = _REGION_OF_ZONE.match(zoned[1]) if zoned else None
            if zoned and region:
                return dict(zip(self._labels[0], (zoned[1], region[0]), strict=True))
            raise mutation_error(
                attributes,
                f"error querying {cloud.volume} {identifier}: unable to build {cloud.unreachable}",
            )
        return {}


def _requirement(label: str, value: str, zones: set[str]) -> Object:
    values = sorted(set(value.split(_ZONES_APART))) if label in zones else [value]
    return {"key": label, "operator": "In", "values": values}


def _add_node_affinity(spec: Object, requirements: list[Object]) -> None:
    """Add node affinity for the volume's location, unless the volume has its own for these
    labels."""
    affinity = dict(spec.get("nodeAffinity") or {})
    required = dict(affinity.get("required") or {})
    terms = [dict(term) for term in required.get("nodeSelectorTerms") or [{}]]
    present = {
        requirement["key"] for term in terms for requirement in term.get("matchExpressions") or ()
    }
    if any(requirement["key"] in present for requirement in requirements):
        return
    for term in terms:
        term["matchExpressions"] = [*(term.get("matchExpressions") or ()), *requirements]
    required["nodeSelectorTerms"] = terms
    affinity["required"] = required
    spec["nodeAffinity"] = affinity


_NOT_BOUND = "only bound persistent volume claims can be expanded"
_NOT_GROWING = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc"
    " must support resize"
)


class PersistentVolumeClaimResize(PluginBase):
    """A claim may grow only if its class allows expansion."""

    name = "PersistentVolumeClaimResize"
    concerns: frozenset[str] | None = frozenset({CLAIMS})

    def __init__(self, dialect: Dialect, find: Find) -> None:
        self._find = find
        self._class_annotation = dialect.label(CLASS_ANNOTATION)

    def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key != CLAIMS or attributes.operation != UPDATE:
            return
        value, old = attributes.value, attributes.old
        assert value is not None
        assert old is not None
        if _size(value) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise refusal(attributes, _NOT_BOUND)
        name = self._class_name(value)
        if not name or name != self._class_name(old) or not self._grows(name):
            raise refusal(attributes, _NOT_GROWING)

    def _class_name(self, claim: Object) -> str:
        annotations = claim["metadata"].get("annotations") or {}
        named: str = annotations.get(
            self._class_annotation, claim["spec"].get("storageClassName") or ""
        )
        return named

    def _grows(self, name: str) -> bool:
        entry = self._find(CLASSES, "", name)
        return entry is not None and bool(entry.object().get("allowVolumeExpansion"))


def _size(claim: Object) -> Decimal:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return quantity(requests.get("storage", "0"))


CLASS_PROTECTION = "@/vac-protection"


class StorageObjectInUseProtection(PluginBase):
    """Adds the finalizer that delays the deletion of used volumes and claims."""

    name = "StorageObjectInUseProtection"
    concerns: frozenset[str] | None = frozenset(
        {
            "core/v1/persistentvolumeclaims",
            "core/v1/persistentvolumes",
            "storage/v1/volumeattributesclasses",
        }
    )

    def __init__(self, dialect: Dialect) -> None:
        self._finalizers = {
            "core/v1/persistentvolumeclaims": dialect.pvc_protection,
            "core/v1/persistentvolumes": dialect.pv_protection,
            "storage/v1/volumeattributesclasses": dialect.label(CLASS_PROTECTION),
        }

    def admit(self, attributes: Attributes) -> None:
        finalizer = self._finalizers.get(attributes.resource.key)
        if finalizer is None or attributes.operation != CREATE:
            return
        assert attributes.value is not None
        metadata = attributes.value["metadata"]
        present = metadata.get("finalizers") or []
        if finalizer not in present:
            metadata["finalizers"] = [*present, finalizer]
