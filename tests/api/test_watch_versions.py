"""The watch table of document 1: where a watch starts and what it shows first."""

from __future__ import annotations

import pytest
from support.client import Watch
from support.namespaces import Space


def expect_only(space: Space, watch: Watch, *events: tuple[str, str]) -> None:
    """Check that the stream has only these events before the next change."""
    space.secrets.create("zz-sentinel")
    briefs = [event.brief for event in watch.until("zz-sentinel")]
    assert briefs == [*events, ("ADDED", "zz-sentinel")]


def test_an_unset_version_starts_with_everything_that_exists(space: Space) -> None:
    space.secrets.create_all("b", "a")
    with space.secrets.watch() as watch:
        expect_only(space, watch, ("ADDED", "a"), ("ADDED", "b"))


def test_version_0_starts_with_everything_that_exists(space: Space) -> None:
    space.secrets.create_all("b", "a")
    with space.secrets.watch(resourceVersion="0") as watch:
        expect_only(space, watch, ("ADDED", "a"), ("ADDED", "b"))


def test_the_initial_objects_are_whole_and_at_their_own_versions(space: Space) -> None:
    secret = space.secrets.create("a", data={"k": "dg=="})
    with space.secrets.watch() as watch:
        assert watch.next().object == secret


@pytest.mark.both_dialects
def test_another_version_starts_with_what_came_after_it(space: Space) -> None:
    space.secrets.create("a")
    version = space.secrets.version()
    space.secrets.create("b")
    space.secrets.label("a", x="1")
    space.secrets.remove("b")
    with space.secrets.watch(resourceVersion=version) as watch:
        expect_only(space, watch, ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b"))


def test_the_newest_version_starts_with_nothing(space: Space) -> None:
    space.secrets.create("a")
    with space.secrets.watch(resourceVersion=space.secrets.version()) as watch:
        expect_only(space, watch)


def test_a_watch_from_an_objects_own_version_does_not_show_it_again(space: Space) -> None:
    version = space.secrets.create("a")["metadata"]["resourceVersion"]
    with space.secrets.watch(resourceVersion=version) as watch:
        expect_only(space, watch)


def test_a_version_of_the_future_is_silent_until_then(space: Space) -> None:
    future = int(space.secrets.version()) + 10
    with space.secrets.watch(resourceVersion=future) as watch:
        assert watch.status == 200
        created = [
            int(space.secrets.create(f"s{n}")["metadata"]["resourceVersion"]) for n in range(12)
        ]
        first = next(version for version in created if version > future)
        assert int(watch.next().version) == first


def test_a_far_version_of_the_future_stays_silent(space: Space) -> None:
    version = int(space.secrets.version()) + 100_000
    with space.secrets.watch(resourceVersion=version, timeoutSeconds=1) as watch:
        space.secrets.create("a")
        assert (watch.status, watch.rest()) == (200, [])


def test_a_version_that_is_no_version_is_refused(space: Space) -> None:
    answer = space.secrets.list(watch=1, resourceVersion="abc")
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


def test_a_version_match_is_forbidden(space: Space) -> None:
    answer = space.secrets.list(watch=1, resourceVersion="5", resourceVersionMatch="NotOlderThan")
    assert answer.status == 422
    assert answer.causes == [
        (
            "resourceVersionMatch",
            "FieldValueForbidden",
            "Forbidden: resourceVersionMatch is forbidden for watch",
        )
    ]


@pytest.mark.parametrize("value", ["1", "true", "True", "maybe", ""])
def test_what_counts_as_a_wish_to_watch(space: Space, value: str) -> None:
    with space.secrets.watch(watch=value, timeoutSeconds=1) as watch:
        assert watch.status == 200
        assert watch.headers["Transfer-Encoding"] == "chunked"
        assert watch.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("value", ["0", "false", "False"])
def test_what_counts_as_no_wish_to_watch(space: Space, value: str) -> None:
    assert space.secrets.list(watch=value).body["kind"] == "SecretList"


def test_a_write_with_a_watch_parameter_is_a_write(space: Space) -> None:
    answer = space.client.post(space.secrets.path, {"metadata": {"name": "a"}}, watch=1)
    assert (answer.status, answer.body["kind"]) == (201, "Secret")


def test_a_watch_of_all_namespaces_shows_them_all(space: Space) -> None:
    other = Space(space.server, space.client)
    version = space.secrets.version()
    everywhere = space.everywhere("secrets")
    with everywhere.watch(resourceVersion=version) as watch:
        space.secrets.create("a")
        other.secrets.create("b")
        assert [event.name for event in watch.take(2)] == ["a", "b"]


def test_a_watch_of_one_namespace_shows_nothing_of_others(space: Space) -> None:
    other = Space(space.server, space.client)
    with space.secrets.watch(resourceVersion=space.secrets.version()) as watch:
        other.secrets.create("a")
        expect_only(space, watch)


def test_a_watch_of_one_kind_shows_nothing_of_others(space: Space) -> None:
    with space.secrets.watch(resourceVersion=space.secrets.version()) as watch:
        space.config_maps.create("a")
        expect_only(space, watch)


def test_the_watch_prefix_watches_collections_and_namespaces(space: Space) -> None:
    space.secrets.create("a")
    with space.client.watch(f"/api/v1/watch/namespaces/{space.name}/secrets") as watch:
        expect_only(space, watch, ("ADDED", "a"))
    with space.client.watch("/api/v1/watch/secrets", labelSelector="none") as watch:
        assert watch.status == 200
    with space.client.watch(f"/api/v1/watch/namespaces/{space.name}") as watch:
        assert watch.next().brief == ("ADDED", space.name)
    with space.client.watch("/api/v1/watch/namespaces") as watch:
        assert watch.until(space.name)[-1].type == "ADDED"


@pytest.mark.both_dialects
def test_the_watch_prefix_watches_an_item(space: Space) -> None:
    space.secrets.create_all("a", "b")
    path = f"/api/v1/watch/namespaces/{space.name}/secrets/b"
    with space.client.watch(path, timeoutSeconds=1) as watch:
        space.secrets.label("a", x="1")
        space.secrets.label("b", x="1")
        assert [event.brief for event in watch] == [("ADDED", "b"), ("MODIFIED", "b")]


def test_the_watch_prefix_works_in_named_groups(space: Space) -> None:
    leases = space.collection("leases", "coordination.@")
    path = leases.path.replace("/v1/", "/v1/watch/", 1)
    with space.client.watch(path) as watch:
        leases.create("a", spec={})
        assert watch.next().brief == ("ADDED", "a")


def test_the_watch_prefix_is_for_reading(space: Space) -> None:
    path = f"/api/v1/watch/namespaces/{space.name}/secrets"
    assert space.client.post(path, {}).status == 405
    assert space.client.get("/api/v1/watch/foos").status == 404


def test_an_item_path_with_watch_watches_that_item_as_specified(cluster: Space) -> None:
    cluster.secrets.create_all("a", "b")
    with cluster.client.watch(cluster.secrets.item("a"), timeoutSeconds=1) as watch:
        cluster.secrets.label("b", x="1")
        cluster.secrets.label("a", x="1")
        cluster.secrets.remove("a")
        assert [event.brief for event in watch] == [
            ("ADDED", "a"),
            ("MODIFIED", "a"),
            ("DELETED", "a"),
        ]


def test_an_item_watch_starts_at_a_version_like_any_other(cluster: Space) -> None:
    version = cluster.secrets.create("a")["metadata"]["resourceVersion"]
    path = cluster.secrets.item("a")
    with cluster.client.watch(path, resourceVersion=version, timeoutSeconds=1) as watch:
        cluster.secrets.label("a", x="1")
        assert [event.brief for event in watch] == [("MODIFIED", "a")]


def test_an_item_that_does_not_exist_yet_can_be_watched(cluster: Space) -> None:
    with cluster.client.watch(cluster.secrets.item("a"), timeoutSeconds=5) as watch:
        cluster.secrets.create("a")
        assert watch.next().brief == ("ADDED", "a")


def test_a_cluster_scoped_item_can_be_watched(cluster: Space) -> None:
    path = f"/api/v1/namespaces/{cluster.name}"
    with cluster.client.watch(path, timeoutSeconds=5) as watch:
        assert watch.next().brief == ("ADDED", cluster.name)


def test_an_item_path_with_watch_is_a_plain_get_as_in_the_reference(kubernetes: Space) -> None:
    secret = kubernetes.secrets.create("a")
    assert kubernetes.secrets.get("a", watch=1).body == secret


def test_a_kind_that_cannot_be_watched_says_so(space: Space) -> None:
    answer = space.client.get("/api/v1/componentstatuses", watch=1)
    assert answer.status == 405
    assert answer.message == 'watch is not supported on resources of kind "componentstatuses"'


def test_a_kind_that_can_only_be_created_is_not_watched(space: Space) -> None:
    path = f"{space.base('authorization.@')}/selfsubjectaccessreviews"
    assert space.client.get(path, watch=1).status == 405
