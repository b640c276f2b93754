"""The parts of a stored CustomResourceDefinition that are needed to serve its objects.

Most definitions on a server are idle, so each keeps little memory: schemas stay in the bytes of the
stored definition and are compiled when the first object is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fairlead.base.caches import BoundedCache
from fairlead.base.dialect import Dialect
from fairlead.base.meter import SizeLimitExceeded
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import Object, Struct
from fairlead.resources.apiextensions.conditions import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    TERMINATING,
    is_true,
)
from fairlead.resources.custom.scale import ScalePaths
from fairlead.resources.custom.schema import custom_schema
from fairlead.resources.metadata import check_embedded_metadata
from fairlead.storage.version import Version

if TYPE_CHECKING:
    from fairlead.resources.columns.model import Printer

DEFINITIONS = "apiextensions/v1/customresourcedefinitions"
_MAX_CACHE_BYTES = 2 * 1024 * 1024
_MAX_ENTRY_BYTES = 64 * 1024


class Converter(Protocol):
    """Converts objects to another version; arguments and results carry kind and apiVersion. Raises
    StatusError."""

    async def convert(self, values: Sequence[Object], api_version: str) -> list[Object]: ...


class CustomColumn(NamedTuple):
    """A printer column of a definition."""

    name: str
    type: str
    path: str
    format: str = ""
    description: str = ""
    priority: int = 0


class CustomKind:
    """A custom kind in one version of its definition."""

    def __init__(
        self, definition: Definition, index: int, version: Object, successor: str = ""
    ) -> None:
        self.definition = definition
        self.version: str = version["name"]
        self.api_version = f"{definition.group}/{self.version}"
        self.served: bool = version["served"]
        self.deprecation = self._deprecation(version, successor)
        subresources = version.get("subresources") or {}
        self.has_status = subresources.get("status") is not None
        self.scale = ScalePaths.of(subresources.get("scale"))
        self.columns = tuple(map(_column, version.get("additionalPrinterColumns") or ()))
        self.selectable = tuple(
            entry["jsonPath"].removeprefix(".") for entry in version.get("selectableFields") or ()
        )
        self.converted_bodies: BoundedCache[tuple[str, int], bytes] = BoundedCache(
            max_bytes=_MAX_CACHE_BYTES, longest=_MAX_ENTRY_BYTES, per_byte=1
        )
        self.printer: Printer | None = None  # made for the first Table
        self._index = index
        self._schema: custom_schema.CustomSchema | None = None

    def _deprecation(self, version: Object, successor: str) -> str:
        if not version.get("deprecated"):
            return ""
        text: str | None = version.get("deprecationWarning")
        if text is not None:
            return text
        group, kind = self.definition.group, self.definition.kind
        hint = f"; use {group}/{successor} {kind}" if successor else ""
        return f"{self.api_version} {kind} is deprecated{hint}"

    @property
    def list_kind(self) -> str:
        return self.definition.list_kind

    @property
    def identity(self) -> str:
        """Changes whenever the published schema or names of the kind change."""
        return self.definition.identity

    @property
    def schema(self) -> Object | None:
        """The schema as it stands in the definition."""
        version = self.definition.source.object()["spec"]["versions"][self._index]
        schema: Object | None = (version.get("schema") or {}).get("openAPIV3Schema")
        return schema

    @property
    def compiled(self) -> custom_schema.CustomSchema:
        if self._schema is None:
            definition = self.definition
            self._schema = custom_schema.compile_schema(
                self.schema,
                kind=definition.kind,
                api_version=self.api_version,
                markers=definition.dialect.marker,
                release=definition.types.release,
                metadata=definition.types.struct("meta/v1.ObjectMeta"),
                preserve=definition.preserves,
                metadata_rules=check_embedded_metadata,
            )
        return self._schema

    @property
    def unread_bytes(self) -> int:
        """The size of the definition until its schema is compiled, else 0: the first request that
        needs the schema does more work than later requests."""
        return len(self.definition.source.body or b"") if self._schema is None else 0

    @property
    def struct(self) -> Struct:
        return self.compiled.struct

    def keeps(self, version: Version) -> bool:
        """Whether the stored bytes can be served in this version unchanged."""
        if version.api_version != self.api_version:
            return False
        return version.revision >= self.definition.since or not version.revision

    def pruned(self, value: Object) -> Object:
        """An object without the fields that are not in the schema."""
        bare = {name: item for name, item in value.items() if name not in ("kind", "apiVersion")}
        return self.compiled.pruned(bare)

    def repaired(self, value: Object) -> Object:
        """An object of an earlier schema or another version, pruned and with defaults."""
        result = self.pruned(value)
        try:
            self.compiled.fill_defaults(result)
        except SizeLimitExceeded:  # of defaults that the schema gained later: serve without them
            return self.pruned(value)
        return result


def _successor(name: str, versions: Sequence[Object]) -> str:
    """The version to recommend to users of a deprecated version: the most preferred one that is
    served and not deprecated, if it ranks above."""
    good = [
        version["name"]
        for version in versions
        if version["served"] and not version.get("deprecated")
    ]
    best = min(good, key=priority, default=name)
    return best if priority(best) < priority(name) else ""


def _column(entry: Object) -> CustomColumn:
    return CustomColumn(
        entry["name"],
        entry["type"],
        entry["jsonPath"],
        entry.get("format") or "",
        entry.get("description") or "",
        entry.get("priority") or 0,
    )


class Definition:
    """A stored definition. `source` is the stored version and `value` its content. Objects stored
    before the revision `since` may have been validated by an earlier schema."""

    def __init__(
        self,
        dialect: Dialect,
        types: BuiltinTypes,
        source: Version,
        value: Object,
        since: int,
        converter: Converter | None = None,
    ) -> None:
        self.dialect = dialect
        self.types = types
        self.since = since
        self.converter = converter
        spec, names = value["spec"], value["status"]["acceptedNames"]
        self.name: str = value["metadata"]["name"]
        self.group: str = spec["group"]
        # A user who may write only the status must not redirect the definition to another plural.
        self.plural: str = names["plural"] if names["plural"] == spec["names"]["plural"] else ""
        self.kind: str = names["kind"]
        self.singular: str = names.get("singular") or ""
        self.list_kind: str = names.get("listKind") or ""
        self.short_names = tuple(names.get("shortNames") or ())
        self.categories = tuple(names.get("categories") or ())
        self.namespaced = spec["scope"] == "Namespaced"
        self.preserves = bool(spec.get("preserveUnknownFields"))
        self._identity = _identity(value)
        self._load(source, value)
        versions = spec["versions"]
        kinds = [
            CustomKind(self, index, version, _successor(version["name"], versions))
            for index, version in enumerate(versions)
        ]
        self.kinds = {kind.api_version: kind for kind in kinds}
        storage = next(version["name"] for version in spec["versions"] if version["storage"])
        self.storage = self.kinds[f"{self.group}/{storage}"]

    def _load(self, source: Version, value: Object) -> None:
        self.source = source
        self.established = is_true(value, ESTABLISHED)
        self.names_accepted = is_true(value, NAMES_ACCEPTED)
        self.terminating = is_true(value, TERMINATING)

    def refresh(self, source: Version, value: Object) -> bool:
        """Take over a new version of the definition. Returns False, and changes nothing, if its
        spec or names changed so that the definition must be built again."""
        if _identity(value) != self._identity:
            return False
        self._load(source, value)
        return True

    @property
    def identity(self) -> str:
        """Changes whenever the published schemas or names of the definition change."""
        return self._identity

    @property
    def selectable(self) -> tuple[str, ...]:
        """The fields that selectors may name in any version."""
        return tuple(sorted({name for kind in self.kinds.values() for name in kind.selectable}))

    @property
    def served(self) -> list[CustomKind]:
        if not (self.established and self.plural and self.kind):
            return []
        return [kind for kind in self.kinds.values() if kind.served]


def _identity(value: Object) -> str:
    """A string that identifies the spec and the accepted names of a definition."""
    metadata, names = value["metadata"], value["status"]["acceptedNames"]
    return f"{metadata['uid']} {metadata.get('generation', 0)} {names}"


# The order of preference of versions

_RELEASE = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?", re.ASCII)
_STAGES = {None: 2, "beta": 1, "alpha": 0}


def priority(version: str) -> tuple[object, ...]:
    """Sort key by preference: stable versions before betas before alphas, newer before older, names
    of another form last, in alphabetical order."""
    match = _RELEASE.fullmatch(version)
    if match is None:
        return (1, version)
    major, stage, minor = match.groups()
    return (0, -_STAGES[stage], -int(major), -int(minor or 0))
