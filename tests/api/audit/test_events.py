"""The fields of an audit event."""

from __future__ import annotations

import base64
import re
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from support.audited import Audited, config_maps, create, stages
from support.client import YAML
from support.waiting import eventually

ORDER = (
    *("kind", "apiVersion", "level", "auditID", "stage", "requestURI", "verb", "user"),
    *("impersonatedUser", "sourceIPs", "userAgent", "objectRef", "responseStatus"),
    *("requestObject", "responseObject", "requestReceivedTimestamp", "stageTimestamp"),
    "annotations",
)


def test_a_request_is_told_when_it_comes_and_when_it_is_answered(audited: Audited) -> None:
    answer = create(audited.client, "plain", "told")
    first, last = audited.of(answer)
    assert first["stage"] == "RequestReceived"
    assert first["stageTimestamp"] == first["requestReceivedTimestamp"]
    assert "responseStatus" not in first
    assert "annotations" not in first
    assert last["stage"] == "ResponseComplete"
    assert last["responseStatus"] == {"metadata": {}, "code": 201}
    moment = last["stageTimestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", moment)
    assert datetime.fromisoformat(moment) >= datetime.fromisoformat(
        last["requestReceivedTimestamp"]
    )


def test_an_event_says_who_asked_for_what_from_where(audited: Audited) -> None:
    answer = audited.client.get(config_maps("plain", "nothing"), headers={"User-Agent": "me/1"})
    last = audited.last(answer)
    assert (last["kind"], last["apiVersion"]) == ("Event", "audit.k8s.io/v1")
    assert (last["level"], last["verb"]) == ("Metadata", "get")
    assert last["requestURI"] == "/api/v1/namespaces/plain/configmaps/nothing"
    groups = ["system:masters", "system:authenticated"]
    assert last["user"] == {"username": "admin", "uid": "uid-admin", "groups": groups}
    assert last["sourceIPs"] == ["127.0.0.1"]
    assert last["userAgent"] == "me/1"
    ref = {"resource": "configmaps", "namespace": "plain", "name": "nothing", "apiVersion": "v1"}
    assert last["objectRef"] == ref
    assert last["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "nothing" not found',
        "reason": "NotFound",
        "details": {"name": "nothing", "kind": "configmaps"},
        "code": 404,
    }


def test_fields_stand_in_the_order_of_the_reference(audited: Audited) -> None:
    headers = {"Impersonate-User": "jane"}
    answer = audited.client.get(config_maps("bodies"), headers=headers)
    results = list(audited.last(answer))
    assert results == [name for name in ORDER if name in results]
    assert "impersonatedUser" in results


def test_a_group_and_a_subresource_stand_in_the_reference_to_the_object(audited: Audited) -> None:
    path = "/apis/apps/v1/namespaces/plain/deployments/d/scale"
    assert audited.last(audited.client.get(path))["objectRef"] == {
        "resource": "deployments",
        "namespace": "plain",
        "name": "d",
        "apiGroup": "apps",
        "apiVersion": "v1",
        "subresource": "scale",
    }


def test_a_new_object_is_named_by_what_was_sent(audited: Audited) -> None:
    first, last = audited.of(create(audited.client, "plain", "named"))
    assert "name" not in first["objectRef"]
    assert last["objectRef"]["name"] == "named"
    again = audited.client.post(config_maps("plain"), {"metadata": {"name": "named"}})
    assert again.status == 409
    assert audited.last(again)["objectRef"]["name"] == "named"


def test_a_changed_object_tells_its_uid_and_version(audited: Audited) -> None:
    document = create(audited.client, "plain", "changed").body
    ref = audited.last(audited.client.put(config_maps("plain", "changed"), document))["objectRef"]
    assert ref["uid"] == document["metadata"]["uid"]
    assert ref["resourceVersion"] == document["metadata"]["resourceVersion"]


