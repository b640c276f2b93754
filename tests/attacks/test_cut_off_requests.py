"""A request with an incomplete body is not executed."""

from __future__ import annotations

import pytest
from support.namespaces import Space
from support.wire import Wire

OPTIONS = b'{"dryRun": ["All"]}'
FRAMINGS = {
    "before the body": ("Content-Length: 19", b""),
    "within the body": ("Content-Length: 19", OPTIONS[:10]),
    "before the chunks": ("Transfer-Encoding: chunked", b""),
    "within a chunk": ("Transfer-Encoding: chunked", b"13\r\n" + OPTIONS[:10]),
    "before the last chunk": ("Transfer-Encoding: chunked", b"13\r\n" + OPTIONS + b"\r\n"),
    "within the trailers": ("Transfer-Encoding: chunked", b"0\r\nA: b"),
}


def settle(space: Space) -> None:
    """Whatever was read before is done when this is answered."""
    for _ in range(3):
        space.secrets.create(f"x{_}")
        space.secrets.remove(f"x{_}")


@pytest.mark.parametrize("where", FRAMINGS)
def test_a_deletion_that_is_cut_off_deletes_nothing(space: Space, where: str) -> None:
    space.secrets.create("a")
    framing, body = FRAMINGS[where]
    for path in (space.secrets.item("a"), space.secrets.path):
        Wire(space.server).ask(f"DELETE {path}", framing, body=body).close()
    settle(space)
    assert space.secrets.names() == ["a"]


def test_a_creation_that_is_cut_off_creates_nothing(space: Space) -> None:
    whole = b'{"metadata": {"name": "a"}}'
    for framing, body in (
        ("Content-Length: 28", whole),
        ("Transfer-Encoding: chunked", b"%x\r\n%b\r\n" % (len(whole), whole)),
    ):
        with Wire(space.server) as wire:
            wire.ask(
                f"POST {space.secrets.path}", framing, "Content-Type: application/json", body=body
            )
    settle(space)
    assert space.secrets.names() == []
