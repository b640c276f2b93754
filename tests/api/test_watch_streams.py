"""Watch streams: their events, how they end, and how they are resumed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from support.client import Event
from support.namespaces import Space
from support.process import ServerProcess
from support.waiting import eventually


@pytest.mark.both_dialects
def test_creations_changes_and_deletions_are_shown_in_their_order(space: Space) -> None:
    with space.secrets.watch() as watch:
        secret = space.secrets.create("a")
        changed = space.secrets.label("a", x="1")
        space.secrets.remove("a")
        added, modified, deleted = watch.take(3)
    assert (added.type, added.object) == ("ADDED", secret)
    assert (modified.type, modified.object) == ("MODIFIED", changed)
    assert deleted.type == "DELETED"


def test_a_deletion_shows_the_last_content_at_a_new_version(space: Space) -> None:
    with space.secrets.watch() as watch:
        secret = space.secrets.create("a", labels={"x": "1"})
        space.secrets.remove("a")
        deleted = watch.take(2)[1]
    assert int(deleted.version) > int(secret["metadata"]["resourceVersion"])
    assert {**deleted.object["metadata"], "resourceVersion": ""} == {
        **secret["metadata"],
        "resourceVersion": "",
    }


def test_the_end_of_a_two_phase_deletion_shows_the_content_before_the_last_change(
    space: Space,
) -> None:
    space.secrets.create("a", metadata={"finalizers": ["example.com/f"]})
    with space.secrets.watch(resourceVersion=space.secrets.version()) as watch:
        space.secrets.remove("a")
        value = space.secrets.read("a")
        value["metadata"]["finalizers"] = []
        space.secrets.update(value)
        marked, gone = watch.take(2)
    assert marked.type == "MODIFIED"
    assert marked.object["metadata"]["deletionTimestamp"]
    assert gone.type == "DELETED"
    assert gone.object["metadata"]["finalizers"] == ["example.com/f"]
    assert int(gone.version) > int(marked.version)


def test_an_update_that_changes_nothing_is_no_event(space: Space) -> None:
    secret = space.secrets.create("a")
    with space.secrets.watch(resourceVersion=space.secrets.version()) as watch:
        space.secrets.update(secret)
        space.secrets.create("b")
        assert watch.next().brief == ("ADDED", "b")


def test_a_dry_run_is_no_event(space: Space) -> None:
    space.secrets.create("a")
    with space.secrets.watch(resourceVersion=space.secrets.version()) as watch:
        space.client.post(space.secrets.path, {"metadata": {"name": "dry"}}, dryRun="All")
        space.secrets.delete("a", dryRun="All")
        space.secrets.create("b")
        assert watch.next().brief == ("ADDED", "b")


def _labels_tell(space: Space, selector: str, **query: str) -> list[tuple[str, str | None]]:
    """Return the events of an object whose label x becomes 2, then 1, then 1 with another label,
    then 3."""
    version = space.secrets.version()
    with space.secrets.watch(resourceVersion=version, labelSelector=selector, **query) as watch:
        space.secrets.create("a", labels={"x": "2"})
        space.secrets.label("a", x="1")
        space.secrets.label("a", x="1", y="1")
        space.secrets.label("a", x="3")
        space.secrets.remove("a")
        space.secrets.create("end", labels={"x": "1", "z": "1"})
        space.secrets.create("end-2", labels={"x": "2"})
        events: list[Event] = []
        while not events or not events[-1].name.startswith("end"):
            events.append(watch.next())
    return [(event.type, event.object["metadata"]["labels"].get("x")) for event in events[:-1]]


def test_objects_that_enter_a_label_selector_are_added_and_deleted_when_they_leave(
    space: Space,
) -> None:
    assert _labels_tell(space, "x=1") == [("ADDED", "1"), ("MODIFIED", "1"), ("DELETED", "1")]


def test_leaving_a_selector_shows_the_content_before_the_change(space: Space) -> None:
    assert _labels_tell(space, "x!=1") == [
        ("ADDED", "2"),
        ("DELETED", "2"),
        ("ADDED", "3"),
        ("DELETED", "3"),
    ]


@pytest.mark.both_dialects
def test_leaving_a_selector_carries_the_version_of_the_change(space: Space) -> None:
    space.secrets.create("a", labels={"x": "1"})
    with space.secrets.watch(labelSelector="x=1") as watch:
        watch.next()
        changed = space.secrets.label("a", x="2")
        left = watch.next()
    assert (left.type, left.version) == ("DELETED", changed["metadata"]["resourceVersion"])
    assert left.object["metadata"]["labels"] == {"x": "1"}


@pytest.mark.both_dialects
def test_the_past_is_selected_like_the_present(space: Space) -> None:
    version = space.secrets.version()
    space.secrets.create("a", labels={"x": "1"})
    space.secrets.label("a", x="2")
    space.secrets.label("a", x="1")
    space.secrets.remove("a")
    with space.secrets.watch(
        resourceVersion=version, labelSelector="x=1", timeoutSeconds=1
    ) as watch:
        kinds = [event.type for event in watch]
    assert kinds == ["ADDED", "DELETED", "ADDED", "DELETED"]


def test_objects_enter_and_leave_a_field_selector(space: Space) -> None:
    path = f"/api/v1/namespaces/{space.name}/secrets"
    with space.client.watch(path, fieldSelector="metadata.name=b") as watch:
        space.secrets.create("a")
        space.secrets.create("b")
        space.secrets.remove("a")
        space.secrets.remove("b")
        assert [event.brief for event in watch.take(2)] == [("ADDED", "b"), ("DELETED", "b")]


def test_a_field_that_changes_makes_an_object_enter_and_leave(space: Space) -> None:
    space.ready_for_pods()
    pods = space.collection("pods")
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    with pods.watch(fieldSelector="status.phase=Running") as watch:
        pod = pods.create("a", spec=spec)
        for phase in ("Running", "Succeeded"):
            pod["status"]["phase"] = phase
            answer = space.client.put(pods.item("a", "status"), pod)
            assert answer.status == 200, answer.text
            pod = answer.body
        assert [event.type for event in watch.take(2)] == ["ADDED", "DELETED"]


def test_a_watch_ends_when_its_time_is_up(space: Space) -> None:
    started = time.monotonic()
    with space.secrets.watch(timeoutSeconds=1) as watch:
        assert watch.rest() == []
    assert 0.8 < time.monotonic() - started < 5


def test_bookmarks_come_before_a_timed_out_watch_ends(kubernetes: Space) -> None:
    version = kubernetes.secrets.version()
    with kubernetes.secrets.watch(
        resourceVersion=version, timeoutSeconds=3, allowWatchBookmarks="true"
    ) as watch:
        secret = kubernetes.secrets.create("a")
        events = watch.rest()
    assert [event.type for event in events] == ["ADDED", "BOOKMARK"]
    bookmark = events[-1].object
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("Secret", "v1")
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(
        secret["metadata"]["resourceVersion"]
    )
    assert {key: value for key, value in bookmark["metadata"].items() if value} == {
        "resourceVersion": bookmark["metadata"]["resourceVersion"]
    }


def test_a_bookmark_holds_nothing_but_a_version(cluster: Space) -> None:
    sets = cluster.collection("statefulsets", "apps")
    with sets.watch(timeoutSeconds=3, allowWatchBookmarks="true") as watch:
        [bookmark] = watch.rest()
    version = {"resourceVersion": bookmark.version}
    assert bookmark.object == {"kind": "StatefulSet", "apiVersion": "apps/v1", "metadata": version}


def test_bookmarks_come_again_and_again(fresh_server: Callable[..., ServerProcess]) -> None:
    """About once a minute; here, a minute is short."""
    server = fresh_server(prelude="import fairlead.api.watch as w; w.BOOKMARK_EVERY = 0.2")
    space = Space(server, server.client())
    with space.secrets.watch(allowWatchBookmarks="true", timeoutSeconds=60) as watch:
        versions = [int(watch.next().version) for _ in range(3)]
        secret = space.secrets.create("a")
        while watch.next().type == "BOOKMARK":
            pass
        after = watch.next()
    assert versions == sorted(versions)
    assert after.type == "BOOKMARK"
    assert int(after.version) >= int(secret["metadata"]["resourceVersion"])


def test_no_bookmark_lies_before_what_the_client_knows(kubernetes: Space) -> None:
    known = int(kubernetes.secrets.version()) + 1_000_000  # as another server may have told
    with kubernetes.secrets.watch(
        resourceVersion=known, timeoutSeconds=1, allowWatchBookmarks="true"
    ) as watch:
        assert watch.rest() == []


def test_bookmarks_come_only_when_asked_for(kubernetes: Space) -> None:
    with kubernetes.secrets.watch(timeoutSeconds=3) as watch:
        assert watch.rest() == []


def test_a_bookmark_tells_of_other_kinds_progress(cluster: Space) -> None:
    """A watcher of a quiet resource moves on with the rest of the server."""
    with cluster.secrets.watch(timeoutSeconds=3, allowWatchBookmarks="true") as watch:
        for number in range(5):
            cluster.config_maps.create(f"c{number}")
        newest = cluster.config_maps.version()
        [bookmark] = watch.rest()
    assert int(bookmark.version) >= int(newest)


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadata"])
def test_bookmarks_come_in_the_representation_of_the_stream(kubernetes: Space, form: str) -> None:
    accept = f"application/json;as={form};g={kubernetes.dialect.meta_group};v=v1"
    with kubernetes.client.watch(
        kubernetes.secrets.path,
        headers={"Accept": accept},
        timeoutSeconds=3,
        allowWatchBookmarks="true",
    ) as watch:
        [bookmark] = watch.rest()
    assert (bookmark.type, bookmark.object["kind"]) == ("BOOKMARK", form)


def test_resuming_from_a_bookmark_misses_nothing(cluster: Space) -> None:
    with cluster.secrets.watch(timeoutSeconds=3, allowWatchBookmarks="1") as watch:
        cluster.secrets.create("a")
        last = watch.rest()[-1]
    assert last.type == "BOOKMARK"
    cluster.secrets.create("b")
    with cluster.secrets.watch(resourceVersion=last.version) as watch:
        assert watch.next().brief == ("ADDED", "b")


def test_all_watchers_see_the_same_order(space: Space) -> None:
    watches = [space.secrets.watch() for _ in range(3)]
    watches.append(space.everywhere("secrets").watch(resourceVersion=space.secrets.version()))
    writers = [space.client.clone() for _ in range(4)]
    for number in range(20):
        writer = writers[number % 4]
        writer.post(space.secrets.path, {"metadata": {"name": f"s{number:02}"}})
        writer.delete(space.secrets.item(f"s{number:02}")) if number % 3 == 0 else None
    space.secrets.create("zz")
    seen = []
    for watch in watches:
        with watch:
            seen.append([(event.brief, event.version) for event in watch.until("zz")])
    for writer in writers:
        writer.close()
    assert len(seen[0]) == 28
    assert all(order == seen[0] for order in seen)


@pytest.mark.both_dialects
def test_versions_rise_along_the_stream(space: Space) -> None:
    with space.secrets.watch() as watch:
        for number in range(10):
            space.secrets.create(f"s{number}")
            space.secrets.label(f"s{number}", x="1")
        versions = [int(event.version) for event in watch.take(20)]
    assert versions == sorted(set(versions))


def test_reconnecting_from_the_last_seen_version_has_no_gap_and_no_duplicate(
    space: Space,
) -> None:
    """Read a few events, drop the connection, resume, while objects keep changing."""
    version = space.secrets.version()
    expected = []
    for number in range(12):
        space.secrets.create(f"s{number:02}")
        expected.append(("ADDED", f"s{number:02}"))
        if number % 2:
            space.secrets.remove(f"s{number:02}")
            expected.append(("DELETED", f"s{number:02}"))
    seen: list[tuple[str, str]] = []
    while len(seen) < len(expected):
        with space.secrets.watch(resourceVersion=version) as watch:
            for event in watch.take(min(3, len(expected) - len(seen))):
                seen.append(event.brief)
                version = event.version
    assert seen == expected


def test_list_then_watch_has_no_gap(space: Space) -> None:
    space.secrets.create("a")
    listed = space.secrets.list()
    space.secrets.create("b")
    with space.secrets.watch(resourceVersion=listed.version) as watch:
        assert watch.next().brief == ("ADDED", "b")


def test_a_page_can_be_watched_from_too(space: Space) -> None:
    space.secrets.create_all("a", "b")
    page = space.secrets.list(limit=1)
    space.secrets.create("c")
    with space.secrets.watch(resourceVersion=page.version) as watch:
        assert watch.next().brief == ("ADDED", "c")


@pytest.mark.both_dialects
def test_a_watch_as_a_table_has_columns_in_its_first_event_only(space: Space) -> None:
    space.secrets.create_all("a", "b")
    accept = f"application/json;as=Table;g={space.dialect.meta_group};v=v1"
    with space.client.watch(space.secrets.path, headers={"Accept": accept}) as watch:
        first, second = watch.take(2)
    assert first.object["kind"] == "Table"
    assert first.object["columnDefinitions"]
    assert not second.object["columnDefinitions"]
    assert second.object["rows"][0]["cells"][0] == "b"


@pytest.mark.both_dialects
def test_a_watch_of_metadata_shows_metadata_only(space: Space) -> None:
    space.secrets.create("a", data={"k": "dg=="})
    accept = f"application/json;as=PartialObjectMetadata;g={space.dialect.meta_group};v=v1"
    with space.client.watch(space.secrets.path, headers={"Accept": accept}) as watch:
        event = watch.next()
    assert event.object["kind"] == "PartialObjectMetadata"
    assert set(event.object) == {"kind", "apiVersion", "metadata"}
    assert event.name == "a"


@pytest.mark.both_dialects
def test_streams_are_json_and_nothing_else(space: Space) -> None:
    answer = space.client.get(
        space.secrets.path, headers={"Accept": "application/yaml"}, watch=1, timeoutSeconds=1
    )
    assert answer.status == 406
    assert answer.message == (
        "only the following media types are accepted: application/json;stream=watch,"
        f" {space.dialect.protobuf_media_type};stream=watch"
    )


def test_a_pretty_watch_is_still_one_document_a_line(space: Space) -> None:
    secret = space.secrets.create("a")
    with space.secrets.watch(pretty="true") as watch:
        assert watch.next().object == secret


@pytest.mark.both_dialects
def test_a_client_that_leaves_is_forgotten(space: Space) -> None:
    """The gauge of watches decreases after connections are closed."""

    def watchers() -> float:
        group = space.dialect.group_name("coordination.@")
        prefix = f'apiserver_registered_watchers{{resource="leases.{group}"}}'
        for line in space.client.get("/metrics").text.splitlines():
            if line.startswith(prefix):
                return float(line.split()[-1])
        return 0.0

    leases = space.collection("leases", "coordination.@")
    before = watchers()
    watches = [leases.watch() for _ in range(5)]
    assert watchers() == before + 5
    for watch in watches:
        watch.close()
    eventually(lambda: watchers() == before, "the watchers are forgotten")


@pytest.mark.parametrize(("seconds", "types"), [("1", []), ("2", []), ("3", ["BOOKMARK"])])
def test_a_watch_that_ends_at_once_gets_no_bookmark(
    kubernetes: Space, seconds: str, types: list[str]
) -> None:
    with kubernetes.secrets.watch(allowWatchBookmarks="true", timeoutSeconds=seconds) as watch:
        assert [event.type for event in watch.rest()] == types


@pytest.mark.both_dialects
def test_a_watch_as_a_table_shows_each_state(space: Space) -> None:
    accept = f"application/json;as=Table;g={space.dialect.meta_group};v=v1"
    with space.client.watch(space.secrets.path, headers={"Accept": accept}) as watch:
        space.secrets.create("a")
        space.secrets.patch("a", {"data": {"k": "dg=="}})
        space.secrets.delete("a")
        events = watch.take(3)
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    rows = [event.object["rows"][0] for event in events]
    assert [row["cells"][2] for row in rows] == [0, 1, 1]
    versions = [event.object["metadata"]["resourceVersion"] for event in events]
    assert versions == [row["object"]["metadata"]["resourceVersion"] for row in rows]
    assert len(set(versions)) == 3
