"""EventRateLimit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.admission import USER, World, refused

from fairlead.admission.configuration import FLAG
from fairlead.admission.plugins.event_rate_limit import EventRateLimit
from fairlead.auth.authentication.user import User
from fairlead.codec.configuration_files import ConfigurationError, Section

Object = dict[str, Any]
EVENTS, NEW_EVENTS = "core/v1/events", "events/v1/events"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _limiting(*limits: Object, clock: Clock | None = None) -> EventRateLimit:
    whole = [{"qps": 1, "burst": 1, **limit} for limit in limits]
    return EventRateLimit(Section({"limits": whole}, Path("f"), FLAG), clock or Clock())


def _event(**about: str) -> Object:
    return {
        "metadata": {"namespace": about.get("namespace", "ns")},
        "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p", **about},
        "source": {"component": "scheduler", "host": "h"},
    }


def _limit_reached(kind: str, key: str) -> Any:
    return refused(f"Too many requests: limit reached on type {kind} for key {key}", 429)


def test_a_bucket_is_full_at_first_and_fills_again() -> None:
    clock, world = Clock(), World()
    plugin = _limiting({"type": "Server", "qps": 2, "burst": 3}, clock=clock)
    for _ in range(3):
        world.create(plugin, EVENTS, _event())
    with _limit_reached("Server", ""):
        world.create(plugin, EVENTS, _event())
    clock.now += 0.5
    world.create(plugin, EVENTS, _event())
    with _limit_reached("Server", ""):
        world.update(plugin, EVENTS, _event(), _event())
    clock.now += 1000
    for _ in range(3):
        world.create(plugin, EVENTS, _event())
    with _limit_reached("Server", ""):
        world.create(plugin, EVENTS, _event())


def test_namespaces_are_counted_apart() -> None:
    world, plugin = World(), _limiting({"type": "Namespace"})
    world.create(plugin, EVENTS, _event())
    world.create(plugin, EVENTS, _event(namespace="other"))
    with _limit_reached("Namespace", "ns"):
        world.create(plugin, EVENTS, _event())


def test_users_are_counted_apart() -> None:
    world, plugin = World(), _limiting({"type": "User"})
    world.create(plugin, EVENTS, _event())
    world.create(plugin, EVENTS, _event(), User("joe"))
    with _limit_reached("User", USER.name):
        world.create(plugin, EVENTS, _event())


def test_what_an_event_is_about_is_counted_apart() -> None:
    world, plugin = World(), _limiting({"type": "SourceAndObject"})
    world.create(plugin, EVENTS, _event())
    for other in ({"name": "q"}, {"kind": "Node"}, {"uid": "1"}, {"apiVersion": "v1"}):
        world.create(plugin, EVENTS, _event(**other))
    with _limit_reached("SourceAndObject", "schedulerhPodnsp1v1"):
        for _ in range(2):
            world.create(plugin, EVENTS, _event(uid="1", apiVersion="v1"))


def test_both_names_of_events_are_limited_together() -> None:
    world, plugin = World(), _limiting({"type": "Server"})
    world.create(plugin, NEW_EVENTS, _event())
    with _limit_reached("Server", ""):
        world.create(plugin, EVENTS, _event())


def test_every_limit_counts_what_another_refuses() -> None:
    clock, world = Clock(), World()
    plugin = _limiting({"type": "Namespace"}, {"type": "Server", "burst": 2, "qps": 1}, clock=clock)
    world.create(plugin, EVENTS, _event())
    with _limit_reached("Namespace", "ns"):
        world.create(plugin, EVENTS, _event())
    with _limit_reached("Server", ""):
        world.create(plugin, EVENTS, _event(namespace="other"))


def test_dry_runs_deletions_and_other_kinds_are_free() -> None:
    world, plugin = World(), _limiting({"type": "Server"})
    for _ in range(3):
        world.create(plugin, EVENTS, _event(), dry_run=True)
        world.delete(plugin, EVENTS, _event())
        world.create(plugin, "core/v1/configmaps", {"metadata": {}})
    world.create(plugin, EVENTS, _event())


def test_the_key_unused_for_longest_is_forgotten_first() -> None:
    world, plugin = World(), _limiting({"type": "User", "cacheSize": 2})
    for name in ("a", "b", "c", "a"):  # by the fourth, a's bucket is new again
        world.create(plugin, EVENTS, _event(), User(name))
    with _limit_reached("User", "c"):
        world.create(plugin, EVENTS, _event(), User("c"))


def test_a_refusal_is_short_whatever_the_event_says() -> None:
    world, plugin = World(), _limiting({"type": "SourceAndObject"})
    world.create(plugin, EVENTS, _event(name="x" * 100_000))
    with pytest.raises(Exception, match="Too many requests") as refusal:
        world.create(plugin, EVENTS, _event(name="x" * 100_000))
    assert len(str(refusal.value)) < 5000


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"type": "Pod"}, r'type: "Pod" is not one of Server, Namespace, User, SourceAndObject'),
        ({"type": "Server", "qps": 0}, "qps: must be positive"),
        ({"type": "Server", "burst": -1}, "burst: must be positive"),
        ({"type": "User", "cacheSize": -1}, "cacheSize: must not be negative"),
    ],
)
def test_limits_are_checked_at_start(limit: Object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"f: limits\[1\]\.{message}"):
        _limiting({"type": "Server"}, limit)
    with pytest.raises(ConfigurationError, match="f: limits: must not be empty"):
        _limiting()
