"""Objects between the version a client speaks and the version they are kept in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.kinds.resources import Resource

Object = dict[str, Any]
Convert = Callable[[Object], Object]

_INWARD: dict[str, Convert] = {}
_OUTWARD: dict[str, Convert] = {}


def converts(key: str, *, inward: Convert, outward: Convert) -> None:
    """Declare how a resource (`events/v1/events`) is converted to and from its stored version."""
    _INWARD[key] = inward
    _OUTWARD[key] = outward


def to_stored(resource: Resource, value: Object) -> Object:
    """The object in its stored version; the value may be changed."""
    convert = _INWARD.get(resource.key)
    return convert(value) if convert else value


def from_stored(resource: Resource, value: Object) -> Object:
    """The object in the version of the resource; the value may be changed."""
    convert = _OUTWARD.get(resource.key)
    return convert(value) if convert else value
