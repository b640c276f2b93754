"""History of one object: its versions, their authors, and the object at a revision."""

from __future__ import annotations

from support.client import YAML, Object
from support.history import at_revision, column, history, items, revision
from support.namespaces import Space

from fairlead.api.history.items import changed_paths

APPLY = "application/apply-patch+yaml"


def test_every_version_is_told_oldest_first(space: Space) -> None:
    config_map = space.config_maps.create("a", data={"x": "1"})
    changed = space.config_maps.patch("a", {"data": {"x": "2"}}).body
    answer = history(space.config_maps, "a")
    assert answer.body["kind"] == "History"
    assert answer.body["apiVersion"] == "fairlead/v1"
    assert column(answer, "type") == ["ADDED", "MODIFIED"]
    assert column(answer, "resourceVersion") == [revision(config_map), revision(changed)]
    assert int(answer.version) >= int(revision(changed))


def test_each_version_tells_which_fields_are_others(space: Space) -> None:
    space.config_maps.create("a", data={"x": "1", "y": "1"})
    space.config_maps.patch(
        "a", {"data": {"x": "2"}, "metadata": {"annotations": {"example.com/b": "c"}}}
    )
    assert column(history(space.config_maps, "a"), "changed")[1] == [
        "metadata.annotations",
        "data.x",
    ]


def test_the_manager_whose_entry_is_new_is_told(space: Space) -> None:
    space.config_maps.create("a", data={"x": "1"})
    space.config_maps.patch("a", {"data": {"y": "2"}}, fieldManager="second")
    first, second = column(history(space.config_maps, "a"), "by")
    assert [item["manager"] for item in first] == ["tests"]
    assert [(item["manager"], item["operation"]) for item in second] == [("second", "Update")]
    assert second[0]["time"].endswith("Z")


def apply(space: Space, manager: str, data: dict[str, str]) -> None:
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    headers = {"Content-Type": APPLY}
    query = {"fieldManager": manager, "force": "true"}
    answer = space.client.request(
        "PATCH", space.config_maps.item("a"), {**named, "data": data}, headers=headers, **query
    )
    assert answer.status in (200, 201), answer.text


def losses(space: Space) -> list[tuple[str, list[str], list[str]]]:
    """Who lost which fields to whom with the last write."""
    last = items(history(space.config_maps, "a"))[-1].get("lost", [])
    return [(one["manager"], one["fields"], one["to"]) for one in last]


def test_who_lost_a_field_to_another_manager_is_told_apart_from_who_took_it(space: Space) -> None:
    for manager, value in (("first", "1"), ("second", "2")):
        apply(space, manager, {"x": value, manager: "own"})
    last = column(history(space.config_maps, "a"), "by")[-1]
    assert [item["manager"] for item in last] == ["second"]
    assert losses(space) == [("first", ["data.x"], ["second"])]


def test_who_shares_a_field_has_lost_nothing(space: Space) -> None:
    apply(space, "first", {"x": "1"})
    apply(space, "second", {"x": "1", "y": "2"})
    assert losses(space) == []


def test_who_no_longer_applies_a_field_has_lost_nothing_to_others(space: Space) -> None:
    apply(space, "first", {"x": "1", "y": "2"})
    apply(space, "first", {"x": "1"})
    assert losses(space) == []


def test_who_takes_a_field_away_is_told_and_not_who_lost_it(space: Space) -> None:
    space.config_maps.create("a", data={"x": "1"})
    space.config_maps.patch("a", {"data": None}, fieldManager="second")
    last = column(history(space.config_maps, "a"), "by")[-1]
    assert [item["manager"] for item in last] == ["second"]
    assert losses(space) == [("tests", ["data", "data.x"], [])]


def test_a_write_of_the_status_names_the_subresource(space: Space) -> None:
    space.everywhere("namespaces").client.patch(
        f"/api/v1/namespaces/{space.name}/status", {"status": {"phase": "Active"}}
    )
    claims = space.collection("persistentvolumeclaims")
    claims.create(
        "a", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    )
    claims.client.patch(claims.item("a", "status"), {"status": {"capacity": {"storage": "1"}}})
    _, written, *_ = column(history(claims, "a"), "by")
    assert written[0]["subresource"] == "status"


