"""All changes as they happen, on one connection."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from support.client import Client, Event, Query, Watch
from support.history import Granted, alice, column, custom, history, revision
from support.namespaces import Space
from support.waiting import eventually


def feed(space: Space, client: Client | None = None, **query: Query) -> Watch:
    """The feed of the test's namespace."""
    return (client or space.client).watch("/history", namespace=space.name, **query)


def until(watch: Watch, wanted: Callable[[Event], bool]) -> list[Event]:
    """Return every event up to the first that matches."""
    results = [watch.next()]
    while not wanted(results[-1]):
        results.append(watch.next())
    return results


def named(name: str) -> Callable[[Event], bool]:
    return lambda event: event.object.get("name") == name


def test_a_change_is_told_with_who_made_it_and_without_the_object(space: Space) -> None:
    with feed(space) as watch:
        space.config_maps.create("a", data={"x": "1"})
        space.config_maps.patch("a", {"data": {"x": "2"}})
        events = until(watch, lambda event: event.type == "MODIFIED" and named("a")(event))
        added, changed = filter(named("a"), events)
    assert (added.type, added.object["user"], added.object["kind"]) == (
        "ADDED",
        "admin",
        "ConfigMap",
    )
    assert changed.object["changed"] == ["data.x"]
    assert "data" not in changed.object
    assert changed.object["type"] == "MODIFIED"


def test_all_kinds_come_on_one_connection_in_their_order(space: Space) -> None:
    with space.client.watch("/history") as watch:
        created = [space.secrets.create("mine"), space.config_maps.create("mine")]
        space.secrets.remove("mine")
        events = until(watch, lambda event: event.type == "DELETED" and named("mine")(event))
    received = [event for event in events if event.object.get("namespace") == space.name]
    mine = [event.object for event in received if event.object["name"] == "mine"]
    assert [item["kind"] for item in mine] == ["Secret", "ConfigMap", "Secret"]
    assert [item["resourceVersion"] for item in mine[:2]] == list(map(revision, created))


def test_a_kind_that_is_defined_meanwhile_is_told_of(space: Space) -> None:
    with feed(space) as watch:
        custom(space).make("later")
        assert until(watch, named("later"))[-1].object["kind"] == "Widget"


def test_the_feed_begins_after_a_revision_that_is_named(space: Space) -> None:
    secret = space.secrets.create("a")
    space.secrets.create_all("b", "c")
    with feed(space, resourceVersion=revision(secret)) as watch:
        events = until(watch, named("c"))
        space.secrets.create("d")
        events += until(watch, named("d"))
    names = [event.object["name"] for event in events if event.object["kind"] == "Secret"]
    assert names == ["b", "c", "d"]
    whole = column(history(space.secrets), "resourceVersion")
    resource_versions = [
        e.object["resourceVersion"] for e in events if e.object["kind"] == "Secret"
    ]
    assert resource_versions == whole[1:]


def test_other_namespaces_are_not_told_of(space: Space) -> None:
    other = Space(space.server, space.client)
    with feed(space) as watch:
        other.secrets.create("elsewhere")
        space.secrets.create("here")
        assert "elsewhere" not in [event.object["name"] for event in until(watch, named("here"))]


def test_only_what_somebody_may_watch_is_told(space: Space) -> None:
    Granted(space, "configmaps", "watch")
    with feed(space, alice(space)) as watch:
        space.secrets.create("hidden")
        space.config_maps.create("shown")
        assert {event.object["kind"] for event in until(watch, named("shown"))} == {"ConfigMap"}


def test_a_right_that_is_taken_away_is_heeded_at_once(space: Space) -> None:
    maps, secrets = Granted(space, "configmaps", "watch"), Granted(space, "secrets", "watch")
    with feed(space, alice(space)) as watch:
        space.secrets.create("before")
        until(watch, named("before"))
        secrets.take_away()
        space.secrets.create("hidden")
        space.config_maps.create("shown")
        events = until(watch, named("shown"))
        assert not [event for event in events if event.object["kind"] == "Secret"]
        Granted(space, "secrets", "watch")
        maps.take_away()
        space.config_maps.create("hidden")
        space.secrets.create("after")
        assert [event.object["name"] for event in until(watch, named("after"))] == ["after"]


def test_the_feed_ends_when_its_time_is_up_and_has_bookmarks(kubernetes: Space) -> None:
    secret = kubernetes.secrets.create("a")
    with feed(kubernetes, timeoutSeconds=3) as watch:
        marks = [event for event in watch.rest() if event.type == "BOOKMARK"]
    assert int(marks[-1].object["resourceVersion"]) >= int(revision(secret))


def test_noise_is_told_where_it_is_asked_for(space: Space) -> None:
    leases = space.collection("leases", "coordination.@")
    with feed(space) as quiet, feed(space, all="true") as loud:
        leases.create("noise")
        space.secrets.create("end")
        assert "noise" not in [event.object["name"] for event in until(quiet, named("end"))]
        assert "noise" in [event.object["name"] for event in until(loud, named("end"))]


def test_a_revision_that_is_no_number_is_refused(space: Space) -> None:
    answer = space.client.get("/history", watch="true", resourceVersion="x")
    assert answer.body["reason"] == "BadRequest"


def test_a_reader_that_goes_leaves_nothing_behind(kubernetes: Space) -> None:
    for _ in range(120):  # more than may listen at once
        with feed(kubernetes) as watch:
            assert watch.status == 200
    kubernetes.secrets.create("a")


def test_one_user_leaves_room_for_others(kubernetes: Space) -> None:
    eager = kubernetes.server.client("alice-token")
    with ExitStack() as opened:
        while (watch := opened.enter_context(eager.watch("/history"))).status == 200:
            pass
        assert watch.status == 429
        with feed(kubernetes) as other:
            kubernetes.config_maps.create("a")
            assert until(other, named("a"))
    eventually(lambda: _may_listen(eager), "there is room again")


def _may_listen(client: Client) -> bool:
    with client.watch("/history") as watch:
        return watch.status == 200
