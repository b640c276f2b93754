"""One version of a stored object: its bytes, and the labels and fields that selectors need; and the
change from one version to the next."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from fairlead.codec.bodies import MAX_STORED_BYTES, STORED_DEPTH, TooLarge, bounded_json
from fairlead.fields.stored_entries import StoredEntry
from fairlead.storage.body_metadata import (
    METADATA_START,
    finalizers,
    generation,
    metadata_end,
    owner_references,
    without_field_sets,
    without_managed_fields,
)

if TYPE_CHECKING:
    from fairlead.storage.derived_cache import Forms
    from fairlead.storage.writes import Pending

_DISK_HEAD: Final = b'{"metadata":{'
_NO_FACTS: Final[Mapping[str, str]] = {}

# Metadata fields an object may have, as bits. Most objects have none, which is known without
# parsing.
TERMINATING, HAS_OWNERS, HAS_FINALIZERS = 1, 2, 4
_HINTS = (
    ("deletionTimestamp", TERMINATING),
    ("ownerReferences", HAS_OWNERS),
    ("finalizers", HAS_FINALIZERS),
)
_HINTS_IN_BODIES = tuple((f'"{name}":'.encode(), bit) for name, bit in _HINTS)
_MANAGERS: Final = b'"managedFields":['


class Version:
    """A version of an object, or its deletion (`body` is None). Immutable after the commit.

    `body` is the object's JSON without its opening `{"kind":…,"apiVersion":…,`. It starts with
    `"metadata":{`, so a list joins bodies, and a single object needs one prefix.
    """

    __slots__ = (
        "_fields",
        "_hints",
        "_labels",
        "_metadata_end",
        "_select",
        "api_version",
        "body",
        "commit",
        "forms",
        "key",
        "revision",
    )

    def __init__(
        self,
        key: str,
        revision: int,
        api_version: str,
        body: bytes | None,
        select: Callable[[dict[str, Any]], Mapping[str, str]] | None = None,
    ) -> None:
        self.key = key
        self.revision = revision
        self.api_version = api_version
        self.body = body
        self.commit: Pending | None = None  # while it is not committed
        self.forms: Forms | None = None  # see kept_forms
        self._metadata_end = 0  # 0: not known yet
        self._select = select
        self._hints = -1  # -1: not known yet
        self._labels: Mapping[str, str] | None = None
        self._fields: Mapping[str, str] | None = None

    @property
    def deleted(self) -> bool:
        return self.body is None

    @property
    def labels(self) -> Mapping[str, str]:
        labels = self._labels
        if labels is None:
            assert self.body is not None
            labels = self._labels = _labels_in(self.body)
        return labels

    @property
    def fields(self) -> Mapping[str, str]:
        """The selectable fields of the kind, except name and namespace."""
        if self._fields is None:
            self.set_facts(self.object())
        assert self._fields is not None
        return self._fields

    @property
    def known_fields(self) -> Mapping[str, str] | None:
        """`fields` if already computed, else None."""
        return self._fields

    @property
    def hints(self) -> int:
        """The bits of TERMINATING, HAS_OWNERS and HAS_FINALIZERS that may apply; an absent bit
        certainly does not."""
        if self._hints < 0:
            body = self.body or b""
            end = body.find(_MANAGERS)
            self._hints = sum(
                bit for mark, bit in _HINTS_IN_BODIES if body.find(mark, 0, end + 1 or None) >= 0
            )
        return self._hints

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def uid(self) -> str:
        assert self.body is not None
        match = _UP_TO_UID.match(self.body)
        uid: str = match[1].decode() if match is not None else self.object()["metadata"]["uid"]
        return uid

    def owner_references(self) -> list[dict[str, Any]]:
        """Return a fresh copy of metadata.ownerReferences; parses only them. Empty for a
        deletion."""
        return owner_references(self.body) if self.body and self.hints & HAS_OWNERS else []

    def finalizers(self) -> list[str]:
        """Return a fresh copy of metadata.finalizers; parses only them. Empty for a deletion."""
        return finalizers(self.body) if self.body and self.hints & HAS_FINALIZERS else []

    def generation(self) -> int:
        """Return metadata.generation, 0 without one or for a deletion."""
        return generation(self.body) if self.body else 0

    def mentions(self, field: str, text: str | None = None) -> bool:
        """Return False if the object certainly has no field of this name, at any depth; if `text`
        is given, no such field with that text. True is not certain: parse the object to know where
        the field is. Searches the bytes, which takes a tenth of the time of parsing them.

        Annotations and labels count as fields. Texts do not: a quote inside of a text is escaped,
        so no text contains a quoted name. Both arguments are encoded as in the body, which `encode`
        has written: compact JSON, with one form for each text.
        """
        pattern = orjson.dumps(field) + b":"
        if text is not None:
            pattern += orjson.dumps(text)
        return self.body is not None and pattern in self.body

    def object(self) -> dict[str, Any]:
        """Return a fresh copy of the object, without kind and apiVersion."""
        assert self.body is not None
        parsed: dict[str, Any] = orjson.loads(b"{" + self.body)
        return parsed

    def object_to_write(self) -> dict[str, Any]:
        """Return a fresh copy of an object of a built-in kind, to be modified and written again.
        The sets of long managedFields stay unparsed, see `stored_entries`."""
        assert self.body is not None
        body, sets = without_field_sets(self.body)
        parsed: dict[str, Any] = orjson.loads(b"{" + body)
        if not sets:
            return parsed
        entries = parsed["metadata"].get("managedFields") or ()
        holes = [entry for entry in entries if entry.get("fieldsV1", entry) is None]
        if not len(holes) == len(entries) == len(sets):
            return self.object()
        parsed["metadata"]["managedFields"] = list(map(StoredEntry, entries, sets))
        return parsed

    @property
    def metadata(self) -> memoryview:
        """The JSON of the object's metadata, as a view into the body."""
        assert self.body is not None
        end = self._metadata_end
        if not end:
            end = self._metadata_end = metadata_end(self.body)
        return memoryview(self.body)[METADATA_START:end]

    def content(self) -> dict[str, Any]:
        """Return a fresh copy of the object without kind, apiVersion and managedFields, which is
        faster to parse."""
        assert self.body is not None
        body, self._metadata_end = without_managed_fields(self.body)
        parsed: dict[str, Any] = orjson.loads(b"{" + body)
        return parsed

    def set_facts(self, value: dict[str, Any]) -> None:
        """Take labels, fields and hints from the parsed object, which saves parsing the body
        later."""
        metadata = value["metadata"]
        self._labels = metadata.get("labels") or _NO_FACTS
        self._hints = sum([bit for name, bit in _HINTS if name in metadata])
        self._fields = self._select(value) if self._select else _NO_FACTS

    def drop_facts(self) -> None:
        """Drop cached facts and forms: the selectable fields of the kind have changed."""
        self._labels = self._fields = None
        self.forms = None

    def set_revision(self, revision: int) -> None:
        """Set the revision assigned by the backend, which differs from the predicted one."""
        self.revision = revision
        self.forms = None
        self._metadata_end = 0
        if self.body is not None:
            self.body = at_revision(self.body, revision)

    def with_revision(self, revision: int) -> Version:
        """Return a copy at another revision."""
        body = at_revision(self.body, revision) if self.body is not None else None
        return Version(self.key, revision, self.api_version, body, self._select)


