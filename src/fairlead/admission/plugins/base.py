"""What the plugins share: a plugin that does nothing, and how one refuses a write."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.admission.plugin import CREATE, Attributes, PluginBase
from fairlead.base.errors import Cause, ResourceRef, StatusError, forbidden
from fairlead.codec.types.model import Object as Object

__all__ = [
    "PODS",
    "Object",
    "PluginBase",
    "early_refusal",
    "kept_ref",
    "refusal",
    "written_pod_spec",
]

PODS = "core/v1/pods"
_NO_NAME = "Unknown"


def written_pod_spec(attributes: Attributes, operations: tuple[str, ...]) -> Object | None:
    """The spec of a pod, in place, if the write is one of these operations on a pod itself."""
    if attributes.resource.key != PODS or attributes.operation not in operations:
        return None
    assert attributes.value is not None
    spec: Object = attributes.value["spec"]
    return spec


def kept_ref(attributes: Attributes) -> ResourceRef:
    """What a refusal names: the object, for a write to a subresource too."""
    resource = attributes.resource.parent or attributes.resource
    return resource.ref(attributes.name or _NO_NAME)


def refusal(attributes: Attributes, why: str) -> StatusError:
    """The answer of a plugin that refuses a write."""
    return forbidden(kept_ref(attributes), why)


def early_refusal(attributes: Attributes, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    """The same for the changing step, in which a generated name is not known to clients yet."""
    ref = kept_ref(attributes)
    stem = _stem(attributes)
    return forbidden(ResourceRef(ref.group, ref.resource, stem) if stem else ref, why, causes)


def _stem(attributes: Attributes) -> str:
    if attributes.operation != CREATE or attributes.subresource or attributes.value is None:
        return ""
    stem: str = attributes.value["metadata"].get("generateName", "")
    return "" if attributes.name else stem
