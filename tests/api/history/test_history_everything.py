"""History of a collection, a namespace and the whole server, filtered by permissions."""

from __future__ import annotations

import pytest
from support.client import Answer, Query
from support.history import (
    Granted,
    alice,
    as_alice,
    at_revision,
    column,
    custom,
    history,
    items,
    revision,
)
from support.namespaces import Space


def everything(space: Space, **query: Query) -> Answer:
    return space.client.get("/history", namespace=space.name, **query)


def test_a_collection_tells_of_all_objects_in_a_namespace(space: Space) -> None:
    objects = space.secrets.create_all("a", "b")
    space.secrets.remove("a")
    answer = history(space.secrets)
    reported = zip(column(answer, "name"), column(answer, "type"), strict=True)
    assert list(reported) == [("a", "ADDED"), ("b", "ADDED"), ("a", "DELETED")]
    assert set(column(answer, "namespace")) == {space.name}
    assert column(answer, "uid")[:2] == [object_["metadata"]["uid"] for object_ in objects]


def test_a_collection_of_all_namespaces_tells_of_each(space: Space) -> None:
    space.secrets.create("a")
    answer = history(space.everywhere("secrets"))
    assert space.name in column(answer, "namespace")


def test_the_newest_changes_of_a_collection_are_kept_and_the_others_can_be_asked_for(
    space: Space,
) -> None:
    space.secrets.create_all("a", "b", "c")
    newest = history(space.secrets, limit=1)
    assert column(newest, "name") == ["c"]
    older = history(space.secrets, before=newest.body["metadata"]["before"])
    assert column(older, "name") == ["a", "b"]


def test_a_namespace_tells_of_all_kinds_with_their_names(space: Space) -> None:
    space.config_maps.create("a")
    space.collection("deployments", "apps").create(
        "b",
        spec={
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
            "replicas": 0,
        },
    )
    results = {
        (item["group"], item["version"], item["kind"], item["resource"])
        for item in items(everything(space))
    }
    assert ("", "v1", "ConfigMap", "configmaps") in results
    assert ("apps", "v1", "Deployment", "deployments") in results


def test_custom_kinds_are_told_of_too_in_their_preferred_version(space: Space) -> None:
    custom(space).make("a", spec={"size": 1})
    [item] = [item for item in items(everything(space)) if item["kind"] == "Widget"]
    assert (item["group"], item["version"]) == (f"{space.name}.example.com", "v2")


def test_a_custom_object_has_a_past_in_each_of_its_versions(space: Space) -> None:
    widgets = custom(space)
    created = widgets.make("a", spec={"size": 1})
    widgets.patch("a", {"spec": {"size": 2}})
    assert column(history(widgets, "a"), "changed") == [None, ["spec.size"]]
    newer = space.collection("widgets", f"{space.name}.example.com", "v2")
    document = at_revision(newer, "a", revision(created)).body
    assert document["apiVersion"].endswith("/v2")
    assert document["spec"] == {"size": 1}


def test_events_and_leases_are_left_out_unless_they_are_asked_for(space: Space) -> None:
    space.collection("leases", "coordination.@").create("noise")
    space.collection("events").create(
        "noise", involvedObject={"kind": "Pod", "name": "a", "namespace": space.name}
    )
    assert "noise" not in column(everything(space), "name")
    listed = items(everything(space, all="true"))
    noise = [item["resource"] for item in listed if item["name"] == "noise"]
    assert noise == ["leases", "events"]


def test_everything_is_paged_like_a_collection(space: Space) -> None:
    space.furnished()
    before = space.config_maps.create("a")
    space.secrets.create("b")
    newest = everything(space, limit=1)
    assert column(newest, "name") == ["b"]
    older = everything(space, before=newest.body["metadata"]["before"], limit=1)
    assert column(older, "resourceVersion") == [revision(before)]
    assert column(everything(space, since=revision(before)), "name") == ["b"]


def test_a_bad_limit_and_selectors_are_refused(space: Space) -> None:
    for query in ({"limit": "x"}, {"limit": "-1"}, {"before": "x"}, {"since": "-2"}):
        assert history(space.secrets, **query).body["reason"] == "BadRequest", query
    for name in ("fieldSelector", "labelSelector"):
        assert history(space.secrets, **{name: "metadata.name=a"}).status == 400
    assert history(space.secrets, watch="true").status == 400


def test_what_happened_to_many_is_not_shown_as_it_was_at_a_revision(space: Space) -> None:
    for path in ("/history", f"/history{space.config_maps.path}"):
        answer = space.client.get(path, resourceVersion="1")
        assert answer.status == 400
        assert answer.message.startswith("resourceVersion: only one object is shown as it was; ")