# The beginning of the metadata, if nothing in it is escaped.
_NAMES: Final = (
    rb'"metadata":\{"name":"[^"\\]*",(?:"generateName":"[^"\\]*",)?(?:"namespace":"[^"\\]*",)?'
)
_UP_TO_UID: Final = re.compile(_NAMES + rb'"uid":"([^"\\]*)"')
# Matches metadata up to its labels, the only part of it with nested braces.
_UP_TO_LABELS: Final = re.compile(
    _NAMES + rb'"uid":"[^"\\]*","resourceVersion":"[0-9]+",(?:"generation":[0-9]+,)?'
    rb'"creationTimestamp":"[^"\\]*"(?:,"deletionTimestamp":"[^"\\]*")?'
    rb'(?:,"deletionGracePeriodSeconds":[0-9]+)?(?:,"labels":(\{[^{}]*\}))?'
)
_LABELS: Final = b',"labels"'


def _labels_in(body: bytes) -> Mapping[str, str]:
    """Return the labels of a body, parsing only them if the metadata has the usual form."""
    match = _UP_TO_LABELS.match(body)
    if match is not None:
        if match[1] is not None:
            labels: Mapping[str, str] = orjson.loads(match[1])
            return labels
        if not body.startswith(_LABELS, match.end()):
            return _NO_FACTS
    return orjson.loads(b"{" + body)["metadata"].get("labels") or _NO_FACTS


_RESOURCE_VERSION: Final = b'"resourceVersion":"'