def test_a_list_by_name_names_the_object(audited: Audited) -> None:
    answer = audited.client.get(config_maps("plain"), fieldSelector="metadata.name=one")
    assert audited.last(answer)["objectRef"]["name"] == "one"
    assert audited.last(answer)["requestURI"].endswith("?fieldSelector=metadata.name%3Done")


def test_a_page_beside_the_api_has_no_object(audited: Audited) -> None:
    last = audited.last(audited.client.get("/version"))
    assert (last["verb"], last["requestURI"]) == ("get", "/version")
    assert "objectRef" not in last


def test_the_client_may_choose_the_id(audited: Audited) -> None:
    answer = audited.client.get("/version", headers={"Audit-ID": 'my "own" id'})
    assert answer.headers["Audit-Id"] == 'my "own" id'
    assert stages(audited.of(answer)) == ["RequestReceived", "ResponseComplete"]


def test_every_answer_has_an_id_of_its_own(audited: Audited) -> None:
    results = {audited.client.get("/livez").headers["Audit-Id"] for _ in range(5)}
    assert len(results) == 5
    assert all(
        re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", result) for result in results
    )


def test_proxies_are_told_before_the_address_that_connects(audited: Audited) -> None:
    headers = {"X-Forwarded-For": "10.0.0.1, nonsense,2001:DB8::1", "X-Real-Ip": "10.0.0.9"}
    last = audited.last(audited.client.get("/version", headers=headers))
    assert last["sourceIPs"] == ["10.0.0.1", "2001:db8::1", "10.0.0.9", "127.0.0.1"]


def test_of_very_many_proxies_the_nearest_are_told(audited: Audited) -> None:
    made_up = ",".join(f"2001:db8::{number:x}" for number in range(3000))
    headers = {"X-Forwarded-For": f"{made_up}, 10.0.0.1"}
    source_ips = audited.last(audited.client.get("/version", headers=headers))["sourceIPs"]
    assert source_ips[-3:] == [f"2001:db8::{2999:x}", "10.0.0.1", "127.0.0.1"]
    assert len(source_ips) == 65


def test_a_long_user_agent_is_cut(audited: Audited) -> None:
    last = audited.last(audited.client.get("/version", headers={"User-Agent": "x" * 2000}))
    assert last["userAgent"] == "x" * 1024 + "...TRUNCATED"


@pytest.mark.parametrize(("sent", "message"), [(b"m\xc3\xb6", "m\xf6"), (b"m\xf6", "m\ufffd")])
def test_a_user_agent_is_text(audited: Audited, sent: bytes, message: str) -> None:
    headers = {"User-Agent": sent.decode("latin-1")}
    body = {"metadata": {"name": "made-by-an-agent"}, "data": {"a": "b"}}
    answer = audited.client.post(f"{config_maps('plain')}?dryRun=All", body, headers=headers)
    assert answer.body["metadata"]["managedFields"][0]["manager"] == message
    assert audited.last(answer)["userAgent"] == message


def test_odd_paths_are_told_as_they_are_sent(audited: Audited) -> None:
    for path in ("/no%20such%22page", "/api/v1/namespaces/a%0Ab/pods/%E2%82%AC", "/x%ff"):
        last = audited.last(audited.client.get(path))
        assert last["requestURI"].lower().startswith(path.lower().partition("%ff")[0])


def test_who_acts_as_nobody_acts_as_itself(audited: Audited) -> None:
    last = audited.last(audited.client.get("/version", headers={"Impersonate-User": ""}))
    assert "impersonatedUser" not in last


def test_both_users_are_told_of_an_impersonation(audited: Audited) -> None:
    headers = {
        "Impersonate-User": "jane",
        "Impersonate-Group": "dev",
        "Impersonate-Uid": "7",
        "Impersonate-Extra-Scopes": "view",
    }
    first, last = audited.of(audited.client.get(config_maps("plain"), headers=headers))
    assert "impersonatedUser" not in first
    assert last["user"]["username"] == "admin"
    assert last["impersonatedUser"] == {
        "username": "jane",
        "uid": "7",
        "groups": ["dev", "system:authenticated"],
        "extra": {"scopes": ["view"]},
    }
    assert last["responseStatus"]["code"] == 403


