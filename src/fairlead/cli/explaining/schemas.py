"""The schema of a kind as the server publishes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairlead.cli.errors import CommandFailed
from fairlead.client import Client, ResourceType
from fairlead.client.errors import NotFound
from fairlead.client.session import Request

Object = Mapping[str, Any]

_KINDS = "-group-version-kind"  # behind the dialect's prefix of extensions
_SCALARS = ("string", "integer", "number", "boolean")


class Schema:
    """One schema of a document, seen through its references."""

    def __init__(self, of: Object, all: Mapping[str, Object]) -> None:
        self._written = of
        self._all = all
        self._meant, self.name, told = self._resolved(of)
        self.descriptions = told  # from the outside in, without empty ones

    def _resolved(self, of: Object) -> tuple[Object, str, list[str]]:
        """What a reference leads to, its name, and what is said on the way."""
        name = ""
        told: list[str] = []
        for _ in range(len(self._all) + 1):
            if of.get("description"):
                told.append(str(of["description"]))
            reference = _reference(of)
            if not reference:
                break
            name = reference
            of = self._all.get(name) or {}
        return of, name, told

    @property
    def description(self) -> str:
        """What is said at the place itself."""
        return str(self._written.get("description") or "")

    @property
    def fields(self) -> dict[str, Schema]:
        return {
            name: Schema(of, self._all)
            for name, of in sorted((self._meant.get("properties") or {}).items())
        }

    @property
    def required(self) -> frozenset[str]:
        return frozenset(self._meant.get("required") or ())

    @property
    def items(self) -> Schema | None:
        """What stands in the list or in the map."""
        of = self._meant.get("items") or self._meant.get("additionalProperties")
        return Schema(of, self._all) if isinstance(of, Mapping) else None

    @property
    def type(self) -> str:
        """As it is told: `string`, `[]Object`, `map[string]string`; empty for anything at all."""
        kind = self._meant.get("type")
        if self._meant.get("properties"):
            return "Object"
        if kind == "array":
            return f"[]{self.items.type if self.items else ''}"
        if kind == "object":
            return f"map[string]{self.items.type if self.items else ''}"
        if kind in _SCALARS:
            return str(kind)
        choices = [one.get("type") for one in self._meant.get("oneOf") or ()]
        return "string" if "string" in choices else ""


def _reference(of: Object) -> str:
    """The name of the schema that is meant; v3 wraps a reference that has a description."""
    wrapped = of.get("allOf") or []
    found = of.get("$ref") or (wrapped[0].get("$ref") if len(wrapped) == 1 else "")
    return str(found or "").rpartition("/")[2]


async def schema_of(client: Client, type: ResourceType) -> Schema:
    """Raises CommandFailed where the server says nothing about it. A server that publishes
    schemas by group is asked for those of the one only."""
    document = await _document(client, f"/openapi/v3{type.prefix}")
    parts: dict[str, Object] = (document.get("components") or {}).get("schemas") or {}
    if not parts:
        parts = (await _document(client, "/openapi/v2")).get("definitions") or {}
    wanted = {"group": type.group, "version": type.version, "kind": type.kind}
    for of in parts.values():
        if any(kind == wanted for kind in _kinds(of)):
            return Schema(of, parts)
    raise CommandFailed(
        f'error: couldn\'t find resource for "{type.api_version}, Kind={type.kind}"'
    )


async def _document(client: Client, path: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = await client.session.json(Request("GET", path))
    except NotFound:
        return {}
    return found


def _kinds(of: Object) -> Iterator[Object]:
    for name, value in of.items():
        if name.endswith(_KINDS) and isinstance(value, list):
            yield from value
