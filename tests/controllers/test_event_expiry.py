"""Events are deleted some time after their last write."""

from __future__ import annotations

from support.namespaces import Collection
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.waiting import eventually

EVENTS = "/api/v1/namespaces/default/events"
SLACK = 5.0


def _events(server: ServerProcess) -> Collection:
    return Collection(server.client(), EVENTS)


def _create(events: Collection, *names: str) -> None:
    for name in names:
        events.create(name, involvedObject={"namespace": "default"}, reason="Test")


def _moved(server: ServerProcess, seconds: float) -> None:
    """Move the clock and wait until the server shows that it did."""
    probe = Collection(server.client(), "/api/v1/namespaces/default/configmaps")

    def moment() -> str:
        created: str = probe.create("probe")["metadata"]["creationTimestamp"]
        probe.remove("probe")
        return created

    before = moment()
    server.advance(seconds)
    eventually(lambda: moment()[:16] > before[:16], "the clock was moved")


def test_events_go_an_hour_after_they_were_last_written(fresh_server: FreshServer) -> None:
    server = fresh_server(prelude=MOVABLE_CLOCK)
    events = _events(server)
    _create(events, "a", "b", "c")
    with events.watch(fieldSelector="reason=Test", resourceVersion=events.version()) as watch:
        _moved(server, 3000)
        assert events.patch("b", {"count": 2}).status == 200
        _moved(server, 600 + SLACK)
        eventually(lambda: events.names(fieldSelector="reason=Test") == ["b"], "two are gone")
        _moved(server, 3000)
        eventually(lambda: events.names(fieldSelector="reason=Test") == [], "the last is gone")
        seen = [event.brief for event in watch.take(4)]
    assert seen[0] == ("MODIFIED", "b")
    assert sorted(seen[1:3]) == [("DELETED", "a"), ("DELETED", "c")]
    assert seen[3] == ("DELETED", "b")


def test_the_rule_survives_a_restart(fresh_server: FreshServer) -> None:
    server = fresh_server("--event-ttl=30m", prelude=MOVABLE_CLOCK)
    _create(_events(server), "a", "b")
    server.kill()
    server.start()
    events = _events(server)
    assert events.names(fieldSelector="reason=Test") == ["a", "b"]
    _moved(server, 1200)
    assert events.patch("a", {"count": 2}).status == 200
    _moved(server, 600 + SLACK)
    eventually(lambda: events.names(fieldSelector="reason=Test") == ["a"], "the older one is gone")
    server.stop()
    server.start()
    assert _events(server).names(fieldSelector="reason=Test") == ["a"], "gone on disk too"


def test_events_that_outlive_the_server_go_when_it_starts(fresh_server: FreshServer) -> None:
    server = fresh_server("--controllers=-*")
    events = _events(server)
    _create(events, *(f"e{number}" for number in range(300)))
    assert len(events.names(fieldSelector="reason=Test")) == 300
    server.stop()
    server.flags = ("--event-ttl=10ms", "--controllers=-*")
    server.start()
    events = _events(server)
    eventually(lambda: events.names(fieldSelector="reason=Test") == [], "all are gone")


def test_without_a_time_they_stay(fresh_server: FreshServer) -> None:
    server = fresh_server("--event-ttl=0", prelude=MOVABLE_CLOCK)
    events = _events(server)
    _create(events, "a")
    _moved(server, 100 * 24 * 3600)
    assert events.names(fieldSelector="reason=Test") == ["a"]
