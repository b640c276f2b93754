"""The Scale of a workload: desired and actual replicas, and the selector of its pods."""

from __future__ import annotations

from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.columns.cell_text import selector_text
from fairlead.resources.metadata import check_metadata
from fairlead.resources.rules import non_negative

_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
# Its selector is a plain map of labels.
_LABELS_ONLY = "core/v1/replicationcontrollers"


def read_scale(resource_key: str, stored: Object) -> Object:
    """The autoscaling/v1 Scale of a stored workload, without kind and apiVersion."""
    spec, status = stored["spec"], stored.get("status") or {}
    replicas, selector = spec.get("replicas") or 0, spec.get("selector")
    if resource_key == _LABELS_ONLY:
        selector = {"matchLabels": selector}
    text = selector_text(selector)
    return {
        "metadata": scale_metadata(stored),
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status.get("replicas") or 0, **({"selector": text} if text else {})},
    }


def write_scale(stored: Object, scale: Object) -> Object:
    """The workload with the replicas of a Scale. The resourceVersion of the Scale, if set, becomes
    the precondition of the write."""
    spec = {**stored["spec"], "replicas": scale["spec"].get("replicas") or 0}
    return with_version({**stored, "spec": spec}, scale)


def scale_metadata(stored: Object) -> Object:
    metadata = stored["metadata"]
    return {name: metadata[name] for name in _METADATA if name in metadata}


def with_version(value: Object, scale: Object) -> Object:
    """The workload with the resourceVersion of a Scale, if set, as the precondition of a write."""
    metadata = {**value["metadata"]}
    metadata.pop("resourceVersion", None)
    if scale["metadata"].get("resourceVersion"):
        metadata["resourceVersion"] = scale["metadata"]["resourceVersion"]
    return {**value, "metadata": metadata}


def check_scale(scale: Object, causes: Causes) -> None:
    check_metadata(scale["metadata"], True, dns_subdomain, causes)
    non_negative(scale["spec"].get("replicas"), "spec.replicas", causes)
