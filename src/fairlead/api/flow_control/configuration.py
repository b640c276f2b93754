"""The stored flow schemas and priority levels, compiled for classifying requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from time import monotonic
from typing import Any, Final

from fairlead.api.flow_control.borrowing import LevelSeats, adjust
from fairlead.api.flow_control.metrics import (
    FAIR_FRACTION,
    Counts,
    counts_of,
    hide_level,
    show_level,
)
from fairlead.api.flow_control.queue_set import NO_QUEUES, QueueSet, Shape
from fairlead.api.flow_control.rules import Matches, matcher
from fairlead.api.routing import Target
from fairlead.auth.authentication.user import User
from fairlead.base.caches import BoundedCache
from fairlead.base.dialect import Dialect
from fairlead.resources.flowcontrol.bootstrap import FLOW_SCHEMAS, PRIORITY_LEVELS
from fairlead.storage.version import Change

_CATCH_ALL: Final = "catch-all"
_MAX_KEPT, _MAX_BYTES, _LONGEST_KEY = 20_000, 16 * 1024 * 1024, 2048
MAX_SEATS: Final = 10  # of one request
_MAX_PERCENT: Final = 15  # of the level's seats, for one request


class Level:
    """A priority level. A level without `queues` is exempt: its requests never wait. One without
    `seats` has its nominal limit, and neither lends nor borrows."""

    __slots__ = (
        "max_seats", "name", "queues", "quiescing", "seats", "shape", "shares", "spec", "uid",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.uid = ""
        self.spec: Mapping[str, Any] = {}
        self.shares = 0
        self.shape = NO_QUEUES
        self.queues: QueueSet | None = None
        self.seats: LevelSeats | None = None
        self.max_seats = MAX_SEATS
        self.quiescing = False  # deleted; removed once its last request ends

    def read(self, uid: str, spec: Mapping[str, Any]) -> None:
        self.uid, self.spec = uid, spec
        limited = spec.get("limited")
        if spec.get("type") == "Exempt" or limited is None:
            exempt = spec.get("exempt") or {}
            self.queues, self.shares = None, exempt.get("nominalConcurrencyShares") or 0
            return
        assured = limited.get("assuredConcurrencyShares")
        self.shares = limited.get("nominalConcurrencyShares", assured) or 0
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is None:
            self.shape = NO_QUEUES
        else:
            queues = queuing["queues"]
            size = min(queuing["handSize"], queues)
            self.shape = Shape(queues, size, queuing["queueLengthLimit"])
        if self.queues is None:
            self.queues = QueueSet(1, self.shape)


class Schema:
    """A flow schema with its compiled rules."""

    __slots__ = ("by", "level", "matches", "name", "precedence", "uid")

    def __init__(self, name: str, uid: str, spec: Mapping[str, Any]) -> None:
        self.name = name
        self.uid = uid
        self.precedence: int = spec.get("matchingPrecedence") or 0
        self.level: str = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
        self.by: str = (spec.get("distinguisherMethod") or {}).get("type", "")
        self.matches: Matches = matcher(spec.get("rules") or ())


class Flow:
    """The schema, priority level and distinguisher of requests. `lines` are header lines that name
    the schema and level in the response."""

    __slots__ = ("_hand", "_shape", "counts", "distinguisher", "level", "lines", "schema")

    def __init__(self, schema: Schema, level: Level, distinguisher: str, lines: bytes) -> None:
        self.schema = schema
        self.level = level
        self.distinguisher = distinguisher
        self.lines = lines
        self.counts: Counts = counts_of(level.name, schema.name)
        self._shape: Shape | None = None
        self._hand: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return self.schema.name, self.distinguisher

    def hand(self) -> tuple[int, ...]:
        """The queues that requests of this flow may wait in. Recomputed when the level's queues
        change."""
        shape = self.level.shape
        if self._shape is not shape:
            self._shape = shape
            self._hand = hand(seed_of(*self.key), shape.queues, shape.hand) if shape.queues else ()
        return self._hand


class Configuration:
    """Classifies requests into flows. The mandatory schemas and levels exist even if not stored; a
    schema without a level is ignored. `total` seats are divided among the levels by their shares,
    and the seats of a level evenly among the `processes`. If it `lends`, levels lend seats to each
    other."""

    def __init__(
        self,
        dialect: Dialect,
        total: int,
        processes: int = 1,
        levels: Mapping[str, Mapping[str, Any]] = PRIORITY_LEVELS,
        *,
        lends: bool = False,
    ) -> None:
        self._dialect = dialect
        self.lends = lends
        self._total = total
        self._processes = processes
        self.resized: Callable[[], None] = _nothing  # called when limits may have changed
        self.levels: dict[str, Level] = {}
        self._mandatory = levels
        self._wanted: dict[str, tuple[str, Mapping[str, Any]]] = {
            name: ("", spec) for name, spec in levels.items()
        }
        self._schemas = {name: Schema(name, "", spec) for name, spec in FLOW_SCHEMAS.items()}
        self._used: list[tuple[Schema, Level, bytes]] = []
        self._kept: BoundedCache[tuple[Any, ...], Flow] = BoundedCache(
            _MAX_KEPT, _MAX_BYTES, _LONGEST_KEY
        )
        self.known = self._kept.get
        self._is_loading = False
        self._build()

    # Following stored objects

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Take the stored objects one after the other, and apply them together at the end."""
        self._is_loading = True
        yield
        self._is_loading = False
        self._build()

    def schema_changed(self, change: Change) -> None:
        name = change.name
        if change.after is not None:
            stored = change.after.object()
            uid = stored["metadata"].get("uid", "")
            self._schemas[name] = Schema(name, uid, stored.get("spec") or {})
        elif name in FLOW_SCHEMAS:
            self._schemas[name] = Schema(name, "", FLOW_SCHEMAS[name])
        else:
            self._schemas.pop(name, None)
        self._build()

    def level_changed(self, change: Change) -> None:
        name = change.name
        if change.after is not None:
            stored = change.after.object()
            self._wanted[name] = stored["metadata"].get("uid", ""), stored.get("spec") or {}
        elif name in self._mandatory:
            self._wanted[name] = "", self._mandatory[name]
        else:
            self._wanted.pop(name, None)
        self._build()

    def _build(self) -> None:
        if self._is_loading:
            return
        for name, (uid, spec) in self._wanted.items():
            level = self.levels.get(name)
            if level is None:
                level = self.levels[name] = Level(name)
            level.quiescing = False
            level.read(uid, spec)
        for name, level in list(self.levels.items()):
            if name not in self._wanted:
                level.quiescing = True
                self.drained(level)
        self._divide()
        self._used = [
            (schema, level, self._lines(schema, level))
            for schema in sorted(self._schemas.values(), key=_order)
            if (level := self.levels.get(schema.level)) is not None and not level.quiescing
        ]
        self._kept.clear()
        self.resized()

    def _divide(self) -> None:
        shares = max(sum(level.shares for level in self.levels.values()), 1)
        for level in self.levels.values():
            seats = math.ceil(self._total * level.shares / shares)
            limit = math.ceil(seats / self._processes)
            if self.lends:
                self._set_bounds(level, limit)
            elif level.queues is not None:
                level.queues.reshape(max(1, limit), level.shape, monotonic())
                show_level(level.name, level.queues)
        if self.lends:
            self.adjust(monotonic())

    def _set_bounds(self, level: Level, nominal: int) -> None:
        if level.seats is None:
            level.seats = LevelSeats(level.name, monotonic())
        level.seats.configure(nominal, level.spec, math.ceil(self._total / self._processes))
        if level.shape.hand:
            most = min(math.ceil(nominal * _MAX_PERCENT / 100), nominal // level.shape.hand)
            level.max_seats = max(1, min(most, MAX_SEATS))
        else:
            level.max_seats = MAX_SEATS
        show_level(level.name, level.queues, level.seats)

    def adjust(self, now: float) -> None:
        """Divide the seats by the demand since the last time."""
        seats = [level.seats for level in self.levels.values() if level.seats is not None]
        FAIR_FRACTION.set(adjust(seats, now))
        for level in self.levels.values():
            if level.queues is not None and level.seats is not None:
                level.queues.reshape(level.seats.current, level.shape, now)
        self.resized()

    def _lines(self, schema: Schema, level: Level) -> bytes:
        start = f"x-{self._dialect.marker}-pf-"
        return (
            f"{start}flowschema-uid: {schema.uid}\r\n{start}prioritylevel-uid: {level.uid}\r\n"
        ).encode("latin-1")

    def drained(self, level: Level) -> None:
        """Remove a deleted level that has no requests left."""
        if not level.quiescing or self.levels.get(level.name) is not level:
            return  # it is in use, or another level has its name by now
        if level.queues is None or level.queues.is_idle:
            del self.levels[level.name]
            hide_level(level.name)

    # Classifying requests

    def flow_of(self, user: User, target: Target, key: tuple[Any, ...]) -> Flow:
        """The flow of a request that `known` does not have; caches it."""
        schema, level, lines = self._find(user, target)
        distinguisher = ""
        if schema.by == "ByUser":
            distinguisher = user.name
        elif schema.by == "ByNamespace":
            distinguisher = target.namespace
        flow = Flow(schema, level, distinguisher, lines)
        length = len(target.path) + len(user.name) + sum(map(len, user.groups))
        self._kept.keep(key, flow, length)
        return flow

    def _find(self, user: User, target: Target) -> tuple[Schema, Level, bytes]:
        for used in self._used:
            if used[0].matches(user, target):
                return used
        return next(used for used in self._used if used[0].name == _CATCH_ALL)


def _order(schema: Schema) -> tuple[int, str]:
    return schema.precedence, schema.name


def _nothing() -> None:
    pass


# Shuffle sharding: each flow is assigned a few of the queues, always the same.


def seed_of(schema: str, distinguisher: str) -> int:
    """A 64-bit hash of a flow."""
    digest = sha256(schema.encode() + b"\0" + distinguisher.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest()[:8], "little")


def hand(seed: int, queues: int, size: int) -> tuple[int, ...]:
    """`size` different queues out of `queues`. Two flows rarely share a hand, so that a flow that
    fills all of its queues leaves others at least one."""
    dealt: list[int] = []
    for left in range(queues, queues - size, -1):
        seed, card = divmod(seed, left)
        for taken in sorted(dealt):  # `card` indexes the queues not yet dealt
            if card >= taken:
                card += 1
        dealt.append(card)
    return tuple(dealt)
