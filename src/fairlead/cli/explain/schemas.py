"""Reads the schema of a kind from the server's OpenAPI documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairlead.cli.errors import CommandFailed
from fairlead.client import Client, ResourceType
from fairlead.client.errors import NotFound
from fairlead.client.session import Request

Object = Mapping[str, Any]

_KINDS = "-group-version-kind"  # suffix of the extension; the prefix depends on the dialect
_MAX_DEPTH = 20  # limit of nested lists, for malformed schemas
_SCALARS = ("string", "integer", "number", "boolean")


class Schema:
    """A schema of the document, with references resolved."""

    def __init__(self, of: Object, all: Mapping[str, Object]) -> None:
        self._written = of
        self._all = all
        self._schema, self.name, descriptions = self._resolved(of)
        self.descriptions = descriptions  # of all references, outermost first, without empty ones

    def _resolved(self, of: Object) -> tuple[Object, str, list[str]]:
        """Follow references; return the target, its name, and the descriptions on the way."""
        name = ""
        descriptions: list[str] = []
        for _ in range(len(self._all) + 1):
            if of.get("description"):
                descriptions.append(str(of["description"]))
            reference = _reference(of)
            if not reference:
                break
            name = reference
            of = self._all.get(name) or {}
        return of, name, descriptions

    @property
    def description(self) -> str:
        """The description at the reference itself, not of its target."""
        return str(self._written.get("description") or "")

    @property
    def fields(self) -> dict[str, Schema]:
        return {
            name: Schema(of, self._all)
            for name, of in sorted((self._schema.get("properties") or {}).items())
        }

    @property
    def required(self) -> frozenset[str]:
        return frozenset(self._schema.get("required") or ())

    @property
    def items(self) -> Schema | None:
        """The schema of list elements or map values."""
        of = self._schema.get("items") or self._schema.get("additionalProperties")
        return Schema(of, self._all) if isinstance(of, Mapping) else None

    @property
    def innermost(self) -> Schema:
        """The schema of the elements of nested lists and maps."""
        schema = self
        for _ in range(_MAX_DEPTH):
            if schema.items is None or schema.fields:
                break
            schema = schema.items
        return schema

    @property
    def choices(self) -> list[Any]:
        """The values of an enumeration."""
        return list(self._schema.get("enum") or ())

    @property
    def type_name(self) -> str:
        """The displayed type, by the name of the schema: `string`, `[]Container`."""
        if self.items and not self.fields:
            prefix = "[]" if self._schema.get("type") == "array" else "map[string]"
            return f"{prefix}{self.items.type_name}"
        kind = self._schema.get("type")
        if kind in _SCALARS:
            return str(kind)
        return self.name.rpartition(".")[2] or "Object"

    @property
    def type(self) -> str:
        """The displayed type: `string`, `[]Object`, `map[string]string`; empty for any value."""
        kind = self._schema.get("type")
        if self._schema.get("properties"):
            return "Object"
        if kind == "array":
            return f"[]{self.items.type if self.items else ''}"
        if kind == "object":
            return f"map[string]{self.items.type if self.items else ''}"
        if kind in _SCALARS:
            return str(kind)
        choices = [choice.get("type") for choice in self._schema.get("oneOf") or ()]
        return "string" if "string" in choices else ""


def _reference(of: Object) -> str:
    """The name of the referenced schema. OpenAPI v3 wraps a reference with a description in
    allOf."""
    wrapped = of.get("allOf") or []
    pointer = of.get("$ref") or (wrapped[0].get("$ref") if len(wrapped) == 1 else "")
    return str(pointer or "").rpartition("/")[2]


async def schema_of(client: Client, type: ResourceType) -> Schema:
    """The schema of a kind; raises CommandFailed if the server publishes none. Requests only the
    document of the group from OpenAPI v3, and falls back to the whole of v2."""
    document = await _document(client, f"/openapi/v3{type.prefix}")
    parts: dict[str, Object] = (document.get("components") or {}).get("schemas") or {}
    if not parts:
        parts = (await _document(client, "/openapi/v2")).get("definitions") or {}
    identity = {"group": type.group, "version": type.version, "kind": type.kind}
    for of in parts.values():
        if any(kind == identity for kind in _kinds(of)):
            return Schema(of, parts)
    raise CommandFailed(
        f'error: couldn\'t find resource for "{type.api_version}, Kind={type.kind}"'
    )


async def _document(client: Client, path: str) -> dict[str, Any]:
    try:
        document: dict[str, Any] = await client.session.json(Request("GET", path))
    except NotFound:
        return {}
    return document


def _kinds(of: Object) -> Iterator[Object]:
    for name, value in of.items():
        if name.endswith(_KINDS) and isinstance(value, list):
            yield from value
