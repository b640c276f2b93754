"""Helpers shared by the plugins: the base class and error constructors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.admission.plugin import CREATE, Attributes, PluginBase
from fairlead.base.errors import Cause, ResourceRef, StatusError, forbidden
from fairlead.codec.types.model import Object as Object

__all__ = [
    "PODS",
    "Object",
    "PluginBase",
    "kept_ref",
    "mutation_error",
    "refusal",
    "written_pod_spec",
]

PODS: Final = "core/v1/pods"
_NO_NAME: Final = "Unknown"


def written_pod_spec(attributes: Attributes, operations: tuple[str, ...]) -> Object | None:
    """The spec of the written pod (not a copy), if the write is one of these operations on a
    pod."""
    if attributes.resource.key != PODS or attributes.operation not in operations:
        return None
    assert attributes.value is not None
    spec: Object = attributes.value["spec"]
    return spec


def kept_ref(attributes: Attributes) -> ResourceRef:
    """The reference to the stored object, for errors: a write to a subresource names the object of
    the main resource."""
    resource = attributes.resource.parent or attributes.resource
    return resource.ref(attributes.name or _NO_NAME)


def refusal(attributes: Attributes, reason: str) -> StatusError:
    """The Forbidden error of a plugin."""
    return forbidden(kept_ref(attributes), reason)


def mutation_error(
    attributes: Attributes, reason: str, causes: Sequence[Cause] = ()
) -> StatusError:
    """Like `refusal`, for the mutating step, in which a generated name does not exist yet: it names
    the object by generateName."""
    ref = kept_ref(attributes)
    stem = _stem(attributes)
    return forbidden(ResourceRef(ref.group, ref.resource, stem) if stem else ref, reason, causes)


def _stem(attributes: Attributes) -> str:
    if attributes.operation != CREATE or attributes.subresource or attributes.value is None:
        return ""
    stem: str = attributes.value["metadata"].get("generateName", "")
    return "" if attributes.name else stem
