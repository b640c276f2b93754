"""Decoding objects of custom types: unknown fields dropped, nulls that mean nothing dropped.

Nothing is refused here but what every object has, if it is of another type, also in embedded
objects: any other value of the wrong type is kept, and the rules of the schema say so. A value that
needs no change is given back as it came; what came is never changed, since the places of unknown
fields are looked for in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead import budget
from fairlead.schema.custom.embedded import EmbeddedTypes
from fairlead.schema.custom.markers import Markers, Schema, items_schema, values_schema
from fairlead.schema.custom.numbers import plain, plain_number
from fairlead.schema.custom.problems import Found
from fairlead.schema.decode import Decode, decoder
from fairlead.schema.mismatch import DecodeError
from fairlead.schema.model import Struct

_NUMBERS = ("integer", "number")
_TYPE_META = ("apiVersion", "kind", "metadata")


class _Refusal:
    """The first cause is the last: the object cannot be read."""

    def add(self, reason: str, field: str, text: str) -> None:
        raise DecodeError(f"{field}: {text}")

    def __iter__(self) -> Iterator[Found]:
        return iter(())


_REFUSAL = _Refusal()


class DecoderBuilder:
    """Makes the decoders of one schema. None stands for one that would change nothing."""

    def __init__(self, markers: Markers, metadata: Struct) -> None:
        self._markers = markers
        self._metadata = metadata

    def root(self, schema: Schema, preserve: bool) -> Decode:
        """What comes from clients. Embedded objects must be such as objects are."""
        decode, types = self.stored(schema, preserve), EmbeddedTypes(self._markers, self._metadata)
        check = types.of({**schema, self._markers.embedded: False})
        if check is None:
            return decode

        def decode_checked(value: Any, unknown: list[str]) -> Any:
            check(value, "", _REFUSAL)
            return decode(value, unknown)

        return decode_checked

    def stored(self, schema: Schema, preserve: bool) -> Decode:
        """What was let in before, if by an earlier schema."""
        properties = {
            name: inner
            for name, inner in (schema.get("properties") or {}).items()
            if name not in _TYPE_META
        }
        keeps = preserve or bool(schema.get(self._markers.preserve))
        body = self._object({**schema, "properties": properties}, keeps, known=_TYPE_META)
        metadata = decoder(self._metadata)

        def decode(value: Any, unknown: list[str]) -> Any:
            found = body(value, unknown)
            if found.__class__ is not dict:
                return found
            given = value.get("metadata")
            return {**found, "metadata": metadata({} if given is None else given, unknown)}

        return decode

    def of(self, schema: Schema) -> Decode | None:
        markers, kind = self._markers, schema.get("type")
        if schema.get(markers.int_or_string) or kind in _NUMBERS:
            return _number
        if kind in ("string", "boolean"):
            return None
        if kind == "array":
            return self._array(schema)
        if kind != "object" and not schema.get("properties"):
            return _plain
        keeps = bool(schema.get(markers.preserve))
        if not schema.get("properties") and "additionalProperties" in schema:
            return self._map(schema, keeps)
        if schema.get(markers.embedded):
            return self._embedded(schema, keeps)
        return self._object(schema, keeps or schema.get("additionalProperties") is True)

    def _object(self, schema: Schema, keeps: bool, known: tuple[str, ...] = ()) -> Decode:
        properties = schema.get("properties") or {}
        names = {**dict.fromkeys(known), **dict.fromkeys(properties)}.keys()
        nullable = {name for name, inner in properties.items() if inner.get("nullable")}
        fields = {
            name: found
            for name, inner in properties.items()
            if (found := self.of(inner)) is not None
        }

        def decode(value: Any, unknown: list[str]) -> Any:
            if value.__class__ is not dict:
                return value
            out = value
            if not value.keys() <= names:
                if keeps:
                    out = {key: item if key in names else plain(item) for key, item in out.items()}
                else:
                    unknown.extend(key for key in value if key not in names)
                    out = {key: item for key, item in out.items() if key in names}
            if None in out.values():
                out = {
                    key: item
                    for key, item in out.items()
                    if item is not None or key in nullable or key not in names
                }
            budget.spend(1 + len(out))
            changed: dict[str, Any] = {}
            for name, item in out.items():
                decode_field = fields.get(name)
                if decode_field is not None and item is not None:
                    new = decode_field(item, unknown)
                    if new is not item:
                        changed[name] = new
            return {**out, **changed} if changed else out

        return decode

    def _embedded(self, schema: Schema, keeps: bool) -> Decode:
        """An object inside another. Its metadata is of the type that all metadata has."""
        properties = dict(schema.get("properties") or {})
        properties.pop("metadata", None)
        body = self._object({**schema, "properties": properties}, keeps, known=_TYPE_META)
        metadata = decoder(self._metadata)

        def decode(value: Any, unknown: list[str]) -> Any:
            out = body(value, unknown)
            if out.__class__ is not dict or "metadata" not in value:
                return out
            given = value["metadata"]
            try:
                found = metadata({} if given is None else given, unknown)
            except DecodeError:
                return out  # what comes from clients was looked at before
            if found.get("creationTimestamp") is None:
                found.pop("creationTimestamp", None)
            return {**out, "metadata": found}

        return decode

    def _array(self, schema: Schema) -> Decode | None:
        items = items_schema(schema)
        element = self.of(items) if items is not None else _plain
        if element is None:
            return None

        def decode(value: Any, unknown: list[str]) -> Any:
            if value.__class__ is not list:
                return value
            made = [item if item is None else element(item, unknown) for item in value]
            return made if any(map(_differs, made, value)) else value

        return decode

    def _map(self, schema: Schema, keeps: bool) -> Decode:
        values = values_schema(schema)
        if values is None:
            element: Decode | None = _plain if keeps else _emptied
            keeps_null = True
        else:
            element = self.of(values)
            keeps_null = bool(values.get("nullable")) or values.get("default") is not None

        def decode(value: Any, unknown: list[str]) -> Any:
            if value.__class__ is not dict:
                return value
            if not keeps_null and None in value.values():
                value = {key: item for key, item in value.items() if item is not None}
            if element is None:
                return value
            made = {
                key: item if item is None else element(item, unknown) for key, item in value.items()
            }
            return made if any(map(_differs, made.values(), value.values())) else value

        return decode


def _differs(new: Any, old: Any) -> bool:
    return new is not old


def _number(value: Any, _: list[str]) -> Any:
    return plain_number(value)


def _plain(value: Any, _: list[str]) -> Any:
    return plain(value)


def _emptied(value: Any, _: list[str]) -> Any:
    """A value that may be anything, of which nothing is known: objects have no fields."""
    if value.__class__ is dict:
        return {} if value else value
    if value.__class__ is list:
        return [_emptied(item, _) for item in value]
    return plain_number(value)
