"""Which queues a flow may wait in: a few of many, the same ones each time."""

from __future__ import annotations

from hashlib import sha256


def seed_of(schema: str, distinguisher: str) -> int:
    """A number of 64 bits that stands for a flow."""
    digest = sha256(schema.encode() + b"\0" + distinguisher.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest()[:8], "little")


def hand(seed: int, queues: int, size: int) -> tuple[int, ...]:
    """`size` different ones of so many queues. Two flows rarely have the same hand, so that one
    that fills all of its queues leaves others a queue of their own."""
    dealt: list[int] = []
    for left in range(queues, queues - size, -1):
        seed, card = divmod(seed, left)
        for taken in sorted(dealt):  # the card is the number of a queue that is left
            if card >= taken:
                card += 1
        dealt.append(card)
    return tuple(dealt)
