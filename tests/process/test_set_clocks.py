"""A running server whose wall clock is set back by an hour, and forward by a day."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.client import Client
from support.namespaces import Space
from support.process import ServerProcess
from support.set_clocks import SetClock, needs_faketime

pytestmark = needs_faketime
HOUR, DAY = 3600, 24 * 3600
_TICKS = os.sysconf("SC_CLK_TCK")


class Place:
    """The server, its clock, and an event, a token and a lease of it."""

    def __init__(self, server: ServerProcess, clock: SetClock) -> None:
        self.server, self.clock = server, clock
        self.space = Space(server, server.client())
        self.space.furnished()
        self.events = self.space.collection("events")
        about = {"kind": "Namespace", "name": self.space.name, "namespace": self.space.name}
        self.events.create("event", involvedObject=about, reason="Test", type="Normal")
        self.leases = self.space.collection("leases", "coordination.@")
        self.leases.create("lease", spec={"holderIdentity": "me", "leaseDurationSeconds": 15})

    def token(self) -> str:
        accounts = self.space.collection("serviceaccounts")
        request = {"spec": {"expirationSeconds": HOUR}}
        answer = self.space.client.post(accounts.item("default", "token"), request)
        assert answer.status == 201, answer.text
        return str(answer.body["status"]["token"])

    def uses(self, token: str) -> int:
        return self.server.client(token).get("/version").status

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def is_calm(self) -> bool:
        """Whether the server, asked nothing for a second, does nearly nothing."""
        before = self.cpu_seconds()
        time.sleep(1)
        return self.cpu_seconds() - before < 0.5

    def works(self) -> None:
        """Controllers react at once, watches tell, objects carry the time that the clock shows."""
        client: Client = self.space.client
        assert client.get("/readyz").status == 200
        other = Space(self.server, client)
        other.furnished()
        with other.secrets.watch() as watch:
            other.secrets.create("s")
            assert watch.next().name == "s"

    def hours_ahead(self) -> int:
        created = self.space.secrets.create(f"s-{time.monotonic_ns()}")["metadata"]
        stamp = datetime.fromisoformat(created["creationTimestamp"])
        return round((stamp - datetime.now(UTC)).total_seconds() / HOUR)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    server = ServerProcess(tmp_path)
    clock = SetClock(server)
    server.start()
    try:
        yield Place(server, clock)
    finally:
        server.kill()


def test_clock_set_back_by_an_hour_expires_nothing_and_stops_nothing(place: Place) -> None:
    place.clock.set(-HOUR)
    assert place.hours_ahead() == -1
    place.works()
    assert place.uses(place.token()) == 200
    assert place.events.get("event").status == 200
    assert place.leases.get("lease").status == 200
    assert place.is_calm()


def test_clock_set_forward_by_a_day_ends_tokens_and_neither_events_nor_leases(place: Place) -> None:
    token = place.token()
    assert place.uses(token) == 200
    place.clock.set(DAY)
    assert place.hours_ahead() == 24
    place.works()
    assert place.uses(token) == 401
    assert place.uses(place.token()) == 200
    assert place.events.get("event").status == 200  # kept for an hour that passes
    assert place.leases.get("lease").status == 200
    assert place.is_calm()
    place.clock.set(0)
    place.works()
    assert place.events.get("event").status == 200
