"""The schemas of custom resources, compiled to the type model of `codec.types`.

`compile_schema` is cheap and its result small: the schema stays compressed until the first object
of its kind arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any
from zlib import compress, decompress

import orjson

from fairlead.base.meter import TimeLimitExceeded
from fairlead.codec.types.decode import Decode
from fairlead.codec.types.model import Object, Struct
from fairlead.resources.custom.schema import rules
from fairlead.resources.custom.schema.decode import DecoderBuilder, UnknownFields
from fairlead.resources.custom.schema.defaults import Fill, filler_of
from fairlead.resources.custom.schema.embedded import (
    EmbeddedChecks,
    MetadataRules,
    Visit,
    prune_defaults,
)
from fairlead.resources.custom.schema.list_types import repeats_check
from fairlead.resources.custom.schema.markers import Schema, markers_of
from fairlead.resources.custom.schema.problems import INVALID, Causes, Check, report
from fairlead.resources.custom.schema.types import TypeBuilder
from fairlead.resources.custom.schema.values import ValueChecks

__all__ = ["CustomSchema", "compile_schema"]

# Keywords on a whole object whose result can depend on kind and apiVersion.
_OF_THE_WHOLE = ("minProperties", "maxProperties", "enum", "allOf", "anyOf", "oneOf", "not")


def compile_schema(
    schema: Object | None,
    *,
    kind: str,
    api_version: str,
    markers: str,
    metadata: Struct,
    preserve: bool = False,
    metadata_rules: MetadataRules | None = None,
) -> CustomSchema:
    """The schema of one version of a definition.

    `markers` is the word in the names of the extensions, `metadata` the type of object metadata,
    `metadata_rules` the check of the metadata of embedded objects. With `preserve`, or without a
    schema, unknown fields are kept.
    """
    encoded = orjson.dumps(schema if schema is not None else {})
    return CustomSchema(
        encoded, kind, api_version, markers, metadata, preserve or schema is None, metadata_rules
    )


class CustomSchema:
    """Decodes, defaults and validates the objects of one version. Objects are without kind and
    apiVersion. Each part is compiled when it is first used."""

    def __init__(
        self,
        encoded: bytes,
        kind: str,
        api_version: str,
        markers: str,
        metadata: Struct,
        preserve: bool,
        metadata_rules: MetadataRules | None,
    ) -> None:
        self._packed = compress(encoded, level=1)  # most of a schema is descriptions
        self._type_meta = {"apiVersion": api_version, "kind": kind}
        self._markers = markers_of(markers)
        self._metadata = metadata
        self._preserve = preserve
        self._metadata_rules = metadata_rules
        self._has_rules = self._markers.validations.encode() in encoded

    def _schema(self) -> Schema:
        """Parsed again for each part: each part is compiled once, and the parsed schema is not
        kept."""
        parsed: Schema = orjson.loads(decompress(self._packed))
        return parsed

    @cached_property
    def struct(self) -> Struct:
        """The type of whole objects, with the decoder and the defaults of this schema."""
        schema, names = self._schema(), self._type_meta
        types = TypeBuilder(self._markers, self._metadata)
        struct = types.root(schema, names["kind"], names["apiVersion"], self._preserve)
        decoders = DecoderBuilder(self._markers, self._metadata)
        struct.walkers["decode"] = decoders.root(schema, self._preserve)
        struct.walkers["defaults"] = self._filler
        struct.walkers["unknown"] = self._unknown_paths
        return struct

    def _unknown_paths(self, value: Object) -> list[str]:
        fields = UnknownFields(self._markers, self._metadata)
        return fields.paths(self._schema(), self._preserve, value)

    def normalize(self, value: Object, *, applied: bool) -> None:
        """Change an accepted object, in place, to the form in which the store returns it. An
        `applied` object is merged from configurations and may hold nulls and fields that the types
        of field ownership let through."""
        if applied:
            content = self._content(value, [])
            if content is not value:
                value.clear()
                value.update(content)
        self.fill_defaults(value)

    def pruned(self, value: Object) -> Object:
        """A stored object without the fields that are not in the schema. Accepts any stored
        content."""
        result: Object = self._prune(value, [])
        return result

    def fill_defaults(self, value: Object) -> None:
        """Set the defaults of absent fields, in place."""
        if self._filler is not None:
            self._filler(value)

    def validate(self, value: Object, old: Object | None, causes: Causes) -> None:
        """Check values against the schema. Duplicate list items are allowed if the old object has
        some."""
        if self._check is not None:
            full_object = {**self._type_meta, **value} if self._sees_type_meta else value
            try:
                report(self._check(full_object), causes)
            except TimeLimitExceeded as error:
                causes.add(INVALID, "<nil>", f'Invalid value: "": {error}')
        if self._embedded is not None:
            self._embedded(value, "", causes)
        if self._repeats is not None and (old is None or not self._repeats(old)):
            report(self._repeats(value), causes)

    def check_rules(self, value: Object, old: Object | None, causes: Causes) -> None:
        """Evaluate the validation rules. Call after `validate`, whose causes decide whether rules
        run; `old` is the object that is replaced."""
        if self._rules is not None:
            before = {**self._type_meta, **old} if old is not None else None
            self._rules({**self._type_meta, **value}, before, causes)

    @cached_property
    def _rules(self) -> Callable[[Any, Any, Causes], None] | None:
        if not self._has_rules:
            return None  # the CEL compiler is not imported
        return rules.rule_checker(self._schema(), self._markers)

    @cached_property
    def _prune(self) -> Decode:
        return DecoderBuilder(self._markers, self._metadata).stored(self._schema(), self._preserve)

    @cached_property
    def _content(self) -> Decode:
        return DecoderBuilder(self._markers, self._metadata).content(self._schema(), self._preserve)

    @cached_property
    def _filler(self) -> Fill | None:
        schema = self._schema()
        prune_defaults(schema, self._markers, self._metadata.fields)
        return filler_of(schema)

    @cached_property
    def _check(self) -> Check | None:
        return ValueChecks(self._markers).table(self._schema())[dict]

    @cached_property
    def _sees_type_meta(self) -> bool:
        schema = self._schema()
        named = {*(schema.get("properties") or ()), *(schema.get("required") or ())}
        return not named.isdisjoint(self._type_meta) or not schema.keys().isdisjoint(_OF_THE_WHOLE)

    @cached_property
    def _embedded(self) -> Visit | None:
        checks = EmbeddedChecks(self._markers, self._metadata, self._metadata_rules)
        return checks.of({**self._schema(), self._markers.embedded: False})

    @cached_property
    def _repeats(self) -> Check | None:
        return repeats_check(self._schema(), self._markers)
