"""Discovery: the documents under /api, /apis, /version and /."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.client import Client
from support.namespaces import Space
from support.process import FreshServer, ServerProcess

from fairlead import __version__
from fairlead.codec.protobuf import envelope

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "resources.json"
ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def in_dialect(text: str, server: ServerProcess) -> str:
    return text.replace("k8s.io", server.dialect.group_domain)


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not there: the served resources are not compared")
    parsed: dict[str, Any] = json.loads(REFERENCE.read_text())
    return parsed


def resources(client: Client, group: str, version: str) -> dict[str, dict[str, Any]]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return {entry["name"]: entry for entry in client.get(path).body["resources"]}


def test_the_paths_have_a_second_address_that_is_not_among_them(client: Client) -> None:
    answer = client.get("/index.html")
    assert (answer.status, answer.body) == (200, client.get("/").body)
    assert "/index.html" not in answer.body["paths"]


def test_the_core_group_tells_its_versions(client: Client, any_server: ServerProcess) -> None:
    body = client.get("/api").body
    assert (body["kind"], body["versions"]) == ("APIVersions", ["v1"])
    [where] = body["serverAddressByClientCIDRs"]
    assert where["clientCIDR"] == "0.0.0.0/0"
    assert where["serverAddress"] == any_server.address.removeprefix("https://")


def built_in(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the groups without custom ones of other tests on the same server."""
    return [group for group in body["groups"] if ".example." not in group["name"]]


@pytest.mark.both_dialects
def test_the_groups_are_listed_in_their_order(
    client: Client, any_server: ServerProcess, reference: dict[str, Any]
) -> None:
    body = client.get("/apis").body
    assert (body["kind"], body["apiVersion"]) == ("APIGroupList", "v1")
    expected = [in_dialect(name, any_server) for name in reference["groupOrder"]]
    assert [group["name"] for group in built_in(body)] == expected


@pytest.mark.both_dialects
def test_preferred_versions_are_the_references(
    client: Client, any_server: ServerProcess, reference: dict[str, Any]
) -> None:
    for group in built_in(client.get("/apis").body):
        preferred = {
            in_dialect(name, any_server): version
            for name, version in reference["preferred"].items()
        }[group["name"]]
        assert group["preferredVersion"] == {
            "groupVersion": f"{group['name']}/{preferred}",
            "version": preferred,
        }
        assert group["preferredVersion"] in group["versions"]


def test_a_group_has_a_document_of_its_own(client: Client) -> None:
    for group in client.get("/apis").body["groups"]:
        body = client.get(f"/apis/{group['name']}").body
        assert body == {"kind": "APIGroup", "apiVersion": "v1", **group}
        assert client.get(f"/apis/{group['name']}/").body == body


@pytest.mark.both_dialects
def test_every_resource_is_listed_with_its_facts(
    client: Client, any_server: ServerProcess, reference: dict[str, Any]
) -> None:
    listed: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for expected in reference["resources"]:
        group = in_dialect(expected["group"], any_server)
        key = (group, expected["version"])
        if key not in listed:
            listed[key] = resources(client, *key)
        entry = listed[key].get(expected["resource"])
        assert entry is not None, f"{key}: {expected['resource']} is not served"
        where = f"{key} {expected['resource']}"
        assert entry["kind"] == expected["kind"], where
        assert entry["namespaced"] == expected["namespaced"], where
        assert entry["verbs"] == expected["verbs"], where
        assert entry.get("shortNames", []) == expected.get("shortNames", []), where
        assert entry.get("categories", []) == expected.get("categories", []), where
        for fact in ("bodyGroup", "bodyVersion"):
            if fact in expected:
                assert entry[fact.removeprefix("body").lower()] == in_dialect(
                    expected[fact], any_server
                ), where


@pytest.mark.both_dialects
def test_nothing_else_is_listed_but_pod_security_policies(
    client: Client, any_server: ServerProcess, reference: dict[str, Any]
) -> None:
    expected = {
        (in_dialect(entry["group"], any_server), entry["version"], entry["resource"])
        for entry in reference["resources"]
    }
    served = [("", "v1")]
    for group in built_in(client.get("/apis").body):
        served += [(group["name"], version["version"]) for version in group["versions"]]
    results = {
        (group, version, name)
        for group, version in served
        for name in resources(client, group, version)
    }
    own = {
        ("policy", "v1beta1", "podsecuritypolicies"),
        ("authentication.cluster.io", "v1beta1", "tokenreviews"),
    }
    assert results - expected == (own if any_server.dialect.name == "cluster" else set())


