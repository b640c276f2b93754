"""DELETE: two phases, finalizers, preconditions, grace periods, propagation and the answer."""

from __future__ import annotations

import time
from datetime import datetime

import pytest
from support.client import Object
from support.namespaces import Collection, Space, random_word

HOLD = "example.com/hold"


def test_without_finalizers_an_object_is_gone_at_once(space: Space) -> None:
    space.config_maps.create("a")
    assert space.config_maps.delete("a").status == 200
    assert space.config_maps.get("a").status == 404


def test_a_deletion_is_answered_with_a_status_that_names_the_object(space: Space) -> None:
    config_map = space.config_maps.create("a")
    assert space.config_maps.delete("a").body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": config_map["metadata"]["uid"]},
    }


def test_a_status_names_the_group_of_named_groups(space: Space) -> None:
    revisions = space.collection("controllerrevisions", "apps")
    revisions.create("a", revision=1, data={"x": 1})
    details = revisions.delete("a").body["details"]
    assert (details["group"], details["kind"]) == ("apps", "controllerrevisions")


RETURNS_OBJECT: list[tuple[str, str, bool, Object]] = [
    ("services", "", True, {"spec": {"clusterIP": "None", "ports": [{"port": 80}]}}),
    ("serviceaccounts", "", True, {}),
    ("resourcequotas", "", True, {"spec": {"hard": {"pods": "5"}}}),
    (
        "podtemplates",
        "",
        True,
        {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
    ),
    ("csidrivers", "storage.@", False, {"spec": {}}),
    ("csinodes", "storage.@", False, {"spec": {"drivers": []}}),
    ("storageclasses", "storage.@", False, {"provisioner": "example.com/p"}),
    (
        "volumeattachments",
        "storage.@",
        False,
        {
            "spec": {
                "attacher": "example.com",
                "nodeName": "n",
                "source": {"persistentVolumeName": "v"},
            }
        },
    ),
]
RETURNS_STATUS: list[tuple[str, str, bool, Object]] = [
    ("secrets", "", True, {}),
    ("endpoints", "", True, {}),
    ("limitranges", "", True, {"spec": {"limits": []}}),
    ("roles", "rbac.authorization.@", True, {"rules": []}),
    ("leases", "coordination.@", True, {"spec": {}}),
    ("priorityclasses", "scheduling.@", False, {"value": 1}),
    ("runtimeclasses", "node.@", False, {"handler": "h"}),
    ("networkpolicies", "networking.@", True, {"spec": {"podSelector": {}}}),
    ("clusterroles", "rbac.authorization.@", False, {"rules": []}),
]


def _things(space: Space, resource: str, group: str, namespaced: bool) -> Collection:
    return space.collection(resource, group) if namespaced else space.everywhere(resource, group)


@pytest.mark.parametrize(
    ("resource", "group", "namespaced", "fields"), RETURNS_OBJECT, ids=lambda v: str(v)[:20]
)
def test_kinds_whose_deletion_answers_with_the_object(
    space: Space, resource: str, group: str, namespaced: bool, fields: Object
) -> None:
    name = random_word()
    collection = _things(space, resource, group, namespaced)
    value = collection.create(name, **fields)
    answer = collection.delete(name)
    assert answer.status == 200
    assert answer.body["kind"] == value["kind"]
    assert answer.body["metadata"]["uid"] == value["metadata"]["uid"]
    assert collection.get(name).status == 404


@pytest.mark.parametrize(
    ("resource", "group", "namespaced", "fields"), RETURNS_STATUS, ids=lambda v: str(v)[:20]
)
def test_kinds_whose_deletion_answers_with_a_status(
    space: Space, resource: str, group: str, namespaced: bool, fields: Object
) -> None:
    name = random_word()
    collection = _things(space, resource, group, namespaced)
    value = collection.create(name, **fields)
    body = collection.delete(name).body
    assert (body["kind"], body["status"]) == ("Status", "Success")
    assert body["details"]["uid"] == value["metadata"]["uid"]


def test_a_deletion_of_nothing_is_not_found(space: Space) -> None:
    answer = space.config_maps.delete("no")
    assert (answer.status, answer.message) == (404, 'configmaps "no" not found')
    assert answer.body["details"] == {"name": "no", "kind": "configmaps"}


def test_a_finalizer_holds_an_object_that_is_being_deleted(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    answer = space.config_maps.delete("a")
    assert (answer.status, answer.body["kind"]) == (200, "ConfigMap")
    metadata = answer.body["metadata"]
    assert metadata["deletionTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["finalizers"] == [HOLD]
    assert space.config_maps.read("a") == answer.body


def test_the_object_is_removed_with_its_last_finalizer(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD, "example.com/other"]})
    space.config_maps.remove("a")
    value = space.config_maps.read("a")
    value["metadata"]["finalizers"] = [HOLD]
    value = space.config_maps.update(value)
    assert value["metadata"]["finalizers"] == [HOLD]
    del value["metadata"]["finalizers"]
    assert space.config_maps.put(value).status == 200
    assert space.config_maps.get("a").status == 404


def test_finalizers_may_be_removed_in_any_order(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": ["example.com/1", "example.com/2"]})
    space.config_maps.remove("a")
    value = space.config_maps.read("a")
    value["metadata"]["finalizers"] = ["example.com/2"]
    space.config_maps.update(value)
    assert space.config_maps.read("a")["metadata"]["finalizers"] == ["example.com/2"]


def test_no_finalizer_can_be_added_while_terminating(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    space.config_maps.remove("a")
    value = space.config_maps.read("a")
    value["metadata"]["finalizers"] = [HOLD, "example.com/new"]
    answer = space.config_maps.put(value)
    assert answer.status == 422
    assert set(answer.causes) == {
        (
            "metadata.finalizers",
            "FieldValueForbidden",
            "Forbidden: no new finalizers can be added if the object is being deleted, found new"
            ' finalizers []string{"example.com/new"}',
        )
    }


def test_an_object_that_is_being_deleted_can_be_changed(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    space.config_maps.remove("a")
    value = space.config_maps.read("a")
    value["data"] = {"still": "editable"}
    assert space.config_maps.update(value)["data"] == {"still": "editable"}


def test_an_object_that_is_being_deleted_cannot_come_back(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    space.config_maps.remove("a")
    before = space.config_maps.read("a")["metadata"]["deletionTimestamp"]
    body: Object = {"metadata": {"name": "a", "finalizers": [HOLD]}}
    assert space.config_maps.update(body)["metadata"]["deletionTimestamp"] == before


def test_a_second_deletion_changes_nothing(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    first = space.config_maps.delete("a").body
    assert space.config_maps.delete("a").body == first


def test_the_name_of_a_terminating_object_is_still_taken(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    space.config_maps.remove("a")
    answer = space.client.post(space.config_maps.path, {"metadata": {"name": "a"}})
    assert (answer.status, answer.message) == (
        409,
        'object is being deleted: configmaps "a" already exists',
    )


def test_removing_a_finalizer_of_a_live_object_removes_nothing_else(space: Space) -> None:
    config_map = space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    config_map["metadata"]["finalizers"] = []
    space.config_maps.update(config_map)
    assert space.config_maps.get("a").status == 200


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [
        ("Foreground", [HOLD, "foregroundDeletion"]),
        ("Orphan", [HOLD, "orphan"]),
        ("Background", [HOLD]),
    ],
)
@pytest.mark.parametrize("place", ["query", "body"])
def test_the_propagation_policy_is_recorded_as_a_finalizer(
    space: Space, policy: str, finalizers: list[str], place: str
) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    if place == "query":
        answer = space.config_maps.delete("a", propagationPolicy=policy)
    else:
        answer = space.config_maps.delete("a", {"propagationPolicy": policy})
    assert answer.body["metadata"]["finalizers"] == finalizers


@pytest.mark.parametrize(("orphan", "finalizers"), [(True, [HOLD, "orphan"]), (False, [HOLD])])
def test_orphan_dependents_is_the_older_way_to_say_it(
    space: Space, orphan: bool, finalizers: list[str]
) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    answer = space.config_maps.delete("a", {"orphanDependents": orphan})
    assert answer.body["metadata"]["finalizers"] == finalizers


def test_a_later_policy_takes_the_place_of_an_earlier_one(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": [HOLD]})
    space.config_maps.delete("a", propagationPolicy="Foreground")
    answer = space.config_maps.delete("a", propagationPolicy="Orphan")
    assert answer.body["metadata"]["finalizers"] == [HOLD, "orphan"]


def test_an_unknown_policy_is_invalid(space: Space) -> None:
    space.config_maps.create("a")
    answer = space.config_maps.delete("a", propagationPolicy="Sideways")
    assert answer.status == 422
    assert answer.causes == [
        (
            "propagationPolicy",
            "FieldValueNotSupported",
            'Unsupported value: "Sideways": supported values: "Foreground", "Background",'
            ' "Orphan", "nil"',
        )
    ]


def test_two_ways_to_say_it_at_once_are_invalid(space: Space) -> None:
    space.config_maps.create("a")
    body = {"orphanDependents": True, "propagationPolicy": "Orphan"}
    answer = space.config_maps.delete("a", body)
    assert answer.status == 422
    assert answer.causes == [
        (
            "propagationPolicy",
            "FieldValueInvalid",
            'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
        )
    ]


def test_a_uid_precondition_must_hold(space: Space) -> None:
    metadata = space.config_maps.create("a")["metadata"]
    answer = space.config_maps.delete("a", {"preconditions": {"uid": "other"}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does'
        f" not match the UID in record ({metadata['uid']}). The object might have been deleted and"
        " then recreated"
    )
    assert space.config_maps.delete("a", {"preconditions": {"uid": metadata["uid"]}}).status == 200


@pytest.mark.both_dialects
def test_a_version_precondition_must_hold(space: Space) -> None:
    old = space.config_maps.create("a")["metadata"]["resourceVersion"]
    new = space.config_maps.label("a", x="1")["metadata"]["resourceVersion"]
    answer = space.config_maps.delete("a", {"preconditions": {"resourceVersion": old}})
    assert answer.status == 409
    assert answer.message == (
        'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition'
        f" ({old}) does not match the ResourceVersion in record ({new}). The object might have"
        " been modified"
    )
    good = {"preconditions": {"resourceVersion": new}}
    assert space.config_maps.delete("a", good).status == 200


@pytest.mark.parametrize("query", [{"uid": "other"}, {"resourceVersion": "1"}])
def test_a_precondition_in_the_query_must_hold(space: Space, query: dict[str, str]) -> None:
    space.config_maps.create("a")
    answer = space.config_maps.delete("a", **query)
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")


def test_options_in_a_body_take_the_place_of_those_in_the_query(space: Space) -> None:
    space.config_maps.create("a")
    assert space.config_maps.delete("a", {"dryRun": []}, dryRun="All").status == 200
    assert space.config_maps.get("a").status == 404


@pytest.mark.parametrize(
    "body",
    ["{", {"gracePeriodSeconds": "x"}, {"kind": "ConfigMap", "apiVersion": "v1"}, [], "nonsense"],
    ids=["broken", "wrong type", "other kind", "list", "text"],
)
def test_options_that_cannot_be_read_are_refused(space: Space, body: object) -> None:
    space.config_maps.create("a")
    assert space.config_maps.delete("a", body).status == 400
    assert space.config_maps.get("a").status == 200


def test_unknown_options_are_ignored(space: Space) -> None:
    space.config_maps.create("a")
    assert space.config_maps.delete("a", {"nonsense": True}).status == 200


def test_options_may_come_as_yaml(space: Space) -> None:
    space.config_maps.create("a")
    answer = space.client.delete(
        space.config_maps.item("a"),
        "dryRun: [All]\n",
        headers={"Content-Type": "application/yaml"},
    )
    assert answer.status == 200
    assert space.config_maps.get("a").status == 200


def test_options_in_another_format_are_refused(space: Space) -> None:
    space.config_maps.create("a")
    answer = space.client.delete(
        space.config_maps.item("a"), "{}", headers={"Content-Type": "text/plain"}
    )
    assert (answer.status, answer.body["reason"]) == (415, "UnsupportedMediaType")
    assert space.config_maps.get("a").status == 200


def test_a_grace_period_must_be_a_number(space: Space) -> None:
    space.config_maps.create("a")
    answer = space.config_maps.delete("a", gracePeriodSeconds="soon")
    assert (answer.status, answer.message) == (
        400,
        'strconv.ParseInt: parsing "soon": invalid syntax',
    )


@pytest.fixture
def scheduled_pod(space: Space) -> Collection:
    return _scheduled_pod(space)


def _scheduled_pod(space: Space) -> Collection:
    """A pod `a` on a node, with 600 seconds of grace."""
    space.ready_for_pods()
    pods = space.collection("pods")
    pods.create(
        "a",
        spec={
            "nodeName": "gone",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 600,
            "containers": [{"name": "c", "image": "i"}],
        },
    )
    return pods


def test_a_scheduled_pod_gets_its_grace_period(scheduled_pod: Collection) -> None:
    answer = scheduled_pod.delete("a")
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 600
    assert scheduled_pod.get("a").status == 200


def test_a_second_deletion_can_shorten_the_grace_period_and_not_lengthen_it(
    scheduled_pod: Collection,
) -> None:
    scheduled_pod.delete("a")
    for wanted, expected in ((300, 300), (400, 300)):
        answer = scheduled_pod.delete("a", {"gracePeriodSeconds": wanted})
        assert answer.body["metadata"]["deletionGracePeriodSeconds"] == expected


def _moment_of_deletion(pod: Object) -> float:
    return datetime.fromisoformat(pod["metadata"]["deletionTimestamp"]).timestamp()


def test_the_time_of_deletion_is_now_as_specified(cluster: Space) -> None:
    pods = _scheduled_pod(cluster)
    start = time.time()
    first = pods.delete("a").body
    assert start - 1 <= _moment_of_deletion(first) <= time.time()
    second = pods.delete("a", {"gracePeriodSeconds": 300}).body
    assert second["metadata"]["deletionTimestamp"] == first["metadata"]["deletionTimestamp"]


def test_the_time_of_deletion_is_the_end_of_the_grace_period_in_the_reference(
    kubernetes: Space,
) -> None:
    pods = _scheduled_pod(kubernetes)
    start = time.time()
    first = _moment_of_deletion(pods.delete("a").body)
    assert start + 599 <= first <= time.time() + 600
    assert _moment_of_deletion(pods.delete("a", {"gracePeriodSeconds": 300}).body) < first


def test_a_second_deletion_that_names_no_grace_period_changes_nothing(
    scheduled_pod: Collection,
) -> None:
    scheduled_pod.delete("a", gracePeriodSeconds=900)
    answer = scheduled_pod.delete("a")
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 900


def test_no_grace_removes_a_pod_at_once(scheduled_pod: Collection) -> None:
    answer = scheduled_pod.delete("a", gracePeriodSeconds=0)
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert scheduled_pod.get("a").status == 404


def test_watchers_see_a_pod_marked_before_it_is_removed(scheduled_pod: Collection) -> None:
    with scheduled_pod.watch(resourceVersion=scheduled_pod.version()) as watch:
        scheduled_pod.delete("a", gracePeriodSeconds=0)
        events = watch.take(2)
    assert [event.type for event in events] == ["MODIFIED", "DELETED"]
    assert [event.object["metadata"]["deletionGracePeriodSeconds"] for event in events] == [0, 0]


def test_a_negative_grace_period_is_one_second(scheduled_pod: Collection) -> None:
    answer = scheduled_pod.delete("a", gracePeriodSeconds=-5)
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 1


def test_an_unscheduled_pod_goes_at_once(space: Space) -> None:
    space.ready_for_pods()
    pods = space.collection("pods")
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    pods.create("a", spec=spec)
    assert pods.delete("a").body["kind"] == "Pod"
    assert pods.get("a").status == 404


def test_deleting_a_namespace_marks_it_and_answers_with_it(space: Space) -> None:
    space.secrets.create("hold", metadata={"finalizers": [HOLD]})
    answer = space.client.delete(f"/api/v1/namespaces/{space.name}")
    assert (answer.status, answer.body["kind"]) == (200, "Namespace")
    assert answer.body["metadata"]["deletionTimestamp"]
    assert answer.body["status"] == {"phase": "Terminating"}


def test_a_namespace_that_is_going_away_refuses_a_name_that_is_not_generated_yet(
    space: Space,
) -> None:
    space.secrets.create("hold", metadata={"finalizers": [HOLD]})
    space.client.delete(f"/api/v1/namespaces/{space.name}")
    answer = space.client.post(space.config_maps.path, {"metadata": {"generateName": "b-"}})
    assert answer.message.startswith('configmaps "b-" is forbidden: unable to create')


def test_nothing_new_can_be_made_in_a_namespace_that_is_going_away(space: Space) -> None:
    space.secrets.create("hold", metadata={"finalizers": [HOLD]})
    space.client.delete(f"/api/v1/namespaces/{space.name}")
    answer = space.client.post(space.config_maps.path, {"metadata": {"name": "b"}})
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert (
        f"unable to create new content in namespace {space.name} because it is being terminated"
        in answer.message
    )
    assert answer.causes == [
        (
            "metadata.namespace",
            "NamespaceTerminating",
            f"namespace {space.name} is being terminated",
        )
    ]


@pytest.mark.both_dialects
def test_the_systems_own_namespaces_cannot_be_deleted(space: Space) -> None:
    for name in ("default", space.dialect.system_namespace, space.dialect.public_namespace):
        answer = space.client.delete(f"/api/v1/namespaces/{name}")
        assert (answer.status, answer.message) == (
            403,
            f'namespaces "{name}" is forbidden: this namespace may not be deleted',
        )


@pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical"])
def test_system_priority_classes_cannot_be_deleted(space: Space, name: str) -> None:
    classes = space.everywhere("priorityclasses", "scheduling.@")
    answer = classes.delete(name)
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    why = "this is a system priority class and cannot be deleted"
    assert answer.body["message"].endswith(f'"{name}" is forbidden: {why}')
    assert classes.get(name).status == 200


ORPHANS = "child pods are preserved by default when jobs are deleted"


def test_what_becomes_of_the_pods_of_jobs_is_said_before_any_is_found(space: Space) -> None:
    jobs = space.collection("jobs", "batch")
    answer = jobs.delete("none")
    assert (answer.status, len(answer.warnings)) == (404, 1)
    assert ORPHANS in answer.warnings[0]
    assert ORPHANS in space.client.delete(jobs.path).warnings[0]
    chosen = space.client.delete(f"{jobs.path}?propagationPolicy=Background")
    assert (chosen.status, chosen.warnings) == (200, [])
