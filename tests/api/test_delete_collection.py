"""DELETE of a collection: with selectors and pages, and how the dialects answer."""

from __future__ import annotations

from support.namespaces import Space


def test_everything_in_the_collection_is_deleted(space: Space) -> None:
    space.secrets.create_all(*"abc")
    other = Space(space.server, space.client)
    other.secrets.create("d")
    assert space.client.delete(space.secrets.path).status == 200
    assert space.secrets.names() == []
    assert other.secrets.names() == ["d"]


def test_the_answer_is_a_status_as_specified(cluster: Space) -> None:
    cluster.secrets.create_all(*"ab")
    body = cluster.client.delete(cluster.secrets.path).body
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Success")


def test_the_answer_is_the_list_of_what_was_there_as_in_the_reference(kubernetes: Space) -> None:
    kubernetes.secrets.create_all(*"ab")
    answer = kubernetes.client.delete(kubernetes.secrets.path)
    assert answer.body["kind"] == "SecretList"
    assert sorted(answer.names) == ["a", "b"]


def test_a_label_selector_chooses(space: Space) -> None:
    space.secrets.create("a", labels={"x": "1"})
    space.secrets.create("b", labels={"x": "2"})
    space.client.delete(space.secrets.path, labelSelector="x=1")
    assert space.secrets.names() == ["b"]


def test_a_field_selector_chooses(space: Space) -> None:
    space.secrets.create_all(*"abc")
    space.client.delete(space.secrets.path, fieldSelector="metadata.name!=b")
    assert space.secrets.names() == ["b"]


def test_a_selector_that_matches_nothing_deletes_nothing(space: Space) -> None:
    space.secrets.create("a")
    assert space.client.delete(space.secrets.path, labelSelector="none").status == 200
    assert space.secrets.names() == ["a"]


def test_a_bad_selector_deletes_nothing(space: Space) -> None:
    space.secrets.create("a")
    assert space.client.delete(space.secrets.path, labelSelector="a in").status == 400
    assert space.secrets.names() == ["a"]


def test_a_limit_deletes_a_page(space: Space) -> None:
    space.secrets.create_all(*"abcd")
    assert space.client.delete(space.secrets.path, limit=3).status == 200
    assert space.secrets.names() == ["d"]


def test_a_page_of_deletions_says_how_to_go_on_as_in_the_reference(kubernetes: Space) -> None:
    kubernetes.secrets.create_all(*"abcd")
    answer = kubernetes.client.delete(kubernetes.secrets.path, limit=3)
    assert answer.body["metadata"]["remainingItemCount"] == 1
    token = answer.body["metadata"]["continue"]
    answer = kubernetes.client.delete(kubernetes.secrets.path, limit=3, continue_=token)
    assert (answer.status, answer.names) == (200, ["d"])
    assert kubernetes.secrets.names() == []


def test_a_version_says_what_is_listed_as_specified(cluster: Space) -> None:
    first = cluster.secrets.create("a")["metadata"]["resourceVersion"]
    cluster.secrets.label("a", x="1")
    cluster.secrets.create("b")
    path = cluster.secrets.path
    later = cluster.client.delete(path, resourceVersion=first, resourceVersionMatch="NotOlderThan")
    assert later.status == 200
    assert cluster.secrets.names() == []


def test_an_exact_version_deletes_what_there_was_as_specified(cluster: Space) -> None:
    first = cluster.secrets.create("a")["metadata"]["resourceVersion"]
    cluster.secrets.label("a", x="1")
    cluster.secrets.create("b")
    path = cluster.secrets.path
    answer = cluster.client.delete(path, resourceVersion=first, resourceVersionMatch="Exact")
    assert answer.status == 200
    assert cluster.secrets.names() == ["b"]


def test_an_object_that_was_made_since_the_version_is_kept(cluster: Space) -> None:
    first = cluster.secrets.create("a")["metadata"]["resourceVersion"]
    cluster.secrets.remove("a")
    cluster.secrets.create("a")
    path = cluster.secrets.path
    answer = cluster.client.delete(path, resourceVersion=first, resourceVersionMatch="Exact")
    assert answer.status == 200
    assert cluster.secrets.names() == ["a"]


def test_a_token_deletes_the_rest_of_a_list(space: Space) -> None:
    space.secrets.create_all(*"abcd")
    token = space.secrets.list(limit=2).body["metadata"]["continue"]
    assert space.client.delete(space.secrets.path, continue_=token, limit=5).status == 200
    assert space.secrets.names() == ["a", "b"]


def test_a_version_is_a_precondition_as_in_the_reference(kubernetes: Space) -> None:
    first = kubernetes.secrets.create("a")["metadata"]["resourceVersion"]
    kubernetes.secrets.label("a", x="1")
    assert kubernetes.client.delete(kubernetes.secrets.path, resourceVersion=first).status == 409
    assert kubernetes.secrets.names() == ["a"]


def test_objects_with_finalizers_are_marked(space: Space) -> None:
    space.secrets.create("a", metadata={"finalizers": ["example.com/f"]})
    space.secrets.create("b")
    space.client.delete(space.secrets.path)
    [left] = space.secrets.list().body["items"]
    assert left["metadata"]["name"] == "a"
    assert left["metadata"]["deletionTimestamp"]


def test_options_hold_for_every_object(space: Space) -> None:
    space.secrets.create("a", metadata={"finalizers": ["example.com/f"]})
    with space.secrets.watch(resourceVersion=space.secrets.version()) as watch:
        space.client.delete(space.secrets.path, {"propagationPolicy": "Foreground"})
        metadata = watch.next().object["metadata"]
    assert metadata["finalizers"] == ["example.com/f", "foregroundDeletion"]


def test_a_dry_run_deletes_nothing(space: Space) -> None:
    space.secrets.create_all(*"ab")
    assert space.client.delete(space.secrets.path, dryRun="All").status == 200
    assert space.client.delete(space.secrets.path, {"dryRun": ["All"]}).status == 200
    assert space.secrets.names() == ["a", "b"]


def test_a_version_match_is_checked_like_that_of_a_list(space: Space) -> None:
    answer = space.client.delete(space.secrets.path, resourceVersionMatch="Exact")
    assert answer.status == 422


def test_a_collection_across_namespaces_cannot_be_deleted(space: Space) -> None:
    assert space.client.delete("/api/v1/secrets").status == 405


def test_namespaces_cannot_be_deleted_together(space: Space) -> None:
    assert space.client.delete("/api/v1/namespaces").status == 405


def test_cluster_scoped_collections_can_be_deleted(space: Space) -> None:
    classes = space.everywhere("priorityclasses", "scheduling.@")
    classes.create(f"x-{space.name}", value=1, labels={"of": space.name})
    assert space.client.delete(classes.path, labelSelector=f"of={space.name}").status == 200
    assert classes.names(labelSelector=f"of={space.name}") == []


def test_each_deletion_is_an_event(space: Space) -> None:
    space.secrets.create_all(*"abc")
    with space.secrets.watch(resourceVersion=space.secrets.version()) as watch:
        space.client.delete(space.secrets.path)
        assert {event.brief for event in watch.take(3)} == {("DELETED", name) for name in "abc"}