def test_a_resource_list_names_its_group_version(client: Client) -> None:
    body = client.get("/apis/apps/v1").body
    assert (body["kind"], body["groupVersion"]) == ("APIResourceList", "apps/v1")
    names = [entry["name"] for entry in body["resources"]]
    assert names == sorted(names)
    assert client.get("/api/v1").body["groupVersion"] == "v1"


def test_pod_security_policies_are_served_in_the_cluster_dialect(
    cluster: Space, kubernetes: Space
) -> None:
    assert kubernetes.client.get("/apis/policy/v1beta1").status == 404
    entry = resources(cluster.client, "policy", "v1beta1")["podsecuritypolicies"]
    assert (entry["kind"], entry["namespaced"], entry["verbs"]) == (
        "PodSecurityPolicy",
        False,
        ALL,
    )


@pytest.mark.both_dialects
def test_subresources_are_listed_with_the_type_of_their_body(
    client: Client, any_server: ServerProcess
) -> None:
    core = resources(client, "", "v1")
    assert core["pods/status"]["verbs"] == ["get", "patch", "update"]
    assert (core["pods/eviction"]["group"], core["pods/eviction"]["version"]) == ("policy", "v1")
    token = core["serviceaccounts/token"]
    assert token["group"] == any_server.dialect.group_name("authentication.@")


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("group", "version", "name", "kept"),
    [
        ("", "v1", "pods", "/v1/Pod"),
        ("apps", "v1", "deployments", "apps/v1/Deployment"),
        ("autoscaling", "v1", "horizontalpodautoscalers", "autoscaling/v2/HorizontalPodAutoscaler"),
        ("events.k8s.io", "v1", "events", "/v1/Event"),
    ],
)
def test_a_resource_tells_in_which_version_it_is_kept(
    client: Client, any_server: ServerProcess, group: str, version: str, name: str, kept: str
) -> None:
    resource = resources(client, in_dialect(group, any_server), version)[name]
    digest = sha256(kept.encode()).digest()
    assert resource["storageVersionHash"] == b64encode(digest[:8]).decode()


def test_what_is_kept_nowhere_tells_no_version(client: Client) -> None:
    result = resources(client, "", "v1")
    assert "storageVersionHash" not in result["componentstatuses"]
    assert "storageVersionHash" not in result["pods/status"]


@pytest.mark.both_dialects
def test_every_listable_resource_can_be_listed(client: Client) -> None:
    """All types load and every collection answers."""
    served = [("", "v1")]
    for group in built_in(client.get("/apis").body):
        served += [(group["name"], version["version"]) for version in group["versions"]]
    for group_name, version in served:
        base = f"/apis/{group_name}/{version}" if group_name else f"/api/{version}"
        for name, entry in resources(client, group_name, version).items():
            if "list" in entry["verbs"]:
                answer = client.get(f"{base}/{name}", limit=1)
                assert answer.status == 200, (base, name, answer.text)
                assert answer.body["kind"] == entry["kind"] + "List"


