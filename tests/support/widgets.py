"""A resource that is added while the API is served: ConfigMaps of their own group and type."""

from __future__ import annotations

from fairlead.codec.types.decode import decoder
from fairlead.codec.types.model import Field, Presence, Scalar, Struct
from fairlead.operations.api import Api
from fairlead.resources.behaviour import Behaviour
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.registry import GroupVersion, Resource


class _Types:
    """Types that are added while serving, and the types that they use."""

    def __init__(self, api: Api, fields: dict[str, Field]) -> None:
        self.release = api.types.release
        metadata = api.types.struct("meta/v1.ObjectMeta")
        self._struct = Struct(
            "Widget",
            "example.com/v1",
            {"metadata": Field("metadata", metadata), **fields},
            is_kind=True,
        )

    def struct(self, name: str) -> Struct:
        return self._struct

    def group_version(self, name: str) -> dict[str, Struct]:
        return {"Widget": self._struct}


class _Picky(Behaviour):
    def check(self, value: dict[str, object], causes: Causes, context: Context) -> None:
        if value.get("size") == "huge":
            causes.invalid("size", "huge", "does not fit")


def widgets(api: Api, group: str = "example.com", size: str = "size") -> Resource:
    field = Field(size, Scalar("string"), Presence.DISTINCT)
    types = _Types(api, {size: field})
    version = GroupVersion(group, group, "v1")
    return Resource(
        api.dialect, types, version, "configmaps", "Widget", {"namespaced": ""}, None, _Picky
    )


def make(api: Api, resource: Resource, name: str, size: str) -> dict[str, object]:
    value: dict[str, object] = {"metadata": {"name": name}, "size": size}
    decoded: dict[str, object] = decoder(resource.struct)(value, [])
    return decoded
