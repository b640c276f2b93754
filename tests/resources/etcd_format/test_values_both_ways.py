"""Values in the reference's format round-trip to the same row."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from support.generating import objects_of

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.resources.apps.stateful_sets import set_claim_types
from fairlead.resources.etcd_format.codec import ReferenceCodec
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.version import encode, ordered

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
CODEC = ReferenceCodec(RESOURCES)


def as_stored(resource: Resource, value: dict[str, Any]) -> bytes:
    """Return the row of an object that a client could send."""
    for name in ("kind", "apiVersion"):
        value.pop(name, None)
    metadata = {**(value.get("metadata") or {}), "name": "a", "uid": "u", "managedFields": None}
    item = decoder(resource.struct)({**value, "metadata": metadata}, [])
    fill_defaults(resource.struct, item)
    if resource.kind == "StatefulSet":
        set_claim_types(item["spec"])
    return encode(ordered(_normalized(item)))


# Where the type tells an empty list from none, which messages do not. Nothing of this can be
# stored: they are refused, or set by the server.
_EMPTY = {"managedFields", "policies"}


def _normalized(value: Any, within: str = "") -> Any:
    if isinstance(value, list):
        return [_normalized(item) for item in value]
    if not isinstance(value, dict):
        return value
    if within == "extra":
        return {name: item or None for name, item in value.items()}
    kept = {name: item for name, item in value.items() if item != [] or name not in _EMPTY}
    return {name: _normalized(item, name) for name, item in kept.items()}


@pytest.mark.parametrize("resource", RESOURCES.stored(), ids=lambda resource: resource.key)
def test_a_row_is_read_as_it_was_written(resource: Resource) -> None:
    name = RESOURCES.stored_as(resource)

    @settings(max_examples=20, suppress_health_check=list(HealthCheck))
    @given(objects_of(resource.struct, 7))
    def check(value: dict[str, Any]) -> None:
        row = as_stored(resource, value)
        raw = CODEC.encode(name, "a", resource.api_version, row)
        api_version, read = CODEC.decode(name, "a", raw)
        assert api_version == resource.api_version
        assert orjson.loads(read) == orjson.loads(row)

    check()
