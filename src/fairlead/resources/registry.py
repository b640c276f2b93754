"""The served resources, read from `resources.table`.

A line `group/version [full-name] [replaceable] [dialect=name]` opens a group-version. `-` is the
core group, `@` the dialect's domain; a group-version with a dialect is served in that dialect only,
an extension server may take over a replaceable one. The first version of a group is its preferred
version. The lines below it each describe a resource:

    name[/subresource]  Kind  [mark...]

Marks: `namespaced` or `cluster`, `verbs=` (default: all eight; get, patch and update for `status`
and `scale`), `short=`, `in=` (categories), `returns` (a delete returns the object), `upsert` (PUT
creates), `conditional` (PUT must carry a resourceVersion), `generation` (counts changes of the
spec), `select=` (field selectors), `templated` (many objects share a spec), `plentiful` (there are
many objects, and neither discovery, authorization nor admission depends on them), `path=` (storage
prefix), `stored=` (storage version), `deprecated=since[:until[:replacement]]` (a warning on every
use). `base.release` describes the marks of releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final

from fairlead.base.compiled import mypyc_attr
from fairlead.base.dialect import Dialect
from fairlead.base.errors import ResourceRef
from fairlead.base.files import text_beside
from fairlead.base.release import Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.memo import ContentCache
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct, TypeProvider

if TYPE_CHECKING:
    from fairlead.resources.behaviour import Behaviour
    from fairlead.resources.custom.definition import CustomKind

ALL_VERBS: Final[tuple[str, ...]] = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
SUBRESOURCE_VERBS: Final[tuple[str, ...]] = ("get", "patch", "update")
_DIALECT: Final = "dialect="


class GroupVersion:
    """A served version of a group; `short` is the group's name in our tables."""

    __slots__ = (
        "api_version",
        "group",
        "is_replaceable",
        "resources",
        "short",
        "table_name",
        "version",
    )

    def __init__(
        self, short: str, group: str, version: str, *, is_replaceable: bool = False
    ) -> None:
        self.short = short
        self.is_replaceable = is_replaceable
        self.group = group
        self.version = version
        self.resources: dict[str, Resource] = {}
        self.table_name = f"{short}/{version}"
        self.api_version = f"{group}/{version}" if group else version


