"""Watches that begin with the present state and a bookmark (`sendInitialEvents`), release 1.36."""

from __future__ import annotations

import pytest
from support.client import Event, Query
from support.namespaces import Space
from support.process import ServerProcess

STREAM: dict[str, Query] = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
BOOKMARKS: dict[str, Query] = {**STREAM, "allowWatchBookmarks": "true"}
END = {"k8s.io/initial-events-end": "true"}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def is_end(event: Event) -> bool:
    return event.type == "BOOKMARK" and event.object["metadata"].get("annotations") == END


def test_the_state_is_followed_by_a_bookmark_and_by_changes(space_1_36: Space) -> None:
    space_1_36.secrets.create_all("b", "a")
    with space_1_36.secrets.watch(**BOOKMARKS) as watch:
        state, end = watch.take(2), watch.next()
        space_1_36.secrets.create("c")
        assert [event.brief for event in state] == [("ADDED", "a"), ("ADDED", "b")]
        assert is_end(end)
        assert int(end.version) >= max(int(event.version) for event in state)
        assert watch.next().brief == ("ADDED", "c")


@pytest.mark.parametrize("revision", ["0", "1", "present"])
def test_a_revision_that_is_reached_gives_the_present_state(
    space_1_36: Space, revision: str
) -> None:
    secrets = space_1_36.secrets
    secrets.create("a")
    version = secrets.label("a", x="1")["metadata"]["resourceVersion"]
    asked = version if revision == "present" else revision
    with secrets.watch(resourceVersion=asked, **BOOKMARKS) as watch:
        event, end = watch.take(2)
    assert (event.type, event.version, is_end(end)) == ("ADDED", version, True)


def test_a_revision_that_is_not_reached_is_an_error_event(space_1_36: Space) -> None:
    revision = int(space_1_36.secrets.version()) + 10**6
    with space_1_36.secrets.watch(resourceVersion=revision, **BOOKMARKS) as watch:
        event = watch.next()
    assert (event.type, event.object["code"]) == ("ERROR", 504)
    assert event.object["message"].startswith("Timeout: Too large resource version")


def test_without_bookmarks_only_the_state_is_sent(space_1_36: Space) -> None:
    space_1_36.secrets.create("a")
    with space_1_36.secrets.watch(timeoutSeconds=1, **STREAM) as watch:
        assert [event.brief for event in watch] == [("ADDED", "a")]


def test_a_watch_from_any_revision_has_the_bookmark_too(space_1_36: Space) -> None:
    space_1_36.secrets.create("a")
    with space_1_36.secrets.watch(allowWatchBookmarks="true") as watch:
        assert watch.next().brief == ("ADDED", "a")
        assert is_end(watch.next())


def test_no_initial_events_means_changes_only(space_1_36: Space) -> None:
    space_1_36.secrets.create("a")
    query = {**STREAM, "sendInitialEvents": "false"}
    with space_1_36.secrets.watch(**query) as watch:
        space_1_36.secrets.create("b")
        assert watch.next().brief == ("ADDED", "b")


def test_selectors_limit_the_state(space_1_36: Space) -> None:
    space_1_36.secrets.create("a", labels={"x": "1"})
    space_1_36.secrets.create("b")
    with space_1_36.secrets.watch(labelSelector="x", **BOOKMARKS) as watch:
        event, end = watch.take(2)
    assert (event.name, is_end(end)) == ("a", True)


@pytest.mark.parametrize("accept", [TABLE, METADATA])
def test_tables_and_metadata_end_with_the_bookmark(space_1_36: Space, accept: str) -> None:
    space_1_36.secrets.create("a")
    path, client = space_1_36.secrets.path, space_1_36.client
    with client.watch(path, headers={"Accept": accept}, **BOOKMARKS) as watch:
        _, end = watch.take(2)
    shown = end.object["rows"][0]["object"] if accept == TABLE else end.object
    assert shown["metadata"] == {"resourceVersion": end.version, "annotations": END}


def test_protobuf_ends_with_the_bookmark(space_1_36: Space) -> None:
    headers = {"Accept": "application/vnd.kubernetes.protobuf;stream=watch"}
    query = {**BOOKMARKS, "watch": "1", "timeoutSeconds": "1"}
    answer = space_1_36.client.get(space_1_36.secrets.path, headers=headers, **query)
    assert b"BOOKMARK" in answer.content
    assert b"k8s.io/initial-events-end\x12\x04true" in answer.content


@pytest.mark.parametrize(
    ("query", "causes"),
    [
        (
            {"watch": "1", "sendInitialEvents": "true"},
            ["sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
        ),
        (
            {"watch": "1", "resourceVersionMatch": "NotOlderThan"},
            ["resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"],
        ),
        (
            {"watch": "1", "continue": "a", **STREAM},
            ["resourceVersionMatch is forbidden when continue is provided"],
        ),
        ({"sendInitialEvents": "false"}, ["sendInitialEvents is forbidden for list"]),
    ],
)
def test_options_that_do_not_fit_are_refused(
    space_1_36: Space, query: dict[str, Query], causes: list[str]
) -> None:
    refused = space_1_36.secrets.list(**query)
    assert refused.status == 422
    assert [message for _, _, message in refused.causes] == [f"Forbidden: {c}" for c in causes]


def test_release_1_25_ignores_the_parameter(space: Space) -> None:
    assert space.secrets.list(sendInitialEvents="true").status == 200


def test_deletecollection_refuses_initial_events(server_1_36: ServerProcess) -> None:
    client = server_1_36.client()
    refused = client.delete("/api/v1/namespaces/default/secrets", sendInitialEvents="true")
    assert refused.message.endswith("Forbidden: sendInitialEvents is forbidden for list")