def at_revision(body: bytes, revision: int) -> bytes:
    """Return the body with another resourceVersion. Only names and the uid precede it."""
    start = body.index(_RESOURCE_VERSION) + len(_RESOURCE_VERSION)
    return b"%b%d%b" % (body[:start], revision, body[body.index(b'"', start) :])


# The order in which metadata is shown. The resourceVersion is not stored; it is inserted before the
# generation.
_METADATA_ORDER = (
    *("name", "generateName", "namespace", "uid", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations"),
    *("ownerReferences", "finalizers", "managedFields"),
)


def ordered(value: dict[str, Any]) -> dict[str, Any]:
    """Return the object with its metadata first, sorted, and without fields that are not stored."""
    metadata = value.pop("metadata")
    return {
        "metadata": {name: metadata[name] for name in _METADATA_ORDER if name in metadata},
        **value,
    }


def encode(value: dict[str, Any]) -> bytes:
    """Encode an object for the disk. `value` has no kind, apiVersion or resourceVersion; its
    metadata comes first and is not empty. Raises TooLarge, TooDeep."""
    encoded = bounded_json(value, STORED_DEPTH)
    assert encoded.startswith(_DISK_HEAD), encoded[:40]
    if len(encoded) > MAX_STORED_BYTES:
        raise TooLarge
    return encoded


# The resourceVersion goes behind the names and the uid, where clients expect it.
_IDENTITY: Final = re.compile(
    rb'\{"metadata":\{"name":"[^"]*",(?:"generateName":"[^"]*",)?(?:"namespace":"[^"]*",)?'
    rb'"uid":"[^"]*",'
)


def body_of(encoded: bytes, revision: int) -> bytes:
    """Convert encoded bytes from the disk to the body of a version."""
    identity = _IDENTITY.match(encoded)
    insertion = identity.end() if identity is not None else len(_DISK_HEAD)
    return b'%b"resourceVersion":"%d",%b' % (encoded[1:insertion], revision, encoded[insertion:])


def total_size(versions: list[Version]) -> int:
    """The bytes of the bodies of versions."""
    size = 0
    for version in versions:
        body = version.body
        assert body is not None
        size += len(body)
    return size


def join_bodies(
    versions: list[Version], start: int, first: bytes, between: bytes, limit: int
) -> tuple[bytes, int]:
    """Join the bodies of versions from index `start` on, until they have `limit` bytes: `first`,
    then the bodies with `between` in between. Returns the result and the index of the next version.
    Long lists spend most of their time on loading objects from memory, so they visit each object as
    seldom as possible."""
    bodies: list[bytes] = []
    index, end, size = start, len(versions), 0
    while index < end and size < limit:
        body = versions[index].body
        assert body is not None
        bodies.append(body)
        size += len(body)
        index += 1
    if bodies:
        bodies[0] = first + bodies[0]
    return between.join(bodies), index


def encoded_of(body: bytes) -> bytes:
    """Convert a body to the encoded bytes on disk: the inverse of `body_of`."""
    start = body.index(_RESOURCE_VERSION)
    end = body.index(b'",', start + len(_RESOURCE_VERSION)) + 2
    return b"{%b%b" % (body[:start], body[end:])


# Changes, as delivered to followers and watchers.

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Change:
    """The versions of a key before and after a revision; None where it did not exist.

    `kind` is the event type for an observer without a selector, `size` the bytes of the content.
    `frames` caches the encoded watch events, shared by all watchers.
    """

    __slots__ = (
        "after",
        "api_version",
        "before",
        "frames",
        "key",
        "kind",
        "resource",
        "revision",
        "size",
    )

    def __init__(
        self,
        resource: str,
        key: str,
        revision: int,
        api_version: str,
        before: Version | None,
        after: Version | None,
    ) -> None:
        self.resource = resource
        self.key = key
        self.revision = revision
        self.api_version = api_version
        self.before = before
        self.after = after
        self.frames: dict[Any, bytes] = {}
        self.kind = DELETED if after is None else ADDED if before is None else MODIFIED
        content = after if after is not None else before
        self.size = len(content.body) if content is not None and content.body is not None else 0

    @property
    def added(self) -> bool:
        return self.before is None

    @property
    def deleted(self) -> bool:
        return self.after is None

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def last_body(self) -> bytes:
        """Return the content before this change, with the revision of this change."""
        assert self.before is not None
        assert self.before.body is not None
        return at_revision(self.before.body, self.revision)


def existing(resource: str, version: Version) -> Change:
    """Return the change that would add an existing object."""
    return Change(resource, version.key, version.revision, version.api_version, None, version)