@mypyc_attr(allow_interpreted_subclasses=True)
class Resource:
    """A resource or subresource in one served version. A resource that is not from the table passes
    its own types, and its behaviour unless that is the generic one."""

    def __init__(
        self,
        dialect: Dialect,
        types: TypeProvider,
        group_version: GroupVersion,
        name: str,
        kind: str,
        marks: dict[str, str],
        parent: Resource | None,
        behaviour: Callable[[Resource], Behaviour] | None = None,
    ) -> None:
        self._types = types
        self.dialect = dialect
        self.release = types.release
        self.make_behaviour = behaviour
        self.group_version = group_version
        self.group = group_version.group
        self.api_version = group_version.api_version
        self.name = name
        self.key = f"{group_version.table_name}/{name}"  # its name in our tables: core/v1/pods
        self.parent = parent
        self.main: Resource = parent or self  # the resource whose objects a subresource shows
        self.subresource = name.partition("/")[2]
        self.is_scale = self.subresource == "scale"
        body_version, _, self.kind = kind.rpartition(".")
        self.body_version = body_version or group_version.table_name
        self.namespaced: bool = parent.namespaced if parent else "namespaced" in marks
        listed = marks.get("verbs")
        self.verbs = tuple(listed.split(",")) if listed else _default_verbs(parent)
        self.short_names = _comma_list(marks.get("short"))
        self.categories = _comma_list(marks.get("in"))
        self.returns_deleted = "returns" in marks
        self.creates_on_update = "upsert" in marks
        self.conditional = "conditional" in marks
        # Cache of decoded specs, for kinds whose objects share a spec.
        self.known_specs = ContentCache[bytes]("decoded specs") if "templated" in marks else None
        self.plentiful: bool = parent.plentiful if parent else "plentiful" in marks
        self.counts_generation = "generation" in marks
        self.selectable = _comma_list(marks.get("select"))
        self.deprecation = self._deprecation(marks.get("deprecated", ""))
        self.removed_release = self._removed_release(marks.get("deprecated", ""))
        self.storage_prefix = marks.get("path", name)
        self.stored_version = marks.get("stored", group_version.table_name)
        self.subresources: dict[str, Resource] = {}
        self.custom: CustomKind | None = None  # the kind in its definition, for a custom resource
        # Computed lazily.
        self._struct: Struct | None = None
        self._stored_struct: Struct | None = None
        self._head = b""

    def __repr__(self) -> str:
        return f"Resource({self.group_version.table_name}/{self.name})"

    def _deprecation(self, mark: str) -> str:
        """The warning for `since[:until[:replacement[,kind]]]`; a subresource inherits its
        parent's."""
        if not mark:
            return self.parent.deprecation if self.parent else ""
        since, *details = mark.split(":")
        text = f"{self.group_version.api_version} {self.kind} is deprecated in v{since}+"
        if details and details[0]:
            text += f", unavailable in v{details[0]}+"
        if len(details) < 2:
            return text
        version, _, kind = details[1].partition(",")
        return f"{text}; use {version} {kind or self.kind}"

    def _removed_release(self, mark: str) -> str:
        """The `until` of the mark; empty if it has none."""
        if not mark:
            return self.parent.removed_release if self.parent else ""
        _, *details = mark.split(":")
        return details[0] if details else ""

    @property
    def list_kind(self) -> str:
        return self.custom.list_kind if self.custom is not None else f"{self.kind}List"

    @property
    def listed_verbs(self) -> tuple[str, ...]:
        """The verbs in discovery."""
        return self.verbs

    @property
    def is_repeated(self) -> bool:
        """Whether this is a custom resource in a version other than the first served version."""
        if self.custom is None:
            return False
        served = self.custom.definition.served
        return bool(served) and self.custom is not served[0]

    @property
    def lacks_protobuf(self) -> bool:
        """Whether the resource has no protobuf form. Custom resources have none: a schema does not
        define one."""
        return self.main.custom is not None and not self.is_scale

    @property
    def takes_path(self) -> bool:
        """Whether the path may continue after the resource: a proxy forwards the rest."""
        return self.subresource == "proxy"

    @property
    def struct(self) -> Struct:
        """The type of the request body in this version."""
        if self._struct is None:
            self._struct = self._types.struct(f"{self.body_version}.{self.kind}")
        return self._struct

    @property
    def stored_struct(self) -> Struct:
        """The type of stored objects."""
        if self._stored_struct is None:
            if self.parent is not None:
                return self.parent.stored_struct
            self._stored_struct = self._types.struct(f"{self.stored_version}.{self.kind}")
        return self._stored_struct

    @property
    def head(self) -> bytes:
        """The JSON that precedes the body of a stored object in a response."""
        if not self._head:
            self._head = f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()
        return self._head

    @property
    def sends_stored_bytes(self) -> bool:
        """Whether stored bytes can be sent unchanged: the version is the stored version or has the
        same shape."""
        return self.struct is self.stored_struct

    def ref(self, name: str = "") -> ResourceRef:
        return ResourceRef(self.group, self.name, name)

    def kind_ref(self, name: str = "") -> ResourceRef:
        return ResourceRef(self.group, self.kind, name)

    def named_ref(self, group: str, name: str) -> ResourceRef:
        """A reference to the kind under another group."""
        return ResourceRef(group, self.kind, name)

    def storage_key(self, namespace: str, name: str) -> str:
        return f"{namespace}/{name}" if self.namespaced else name


