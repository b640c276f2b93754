"""Properties of claims and volumes, and whether they match."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from fairlead.codec.types.quantity import quantity
from fairlead.controllers.volumes.names import Annotations, annotations_of
from fairlead.operations.api import Object
from fairlead.resources.rules import selector_matches

_FILES = "Filesystem"


def class_of(value: Object, names: Annotations) -> str:
    """The class of a claim or volume; the deprecated annotation overrides the field."""
    named = annotations_of(value).get(names.storage_class)
    return named if named is not None else value["spec"].get("storageClassName") or ""


def size_of(volume: Object) -> Decimal:
    return quantity((volume["spec"].get("capacity") or {}).get("storage", "0"))


def size_wanted(claim: Object) -> Decimal:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return quantity(requests.get("storage", "0"))


def modes_of(value: Object) -> frozenset[str]:
    return frozenset(value["spec"].get("accessModes") or ())


def volume_mode_of(value: Object) -> str:
    return value["spec"].get("volumeMode") or _FILES


def attributes_class_of(value: Object) -> str:
    """The VolumeAttributesClass of a claim or volume."""
    return value["spec"].get("volumeAttributesClassName") or ""


def key_of(value: Object) -> str:
    """`namespace/name` of an object or reference."""
    about = value.get("metadata") or value
    return f"{about.get('namespace', '')}/{about.get('name', '')}"


def claim_key_of(volume: Object) -> str | None:
    """The claim that a volume is bound to or reserved for."""
    reference = volume["spec"].get("claimRef")
    return key_of(reference) if reference is not None else None


def is_bound_to(volume: Object, claim: Object) -> bool:
    """Whether a volume is reserved for this claim. A reference without uid matches any claim of
    that name."""
    reference = volume["spec"].get("claimRef")
    if reference is None or key_of(reference) != key_of(claim):
        return False
    return reference.get("uid", "") in ("", claim["metadata"]["uid"])


def reserved(volume: Object, claim: Object) -> Object:
    """The volume with a claimRef to this claim."""
    metadata = claim["metadata"]
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": "v1",
        "resourceVersion": metadata["resourceVersion"],
    }
    return {**volume, "spec": {**volume["spec"], "claimRef": reference}}


def is_going(value: Object) -> bool:
    return value["metadata"].get("deletionTimestamp") is not None


def could_hold(volume: Object, claim: Object) -> bool:
    """Whether a volume that is reserved for a claim satisfies it."""
    return (
        not is_going(volume)
        and size_of(volume) >= size_wanted(claim)
        and attributes_class_of(volume) == attributes_class_of(claim)
        and volume_mode_of(volume) == volume_mode_of(claim)
        and modes_of(volume) >= modes_of(claim)
    )


def is_selected(volume: Object, claim: Object) -> bool:
    selector = claim["spec"].get("selector")
    if selector is None:
        return True
    return selector_matches(selector, volume["metadata"].get("labels") or {})


def is_within(term: Object, labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels is in a topology that a class allows."""
    rules = term.get("matchLabelExpressions") or ()
    return all(labels.get(rule["key"]) in rule["values"] for rule in rules)


def mismatch(volume: Object, claim: Object, names: Annotations) -> str:
    """Why a claim cannot use the volume it names; empty if it can."""
    if is_going(volume):
        return f'the volume is marked for deletion "{volume["metadata"]["name"]}"'
    if size_of(volume) < size_wanted(claim):
        return "requested PV is too small"
    if class_of(volume, names) != class_of(claim, names):
        return "storageClassName does not match"
    if attributes_class_of(volume) != attributes_class_of(claim):
        return "volumeAttributesClassName does not match"
    if volume_mode_of(volume) != volume_mode_of(claim):
        return "incompatible volumeMode"
    if not modes_of(volume) >= modes_of(claim):
        return "incompatible accessMode"
    return ""