def test_a_refused_impersonation_is_told_of_the_caller_alone(audited: Audited) -> None:
    alice = audited.server.client("alice-token")
    last = audited.last(alice.get("/version", headers={"Impersonate-User": "jane"}))
    assert last["user"]["username"] == "alice"
    assert "impersonatedUser" not in last
    assert last["responseStatus"]["code"] == 403


def test_the_authorizers_decision_and_reason_are_noted(audited: Audited) -> None:
    notes = audited.last(audited.server.client("alice-token").get(config_maps("plain")))
    assert notes["annotations"] == {
        "authorization.k8s.io/decision": "forbid",
        "authorization.k8s.io/reason": "",
    }
    notes = audited.last(audited.server.client("alice-token").get("/version"))["annotations"]
    assert notes["authorization.k8s.io/decision"] == "allow"
    assert notes["authorization.k8s.io/reason"].startswith("RBAC: allowed by ClusterRoleBinding")


def test_a_deprecated_version_is_noted(audited: Audited) -> None:
    notes = audited.last(audited.client.get("/apis/autoscaling/v2beta2/horizontalpodautoscalers"))[
        "annotations"
    ]
    assert notes["k8s.io/deprecated"] == "true"
    assert notes["k8s.io/removed-release"] == "1.26"


def test_what_pod_security_says_is_noted(audited: Audited) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    answer = audited.client.post("/api/v1/namespaces/plain/pods", pod)
    notes = audited.last(answer)["annotations"]
    assert notes["pod-security.kubernetes.io/enforce-policy"] == "privileged:latest"


def test_the_use_of_a_token_that_stands_in_a_secret_is_noted(audited: Audited) -> None:
    secret = {
        "metadata": {
            "name": "legacy",
            "annotations": {"kubernetes.io/service-account.name": "default"},
        },
        "type": "kubernetes.io/service-account-token",
    }
    secrets = "/api/v1/namespaces/quiet/secrets"
    assert audited.client.post(secrets, secret).status == 201

    def token() -> str:
        data: dict[str, str] = audited.client.get(f"{secrets}/legacy").body.get("data", {})
        return data.get("token", "")

    eventually(lambda: bool(token()), "the token stands in the secret")
    client = audited.server.client(base64.b64decode(token()).decode())
    for _ in range(2):
        first, last = audited.of(client.get(config_maps("plain")))
        note = {"authentication.k8s.io/legacy-token": "system:serviceaccount:quiet:default"}
        assert first["annotations"] == note
        assert last["annotations"].items() > note.items()
        assert last["annotations"]["authorization.k8s.io/decision"] == "forbid"


def test_the_use_of_an_invalidated_token_is_noted(tmp_path: Path) -> None:
    audited = Audited(tmp_path, "--release=1.36")
    try:
        client, secrets = audited.client, "/api/v1/namespaces/plain/secrets"
        account = "/api/v1/namespaces/plain/serviceaccounts/default"
        eventually(lambda: client.get(account).status == 200, "there is an account")
        metadata = {
            "name": "legacy",
            "annotations": {"kubernetes.io/service-account.name": "default"},
        }
        secret = {"metadata": metadata, "type": "kubernetes.io/service-account-token"}
        assert client.post(secrets, secret).status == 201
        path = f"{secrets}/legacy"
        eventually(lambda: "token" in client.get(path).body.get("data", {}), "the token is there")
        user = audited.server.client(
            base64.b64decode(client.get(path).body["data"]["token"]).decode()
        )
        labels = {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
        assert client.patch(path, {"metadata": {"labels": labels}}).status == 200
        answer = user.get(config_maps("plain"))
        assert answer.status == 401
        name = "authentication.k8s.io/legacy-token-invalidated"
        assert audited.of(answer)[-1]["annotations"][name] == "legacy/plain"
    finally:
        audited.server.stop()


def test_an_object_that_was_sent_stands_in_an_event_from_level_request_on(audited: Audited) -> None:
    first, last = audited.of(create(audited.client, "requests", "sent"))
    assert "requestObject" not in first
    assert last["requestObject"] == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "sent", "creationTimestamp": None},
        "data": {"k": "v"},
    }
    assert "responseObject" not in last
    assert "requestObject" not in audited.last(create(audited.client, "plain", "sent"))