def test_the_version_is_that_of_the_interface(client: Client) -> None:
    body = client.get("/version").body
    assert (body["major"], body["minor"]) == ("1", "25")
    assert body["gitVersion"] == f"v1.25.9+fairlead.{__version__}"
    assert body["platform"] in ("linux/amd64", "linux/arm64")
    assert re.fullmatch("[0-9a-f]{40}", body["gitCommit"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", body["buildDate"])
    assert set(body) == {
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    }
    assert client.get("/version/").body == body


def test_another_release_can_be_told(fresh_server: FreshServer) -> None:
    client = fresh_server("--advertised-version=v1.30.2").client()
    body = client.get("/version").body
    assert (body["major"], body["minor"], body["gitVersion"]) == ("1", "30", "v1.30.2")
    assert client.get("/openapi/v3/version").body["info"]["version"] == "v1.30.2"


def test_the_root_lists_the_paths(client: Client) -> None:
    paths = client.get("/").body["paths"]
    assert paths == sorted(paths)
    for path in ("/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/livez",
                 "/readyz", "/metrics", "/version"):  # fmt: skip
        assert path in paths


def test_documents_can_be_yaml_and_pretty(client: Client) -> None:
    answer = client.get("/apis/apps", headers={"Accept": "application/yaml"})
    assert answer.body["name"] == "apps"
    assert client.get("/apis/apps", pretty="true").raw.startswith(b"{\n")


@pytest.mark.both_dialects
def test_documents_in_unknown_forms_are_406(client: Client, any_server: ServerProcess) -> None:
    forms = f"application/json, application/yaml, {any_server.dialect.protobuf_media_type}"
    for path, message in (
        ("/apis", f"only the following media types are accepted: {forms}"),
        ("/apis/apps", f"only the following media types are accepted: {forms}"),
        ("/apis/apps/v1", f"406: Not Acceptable\n\nAvailable representations: {forms}"),
        ("/version", "406: Not Acceptable\n\nAvailable representations: application/json"),
    ):
        answer = client.get(path, headers={"Accept": "text/html"})
        assert (answer.status, answer.message) == (406, message)


@pytest.mark.both_dialects
def test_the_version_has_no_binary_form(client: Client, any_server: ServerProcess) -> None:
    accept = any_server.dialect.protobuf_media_type
    assert client.get("/version", headers={"Accept": accept}).status == 406
    both = {"Accept": f"{accept}, application/json"}
    assert client.get("/version", headers=both).body["major"] == "1"


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("path", "kind", "part"),
    [
        ("/api", "APIVersions", b"\n\x02v1"),
        ("/apis", "APIGroupList", b"\n\x07apps/v1\x12\x02v1"),
        ("/apis/apps", "APIGroup", b"\n\x07apps/v1\x12\x02v1"),
        ("/apis/apps/v1", "APIResourceList", b'"\x14\n\x03get\n\x05patch\n\x06update'),
    ],
)
def test_discovery_can_be_read_in_binary(
    client: Client, any_server: ServerProcess, path: str, kind: str, part: bytes
) -> None:
    accept = any_server.dialect.protobuf_media_type
    answer = client.get(path, headers={"Accept": accept})
    assert (answer.status, answer.headers["content-type"]) == (200, accept)
    version, result, content = envelope(answer.content)
    assert (version, result) == ("v1", kind)
    assert part in content


def test_overviews_do_not_mind_the_method(client: Client) -> None:
    assert client.delete("/apis").body["kind"] == "APIGroupList"
    assert client.delete("/apis/apps").body["kind"] == "APIGroup"
    assert "paths" in client.delete("/").body
    for path in ("/api", "/api/v1", "/apis/apps/v1", "/version"):
        assert client.delete(path).status == 405


@pytest.mark.parametrize("path", ["//", "//api", "//apis/apps", "//version", "//livez"])
def test_a_doubled_slash_at_the_beginning_leads_nowhere(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status, answer.raw) == (404, b"404 page not found\n")


def test_versions_that_were_removed_are_not_served(client: Client) -> None:
    for path in ("/apis/apps/v1beta1", "/apis/apps/v1beta2", "/apis/batch/v1beta1"):
        assert client.get(path).status == 404
    assert client.get("/apis/extensions/v1beta1").status == 404


def test_the_dialects_serve_their_own_group_names(
    server: ServerProcess, cluster_server: ServerProcess
) -> None:
    kubernetes, cluster = server.client(), cluster_server.client()
    for group in ("rbac.authorization", "storage", "networking", "coordination"):
        assert kubernetes.get(f"/apis/{group}.k8s.io/v1").status == 200
        assert kubernetes.get(f"/apis/{group}.cluster.io/v1").status == 404
        assert cluster.get(f"/apis/{group}.cluster.io/v1").status == 200
        assert cluster.get(f"/apis/{group}.k8s.io/v1").status == 404
    for group in ("apps", "batch", "policy", "autoscaling"):
        assert kubernetes.get(f"/apis/{group}").status == 200
        assert cluster.get(f"/apis/{group}").status == 200


@pytest.mark.both_dialects
def test_the_system_namespaces_exist_from_the_start(
    client: Client, any_server: ServerProcess
) -> None:
    dialect = any_server.dialect
    names = client.get("/api/v1/namespaces").names
    for name in ("default", dialect.system_namespace, dialect.public_namespace,
                 dialect.node_lease_namespace):  # fmt: skip
        assert name in names