def test_reading_the_past_needs_the_rights_of_reading_now(space: Space) -> None:
    secret = space.secrets.create("a")
    secrets = as_alice(space, space.secrets)
    for query in ({}, {"resourceVersion": revision(secret)}):
        refused = history(secrets, "a", **query)
        assert refused.body == secrets.get("a").body
        assert refused.status == 403
    assert history(secrets).body == secrets.list().body
    Granted(space, "secrets", "get")
    assert items(history(secrets, "a"))
    assert at_revision(secrets, "a", revision(secret)).status == 200
    assert history(secrets).status == 403
    Granted(space, "secrets", "list")
    assert items(history(secrets))


@pytest.mark.both_dialects
def test_a_right_to_one_name_does_not_show_the_others(space: Space) -> None:
    space.secrets.create_all("a", "b")
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"], "resourceNames": ["a"]}
    role = space.collection("roles", "rbac.authorization.@")
    role.create("one", rules=[rule])
    group = space.dialect.group_name("rbac.authorization.@")
    space.collection("rolebindings", "rbac.authorization.@").create(
        "one",
        roleRef={"apiGroup": group, "kind": "Role", "name": "one"},
        subjects=[{"apiGroup": group, "kind": "User", "name": "alice"}],
    )
    secrets = as_alice(space, space.secrets)
    assert secrets.list(fieldSelector="metadata.name=a").status == 200
    assert history(secrets, fieldSelector="metadata.name=a").status == 400


def test_everything_is_what_somebody_may_list(space: Space) -> None:
    space.secrets.create("hidden")
    space.config_maps.create("shown")
    client = alice(space)
    assert items(client.get("/history", namespace=space.name)) == []
    Granted(space, "configmaps", "list")
    queries: list[dict[str, Query]] = [{"namespace": space.name}, {}]
    for query in queries:
        objects = [item for item in items(client.get("/history", **query)) if "namespace" in item]
        here = [object_ for object_ in objects if object_["namespace"] == space.name]
        assert {item["resource"] for item in here} == {"configmaps"}
        assert "shown" in [item["name"] for item in here]


def test_who_acts_as_another_sees_what_they_may_see(space: Space) -> None:
    space.secrets.create("a")
    path = f"/history{space.secrets.item('a')}"
    assert space.client.get(path, headers={"Impersonate-User": "alice"}).status == 403
    as_nobody = space.client.get("/history", headers={"Impersonate-User": "nobody"})
    assert items(as_nobody) == []


def test_nobody_is_told_nothing(space: Space) -> None:
    stranger = space.server.client(None)
    for path in ("/history", "/history/denied", f"/history{space.secrets.path}"):
        assert stranger.get(path).status == 403, path
    assert stranger.get("/history", watch="true").status == 403


def test_no_other_way_to_write_a_path_leads_around_the_rights(space: Space) -> None:
    space.secrets.create("a", stringData={"k": "hidden-value"})
    inside = space.secrets.item("a")
    client = alice(space)
    queries: list[dict[str, Query]] = [
        {},
        {"resourceVersion": str(10**6)},
        {"watch": "true"},
        {"mine": "1"},
    ]
    for path in (
        f"/history/{inside}",
        f"//history{inside}",
        f"/history/.{inside}",
        f"/history/..{inside}",
        f"/history/history{inside}",
        f"/history{inside}/",
        f"/history{inside}//",
        "/history" + inside.replace("/secrets/", "%2Fsecrets%2F"),
        "/history" + inside.replace("/secrets/", "/x/../secrets/"),
        "/history" + inside.replace("/api/", "/api/v1/watch/"),
        "/history" + inside.replace("/v1/", "/v1/watch/"),
        "/history%2f" + inside[1:],
        "/history/denied/.." + inside,
        f"/HISTORY{inside}",
    ):
        for query in queries:
            answer = client.get(path, **query)
            assert answer.status in (400, 403, 404), (path, query, answer.text)
            assert "uid" not in answer.text
            assert "aGlkZGVuLXZhbHVl" not in answer.text


def test_paths_that_lead_nowhere_are_not_found(space: Space) -> None:
    long = "x" * 20_000
    for path in (
        "/history/api",
        "/history/api/v1",
        "/history/apis/apps/v1",
        "/history/apis/none.example.com/v1/things",
        "/history/apis/apps/v9/deployments",
        "/history/api/v1/nothing",
        "/history/api/v1/namespaces/a/nodes/b",
        "/history/xyz",
        f"/history/api/v1/{long}",
    ):
        answer = space.client.get(path)
        assert answer.status in (404, 414, 431), path
        assert answer.status != 404 or answer.body["kind"] == "Status", path


def test_what_is_never_stored_has_no_past(space: Space) -> None:
    path = f"/history{space.base('authorization.@')}/selfsubjectaccessreviews"
    assert space.client.get(path).status == 404