def test_an_object_is_told_with_its_defaults_and_without_what_is_unknown(audited: Audited) -> None:
    claim = {"metadata": {"name": "p", "unknown": 1}, "spec": {"containers": [{"name": "c"}]}}
    path = "/api/v1/namespaces/requests/pods"
    last = audited.last(audited.client.post(path, claim))
    assert last["responseStatus"]["code"] == 422  # its container has no image
    sent = last["requestObject"]
    assert sent["metadata"] == {"name": "p", "creationTimestamp": None}
    assert sent["spec"]["restartPolicy"] == "Always"
    assert sent["spec"]["containers"][0]["terminationMessagePolicy"] == "File"
    assert sent["status"] == {}


def test_an_object_is_told_in_the_version_in_which_it_was_sent(audited: Audited) -> None:
    scaled = {"kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": scaled, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70}
    path = "/apis/autoscaling/v1/namespaces/requests/horizontalpodautoscalers"
    answer = audited.client.post(path, {"metadata": {"name": "h"}, "spec": spec})
    assert answer.status == 201, answer.text
    sent = audited.last(answer)["requestObject"]
    assert (sent["kind"], sent["apiVersion"]) == ("HorizontalPodAutoscaler", "autoscaling/v1")
    assert sent["spec"] == {**spec, "minReplicas": 1}


def test_what_a_subresource_takes_is_told(audited: Audited) -> None:
    path = "/apis/apps/v1/namespaces/requests/deployments/none/scale"
    body = {"metadata": {"name": "none"}, "spec": {"replicas": 2}}
    sent = audited.last(audited.client.put(path, body))["requestObject"]
    assert (sent["kind"], sent["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert sent["spec"] == {"replicas": 2}


def test_an_object_of_wrong_types_is_not_told(audited: Audited) -> None:
    body = {"metadata": {"name": "wrong"}, "data": 7}
    last = audited.last(audited.client.post(config_maps("requests"), body))
    assert last["responseStatus"]["code"] == 400
    assert "requestObject" not in last


def test_objects_of_any_form_are_told_in_json(audited: Audited) -> None:
    sent = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "why"},
        "data": {"a": "b"},
    }
    headers = {"Content-Type": YAML, "Accept": YAML}
    answer = audited.client.post(config_maps("bodies"), yaml.safe_dump(sent), headers=headers)
    last = audited.last(answer)
    manifest = {**sent, "metadata": {"name": "why", "creationTimestamp": None}}
    assert last["requestObject"] == manifest
    assert last["responseObject"] == answer.body
    headers = {"Accept": audited.server.dialect.protobuf_media_type}
    answer = audited.client.get(config_maps("bodies", "why"), headers=headers)
    assert audited.last(answer)["responseObject"]["data"] == {"a": "b"}


def test_a_patch_is_told_as_it_was_sent(audited: Audited) -> None:
    create(audited.client, "requests", "patched")
    change = [{"op": "add", "path": "/data/x", "value": "y"}]
    path = config_maps("requests", "patched")
    answer = audited.client.patch(path, change, kind="application/json-patch+json")
    assert audited.last(answer)["requestObject"] == change
    applied = "{apiVersion: v1, kind: ConfigMap, data: {z: w}}"
    kind = "application/apply-patch+yaml"
    answer = audited.client.patch(path, applied, kind=kind, fieldManager="me")
    assert audited.last(answer)["requestObject"] == yaml.safe_load(applied)


