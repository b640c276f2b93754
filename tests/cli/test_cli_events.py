"""`fairlead events`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.commands import Commands
from support.following import Following


def happened(fairlead: Commands, name: str, ago: float = 60, **fields: Any) -> None:
    """Create an event, by default of the config map `web`."""
    space = fairlead.space
    when = (datetime.now(UTC) - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "namespace": space.name}
    settings = {
        "involvedObject": about,
        "reason": "Tried",
        "message": "it works\n",
        "type": "Normal",
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }
    space.collection("events").create(name, **{**settings, **fields})


def other(fairlead: Commands, kind: str, name: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": kind, "name": name, "namespace": fairlead.space.name}


def test_events_are_shown_by_when_they_were_seen_last(fairlead: Commands) -> None:
    happened(fairlead, "b", 240)
    happened(fairlead, "a", 600, type="Warning", message="\x1b[31mred", count=3)
    lines = fairlead("events").splitlines()
    assert lines[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert [line.split()[-1] for line in lines[1:]] == ["^[[31mred", "works"]
    assert lines[1].startswith("10m (x3 over 10m)   Warning   Tried    ConfigMap/web   ")
    assert lines[2].startswith("4m")
    everywhere = fairlead("events", "--no-headers", "-A", "--types=warning").splitlines()
    assert fairlead.space.name in [line.split()[0] for line in everywhere]


def test_events_of_one_object_and_of_one_type(fairlead: Commands) -> None:
    happened(fairlead, "a")
    happened(fairlead, "b", involvedObject=other(fairlead, "Secret", "web"), type="Warning")
    assert "ConfigMap/web" in fairlead("events", "--for", "cm/web")
    assert "Secret/web" not in fairlead("events", "--for", "cm/web")
    assert fairlead("events", "--types", "Warning", "--no-headers").count("\n") == 1
    assert fairlead("events", "--for", "cm/web", "-o", "name") == "event/a\n"
    assert fairlead("events", "--for", "cm/web", "-o", "jsonpath={.items[*].reason}") == "Tried"


def test_that_there_are_none_is_said(fairlead: Commands) -> None:
    ran = fairlead.run("events", "--for", "cm/web")
    assert ran == (0, "", f"No events found in {fairlead.space.name} namespace.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--types=Odd"], "error: --types takes Normal, Warning or both\n"),
        (["--for=web"], "error: --for takes one object, such as pod/web\n"),
        (["--for=qqqq/web"], 'error: the server does not serve "qqqq"\n'),
    ],
)
def test_what_makes_no_sense_is_an_error(
    fairlead: Commands, words: list[str], message: str
) -> None:
    ran = fairlead.run("events", *words)
    assert (ran.code, ran.errors) == (1, message)


def test_events_can_be_followed(fairlead_kubernetes: Commands) -> None:
    happened(fairlead_kubernetes, "a", reason="First")
    with Following(fairlead_kubernetes, "events", "-w", "--no-headers") as following:
        assert "First" in following.line()
        happened(fairlead_kubernetes, "b", reason="Second")
        assert "Second" in following.line()
        assert following.interrupt() == 130
        assert following.errors.empty()
