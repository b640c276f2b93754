"""Cache of the largest settled part of each manager's last configuration.

A repeated apply mostly changes little of its configuration. A settled part (see `fields.settled`)
is cached as the text that was sent, together with the stored JSON after the object's metadata.
While both texts recur, the part is settled again if its managedFields entries are unchanged, and is
neither parsed nor compared with the object. All texts are compared byte by byte, so there are no
false matches.

Only whole objects of built-in kinds whose request version is the stored version are cached: the
meaning of such texts is constant for the lifetime of the process.
"""

from __future__ import annotations

from os import urandom
from typing import Any

import orjson

from fairlead.base.caches import BoundedCache
from fairlead.codec.bodies import TooDeep, duplicate_fields
from fairlead.codec.types.model import Object as Object
from fairlead.fields.entries import Identity
from fairlead.fields.unchanged import Part, Settled, recheck_unchanged
from fairlead.operations.operation import Operation
from fairlead.storage.body_metadata import METADATA_START
from fairlead.storage.version import Version

MAX_KEPT = 4096
MAX_BYTES = 8 * 1024 * 1024
LONGEST = 32 * 1024
SHORTEST = 256  # bytes of owned fields; smaller parts are parsed quickly

# Placeholder for a part that is not parsed. Random, so that no client can send it.
_MARK = urandom(16).hex()
_WRITTEN_MARK = orjson.dumps(_MARK)


class _Known:
    """A part as it was sent, the number of bytes before and after it, and the stored JSON after the
    metadata."""

    def __init__(self, part: Part, text: bytes, before: int, behind: int, stored: bytes) -> None:
        self.part = part
        self.text = text
        self.before = before
        self.behind = behind
        self.stored = stored


class PartiallyParsed:
    """A configuration with a cached part left unparsed."""

    def __init__(self, known: _Known, read: Object) -> None:
        self.known = known
        self._read = read

    def stated(self) -> Object:
        """The configuration without the part."""
        name = self.known.part.name
        return {field: item for field, item in self._read.items() if field != name}

    def whole(self) -> Object:
        """The configuration as it was sent."""
        return {**self._read, self.known.part.name: orjson.loads(self.known.text)}


class KnownConfigurations:
    """The newest configurations, by resource, object and manager."""

    def __init__(self) -> None:
        self._kept: BoundedCache[tuple[str, str, str], _Known] = BoundedCache(
            MAX_KEPT, MAX_BYTES, LONGEST, per_byte=1, name="applied configurations"
        )

    def find(self, operation: Operation, raw: bytes, manager: str) -> PartiallyParsed | None:
        """The parsed body without the cached part, if the body is JSON and has that part in its
        place."""
        known = self._kept.get((operation.resource.key, operation.key, manager))
        if known is None or raw[:1] != b"{":
            return None
        start = len(raw) - known.behind - len(known.text)
        if start < 0 or not raw.startswith(known.text, start):
            start = known.before
            if not raw.startswith(known.text, start):
                return None
        cut = b"".join((raw[:start], _WRITTEN_MARK, raw[start + len(known.text) :]))
        try:
            read: Any = orjson.loads(cut)
            if duplicate_fields(cut, read):
                return None
        except (orjson.JSONDecodeError, TooDeep):
            return None
        return PartiallyParsed(known, read) if read.get(known.part.name) == _MARK else None

    def settled(
        self,
        operation: Operation,
        held: PartiallyParsed,
        version: Version,
        live: Object,
        who: Identity,
    ) -> Settled | None:
        """The settled fields that follow from the cached part alone; None if it no longer holds."""
        known, main = held.known, operation.resource.main
        body = version.body
        assert body is not None
        is_same = body.endswith(known.stored)
        if not is_same:  # a later field may have changed
            text = orjson.dumps(live.get(known.part.name))
            if not known.stored.startswith(_field(known.part.name, text)):
                return None
        found = recheck_unchanged(live, who, main.api_version, known.part)
        if found is not None and not is_same:
            self._keep(operation, who, _Known(*_sent(known), _behind_metadata(version)))
        return found

    def keep(
        self,
        operation: Operation,
        config: Object,
        settled: Settled,
        version: Version,
        who: Identity,
    ) -> None:
        """Cache the largest part of the body that is settled in a version of the object."""
        raw, main = operation.sent, operation.resource.main
        if not settled.parts or not isinstance(raw, bytes) or raw[:1] != b"{":
            return
        if operation.resource is not main or main.custom is not None or not main.sends_stored_bytes:
            return
        part = max(settled.parts, key=_length)
        if _length(part) < SHORTEST or _field(part.name, b"")[1:] + b"{" not in raw:
            return
        text, stored = orjson.dumps(config[part.name]), _behind_metadata(version)
        before = raw.find(text)
        if before >= 0 and stored.startswith(_field(part.name, b"")):
            behind = len(raw) - before - len(text)
            self._keep(operation, who, _Known(part, text, before, behind, stored))

    def _keep(self, operation: Operation, who: Identity, known: _Known) -> None:
        key = operation.resource.key, operation.key, who[0]
        length = len(known.text) + len(known.stored) + len(known.part.node) + sum(map(len, key))
        self._kept.keep(key, known, length)


def _sent(known: _Known) -> tuple[Part, bytes, int, int]:
    return known.part, known.text, known.before, known.behind


def _length(part: Part) -> int:
    return len(part.node)


def _field(name: str, text: bytes) -> bytes:
    return b',"%b":%b' % (name.encode(), text)


def _behind_metadata(version: Version) -> bytes:
    """The stored JSON after the metadata, up to the end of the object. Matching it as a suffix is
    exact: it starts with a comma and a quote, which cannot lie inside another text, and it closes
    exactly the object that was opened before it."""
    assert version.body is not None
    return version.body[METADATA_START + len(version.metadata) :]