def test_options_of_a_deletion_are_told(audited: Audited) -> None:
    create(audited.client, "requests", "deleted")
    options = {"propagationPolicy": "Background"}
    answer = audited.client.delete(config_maps("requests", "deleted"), options)
    last = audited.last(answer)
    assert last["requestObject"] == {"kind": "DeleteOptions", "apiVersion": "v1", **options}
    assert last["responseStatus"]["status"] == "Success"
    assert last["responseStatus"]["details"]["name"] == "deleted"


def test_what_cannot_be_read_is_not_told(audited: Audited) -> None:
    answer = audited.client.post(config_maps("bodies"), '{"metadata": {"name"\n: "x"')
    assert answer.status == 400
    last = audited.last(answer)
    assert "requestObject" not in last
    assert last["responseObject"]["code"] == 400


def test_answers_stand_in_an_event_at_level_request_response(audited: Audited) -> None:
    answer = create(audited.client, "bodies", "answered")
    assert audited.last(answer)["responseObject"] == answer.body
    listed = audited.client.get(config_maps("bodies"))
    assert audited.last(listed)["responseObject"] == listed.body
    pretty = audited.client.get(config_maps("bodies", "answered"), pretty="true")
    assert audited.last(pretty)["responseObject"] == pretty.body


def test_a_long_list_is_told_whole(audited: Audited) -> None:
    for index in range(3):
        body = {"metadata": {"name": f"long-{index}"}, "data": {"k": "x" * 500_000}}
        assert audited.client.post(config_maps("short"), body).status == 201
    answer = audited.client.get(config_maps("short"))
    last = audited.wait_for(answer.headers["Audit-Id"], "ResponseComplete")
    items = last["responseObject"]["items"]
    assert [item["data"] for item in items] == [item["data"] for item in answer.body["items"]]


def test_managed_fields_are_left_out_where_the_policy_says_so(audited: Audited) -> None:
    answer = create(audited.client, "short", "managed")
    assert "managedFields" in answer.body["metadata"]
    assert "managedFields" not in audited.last(answer)["responseObject"]["metadata"]
    answer = audited.client.get(config_maps("short"), limit=1)
    assert "managedFields" not in audited.last(answer)["responseObject"]["items"][0]["metadata"]


def test_what_the_servers_own_parts_do_is_told(audited: Audited) -> None:
    own = [event for event in audited.events() if event.get("userAgent") == "fairlead/apiserver"]
    last = next(item for item in own if item["objectRef"].get("name") == "kube-system")
    assert last["stage"] == "ResponseComplete"
    assert last["user"]["username"] == "system:apiserver"
    assert last["sourceIPs"] == ["127.0.0.1"]
    assert (last["verb"], last["requestURI"]) == ("create", "/api/v1/namespaces")
    assert last["responseStatus"]["code"] == 201
    assert last["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert stages([item for item in own if item["auditID"] == last["auditID"]]) == [
        "RequestReceived",
        "ResponseComplete",
    ]


def test_what_controllers_do_is_told_as_their_users(audited: Audited) -> None:
    text = "system:serviceaccount:kube-system:"
    received = [
        event for event in audited.events() if event["user"].get("username", "").startswith(text)
    ]
    assert any(item["objectRef"]["resource"] == "serviceaccounts" for item in received)
    assert all(item["userAgent"].startswith("fairlead/") for item in received)


def test_release_1_36_names_the_constraint_of_an_impersonation(tmp_path: Path) -> None:
    audited = Audited(tmp_path, "--release", "1.36")
    try:
        answer = audited.client.get(config_maps("bodies"), headers={"Impersonate-User": "jane"})
        last = audited.last(answer)
        metadata = {"impersonationConstraint": "impersonate:user-info"}
        assert last["authenticationMetadata"] == metadata
        results = list(last)
        assert results.index("authenticationMetadata") == results.index("impersonatedUser") + 1
        last = audited.last(audited.client.get(config_maps("bodies")))
        assert "authenticationMetadata" not in last
    finally:
        audited.server.stop()
