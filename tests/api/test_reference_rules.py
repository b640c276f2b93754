"""Details that the reference's test suites check, in both dialects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.client import Answer, Client
from support.namespaces import Space
from support.process import FreshServer, ServerProcess

from fairlead.codec.protobuf_wire import BYTES, delimited, key

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")
UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"


def deployment(name: str = "d") -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def test_finalizers_without_a_domain_are_refused(space: Space) -> None:
    things = space.config_maps
    body = {"metadata": {"name": "a", "finalizers": ["x", "example.com/y", "orphan", "z"]}}
    answer = things.client.post(things.path, body)
    assert answer.status == 422
    assert answer.causes == [
        (
            f"metadata.finalizers[{at}]",
            "FieldValueInvalid",
            f'Invalid value: "{name}": {UNQUALIFIED}',
        )
        for at, name in ((0, "x"), (3, "z"))
    ]
    things.create("a")
    answer = things.put({"metadata": {"name": "a", "finalizers": ["x"]}})
    assert answer.status == 422
    assert {cause[0] for cause in answer.causes} == {"metadata.finalizers[0]"}


@pytest.mark.parametrize(("text", "code"), [("invalid", 400), ("5", 400), ("5s", 200), ("", 200)])
def test_a_timeout_that_is_no_duration_is_400(space: Space, text: str, code: int) -> None:
    answer = space.secrets.list(timeout=text)
    assert answer.status == code
    if code == 400:
        assert answer.message.startswith("invalid timeout specified in the request URL")


def test_watching_an_item_with_a_selector_for_another_is_400(space: Space) -> None:
    path = f"/api/v1/watch/namespaces/{space.name}/secrets/a"
    for selector in ("metadata.name=b", "type=Opaque", "metadata.name!=a"):
        answer = space.client.get(path, fieldSelector=selector, timeoutSeconds=1)
        assert (answer.status, answer.message) == (
            400,
            "fieldSelector metadata.name doesn't match requested name",
        )
    assert space.client.get(path, fieldSelector="metadata.name=a", timeoutSeconds=1).status == 200


def test_a_delete_that_cascades_and_waits_is_202(space: Space) -> None:
    held = {"finalizers": ["example.com/hold"]}
    for name in "abcd":
        space.config_maps.create(name, metadata=held)
    assert space.config_maps.delete("a", {"orphanDependents": False}).status == 202
    assert space.config_maps.delete("b", orphanDependents="false").status == 202
    assert space.config_maps.delete("c", {"propagationPolicy": "Background"}).status == 200
    assert space.config_maps.delete("d", {"orphanDependents": True}).status == 200
    space.config_maps.create("e")
    assert space.config_maps.delete("e", {"orphanDependents": False}).status == 200


def test_null_as_delete_options_counts_as_given(space: Space) -> None:
    space.config_maps.create("a")
    assert space.config_maps.delete("a", "null", dryRun="All").status == 200
    assert space.config_maps.get("a").status == 404


def test_owned_fields_are_written_in_order(space: Space) -> None:
    data = {"z": "1", "a": "2", "m": "3"}
    space.config_maps.create("a", data=data, labels={"y": "1", "b": "2"})
    for patch in ({}, {"data": {"b": "4", "zz": "5"}}):
        fields = space.config_maps.patch("a", patch).body["metadata"]["managedFields"][0][
            "fieldsV1"
        ]
        for part in (fields, fields["f:data"], fields["f:metadata"]["f:labels"]):
            assert list(part) == sorted(part)


def test_metadata_is_shown_in_its_order(space: Space) -> None:
    metadata = {"finalizers": ["example.com/x"], "annotations": {"a": "b"}, "selfLink": "/x"}
    config_map = space.config_maps.create("a", labels={"c": "d"}, metadata=metadata)
    rows = [name for name in config_map["metadata"] if name != "resourceVersion"]
    expected = "name namespace uid creationTimestamp labels annotations finalizers managedFields"
    assert rows == expected.split()


def test_a_self_link_is_dropped_wherever_it_comes_from(space: Space) -> None:
    space.config_maps.create("a")
    value = space.config_maps.read("a")
    value["metadata"]["selfLink"] = "/x"
    assert "selfLink" not in space.config_maps.update(value)["metadata"]
    patched = space.config_maps.patch("a", {"metadata": {"selfLink": "/x"}, "data": {"a": "b"}})
    assert "selfLink" not in patched.body["metadata"]
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"selfLink": "/x", "name": "a"}}
    applied = space.client.patch(space.config_maps.item("a"), config, kind=APPLY, fieldManager="m")
    assert applied.status == 200
    assert "selfLink" not in applied.body["metadata"]


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"spec": {"template": "x"}}, "cannot restore struct from: string"),
        ({"spec": {"template": {"spec": {"containers": 5}}}}, "cannot restore slice from int64"),
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"paused": 1}}, "unrecognized type: bool"),
        ({"spec": {"strategy": {"rollingUpdate": {"maxSurge": True}}}},
         "json: cannot unmarshal bool into Go value of type int32"),
        ({"metadata": {"labels": {"a": 5}}}, "cannot convert int64 to string"),
        ({"metadata": {"labels": {"a": {}}}}, "unrecognized type: string"),
        ({"spec": {"template": {"spec": {"restartPolicy": 5}}}}, "cannot convert int64 to v1."),
        ({"spec": {"template": {"spec": {"restartPolicy": True}}}}, "unrecognized type: string"),
        ({"apiVersion": 5}, "cannot convert int64 to string"),
        ({"kind": [1]}, "unrecognized type: string"),
    ],
)  # fmt: skip
def test_a_strategic_merge_says_what_cannot_become_what(
    space: Space, patch: dict[str, Any], why: str
) -> None:
    collection = space.collection("deployments", "apps")
    assert collection.client.post(collection.path, deployment()).status == 201
    answer = collection.client.patch(collection.item("d"), patch, kind=STRATEGIC)
    assert answer.status == 422
    assert why in answer.message


@pytest.mark.parametrize(
    ("kind", "patch", "order"),
    [
        (
            MERGE,
            {"spec": {"ports": [{"targetPort": 5, "port": [], "name": "b"}]}},
            ['"ports":[{"name":"b","port":[],"targetPort":5}]', '"selector":{"a":"1","b":"2"}'],
        ),
        (
            MERGE,
            {"spec": {"externalIPs": 5}},
            ['"ports":[{"name":"a","protocol":"TCP","port":80,', '"selector":{"a":"1","b":"2"}'],
        ),
        (
            MERGE,
            {"metadata": {"labels": 5}},
            ['"selector":{"a":"1","b":"2"},"clusterIP":"', '"],"type":"ClusterIP","session'],
        ),
        (
            JSON_PATCH,
            [{"op": "add", "path": "/spec/ports/-", "value": {"port": [], "name": "b"}}],
            ['"ports":[{"name":"a","protocol":"TCP","port":80,', ',{"port":[],"name":"b"}]'],
        ),
    ],
)
def test_a_refused_patch_is_shown_in_the_order_of_the_type(
    space: Space, kind: str, patch: Any, order: list[str]
) -> None:
    collection = space.collection("services")
    port = {"port": 80, "name": "a"}
    body = {"metadata": {"name": "s"}, "spec": {"selector": {"b": "2", "a": "1"}, "ports": [port]}}
    assert collection.client.post(collection.path, body).status == 201
    answer = collection.client.patch(collection.item("s"), patch, kind=kind)
    assert answer.status == 422, answer.text
    quoted = json.loads(answer.message.partition("Invalid value: ")[2].rpartition(": json")[0])
    assert [part for part in order if part not in quoted] == []


def test_kinds_inside_a_refused_patch_begin_with_their_type(space: Space) -> None:
    collection = space.collection("statefulsets", "apps")
    body = deployment("s")
    body["spec"]["serviceName"] = "s"
    mount = {"name": "v", "mountPath": "/v"}
    body["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [mount]
    body["spec"]["volumeClaimTemplates"] = [
        {
            "metadata": {"name": "v"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1"}},
            },
        }
    ]
    assert collection.client.post(collection.path, body).status == 201
    refused = collection.client.patch(collection.item("s"), {"metadata": {"labels": 5}}, kind=MERGE)
    assert refused.status == 422
    wanted = r"[{\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\",\"metadata\":"
    assert rf"\"volumeClaimTemplates\":{wanted}" in refused.message


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (MERGE, {"metadata": {"resourceVersion": None}}),
        (STRATEGIC, {"metadata": {"resourceVersion": None}}),
        (JSON_PATCH, [{"op": "remove", "path": "/metadata/resourceVersion"}]),
    ],
)
def test_a_patch_may_not_take_away_the_version_of_what_is_only_changed_with_it(
    space: Space, kind: str, patch: Any
) -> None:
    collection = space.collection("leases", "coordination.@")
    collection.create("a")
    answer = collection.client.patch(collection.item("a"), patch, kind=kind)
    assert answer.status == 422
    assert answer.causes == [
        (
            "metadata.resourceVersion",
            "FieldValueInvalid",
            "Invalid value: 0x0: must be specified for an update",
        )
    ]
    space.config_maps.create("a")
    assert collection.client.patch(space.config_maps.item("a"), patch, kind=kind).status == 200


def test_an_apply_refuses_repeated_values_of_a_set_inside_an_atomic_list(space: Space) -> None:
    rule = {"verbs": ["get"], "nonResourceURLs": ["/x", "/x"]}
    subject = {"kind": "User", "user": {"name": "u"}}
    group = space.base("flowcontrol.apiserver.@", "v1beta2").removeprefix("/apis/")
    config = {
        "apiVersion": group,
        "kind": "FlowSchema",
        "metadata": {"name": space.name},
        "spec": {
            "priorityLevelConfiguration": {"name": "exempt"},
            "rules": [{"subjects": [subject], "nonResourceRules": [rule]}],
        },
    }
    things = space.everywhere("flowschemas", "flowcontrol.apiserver.@", "v1beta2")
    path = things.item(space.name)
    refused = space.client.patch(path, config, kind=APPLY, fieldManager="m")
    assert refused.status == 400
    assert (
        '.spec.rules[0].nonResourceRules[0].nonResourceURLs: duplicate entries for key [="/x"]'
        in refused.message
    )
    rule["nonResourceURLs"].pop()
    space.cleanups.append(lambda: space.client.delete(path))
    assert space.client.patch(path, config, kind=APPLY, fieldManager="m").status == 201


def test_new_finalizers_of_what_is_being_deleted_are_told_once(space: Space) -> None:
    things = space.config_maps
    body = {"metadata": {"name": "a", "finalizers": ["example.com/a"]}}
    assert things.client.post(things.path, body).status == 201
    assert things.client.delete(things.item("a")).status == 200
    added = ["example.com/a", "example.com/c", "example.com/b", "example.com/c"]
    answer = things.client.patch(things.item("a"), {"metadata": {"finalizers": added}}, kind=MERGE)
    assert answer.status == 422
    assert 'found new finalizers []string{"example.com/b", "example.com/c"}' in answer.message


def test_a_strategic_merge_knows_integers_by_their_value(space: Space) -> None:
    collection = space.collection("deployments", "apps")
    assert collection.client.post(collection.path, deployment()).status == 201
    surge = {"rollingUpdate": {"maxSurge": 3.0}}
    patch = {"spec": {"minReadySeconds": 1e2, "strategy": surge}}
    answer = collection.client.patch(collection.item("d"), patch, kind=STRATEGIC)
    assert answer.status == 200, answer.text
    spec = answer.body["spec"]
    assert (spec["minReadySeconds"], spec["strategy"]["rollingUpdate"]["maxSurge"]) == (100, 3)
    refused = collection.client.patch(
        collection.item("d"), {"spec": {"minReadySeconds": 3.5, "paused": 2.0}}, kind=STRATEGIC
    )
    assert refused.status == 422
    assert '"map[spec:map[minReadySeconds:3.5 paused:2]]": ' in refused.message


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"restartPolicy": 5}, "PodSpec.spec.restartPolicy of type v1.RestartPolicy"),
        (
            {"containers": [{"name": "c", "resources": {"limits": 5}}]},
            "ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
        ),
        (
            {"containers": [{"securityContext": {"capabilities": {"add": [5]}}}]},
            "Capabilities.spec.containers.securityContext.capabilities.add of type v1.Capability",
        ),
        (
            {"containers": [{"securityContext": {"capabilities": {"add": 5}}}]},
            "Capabilities.spec.containers.securityContext.capabilities.add of type []v1.Capability",
        ),
        ({"nodeName": 5}, "PodSpec.spec.nodeName of type string"),
    ],
)
def test_a_wrong_type_is_named_as_the_field_has_it(
    space: Space, spec: dict[str, Any], place: str
) -> None:
    pods = space.collection("pods")
    answer = pods.client.post(pods.path, {"metadata": {"name": "a"}, "spec": spec})
    assert answer.status == 400
    assert answer.message.endswith(f"cannot unmarshal number into Go struct field {place}")


def test_empty_labels_are_told_from_none_in_a_selector(space: Space) -> None:
    collection = space.collection("deployments", "apps")
    shown_selectors: list[tuple[dict[str, Any], str]] = [
        ({}, "MatchLabels:map[string]string(nil)"),
        ({"matchLabels": {}}, "MatchLabels:map[string]string{}"),
    ]
    for selector, output in shown_selectors:
        body = deployment()
        body["spec"]["selector"] = selector
        answer = collection.client.post(collection.path, body)
        assert answer.status == 422
        assert output in answer.message


def test_an_empty_quantity_is_400(space: Space) -> None:
    pods = space.collection("pods")
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": ""}}}
    body = {"metadata": {"name": "a"}, "spec": {"containers": [container]}}
    answer = pods.client.post(pods.path, body)
    assert answer.status == 400
    assert "quantities must match the regular expression" in answer.message


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("application/merge-patch+json", {"data": {"b": 1}}),
        ("application/json-patch+json", [{"op": "add", "path": "/data/b", "value": 1}]),
    ],
)
def test_a_patch_that_breaks_the_type_is_shown_by_what_it_made(
    space: Space, kind: str, patch: Any
) -> None:
    space.config_maps.create("a", data={"c": "2"})
    answer = space.client.patch(space.config_maps.item("a"), patch, kind=kind)
    assert answer.status == 422
    assert [cause[0] for cause in answer.causes] == ["patch"]
    text = r"{\"apiVersion\":\"v1\",\"data\":{\"b\":1,\"c\":\"2\"},\"kind\":\"ConfigMap\","
    assert text in answer.message


@pytest.mark.parametrize("levels", [300, 900])
def test_a_patch_that_nests_deeply_is_refused_without_being_shown(
    space: Space, levels: int
) -> None:
    space.config_maps.create("a")
    deep = '{"a":' * levels + "1" + "}" * levels
    answer = space.client.patch(space.config_maps.item("a"), f'{{"data":{{"b":{deep}}}}}')
    assert answer.status in (400, 422)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "Pod"}, "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
        ({"kind": "Nonsense"}, 'no kind "Nonsense" is registered for version "v1" in scheme'),
        ({"apiVersion": "v7"}, 'no kind "ConfigMap" is registered for version "v7" in scheme'),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ({"kind": 5}, "cannot unmarshal number into Go struct field .kind of type string"),
    ],
)
def test_a_patch_to_another_type_is_told_why_it_does_not_fit(
    space: Space, change: dict[str, Any], why: str
) -> None:
    space.config_maps.create("a")
    answer = space.client.patch(space.config_maps.item("a"), change)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert why in answer.message


def test_a_configuration_has_to_say_its_kind(space: Space) -> None:
    body = {"apiVersion": "v1", "metadata": {"name": "a"}}
    kind = "application/apply-patch+yaml"
    answer = space.client.patch(space.config_maps.item("a"), body, kind=kind, fieldManager="m")
    assert answer.status == 400
    assert space.config_maps.get("a").status == 404


@pytest.mark.parametrize("version", [5, "a/b/c"])
def test_what_is_no_version_of_a_configuration_is_shown_as_none(space: Space, version: Any) -> None:
    body = {"apiVersion": version, "kind": "ConfigMap", "metadata": {"name": "a"}}
    kind = "application/apply-patch+yaml"
    answer = space.client.patch(space.config_maps.item("a"), body, kind=kind, fieldManager="m")
    assert (answer.status, answer.message) == (
        400,
        "Incorrect version specified in apply patch. Specified patch version: , expected: v1",
    )


def test_a_patch_that_takes_the_version_away_leaves_no_name(space: Space) -> None:
    space.config_maps.create("a")
    why = "the name of the object (a based on URL) was undeterminable: name must be provided"
    path = space.config_maps.item("a")
    gone = [{"op": "remove", "path": f"/{name}"} for name in ("apiVersion", "kind", "metadata")]
    for patch, kind in (
        (gone, JSON_PATCH),
        ({"apiVersion": None, "kind": None}, "application/merge-patch+json"),
    ):
        answer = space.client.patch(path, patch, kind=kind)
        assert (answer.status, answer.message) == (400, why)
    assert space.client.patch(path, {"kind": None}).status == 200
    response = space.client.patch(path, {"apiVersion": None}, kind=STRATEGIC)
    assert response.status == 200


def test_repeated_keys_in_yaml_are_one_strict_error(space: Space) -> None:
    body = "metadata:\n  name: a\n  name: a\ndata:\n  k: p\n  k: q\nbogus: 1\n"
    headers = {"Content-Type": "application/yaml"}
    path = space.config_maps.path
    answer = space.client.post(path, body, headers=headers, fieldValidation="Strict")
    lines = 'line 3: key "name" already set in map\n  line 6: key "k" already set in map'
    text = f'yaml: unmarshal errors:\n  {lines}, unknown field "bogus"'
    assert (answer.status, answer.message.partition("strict decoding error: ")[2]) == (400, text)
    answer = space.client.post(path, body, headers=headers)
    assert answer.status == 201
    assert answer.warnings[0] == '299 - "line 3: key \\"name\\" already set in map"'


def test_conflicts_about_a_scale_are_told_in_its_version(space: Space) -> None:
    collection = space.collection("deployments", "apps")
    assert collection.client.post(collection.path, deployment(), fieldManager="maker").status == 201

    def apply(version: str) -> Any:
        config = {
            "apiVersion": version,
            "kind": "Scale",
            "metadata": {"name": "d", "namespace": space.name},
            "spec": {"replicas": 5},
        }
        path = collection.item("d", "scale")
        return collection.client.patch(path, config, kind=APPLY, fieldManager="other")

    conflict = apply("autoscaling/v1")
    assert conflict.status == 409
    assert conflict.causes[0][2] == 'conflict with "maker" using autoscaling/v1'
    wrong = apply("apps/v1")
    assert (wrong.status, wrong.message) == (
        400,
        "Incorrect version specified in apply patch. Specified patch version: apps/v1,"
        " expected: autoscaling/v1",
    )


class Scaled:
    """A deployment whose number of replicas has no owner, and writes to its scale."""

    def __init__(self, space: Space) -> None:
        self.collection = space.collection("deployments", "apps")
        self.namespace = space.name
        config = {"apiVersion": "apps/v1", "kind": "Deployment", **deployment()}
        config["spec"].pop("replicas", None)
        path = self.collection.item("d")
        answer = self.collection.client.patch(path, config, kind=APPLY, fieldManager="maker")
        assert answer.status == 201, answer.text

    def apply(self, replicas: int, **query: str) -> Answer:
        config = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "d", "namespace": self.namespace},
            "spec": {"replicas": replicas},
        }
        path, query = self.collection.item("d", "scale"), {"fieldManager": "applier", **query}
        return self.collection.client.patch(path, config, kind=APPLY, **query)

    def update(self, replicas: int) -> Answer:
        path, change = self.collection.item("d", "scale"), {"spec": {"replicas": replicas}}
        return self.collection.client.patch(path, change, fieldManager="updater")

    def owners(self) -> list[tuple[str, str, bool]]:
        """Return the owners of the number of replicas: names, operations, and whether they have a
        time."""
        return [
            (entry["manager"], entry["operation"], "time" in entry)
            for entry in self.collection.read("d")["metadata"]["managedFields"]
            if "f:replicas" in entry["fieldsV1"].get("f:spec", {})
        ]


def test_a_scale_without_owners_is_updated_untracked(kubernetes: Space) -> None:
    scaled = Scaled(kubernetes)
    assert scaled.update(3).body["spec"]["replicas"] == 3
    assert scaled.owners() == []


def test_the_first_apply_to_a_scale_finds_an_owner_of_what_was_there(kubernetes: Space) -> None:
    scaled = Scaled(kubernetes)
    assert scaled.apply(3).message == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" with subresource "scale"'
        " using autoscaling/v1: .spec.replicas"
    )
    assert scaled.apply(1).status == 200
    assert scaled.owners() == [
        ("applier", "Apply", False),
        ("before-first-apply", "Update", False),
    ]


def test_it_is_not_told_when_a_scale_was_written(kubernetes: Space) -> None:
    scaled = Scaled(kubernetes)
    assert scaled.apply(3, force="true").status == 200
    assert scaled.owners() == [("applier", "Apply", False)]
    assert scaled.update(4).status == 200
    assert scaled.owners() == [("updater", "Update", False)]


def test_owners_of_versions_that_are_not_served_are_dropped(space: Space) -> None:
    space.config_maps.create("a", data={"k": "v"})
    stranger = {
        "manager": "x",
        "operation": "Update",
        "apiVersion": "nowhere/v9",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {}},
    }
    patch = [{"op": "add", "path": "/metadata/managedFields/-", "value": stranger}]
    answer = space.client.patch(space.config_maps.item("a"), patch, kind=JSON_PATCH)
    assert [entry["manager"] for entry in answer.body["metadata"]["managedFields"]] == ["tests"]


def test_extras_of_a_user_may_be_null(space: Space) -> None:
    value = {"verb": "get", "resource": "pods"}
    body = {"spec": {"user": "u", "extra": {"k": None}, "resourceAttributes": value}}
    answer = space.client.post(f"{space.base('authorization.@')}/subjectaccessreviews", body)
    assert answer.status == 201, answer.text
    assert answer.body["spec"]["extra"] == {"k": None}


@pytest.mark.both_dialects
def test_reviews_have_no_table(space: Space) -> None:
    base = space.base("authorization.@")
    body = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    accept = f"application/json;as=Table;g={space.dialect.meta_group};v=v1"
    path = f"{base}/selfsubjectaccessreviews"
    assert space.client.post(path, body, headers={"Accept": accept}).status == 406
    both = f"{accept}, application/json"
    assert space.client.post(path, body, headers={"Accept": both}).status == 201


def test_jobs_are_selected_by_what_succeeded_only(space: Space) -> None:
    jobs = space.collection("jobs", "batch")
    assert jobs.list(fieldSelector="status.successful=1").status == 200
    answer = jobs.list(fieldSelector="spec.parallelism=5")
    assert (answer.status, answer.message) == (
        400,
        'field label "spec.parallelism" not supported for Job',
    )


def test_recycling_a_volume_is_not_warned_of(space: Space) -> None:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "persistentVolumeReclaimPolicy": "Recycle",
    }
    volumes = space.everywhere("persistentvolumes")
    answer = volumes.client.post(
        volumes.path, {"metadata": {"name": space.name}, "spec": spec}, dryRun="All"
    )
    assert (answer.status, answer.warnings) == (201, [])


def test_the_key_set_has_a_type_of_its_own_and_may_be_kept(client: Client) -> None:
    for path, media_type in (
        ("/openid/v1/jwks", "application/jwk-set+json"),
        ("/.well-known/openid-configuration", "application/json"),
    ):
        answer = client.get(path)
        assert answer.headers["Content-Type"] == media_type
        assert answer.headers.get_all("Cache-Control") == ["public, max-age=3600"]


@pytest.mark.parametrize("name", ["healthz", "livez", "readyz"])
def test_the_checks_of_the_start_are_listed(client: Client, name: str) -> None:
    text = client.get(f"/{name}?verbose").text
    for check in (
        *("ping", "log", "etcd"),
        "poststarthook/start-kube-apiserver-admission-initializer",
        "poststarthook/generic-apiserver-start-informers",
        "poststarthook/bootstrap-controller",
        "poststarthook/scheduling/bootstrap-system-priority-classes",
        "poststarthook/start-cluster-authentication-info-controller",
        "poststarthook/apiservice-openapi-controller",
    ):
        assert f"[+]{check} ok\n" in text


def envelope(kind: str, content: bytes, content_type: str = "", encoding: str = "") -> bytes:
    meta = delimited(key(1, BYTES), b"v1") + delimited(key(2, BYTES), kind.encode())
    return b"k8s\x00" + b"".join(
        delimited(key(number, BYTES), part)
        for number, part in enumerate((meta, content, encoding.encode(), content_type.encode()), 1)
    )


@pytest.mark.both_dialects
def test_an_envelope_may_hold_json(space: Space) -> None:
    headers = {"Content-Type": space.dialect.protobuf_media_type}
    path = space.config_maps.path

    def post(body: bytes) -> Any:
        return space.client.post(path, body, headers=headers)

    content = b'{"metadata":{"name":"a"},"data":{"k":"v"}}'
    answer = post(envelope("ConfigMap", content, "application/json"))
    assert (answer.status, answer.body["data"]) == (201, {"k": "v"})
    assert post(envelope("ConfigMap", b"{", "application/json")).status == 400
    assert post(envelope("ConfigMap", content, "text/html")).status == 400
    assert post(envelope("ConfigMap", content, "", "gzip")).status == 400


@pytest.mark.both_dialects
@pytest.mark.parametrize("type_meta", [True, False])
def test_an_envelope_need_not_say_its_type(space: Space, type_meta: bool) -> None:
    metadata = delimited(key(1, BYTES), delimited(key(1, BYTES), b"a"))
    entry = delimited(key(1, BYTES), b"k") + delimited(key(2, BYTES), b"v")
    content = metadata + delimited(key(2, BYTES), entry)
    empty = delimited(key(1, BYTES), b"") if type_meta else b""
    answer = space.client.post(
        space.config_maps.path,
        b"k8s\x00" + empty + delimited(key(2, BYTES), content),
        headers={"Content-Type": space.dialect.protobuf_media_type},
    )
    assert (answer.status, answer.body.get("data")) == (201, {"k": "v"}), answer.text


@pytest.mark.both_dialects
def test_an_envelope_with_nothing_in_it_is_refused(space: Space) -> None:
    headers = {"Content-Type": space.dialect.protobuf_media_type}
    answer = space.client.post(space.config_maps.path, b"k8s\x00", headers=headers)
    assert answer.status == 400
    assert "empty body" in answer.message


def test_a_server_that_denies_everything_starts(fresh_server: FreshServer) -> None:
    running: ServerProcess = fresh_server("--enable-admission-plugins=AlwaysDeny")
    client = running.client()
    assert client.get("/api/v1/namespaces/default").status == 200
    answer = client.post("/api/v1/namespaces", {"metadata": {"name": "x"}})
    assert answer.status == 403


def test_a_group_that_is_only_called_may_be_switched_on(fresh_server: FreshServer) -> None:
    running = fresh_server("--runtime-config", "imagepolicy.k8s.io/v1alpha1=true")
    assert running.client().get("/apis/imagepolicy.k8s.io").status == 404


@pytest.mark.both_dialects
def test_annotations_that_once_were_init_containers_are_not_kept(space: Space) -> None:
    names = [
        space.dialect.label(f"pod.{stage}.@/{name}")
        for stage in ("alpha", "beta")
        for name in ("init-containers", "init-container-statuses")
    ]
    spec = {"containers": [{"name": "c", "image": "i"}]}
    metadata = {"annotations": {**dict.fromkeys(names, "[]"), "kept": "x"}}
    pod = space.collection("pods").client.post(
        space.collection("pods").path,
        {"metadata": {"name": "p", **metadata}, "spec": spec},
        dryRun="All",
    )
    assert pod.body["metadata"]["annotations"] == {"kept": "x"}
    template = {"metadata": {"annotations": dict.fromkeys(names, "[]")}, "spec": spec}
    templates = space.collection("podtemplates")
    answer = templates.client.post(
        templates.path, {"metadata": {"name": "t"}, "template": template}, dryRun="All"
    )
    assert "annotations" not in answer.body["template"]["metadata"]


def test_the_uid_in_a_scale_is_a_precondition(space: Space) -> None:
    deployments = space.collection("deployments", "apps")
    body = deployment()
    created = deployments.create(body["metadata"]["name"], spec=body["spec"] | {"replicas": 0})
    path = f"{deployments.path}/d/scale"
    uid = created["metadata"]["uid"]
    failed = f"Precondition failed: UID in precondition: u, UID in object meta: {uid}"
    scale = {"metadata": {"name": "d", "uid": "u"}, "spec": {"replicas": -1}}
    answer = deployments.client.put(path, scale)
    assert answer.status == 409
    assert answer.message.startswith('Operation cannot be fulfilled on deployments.apps "d": Stor')
    assert answer.message.endswith(failed)
    answer = deployments.client.patch(path, {"metadata": {"uid": "u"}})
    assert (answer.status, answer.message) == (
        409,
        f'Operation cannot be fulfilled on deployments/scale.apps "d": {failed}',
    )


def owned_by(answer: Answer, manager: str) -> dict[str, Any]:
    entries = answer.body["metadata"]["managedFields"]
    return {
        name: node
        for e in entries
        if e["manager"] == manager
        for name, node in e["fieldsV1"].items()
    }


def test_labels_that_a_status_cannot_write_are_not_owned_by_it(space: Space) -> None:
    collection = space.collection("deployments", "apps")
    collection.client.post(collection.path, deployment())
    stated = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "labels": {"x": "y"}, "annotations": {"x": "y"}},
        "status": {"observedGeneration": 1},
    }
    path = collection.item("d") + "/status"
    answer = collection.client.patch(path, stated, kind=APPLY, fieldManager="s", force="true")
    assert owned_by(answer, "s") == {
        "f:metadata": {"f:annotations": {"f:x": {}}},
        "f:status": {"f:observedGeneration": {}},
    }


def test_metadata_that_a_status_cannot_write_is_not_owned_by_it(space: Space) -> None:
    things = space.everywhere("volumeattachments", "storage.@")
    spec = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    name = f"a-{space.name}"
    document = things.client.post(things.path, {"metadata": {"name": name}, "spec": spec}).body
    document["metadata"]["labels"] = {"x": "y"}
    document["status"] = {"attached": True}
    answer = things.client.put(things.item(name) + "/status", document, fieldManager="s")
    assert owned_by(answer, "s") == {"f:status": {"f:attached": {}}}
    things.remove(name)


def test_an_apply_with_a_uid_creates_nothing(space: Space) -> None:
    uid = "88e00824-7f0e-11e8-94a1-c8d3ffb15800"
    stated = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": uid}}
    path = space.config_maps.item("a")
    answer = space.client.patch(path, stated, kind=APPLY, fieldManager="m")
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object'
        f" specified uid {uid}, and no existing object was found"
    )
    assert space.config_maps.get("a").status == 404


@pytest.mark.parametrize(
    ("change", "field", "why"),
    [
        ({"manager": "a" * 129}, "manager", "Too long: must have at most 128 bytes"),
        (
            {"manager": "a\n"},
            "manager",
            'Invalid value: "a\\n": invalid character U+000A (at position 1)',
        ),
        ({"subresource": "s" * 257}, "subresource", "Too long: must have at most 256 bytes"),
    ],
)
def test_owners_that_a_client_writes_have_to_be_in_order(
    space: Space, change: dict[str, str], field: str, why: str
) -> None:
    space.config_maps.create("a", data={"k": "v"})
    entry = {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:k": {}}},
        **change,
    }
    answer = space.config_maps.patch("a", {"metadata": {"managedFields": [entry]}})
    assert answer.status == 422
    assert f"metadata.managedFields[0].{field}: {why}" in answer.message


@pytest.mark.parametrize(
    ("group", "plural", "more"),
    [
        ("", "events", {"involvedObject": {}}),
        ("policy", "poddisruptionbudgets", {"spec": {"maxUnavailable": 1}}),
        ("coordination.@", "leases", {}),
    ],
)
def test_metadata_of_every_new_object_is_checked(
    space: Space, group: str, plural: str, more: dict[str, Any]
) -> None:
    collection = space.collection(plural, group)
    if "involvedObject" in more:
        more = {"involvedObject": {"namespace": space.name}}
    wrong = {"labels": {"a b": "c"}, "annotations": {"a b": "c"}, "ownerReferences": [{}]}
    answer = collection.client.post(collection.path, {"metadata": {"name": "a", **wrong}, **more})
    assert answer.status == 422
    fields = ["annotations", "labels", *(f"ownerReferences.{n}" for n in OWNER_FIELDS)]
    assert sorted({field for field, _, _ in answer.causes}) == [f"metadata.{n}" for n in fields]


def test_finalizers_of_leases_and_runtime_classes_need_no_domain(space: Space) -> None:
    leases = space.collection("leases", "coordination.@")
    classes = space.everywhere("runtimeclasses", "node.@")
    body = {"metadata": {"name": "a", "finalizers": ["x"]}, "handler": "h"}
    for item in (leases, classes):
        assert item.client.post(item.path, body, dryRun="All").status == 201


def test_a_name_that_is_taken_is_told_with_the_prefix_that_came_with_it(space: Space) -> None:
    space.secrets.create("a")
    body = {"metadata": {"name": "a", "generateName": "b-"}}
    answer = space.client.post(space.secrets.path, body)
    assert (answer.status, answer.headers["retry-after"]) == (409, "1")
    assert answer.message == (
        'secrets "a" already exists, the server was not able to generate a unique name for the'
        " object"
    )
    assert answer.body["details"]["retryAfterSeconds"] == 1


@pytest.mark.parametrize(
    ("given", "code", "expected"),
    [
        ([], 201, ""),
        ([97, None, 255], 201, "YQD/"),
        ([256], 400, "number 256"),
        (["a"], 400, "string"),
        ([True], 400, "bool"),
    ],
)
def test_bytes_may_be_a_list_of_numbers(
    space: Space, given: list[Any], code: int, expected: str
) -> None:
    body = {"metadata": {"name": "a"}, "data": {"k": given}}
    answer = space.client.post(space.secrets.path, body)
    assert answer.status == code
    if code == 201:
        assert answer.body["data"] == {"k": expected}
    else:
        assert f"cannot unmarshal {expected} into Go struct field Secret.data of type uint8" in (
            answer.message
        )


def test_what_a_maker_says_of_the_deletion_of_a_new_object_is_not_owned(space: Space) -> None:
    metadata = {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z"}
    created = space.client.post(
        space.secrets.path,
        {"metadata": {**metadata, "deletionGracePeriodSeconds": 5}, "data": {"k": ""}},
    ).body["metadata"]
    assert "deletionTimestamp" not in created
    assert created["managedFields"][0]["fieldsV1"].keys() == {"f:data", "f:type"}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"accessModes": 5, "resources": {"requests": {"storage": "x"}}}, "quantities must match"),
        ({"accessModes": 5, "resources": {"requests": {"storage": "1"}}}, "field Persistent"),
    ],
)
def test_a_quantity_that_cannot_be_read_is_told_before_wrong_types(
    space: Space, spec: dict[str, Any], why: str
) -> None:
    path = space.collection("persistentvolumeclaims").path
    answer = space.client.post(path, {"metadata": {"name": "a"}, "spec": spec})
    assert answer.status == 400
    assert why in answer.message


def test_a_replication_controller_warns_of_its_former_template(space: Space) -> None:
    collection = space.collection("replicationcontrollers")
    template = deployment()["spec"]["template"]
    template["spec"]["imagePullSecrets"] = [{}]
    body = {"metadata": {"name": "a"}, "spec": {"replicas": 0, "template": template}}
    created = collection.client.post(collection.path, body)
    field = r"template.spec.imagePullSecrets[0].name: invalid empty name \"\""
    assert created.warnings == [f'299 - "{field}"']
    named = {"spec": {"template": {"spec": {"imagePullSecrets": None}}}}
    assert collection.patch("a", named).warnings == [f'299 - "spec.{field}"']


@pytest.mark.both_dialects
def test_clients_of_autoscaling_v1_get_no_defaults_for_behaviour(space: Space) -> None:
    collection = space.collection("horizontalpodautoscalers", "autoscaling")
    rules = {"Policies": [{"Type": "Pods", "Value": 1, "PeriodSeconds": 5}]}
    name = f"autoscaling.alpha.{space.dialect.label_domain}/behavior"
    body = {
        "metadata": {"name": "a", "annotations": {name: json.dumps({"ScaleUp": rules})}},
        "spec": {"scaleTargetRef": {"kind": "K", "name": "n"}, "maxReplicas": 2},
    }
    assert collection.client.post(collection.path, body).status == 201
    newer = space.collection("horizontalpodautoscalers", "autoscaling", "v2").read("a")
    assert newer["spec"]["behavior"].keys() == {"scaleUp"}


def test_the_data_of_a_revision_has_one_owner(space: Space) -> None:
    collection = space.collection("controllerrevisions", "apps")
    body = {"metadata": {"name": "a"}, "revision": 1, "data": {"spec": {"k": [1, {"l": 2}]}}}
    document = collection.client.post(collection.path, body).body
    owned = document["metadata"]["managedFields"][0]["fieldsV1"]
    assert owned == {"f:data": {}, "f:revision": {}}


def test_owners_stay_when_an_update_empties_a_map(space: Space) -> None:
    collection = space.collection("podtemplates")
    template = deployment()["spec"]["template"]
    body = {"metadata": {"name": "a"}, "template": template}
    collection.client.post(collection.path, body, fieldManager="maker")
    emptied = {"metadata": {"labels": {}}, "spec": template["spec"]}
    changed = collection.client.put(collection.item("a"), {**body, "template": emptied}).body
    assert "labels" not in changed["template"]["metadata"]
    (entry,) = changed["metadata"]["managedFields"]
    assert entry["manager"] == "maker"
    assert entry["fieldsV1"]["f:template"].keys() == {"f:spec"}


@pytest.mark.parametrize(
    ("version", "kind", "why"),
    [
        ("extensions/v1beta1", "Deployment", "does not match the expected API version (apps/v1)"),
        ("apps/v1beta2", "Deployment", "does not match the expected API version (apps/v1)"),
        ("apps/v1beta3", "Deployment", 'no kind "Deployment" is registered for version'),
        ("apps/v1beta1", "DaemonSet", 'no kind "DaemonSet" is registered for version'),
        (
            "apps/v1beta2",
            "DaemonSet",
            "converting (v1beta2.DaemonSet) to (apps.Deployment): unknown conversion",
        ),
    ],
)
def test_kinds_of_versions_that_are_served_no_more_are_known(
    space: Space, version: str, kind: str, why: str
) -> None:
    collection = space.collection("deployments", "apps")
    body = {**deployment(), "apiVersion": version, "kind": kind}
    answer = collection.client.post(collection.path, body)
    assert answer.status == 400
    assert why in answer.message


def test_an_apply_of_another_version_is_told_before_another_kind(space: Space) -> None:
    space.config_maps.create("a")
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    answer = space.client.patch(space.config_maps.item("a"), body, kind=APPLY, fieldManager="m")
    assert answer.status == 400
    assert answer.message == (
        "Incorrect version specified in apply patch. Specified patch version: apps/v1, expected: v1"
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"propagationPolicy": "Bad"}, 'Unsupported value: "Bad"'),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, "cannot be both set"),
    ],
)
def test_an_eviction_with_a_wrong_propagation_policy_is_invalid(
    space: Space, options: dict[str, Any], why: str
) -> None:
    collection = space.collection("pods")
    body = {"metadata": {"name": "a"}, "deleteOptions": options}
    missing = collection.client.post(collection.item("a") + "/eviction", body)
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert collection.client.post(collection.path, pod).status == 201
    answer = collection.client.post(collection.item("a") + "/eviction", body)
    assert (missing.status, answer.status) == (404, 422)
    assert why in answer.message
    assert collection.get("a").status == 200


def test_a_review_of_a_wrong_token_keeps_the_status_that_was_sent(space: Space) -> None:
    path = space.everywhere("tokenreviews", "authentication.@").path
    sent = {"authenticated": True, "user": {"username": "u"}, "audiences": ["a"]}
    answer = space.client.post(path, {"spec": {"token": "wrong"}, "status": sent})
    assert answer.status == 201
    assert answer.body["status"] == {
        "user": {"username": "u"},
        "audiences": ["a"],
        "error": "invalid bearer token",
    }


def test_a_scale_with_the_uid_of_another_object_is_a_conflict(space: Space) -> None:
    collection = space.collection("deployments", "apps")
    collection.client.post(collection.path, deployment())
    path = collection.item("d") + "/scale"
    scale = {"metadata": {"name": "d", "uid": "other"}, "spec": {"replicas": 2}}
    answer, patched = collection.client.put(path, scale), collection.client.patch(path, scale)
    assert [answer.status, patched.status] == [409, 409]
    assert answer.message.startswith(
        'Operation cannot be fulfilled on deployments.apps "d": Storage'
    )
    assert patched.message.startswith(
        'Operation cannot be fulfilled on deployments/scale.apps "d": Precondition failed: UID in'
        " precondition: other, UID in object meta: "
    )
    assert collection.read("d")["spec"]["replicas"] == 1
