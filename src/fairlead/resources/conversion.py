"""Converts objects between the version of a request and the stored version."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object as Object
from fairlead.resources.registry import Resource

# Returns the object in another version, with the names of a dialect.
Convert = Callable[[Object, Dialect], Object]

_INWARD: dict[str, Convert] = {}
_OUTWARD: dict[str, Convert] = {}


def converts(key: str, *, inward: Convert, outward: Convert) -> None:
    """Register the converters of a resource (`events/v1/events`) to and from its stored version.
    The package of the group calls this when it is imported."""
    _INWARD[key] = inward
    _OUTWARD[key] = outward


def to_stored(resource: Resource, value: Object) -> Object:
    """The object in its stored version; may change `value`."""
    if resource.sends_stored_bytes:
        return value
    return _converter(_INWARD, resource)(value, resource.dialect)


def from_stored(resource: Resource, value: Object) -> Object:
    """The object in the version of the resource; may change `value`."""
    if resource.sends_stored_bytes:
        return value
    return _converter(_OUTWARD, resource)(value, resource.dialect)


def _converter(converters: dict[str, Convert], resource: Resource) -> Convert:
    if resource.key not in converters:
        import_module(f"{__package__}.{resource.group_version.short}")
    return converters[resource.key]
