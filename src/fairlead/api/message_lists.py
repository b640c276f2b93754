"""Encodes lists as protobuf from the encoded fields of their items."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncGenerator, Iterator
from itertools import accumulate
from time import perf_counter

from fairlead.api.streamed_answers import PIECE_BYTES, STEP_SECONDS, Encoded, rest, step_lock
from fairlead.codec.protobuf import envelope_around, writer
from fairlead.codec.types.model import Struct
from fairlead.operations.api import Object
from fairlead.wire.incoming.exchange import Turn


async def message_list(
    encoded: Encoded, struct: Struct, head: Object, fields: Iterator[bytes], turn: Turn | None
) -> AsyncGenerator[bytes]:
    """Yield the pieces of a list with this head. The length comes first, so all items are encoded
    before the first piece is sent; cached items are not copied until then."""
    made = [writer(struct)(head)]
    while True:
        async with step_lock():
            more = _step(fields, made)
        if not more:
            break
        await rest(turn)
    size = sum(map(len, made))
    opening, closing = envelope_around(head["apiVersion"], head["kind"], size)
    encoded.size = len(opening) + size + len(closing)
    made = [opening, *made, closing]
    ends = list(accumulate(map(len, made)))
    start = sent = 0
    while start < len(made):
        end = bisect_left(ends, sent + PIECE_BYTES) + 1
        yield b"".join(made[start:end])
        start, sent = end, ends[min(end, len(ends)) - 1]


def _step(fields: Iterator[bytes], made: list[bytes]) -> bool:
    """Append fields until the time of a step is over; returns whether there may be more."""
    end = perf_counter() + STEP_SECONDS
    for field in fields:
        made.append(field)
        if perf_counter() >= end:
            return True
    return False