def test_the_user_is_told_who_wrote_a_version_and_who_deleted_the_object(space: Space) -> None:
    space.config_maps.create("a")
    space.config_maps.remove("a")
    answer = history(space.config_maps, "a")
    assert column(answer, "type") == ["ADDED", "DELETED"]
    assert column(answer, "user") == ["admin", "admin"]
    assert items(answer)[1]["by"] == []
    assert all(column(answer, "time"))


def test_who_acts_as_another_is_told_beside_them(space: Space) -> None:
    headers = {"Impersonate-User": "alice", "Impersonate-Group": "system:masters"}
    body = {"metadata": {"name": "a"}}
    space.client.post(space.config_maps.path, body, headers=headers)
    [item] = items(history(space.config_maps, "a"))
    assert (item["user"], item["impersonator"]) == ("alice", "admin")


def test_what_a_controller_writes_has_its_user(space: Space) -> None:
    answer = space.client.get(f"/history/api/v1/namespaces/{space.name}")
    assert column(answer, "user")[0] == "admin"
    accounts = space.collection("serviceaccounts")
    with accounts.watch() as watch:
        watch.until("default")
    [item] = items(history(accounts, "default"))
    assert item["user"].startswith("system:")


def test_an_object_that_was_deleted_and_made_again_has_two_uids(space: Space) -> None:
    space.config_maps.create("a")
    space.config_maps.remove("a")
    space.config_maps.create("a")
    answer = history(space.config_maps, "a")
    assert column(answer, "type") == ["ADDED", "DELETED", "ADDED"]
    first, gone, second = column(answer, "uid")
    assert first == gone != second


def test_an_object_is_shown_as_it_was(space: Space) -> None:
    first = space.config_maps.create("a", data={"x": "1"})
    second = space.config_maps.patch("a", {"data": {"x": "2"}}).body
    assert at_revision(space.config_maps, "a", revision(first)).body == first
    assert at_revision(space.config_maps, "a", revision(second)).body == second


def test_between_two_changes_it_is_as_the_first_left_it(space: Space) -> None:
    first = space.config_maps.create("a", data={"x": "1"})
    other = space.config_maps.create("b")
    space.config_maps.patch("a", {"data": {"x": "2"}})
    assert at_revision(space.config_maps, "a", revision(other)).body == first


def test_an_object_that_is_gone_is_shown_as_it_was_before(space: Space) -> None:
    config_map = space.config_maps.create("a", data={"x": "1"})
    space.config_maps.remove("a")
    assert at_revision(space.config_maps, "a", revision(config_map)).body["data"] == {"x": "1"}


def test_an_object_that_did_not_exist_then_is_not_found(space: Space) -> None:
    before = revision(space.config_maps.create("earlier"))
    config_map = space.config_maps.create("a")
    space.config_maps.remove("a")
    deleted = items(history(space.config_maps, "a"))[-1]["resourceVersion"]
    assert at_revision(space.config_maps, "a", before).body["reason"] == "NotFound"
    assert at_revision(space.config_maps, "a", deleted).status == 404
    assert at_revision(space.config_maps, "a", revision(config_map)).status == 200


def test_an_object_that_never_was_is_not_found(space: Space) -> None:
    answer = history(space.config_maps, "never")
    assert (answer.status, answer.message) == (404, 'configmaps "never" not found')


def test_yaml_tables_and_metadata_alone_can_be_asked_for(kubernetes: Space) -> None:
    config_map = kubernetes.config_maps.create("a", data={"x": "1"})
    path = f"/history{kubernetes.config_maps.item('a')}"
    then = {"resourceVersion": revision(config_map)}
    text = kubernetes.client.get(path, headers={"Accept": YAML}, **then)
    assert text.body == config_map
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    rows = kubernetes.client.get(path, headers={"Accept": table}, **then).body["rows"]
    assert rows[0]["cells"][0] == "a"
    versions = kubernetes.client.get(path, headers={"Accept": YAML})
    assert [item["type"] for item in versions.body["items"]] == ["ADDED"]


def test_an_object_is_shown_in_the_version_that_is_asked_for(kubernetes: Space) -> None:
    scalers = kubernetes.collection("horizontalpodautoscalers", "autoscaling", "v2")
    reference = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    scaler = scalers.create("a", spec={"maxReplicas": 3, "scaleTargetRef": reference})
    older = kubernetes.collection("horizontalpodautoscalers", "autoscaling", "v1")
    document = at_revision(older, "a", revision(scaler)).body
    assert document["apiVersion"] == "autoscaling/v1"
    assert "targetCPUUtilizationPercentage" in document["spec"]


