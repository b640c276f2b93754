"""How much of everything a client may use."""

from __future__ import annotations

from fairlead.base.records import dataclass

KIB, MIB = 1024, 1024 * 1024
MOST_CONNECTIONS, MOST_CONNECTIONS_OF_AN_ADDRESS = 10_000, 5_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Times are in seconds. A connection holds at most a head, a body, and a piece of the answer
    that is being sent; what all connections hold is bounded as well."""

    head_bytes: int = 64 * KIB
    header_fields: int = 200
    body_bytes: int = 3 * MIB
    chunk_overhead_bytes: int = 64 * KIB  # sizes, extensions and trailers, beside 16 a byte of body
    small_body_bytes: int = 4 * KIB  # which are not counted
    body_bytes_in_all: int = 64 * MIB  # of requests that are being read or answered
    body_bytes_of_an_owner: int = 16 * MIB
    waiting_body_bytes_of_an_owner: int = 8 * MIB  # that have come of bodies there is no room for
    unwanted_body_bytes: int = 64 * KIB  # taken in before the application asks for the body
    skipped_body_bytes: int = 256 * KIB  # read past after an answer that did not need them
    unread_bytes: int = 4 * KIB  # that may wait to be sent before nothing more is written
    unread_bytes_in_all: int = 64 * MIB  # of all connections whose clients do not read
    linger_bytes: int = 192 * MIB  # thrown away after a refusal, so that the client sees it

    handshake_seconds: float = 10.0
    head_seconds: float = 30.0
    request_seconds: float = 60.0  # from the head to the end of the answer, the body included
    idle_seconds: float = 120.0
    unread_seconds: float = 30.0
    linger_seconds: float = 10.0

    connections: int = MOST_CONNECTIONS
    connections_of_an_address: int = MOST_CONNECTIONS_OF_AN_ADDRESS

    @property
    def tick(self) -> float:
        """How often deadlines are looked at."""
        times = (
            self.handshake_seconds, self.head_seconds, self.request_seconds, self.idle_seconds,
            self.unread_seconds, self.linger_seconds,
        )  # fmt: skip
        return min(1.0, max(0.02, min(times) / 4))
