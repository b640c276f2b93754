"""Requests leave nothing to the garbage collector, however they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.collected import Collected
from support.namespaces import Space
from support.slow_answers import PRELUDE as SLOW
from support.wire import ADMIN, Wire

MANY = 40


class Watched(Collected):
    """A server with a namespace for the requests."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, ("--request-timeout", "1s"), SLOW)
        self.space = Space(self.server, self.server.client())
        self.space.secrets.create("a")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    watched = Watched(tmp_path_factory.mktemp("garbage"))
    yield watched
    watched.server.stop()


def get(space: Space) -> None:
    assert space.secrets.get("a").status == 200


def create_and_delete(space: Space) -> None:
    space.config_maps.create("x")
    space.config_maps.remove("x")


def not_there(space: Space) -> None:
    assert space.secrets.get("nothing").status == 404


def unauthorized(space: Space) -> None:
    with Wire(space.server) as wire:
        wire.send(b"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n")
        assert wire.status() == 401


def forbidden(space: Space) -> None:
    with Wire(space.server) as wire:
        wire.send(b"GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wire.status() == 403


def invalid(space: Space) -> None:
    assert space.client.post(space.secrets.path, b"{").status == 400


def too_large(space: Space) -> None:
    kind = ("Content-Type: application/json", "Content-Length: 99999999")
    with Wire(space.server).ask(f"POST {space.secrets.path}", *kind) as wire:
        assert wire.status() == 413


def cut_off(space: Space) -> None:
    Wire(space.server).ask(f"POST {space.secrets.path}", "Content-Length: 9", body=b"{").close()


def upgrade(space: Space) -> None:
    with Wire(space.server).ask("GET /healthz", "Connection: Upgrade", "Upgrade: x") as wire:
        assert wire.status() == 200


def malformed(space: Space) -> None:
    with Wire(space.server).send(b"GET\r\n\r\n" + ADMIN) as wire:
        assert wire.status() == 400


def plain(space: Space) -> None:
    with Wire(space.server, tls=False).send(b"GET / HTTP/1.1\r\n\r\n") as wire:
        wire.rest()


def ended_watch(space: Space) -> None:
    with space.secrets.watch(timeoutSeconds=1) as watch:
        watch.rest()


def left_watch(space: Space) -> None:
    with space.secrets.watch() as watch:
        watch.next()


def timed_out(space: Space) -> None:
    with Wire(space.server).ask("GET /version", "X-Hold: 3") as wire:
        assert wire.status() == 504


SLOW_ONES = (ended_watch, timed_out)


@pytest.mark.parametrize(
    "end",
    [
        get, create_and_delete, not_there, unauthorized, forbidden, invalid, too_large, cut_off,
        upgrade, malformed, plain, ended_watch, left_watch, timed_out,
    ],
)  # fmt: skip
def test_requests_leave_nothing_to_the_garbage_collector(
    watched: Watched, end: Callable[[Space], None]
) -> None:
    many = 4 if end in SLOW_ONES else MANY
    for _ in range(3):
        end(watched.space)  # what is made once, by the first
    watched.garbage()
    for _ in range(many):
        end(watched.space)
    watched.space.secrets.list()
    count, what = watched.garbage()
    assert count < many, what