def test_a_version_that_is_no_number_is_refused(space: Space) -> None:
    space.config_maps.create("a")
    for bad in ("x", "-1", "1.5", "9" * 30, "0"):
        assert at_revision(space.config_maps, "a", bad).body["reason"] == "BadRequest", bad


def test_a_version_of_the_future_is_too_large(kubernetes: Space) -> None:
    config_map = kubernetes.config_maps.create("a")
    answer = at_revision(kubernetes.config_maps, "a", str(int(revision(config_map)) + 1_000_000))
    assert answer.status == 504
    assert answer.causes[0][1] == "ResourceVersionTooLarge"


def test_pages_go_back_from_the_newest(space: Space) -> None:
    space.config_maps.create("a", data={"x": "0"})
    for number in range(1, 5):
        space.config_maps.patch("a", {"data": {"x": str(number)}})
    whole = column(history(space.config_maps, "a"), "resourceVersion")
    newest = history(space.config_maps, "a", limit=2)
    assert column(newest, "resourceVersion") == whole[3:]
    before = newest.body["metadata"]["before"]
    older = history(space.config_maps, "a", limit=2, before=before)
    assert column(older, "resourceVersion") == whole[1:3]
    rest = history(space.config_maps, "a", before=older.body["metadata"]["before"])
    assert column(rest, "resourceVersion") == whole[:1]
    assert "before" not in rest.body["metadata"]


def test_only_what_happened_since_a_revision_can_be_asked_for(space: Space) -> None:
    config_map = space.config_maps.create("a", data={"x": "0"})
    changed = space.config_maps.patch("a", {"data": {"x": "1"}}).body
    answer = history(space.config_maps, "a", since=revision(config_map))
    assert column(answer, "resourceVersion") == [revision(changed)]


def test_the_past_can_only_be_read(space: Space) -> None:
    space.config_maps.create("a")
    path = f"/history{space.config_maps.item('a')}"
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert space.client.request(method, path, {}).status == 405, method
    head = space.client.request("HEAD", path)
    assert (head.status, head.raw) == (200, b"")


def test_subresources_have_no_past(space: Space) -> None:
    for path in ("pods/a/log", "pods/a/status", "pods/a/proxy/x", "configmaps/a/none"):
        answer = space.client.get(f"/history/api/v1/namespaces/{space.name}/{path}")
        assert answer.body["reason"] == "NotFound", path


def test_it_is_not_listed_among_the_paths(space: Space) -> None:
    assert not [path for path in space.client.get("/").body["paths"] if "history" in path]


def test_twenty_paths_are_told_and_how_many_more_there_are(space: Space) -> None:
    space.config_maps.create("a", data={f"k{number}": "1" for number in range(25)})
    space.config_maps.patch("a", {"data": {f"k{number}": "2" for number in range(25)}})
    item = items(history(space.config_maps, "a"))[1]
    assert (len(item["changed"]), item["more"]) == (20, 5)


def paths(before: Object, after: Object) -> list[str]:
    return changed_paths(before, after)[0]


def test_paths_name_places_in_lists_and_keys_with_dots() -> None:
    before = {"a": [{"b": 1}, 2], "c.d": 1, "e]": 1}
    assert paths(before, {"a": [{"b": 2}, 2], "c.d": 2, "e]": 2}) == ["a[0].b", "[c.d]", "e\\]"]


def test_a_list_of_another_length_and_a_new_field_are_told_as_a_whole() -> None:
    assert paths({"a": [1]}, {"a": [1, 2], "b": {"c": 1}}) == ["a", "b"]


def test_what_changes_with_every_write_is_not_told() -> None:
    before = {"metadata": {"resourceVersion": "1", "generation": 1, "managedFields": []}}
    after = {"metadata": {"resourceVersion": "2", "generation": 2, "managedFields": [{}]}}
    assert paths(before, after) == []


def test_long_paths_are_cut() -> None:
    assert len(paths({"a": 1}, {"a": 1, "k" * 5000: 2})[0]) < 300
