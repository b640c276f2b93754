"""Rules of the specification beyond the reference: the cluster dialect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.namespaces import Space, random_word

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
RBAC = "rbac.authorization.@"
LEVELS = ("Ignore", "Warn", "Strict")


def deployment(**spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec},
    }


@pytest.mark.parametrize("level", LEVELS)
def test_unknown_and_invalid_is_400_at_every_level(cluster: Space, level: str) -> None:
    collection = cluster.collection("deployments", "apps")
    wrong = deployment(replicas=-1, bogus=1)
    assert collection.client.post(collection.path, wrong, fieldValidation=level).status == 400
    assert collection.client.post(collection.path, deployment()).status == 201
    assert collection.put(wrong, fieldValidation=level).status == 400
    patch = {"spec": {"replicas": -1, "bogus": 1}}
    assert collection.patch("d", patch, fieldValidation=level).status == 400


def test_unknown_and_invalid_is_422_in_the_other_dialect(kubernetes: Space) -> None:
    collection = kubernetes.collection("deployments", "apps")
    assert collection.client.post(collection.path, deployment(replicas=-1, bogus=1)).status == 422


def _apply(space: Space, body: dict[str, Any], level: str) -> Any:
    collection = space.collection("deployments", "apps")
    config = {"apiVersion": "apps/v1", "kind": "Deployment", **body}
    return collection.client.patch(
        collection.item("d"), config, kind=APPLY, fieldManager="m", fieldValidation=level
    )


@pytest.mark.parametrize(("level", "warnings"), [("Ignore", 0), ("Warn", 2)])
def test_unknown_fields_are_dropped_of_what_is_applied(
    cluster: Space, level: str, warnings: int
) -> None:
    body = deployment(replicas=2, bogus=1)
    container = body["spec"]["template"]["spec"]["containers"][0]
    container["strange"] = {"a": 1}
    for code in (201, 200, 200):
        answer = _apply(cluster, body, level)
        assert answer.status == code, answer.text
        assert len(answer.warnings) == warnings
    assert "bogus" not in str(answer.body)
    assert "strange" not in str(answer.body)
    entries = answer.body["metadata"]["managedFields"]
    [entry] = [entry for entry in entries if entry["manager"] == "m"]  # the controller has one, too
    assert entry["fieldsV1"]["f:spec"]["f:replicas"] == {}


def test_unknown_fields_of_what_is_applied_are_refused_where_that_is_asked_for(
    cluster: Space, kubernetes: Space
) -> None:
    body = deployment(replicas=2, bogus=1)
    for space, level in ((cluster, "Strict"), (kubernetes, "Warn")):
        answer = _apply(space, body, level)
        assert (answer.status, ".spec.bogus" in answer.message) == (400, True)


@pytest.mark.parametrize("level", LEVELS)
def test_unknown_and_invalid_is_400_of_what_is_applied(cluster: Space, level: str) -> None:
    for replicas in (-1, "x"):
        assert _apply(cluster, deployment(replicas=replicas, bogus=1), level).status == 400


@pytest.mark.parametrize("spec", [{"bogus": 1, "replicas": "x"}, {"replicas": "x", "bogus": 1}])
@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
def test_the_order_of_unknown_and_mistyped_fields_does_not_matter(
    cluster: Space, spec: dict[str, Any], kind: str
) -> None:
    collection = cluster.collection("deployments", "apps")
    collection.create("d", **{"spec": deployment()["spec"]})
    answer = collection.client.patch(collection.item("d"), {"spec": spec}, kind=kind)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


def stateful_set(**spec: Any) -> dict[str, Any]:
    return {**deployment(serviceName="s", **spec)}


def claim_template(name: str) -> dict[str, Any]:
    size = {"requests": {"storage": "1Gi"}}
    return {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": size},
    }


def test_claim_templates_need_a_mount_of_their_name(cluster: Space, kubernetes: Space) -> None:
    body = stateful_set(volumeClaimTemplates=[claim_template("data")])
    other = kubernetes.collection("statefulsets", "apps")
    assert other.client.post(other.path, body).status == 201
    collection = cluster.collection("statefulsets", "apps")
    answer = collection.client.post(collection.path, body)
    assert [cause[0] for cause in answer.causes] == ["spec.volumeClaimTemplates[0].metadata.name"]
    mounts = [{"name": "data", "mountPath": "/data"}]
    body["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts
    assert collection.client.post(collection.path, body).status == 201


@pytest.mark.parametrize(
    ("condition", "field"),
    [
        ({"status": "True"}, "type"),
        ({"type": "", "status": "True"}, "type"),
        ({"type": "A"}, "status"),
        ({"type": "A", "status": "Maybe"}, "status"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_conditions_say_of_what_and_how_it_is(
    cluster: Space, condition: dict[str, str], field: str, method: str
) -> None:
    collection = cluster.collection("statefulsets", "apps")
    body = stateful_set()
    assert collection.client.post(collection.path, body).status == 201
    body["status"] = {"replicas": 0, "conditions": [condition]}
    path = collection.item("d", "status")
    if method == "PUT":
        answer = collection.client.put(path, body)
    else:
        answer = collection.client.patch(path, {"status": body["status"]})
    assert answer.status == 422
    # What the controller has counted meanwhile may be missing in what was sent.
    assert f"status.conditions[0].{field}" in [cause[0] for cause in answer.causes]


def test_a_status_that_is_written_tells_the_replicas(cluster: Space, kubernetes: Space) -> None:
    # The controller counts collisions, too, and the count cannot be removed.
    body = {**stateful_set(), "status": {"collisionCount": 0}}
    for space, code in ((cluster, 422), (kubernetes, 200)):
        collection = space.collection("statefulsets", "apps")
        assert collection.client.post(collection.path, body).status == 201
        answer = collection.client.put(collection.item("d", "status"), body)
        assert answer.status == code, answer.text
        if code == 422:
            assert [cause[0] for cause in answer.causes] == ["status.replicas"]


def test_a_csi_node_lists_its_drivers(cluster: Space) -> None:
    nodes = cluster.everywhere("csinodes", "storage.@")
    name = f"n-{random_word()}"
    without: list[tuple[dict[str, Any], str]] = [({}, "spec"), ({"spec": {}}, "spec.drivers")]
    for spec, field in without:
        answer = nodes.client.post(nodes.path, {"metadata": {"name": name}, **spec})
        assert (answer.status, answer.causes[0][0]) == (422, field)
    node = nodes.create(name, spec={"drivers": []})
    assert nodes.put(node).status == 200  # what was stored can be sent back
    assert nodes.patch(name, {"metadata": {"labels": {"a": "b"}}}).status == 200


def test_a_message_has_no_other_way_to_say_that_nothing_is_listed(cluster: Space) -> None:
    nodes = cluster.everywhere("csinodes", "storage.@")
    name, protobuf = f"n-{random_word()}", cluster.dialect.protobuf_media_type
    nodes.create(name, spec={"drivers": []})
    message = nodes.client.get(nodes.item(name), headers={"Accept": protobuf}).content
    answer = nodes.client.put(nodes.item(name), message, headers={"Content-Type": protobuf})
    assert answer.status == 200, answer.text


def test_an_iscsi_volume_names_its_unit(cluster: Space, kubernetes: Space) -> None:
    source = {"targetPortal": "1.2.3.4:3260", "iqn": "iqn.2001-04.com.example:x"}
    for space, code in ((cluster, 422), (kubernetes, 201)):
        space.ready_for_pods()
        pods = space.collection("pods")
        spec = {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "iscsi": source}],
        }
        answer = pods.client.post(pods.path, {"metadata": {"name": "p"}, "spec": spec})
        assert answer.status == code, answer.text
    ok = {**source, "lun": 0}
    spec["volumes"] = [{"name": "v", "iscsi": ok}]
    assert (
        cluster.collection("pods").create("p", spec=spec)["spec"]["volumes"][0]["iscsi"]["lun"] == 0
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"hostPorts": [{"min": 1}]}, "spec.hostPorts[0].max"),
        ({"runtimeClass": {}}, "spec.runtimeClass.allowedRuntimeClassNames"),
        ({"runAsUser": {"rule": "MustRunAs"}}, "spec.runAsUser.ranges"),
        ({"allowedFlexVolumes": [{}]}, "spec.allowedFlexVolumes[0].driver"),
        ({"allowedCSIDrivers": [{}]}, "spec.allowedCSIDrivers[0].name"),
    ],
)
def test_a_security_policy_is_whole(cluster: Space, change: dict[str, Any], field: str) -> None:
    anything = {"rule": "RunAsAny"}
    names = ("seLinux", "runAsUser", "supplementalGroups", "fsGroup")
    policies = cluster.everywhere("podsecuritypolicies", "policy", "v1beta1")
    spec = {**dict.fromkeys(names, anything), **change}
    answer = policies.client.post(policies.path, {"metadata": {"name": "p"}, "spec": spec})
    assert (answer.status, answer.causes[0][0]) == (422, field)


def test_writes_to_scale_are_not_tracked(cluster: Space, kubernetes: Space) -> None:
    for space, managers in ((cluster, ["maker"]), (kubernetes, ["scaler", "scaler", "maker"])):
        collection = space.collection("deployments", "apps")
        path = collection.path
        assert collection.client.post(path, deployment(), fieldManager="maker").status == 201
        scaled = collection.client.patch(
            collection.item("d", "scale"), {"spec": {"replicas": 3}}, fieldManager="scaler"
        )
        assert scaled.status == 200
        config = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "d", "namespace": space.name},
            "spec": {"replicas": 3},
        }
        applied = collection.client.patch(
            collection.item("d", "scale"), config, kind=APPLY, fieldManager="scaler"
        )
        assert applied.status == 200
        value = collection.read("d")
        assert value["spec"]["replicas"] == 3
        writers = [entry["manager"] for entry in value["metadata"]["managedFields"]]
        assert [name for name in writers if not name.endswith("-controller-manager")] == managers


def _apply_scale(space: Space, replicas: int, **query: Any) -> int:
    collection = space.collection("deployments", "apps")
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": replicas}}
    path = collection.item("d", "scale")
    answer = collection.client.patch(path, config, kind=APPLY, fieldManager="scaler", **query)
    return answer.status


def test_what_was_scaled_by_force_is_nobody_s(cluster: Space) -> None:
    assert _apply(cluster, deployment(replicas=0), "Warn").status == 201
    assert _apply_scale(cluster, 1) == 409
    assert _apply_scale(cluster, 1, force="true") == 200
    assert _apply_scale(cluster, 2) == 200
    result = cluster.collection("deployments", "apps").read("d")
    assert [
        managed_field
        for managed_field in result["metadata"]["managedFields"]
        if managed_field.get("subresource") == "scale"
    ] == []
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    mine = {**config, "spec": {"replicas": 3}}
    collection = cluster.collection("deployments", "apps")
    owned = collection.client.patch(collection.item("d"), mine, kind=APPLY, fieldManager="other")
    assert (owned.status, owned.body["spec"]["replicas"]) == (200, 3)


def test_an_object_without_owners_is_scaled_without_a_conflict(cluster: Space) -> None:
    collection = cluster.collection("deployments", "apps")
    assert collection.client.post(collection.path, deployment(replicas=0)).status == 201
    assert collection.patch("d", {"metadata": {"managedFields": [{}]}}).status == 200
    assert _apply_scale(cluster, 1) == 200
    assert _apply_scale(cluster, 2) == 200


def test_token_reviews_are_served_in_both_versions(cluster: Space) -> None:
    for version in ("v1", "v1beta1"):
        api_version = f"authentication.cluster.io/{version}"
        answer = cluster.client.post(
            f"/apis/{api_version}/tokenreviews", {"spec": {"token": "alice-token"}}
        )
        assert (answer.status, answer.body["apiVersion"]) == (201, api_version)
        assert answer.body["status"]["user"]["username"] == "alice"


@pytest.mark.parametrize("what", ["address in use", "port in use", "port outside"])
def test_a_dry_run_of_a_service_is_refused_like_the_service(cluster: Space, what: str) -> None:
    services = cluster.collection("services")
    first = services.create("first", spec={"type": "NodePort", "ports": [{"port": 80}]})["spec"]
    port = first["ports"][0]["nodePort"] if what == "port in use" else 29999
    wanted: dict[str, Any] = {"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}
    if what == "address in use":
        wanted = {"clusterIP": first["clusterIP"], "ports": [{"port": 80}]}
    other = {"metadata": {"name": "other"}, "spec": wanted}
    tried = services.client.post(services.path, other, dryRun="All")
    assert tried.status == 422
    assert tried.body == services.client.post(services.path, other).body
    if what != "address in use":  # addresses cannot be changed at all
        services.create("other", spec={"ports": [{"port": 80}]})
        assert services.patch("other", {"spec": wanted}, dryRun="All").status == 422


def test_a_dry_run_of_a_service_takes_nothing(cluster: Space) -> None:
    services = cluster.collection("services")
    value = {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    tried = services.client.post(services.path, value, dryRun="All").body["spec"]
    assert services.create("a", spec=tried)["spec"] == tried


def _path_of_service_webhook(space: Space, kind: str) -> Any:
    webhook = {
        "name": "w.example.com",
        "clientConfig": {"service": {"namespace": space.name, "name": "nobody"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    things = space.everywhere(f"{kind}webhookconfigurations", "admissionregistration.@")
    value = {"metadata": {"name": space.name}, "webhooks": [webhook]}
    answer = things.client.post(things.path, value, dryRun="All")
    assert answer.status == 201, answer.text
    return answer.body["webhooks"][0]["clientConfig"]["service"].get("path")


@pytest.mark.parametrize("kind", ["validating", "mutating"])
def test_a_webhook_of_a_service_without_a_path_has_the_root(
    cluster: Space, kubernetes: Space, kind: str
) -> None:
    assert _path_of_service_webhook(cluster, kind) == "/"
    assert _path_of_service_webhook(kubernetes, kind) is None


@contextmanager
def alice_may(space: Space, rules: list[Any], *, everywhere: bool = True) -> Iterator[None]:
    """Grant permissions to alice temporarily: other tests share the server."""
    group = space.dialect.group_name(RBAC)
    kind = "ClusterRole" if everywhere else "Role"
    things = space.everywhere if everywhere else space.collection
    roles, bindings = things(f"{kind}s".lower(), RBAC), things(f"{kind}bindings".lower(), RBAC)
    name = f"r-{random_word()}"
    roles.create(name, rules=rules)
    bindings.create(
        name,
        subjects=[{"kind": "User", "name": "alice", "apiGroup": group}],
        roleRef={"apiGroup": group, "kind": kind, "name": name},
    )
    try:
        yield
    finally:
        bindings.remove(name)
        roles.remove(name)


def test_a_wildcard_is_the_whole_last_step_of_a_path(cluster: Space, kubernetes: Space) -> None:
    for space, partial in ((cluster, 403), (kubernetes, 200)):
        alice = space.client.clone("alice-token")
        assert alice.get("/metrics").status == 403
        with alice_may(space, [{"verbs": ["get"], "nonResourceURLs": ["/met*"]}]):
            assert alice.get("/metrics").status == partial
        with alice_may(space, [{"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}]):
            assert alice.get("/healthz/ping").status == 200


def test_impersonating_accounts_takes_cluster_wide_rights(
    cluster: Space, kubernetes: Space
) -> None:
    rule = [{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["serviceaccounts"]}]
    for space, namespaced in ((cluster, 403), (kubernetes, 200)):
        alice = space.client.clone("alice-token")
        headers = {"Impersonate-User": f"system:serviceaccount:{space.name}:default"}
        with alice_may(space, rule, everywhere=False):
            assert alice.get("/version", headers=headers).status == namespaced
        with alice_may(space, rule):
            assert alice.get("/version", headers=headers).status == 200
