"""Remembering the longest part of what a manager applied to an object.

Who applies a configuration again has mostly changed little of it. A part in which it was settled
(see `patching.settled`) is kept as the text that was sent, with the text of the object behind its
metadata. While both come again the part is settled again, if its owners are those from then, and
need neither be read nor held against the object. All of them are compared as texts, so that
nothing is taken for something else.

Only whole objects of built-in kinds are remembered that are shown in the version that is stored:
what such texts mean does not change as long as this process lives.
"""

from __future__ import annotations

from os import urandom
from typing import Any

import orjson

from fairlead.base.caches import Bounded
from fairlead.codec.bodies import TooDeep, duplicate_fields
from fairlead.codec.types.model import Object as Object
from fairlead.fields.entries import Identity
from fairlead.fields.settled import Part, Settled, settled_again
from fairlead.operations.operation import Operation
from fairlead.storage.body_metadata import METADATA_START
from fairlead.storage.version import Version

MOST_KEPT = 4096
MOST_BYTES = 8 * 1024 * 1024
LONGEST = 32 * 1024
SHORTEST = 256  # bytes of owned fields; less than that is read in no time

# Stands for a part that is not read. Nobody can guess it, so that it is found where it was put.
_MARK = urandom(16).hex()
_WRITTEN_MARK = orjson.dumps(_MARK)


class _Known:
    """A part as it was sent, with how much stood before and behind it, and what the stored object
    had from its first field on."""

    def __init__(self, part: Part, text: bytes, before: int, behind: int, stored: bytes) -> None:
        self.part = part
        self.text = text
        self.before = before
        self.behind = behind
        self.stored = stored


class Held:
    """A configuration of which a known part was not read."""

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
    """The newest of them, by object and manager."""

    def __init__(self) -> None:
        self._kept: Bounded[tuple[str, str, str], _Known] = Bounded(
            MOST_KEPT, MOST_BYTES, LONGEST, per_byte=1, name="applied configurations"
        )

    def find(self, operation: Operation, raw: bytes, manager: str) -> Held | None:
        """What was sent, if it is JSON that has a known part where it was before."""
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
        return Held(known, read) if read.get(known.part.name) == _MARK else None

    def settled(
        self, operation: Operation, held: Held, version: Version, live: Object, who: Identity
    ) -> Settled | None:
        """What is settled in an object because of the known part alone; None if it may not be."""
        known, main = held.known, operation.resource.main
        body = version.body
        assert body is not None
        is_same = body.endswith(known.stored)
        if not is_same:  # something behind the part may have changed
            text = orjson.dumps(live.get(known.part.name))
            if not known.stored.startswith(_field(known.part.name, text)):
                return None
        found = settled_again(live, who, main.api_version, known.part)
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
        """Remember a part of what was sent that was found settled in a version of an object."""
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
    """What a stored object has besides, which nothing but its end can follow: texts that begin with
    a comma and a quote are not within others, and this one closes what was opened before it."""
    assert version.body is not None
    return version.body[METADATA_START + len(version.metadata) :]
