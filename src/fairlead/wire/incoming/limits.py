"""Limits on the resources a client may use."""

from __future__ import annotations

from typing import NamedTuple

KIB, MIB = 1024, 1024 * 1024
MAX_CONNECTIONS, MAX_CONNECTIONS_OF_AN_ADDRESS = 10_000, 5_000


class Limits(NamedTuple):
    """Limits of a server; times are in seconds. A connection holds at most a head, a body, and a
    piece of the answer being sent; the total over all connections is limited as well."""

    head_bytes: int = 64 * KIB
    header_fields: int = 200
    body_bytes: int = 3 * MIB
    chunk_overhead_bytes: int = 64 * KIB  # sizes, extensions, trailers; plus 16 per body byte
    small_body_bytes: int = 4 * KIB  # not counted against the totals
    body_bytes_in_all: int = 64 * MIB  # of requests being read or answered
    body_bytes_of_an_owner: int = 16 * MIB
    waiting_body_bytes_of_an_owner: int = 8 * MIB  # received of bodies that wait for memory
    unwanted_body_bytes: int = 64 * KIB  # buffered before the application reads the body
    skipped_body_bytes: int = 256 * KIB  # skipped after an answer that did not need them
    unread_bytes: int = 4 * KIB  # write buffer size at which writing pauses
    unread_bytes_in_all: int = 64 * MIB  # of all connections whose clients do not read
    linger_bytes: int = 192 * MIB  # discarded after a refusal, so that the client can read it

    handshake_seconds: float = 10.0
    head_seconds: float = 30.0
    request_seconds: float = 60.0  # from the head to the end of the answer, the body included
    idle_seconds: float = 120.0
    unread_seconds: float = 30.0
    linger_seconds: float = 10.0

    connections: int = MAX_CONNECTIONS
    connections_of_an_address: int = MAX_CONNECTIONS_OF_AN_ADDRESS

    @property
    def tick(self) -> float:
        """Seconds between two checks of deadlines."""
        times = (
            self.handshake_seconds, self.head_seconds, self.request_seconds, self.idle_seconds,
            self.unread_seconds, self.linger_seconds,
        )  # fmt: skip
        return min(1.0, max(0.02, min(times) / 4))
