"""The documents of discovery in binary form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairlead.codec.protobuf import to_message
from fairlead.codec.types.model import Field, ListOf, Presence, Scalar, Struct
from fairlead.resources.registry import Resources

_RESOURCES = "APIResourceList"


class DiscoveryMessages:
    """Encodes APIVersions, APIGroup, APIGroupList and APIResourceList."""

    def __init__(self, resources: Resources) -> None:
        self._types = resources.types.group_version("meta/v1")
        self._resource_list: Struct | None = None

    def encode(self, value: dict[str, Any]) -> bytes:
        kind = value["kind"]
        if kind != _RESOURCES:
            return to_message(self._types[kind], {"apiVersion": "v1", **value})
        if self._resource_list is None:
            self._resource_list = _with_verbs_message(self._types[kind])
        entries = [{**entry, "verbs": {"items": entry["verbs"]}} for entry in value["resources"]]
        return to_message(self._resource_list, {"apiVersion": "v1", **value, "resources": entries})


def _with_verbs_message(struct: Struct) -> Struct:
    """In binary, the verbs of a resource are a message that holds the list."""
    items = Field("items", ListOf(Scalar("string")), number=1)
    verbs = Struct("Verbs", struct.group_version, {"items": items})
    resources = struct.fields["resources"]
    assert isinstance(resources.type, ListOf)
    assert isinstance(resources.type.element, Struct)
    entry = resources.type.element
    number = entry.fields["verbs"].number
    fields = {**entry.fields, "verbs": Field("verbs", verbs, Presence.ALWAYS, number)}
    listed = replace(resources, type=ListOf(replace(entry, fields=fields)))
    return replace(struct, fields={**struct.fields, "resources": listed})
