"""The schemas of custom resources, compiled to the type model of `codec.types`.

`compile_schema` is cheap and its result small: the schema stays compressed until the first object
of its kind arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from zlib import compress, decompress

import orjson

from fairlead.base.meter import TimeLimitExceeded
from fairlead.base.release import V1_25, Release
from fairlead.codec.cel.environment import environment
from fairlead.codec.types.decode import Decode
from fairlead.codec.types.model import Object, Struct
from fairlead.resources.custom.schema import rules
from fairlead.resources.custom.schema.correlation import Correlated
from fairlead.resources.custom.schema.decode import DecoderBuilder, UnknownFields
from fairlead.resources.custom.schema.defaults import Fill, filler_of
from fairlead.resources.custom.schema.embedded_objects import (
    EmbeddedChecks,
    MetadataRules,
    Visit,
    prune_defaults,
)
from fairlead.resources.custom.schema.list_types import repeats_check
from fairlead.resources.custom.schema.markers import Markers, Schema, markers_of
from fairlead.resources.custom.schema.problems import INVALID, Causes, Check, Problem, report
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
    release: Release = V1_25,
) -> CustomSchema:
    """The schema of one version of a definition.

    `markers` is the word in the names of the extensions, `metadata` the type of object metadata,
    `metadata_rules` the check of the metadata of embedded objects. With `preserve`, or without a
    schema, unknown fields are kept.
    """
    encoded = orjson.dumps(schema if schema is not None else {})
    keeps = preserve or schema is None
    names = markers_of(markers, release)
    return CustomSchema(encoded, kind, api_version, names, metadata, keeps, metadata_rules)


class CustomSchema:
    """Decodes, defaults and validates the objects of one version. Objects are without kind and
    apiVersion. Each part is compiled when it is first used."""

    def __init__(
        self,
        encoded: bytes,
        kind: str,
        api_version: str,
        markers: Markers,
        metadata: Struct,
        preserve: bool,
        metadata_rules: MetadataRules | None,
    ) -> None:
        self._packed = compress(encoded, level=1)  # most of a schema is descriptions
        self._type_meta = {"apiVersion": api_version, "kind": kind}
        self._markers = markers
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

    def correlated(self, value: Object, old: Object) -> Correlated:
        """A changed object, matched with the one that it replaces."""
        return Correlated(value, old, self._schema(), self._markers)

    def validate(
        self,
        value: Object,
        old: Object | None,
        causes: Causes,
        correlated: Correlated | None = None,
    ) -> None:
        """Check values against the schema. Duplicate list items are allowed if the old object has
        some, and with `correlated` all problems of values that did not change."""
        if self._check is not None:
            full_object = {**self._type_meta, **value} if self._sees_type_meta else value
            try:
                report(_remaining(self._check(full_object), correlated), causes)
            except TimeLimitExceeded as error:
                causes.add(INVALID, "<nil>", f'Invalid value: "": {error}')
        if self._embedded is not None:
            self._embedded(value, "", causes)
        self._check_repeats(value, old, causes)

    def validate_status(
        self, value: Object, old: Object, causes: Causes, correlated: Correlated | None
    ) -> None:
        """Check the status alone, as releases with LaterWording do."""
        status = value.get("status")
        check = self._status_table.get(status.__class__) if "status" in value else None
        if check is not None:
            place = correlated.key("status") if correlated is not None else None
            report(_remaining(check(status), place), causes, "status")
        self._check_repeats(value, old, causes)

    def _check_repeats(self, value: Object, old: Object | None, causes: Causes) -> None:
        if self._repeats is not None and (old is None or not self._repeats(old)):
            report(self._repeats(value), causes)

    def check_rules(
        self,
        value: Object,
        old: Object | None,
        causes: Causes,
        correlated: Correlated | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """Evaluate the validation rules. Call after `validate`, whose causes decide whether rules
        run; `old` is the object that is replaced. With `correlated`, rules on values that did not
        change only warn."""
        if self._rules is not None:
            before = {**self._type_meta, **old} if old is not None else None
            self._rules({**self._type_meta, **value}, before, causes, correlated, warn)

    @cached_property
    def _rules(self) -> rules.RuleCheck | None:
        if not self._has_rules:
            return None  # the CEL compiler is not imported
        release = environment(self._markers.release)
        return rules.rule_checker(self._schema(), self._markers, release)

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
    def _status_table(self) -> dict[type, Check | None]:
        schema = (self._schema().get("properties") or {}).get("status") or {}
        return ValueChecks(self._markers).table(schema)

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


def _remaining(
    problems: list[Problem] | None, correlated: Correlated | None
) -> list[Problem] | None:
    """The problems without those of values that did not change."""
    if not problems or correlated is None:
        return problems
    return [problem for problem in problems if not _is_unchanged(problem, correlated)]


def _is_unchanged(problem: Problem, correlated: Correlated) -> bool:
    """Whether the nearest value around a problem that has an old value equals it. Inside of `allOf`
    and the like only the value that has them counts."""
    nearest = correlated
    for depth, step in enumerate(reversed(problem.steps[problem.inside :])):
        if depth == 0 and step in (".kind", ".apiVersion"):
            return False
        inner = nearest.item(int(step[1:-1])) if step[0] == "[" else nearest.key(step[1:])
        if inner is None:
            break
        nearest = inner
    return nearest.is_same()
