"""Who is at the other end of a connection."""

from __future__ import annotations

from fairlead.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """`certificates` are the DER certificates that the client sent, its own first; it has proved
    to hold the key of the first. `problem` tells why TLS did not find them good, if so. `address`
    is where it connects from."""

    certificates: tuple[bytes, ...] = ()
    problem: str = ""
    address: str = ""


NOBODY = Peer()