def _comma_list(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _default_verbs(parent: Resource | None) -> tuple[str, ...]:
    return SUBRESOURCE_VERBS if parent else ALL_VERBS


class Resources:
    """All resources of a dialect and release, by group, version and name."""

    def __init__(self, dialect: Dialect, types: BuiltinTypes) -> None:
        self.dialect = dialect
        self.types = types
        self.release = types.release
        self.groups: dict[str, dict[str, GroupVersion]] = {}
        self._by_key: dict[str, Resource] = {}
        self._api_versions: dict[str, str] = {}
        # Group-versions that are enabled without any served resource: the server only sends their
        # kinds to webhooks.
        self.sent_only: set[str] = set()
        self.generation = 0  # incremented when the served resources change
        self.read(text_beside(__file__, "resources.table"))

    def read(self, text: str) -> None:
        """Add the resources of a table."""
        current: GroupVersion | None = None
        for line in self.release.select(text).splitlines():
            words = line.split()
            if not words or words[0] == "#":
                continue
            if line[0] != " ":
                current = self._open_group_version(words)
            elif current is not None:
                self._add(current, words)

    def _open_group_version(self, words: list[str]) -> GroupVersion | None:
        short, _, version = words[0].partition("/")
        dialect = words.pop()[len(_DIALECT) :] if words[-1].startswith(_DIALECT) else ""
        if dialect not in ("", self.dialect.name):
            return None
        full = words[1] if len(words) > 1 else short
        group = "" if full == "-" else self.dialect.group_name(full)
        is_replaceable = "replaceable" in words
        group_version = GroupVersion(short, group, version, is_replaceable=is_replaceable)
        self.groups.setdefault(group, {})[version] = group_version
        self._api_versions[group_version.table_name] = group_version.api_version
        return group_version

    def _add(self, group_version: GroupVersion, words: list[str]) -> None:
        name, kind, *marks_text = words
        marks_text = [self.dialect.group_name(mark) for mark in marks_text]
        marks = {word: value for word, _, value in (mark.partition("=") for mark in marks_text)}
        top, slash, _ = name.partition("/")
        parent = group_version.resources[top] if slash else None
        self.add(Resource(self.dialect, self.types, group_version, name, kind, marks, parent))

    def add(self, resource: Resource) -> None:
        """Serve a resource, and its group and version if they are new. A subresource is added to
        its parent."""
        group_version = resource.group_version
        self.generation += 1
        self._by_key[resource.key] = resource
        if resource.parent is not None:
            resource.parent.subresources[resource.subresource] = resource
            return
        self.groups.setdefault(group_version.group, {}).setdefault(
            group_version.version, group_version
        )
        self._api_versions[group_version.table_name] = group_version.api_version
        group_version.resources[resource.name] = resource

    def remove(self, resource: Resource) -> None:
        """Stop serving a resource, and its version and group if they become empty. The server
        itself can still find the resource by its key as long as objects are stored."""
        group_version = resource.group_version
        self.generation += 1
        del group_version.resources[resource.name]
        if not group_version.resources:
            versions = self.groups[group_version.group]
            del versions[group_version.version]
            if not versions:
                del self.groups[group_version.group]

    def register(self, resource: Resource) -> None:
        """Make a resource available to `named`, whether or not it is served."""
        self._by_key[resource.key] = resource
        group_version = resource.group_version
        self._api_versions[group_version.table_name] = group_version.api_version

    def forget(self, resource: Resource) -> None:
        self._by_key.pop(resource.key, None)

    def group_versions(self) -> Iterator[GroupVersion]:
        for versions in self.groups.values():
            yield from versions.values()

    def of_group(self, group: str) -> list[GroupVersion]:
        """The served versions of a group, the preferred version first."""
        return list(self.groups.get(group, {}).values())

    def stored(self) -> list[Resource]:
        """The resources whose objects can be deleted, each in its stored version."""
        return [
            resource
            for group_version in self.group_versions()
            for resource in group_version.resources.values()
            if "delete" in resource.verbs
            and resource.stored_version == group_version.table_name
            and not resource.is_repeated
        ]

    def in_namespaces(self) -> list[Resource]:
        """The stored resources that are namespaced."""
        return [resource for resource in self.stored() if resource.namespaced]

    def find(self, group: str, version: str, name: str) -> Resource | None:
        """A resource by group, version and name; `name` may be `resource/subresource`."""
        group_version = self.groups.get(group, {}).get(version)
        if group_version is None:
            return None
        top, slash, subresource = name.partition("/")
        resource = group_version.resources.get(top)
        if resource is None or not slash:
            return resource
        return resource.subresources.get(subresource)

    def of_kind(self, api_version: str, kind: str) -> list[Resource]:
        """The resources whose objects have this apiVersion and kind."""
        group, _, version = api_version.rpartition("/")
        group_version = self.groups.get(group, {}).get(version)
        listed = group_version.resources.values() if group_version is not None else ()
        return [resource for resource in listed if resource.kind == kind]

    def touch(self) -> None:
        """Record that a served resource changed."""
        self.generation += 1

    def is_custom(self, group: str) -> bool:
        """Whether a group consists of custom resources only."""
        return all(
            resource.custom is not None
            for group_version in self.groups.get(group, {}).values()
            for resource in group_version.resources.values()
        )

    def serves(self, key: str) -> bool:
        """Whether a resource is served: `--runtime-config` may disable it."""
        resource = self._by_key.get(key)
        return resource is not None and resource.name in resource.group_version.resources

    def struct_of(self, api_version: str, kind: str) -> Struct | None:
        """The type of a kind by its apiVersion; it need not be served."""
        group, _, version = api_version.rpartition("/")
        if group == self.dialect.meta_group or (kind == "Status" and api_version == "v1"):
            return self.types.group_version("meta/v1").get(kind)
        group_version = self.groups.get(group, {}).get(version)
        # The table of built-in types does not list groups of custom resources.
        if group_version is None or "." in group_version.short:
            return None
        return self.types.group_version(group_version.table_name).get(kind)

    def api_version_of(self, table_name: str) -> str:
        """The full apiVersion of a group-version in our tables, e.g. `policy/v1`; it need not be
        served."""
        return self._api_versions[table_name]

    def stored_as(self, resource: Resource) -> str:
        """The name of a resource in the store: the full group of its storage version, and its
        name."""
        group, slash, _ = self.api_version_of(resource.stored_version).rpartition("/")
        return f"{group}/{resource.name}" if slash else f"core/{resource.name}"

    def old_prefixes(self) -> dict[str, tuple[str, str]]:
        """The storage prefixes of older data, mapped to the current name in the store and the
        apiVersion."""
        return {
            # Prefixes of extension servers' resources had no group in front.
            resource.storage_prefix.removeprefix(f"{resource.group}/"): (
                self.stored_as(resource),
                self.api_version_of(resource.stored_version),
            )
            for resource in self._by_key.values()
            if resource.parent is None
        }

    def named(self, key: str) -> Resource:
        """A resource by its key in our tables, e.g. `core/v1/namespaces`."""
        return self._by_key[key]


# Conversion between the version of a request and the stored version

# Returns the object in another version, with the names of a dialect and the fields of a release.
Convert = Callable[[Object, Dialect, Release], Object]

_INWARD: Final[dict[str, Convert]] = {}
_OUTWARD: Final[dict[str, Convert]] = {}


def register_conversion(key: str, *, inward: Convert, outward: Convert) -> None:
    """Register the converters of a resource (`events/v1/events`) to and from its stored version.
    The package of the group calls this when it is imported."""
    _INWARD[key] = inward
    _OUTWARD[key] = outward


def to_stored(resource: Resource, value: Object) -> Object:
    """The object in its stored version; may change `value`."""
    if resource.sends_stored_bytes:
        return value
    return _converter(_INWARD, resource)(value, resource.dialect, resource.release)


def from_stored(resource: Resource, value: Object) -> Object:
    """The object in the version of the resource; may change `value`."""
    if resource.sends_stored_bytes:
        return value
    return _converter(_OUTWARD, resource)(value, resource.dialect, resource.release)


def _converter(converters: dict[str, Convert], resource: Resource) -> Convert:
    if resource.key not in converters:
        import_module(f"{__package__}.{resource.group_version.short}")
    return converters[resource.key]
