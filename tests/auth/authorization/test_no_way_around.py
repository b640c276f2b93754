"""No path bypasses authorization, and answers reveal nothing without permission."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.client import Answer, Client
from support.namespaces import Space, random_word

HIDDEN = "bm9ib2R5LXNob3VsZC1yZWFkLXRoaXM="  # what only the administrator may see
APPLY = "application/apply-patch+yaml"
RBAC = "rbac.authorization.@"

# What every authenticated user may do.
OPEN = {("selfsubjectaccessreviews", "create"), ("selfsubjectrulesreviews", "create")}
METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


@pytest.fixture
def alice(space: Space) -> Iterator[Client]:
    """A user to whom nothing is bound."""
    created = space.server.client("alice-token")
    yield created
    created.close()


@pytest.fixture
def nobody(space: Space) -> Iterator[Client]:
    created = space.server.client(None)
    yield created
    created.close()


@pytest.fixture
def secret(space: Space) -> str:
    space.secrets.create("held", data={"k": HIDDEN})
    return f"/api/v1/namespaces/{space.name}/secrets/held"


def grant(space: Space, *rules: dict[str, Any], user: str = "alice") -> str:
    """Give a user rights in the namespace; the name of the role and its binding."""
    name = random_word()
    group = space.dialect.group_name(RBAC)
    space.collection("roles", RBAC).create(name, rules=list(rules))
    space.collection("rolebindings", RBAC).create(
        name,
        roleRef={"apiGroup": group, "kind": "Role", "name": name},
        subjects=[{"apiGroup": group, "kind": "User", "name": user}],
    )
    return name


def core(resource: str, *verbs: str, names: tuple[str, ...] = ()) -> dict[str, Any]:
    value: dict[str, Any] = {"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}
    return {**value, "resourceNames": list(names)} if names else value


def variants(path: str) -> list[str]:
    """Other ways to write a path of the API, and ways to come to it from elsewhere."""
    lower = path.lstrip("/")
    _, api, version, *rest = path.split("/")
    tail = "/".join(rest)
    return [
        path,
        f"{path}/",
        f"{path}//",
        f"/{path}",
        f"//{path}",
        path.replace("/secrets/", "//secrets/"),
        path.replace("/secrets/", "/secrets//"),
        path.replace("/namespaces/", "//namespaces/"),
        path.replace("/namespaces/", "/namespaces//"),
        f"/{api}//{version}/{tail}",
        f"/{api}/{version}//{tail}",
        path.replace("/secrets", "/Secrets"),
        path.replace("/api/", "/API/"),
        path.replace("/v1/", "/V1/"),
        path.replace("/secrets/", "%2Fsecrets%2F"),
        path.replace("/secrets/", "/secrets%2f"),
        path.replace("/api/", "/%61pi/"),
        path.replace("/", "%2F", 3),
        path.replace("/secrets/", "/./secrets/"),
        path.replace("/secrets/", "/x/../secrets/"),
        path.replace("/secrets/", "/x/%2e%2e/secrets/"),
        path.replace("/secrets/", "/secrets;a=b/"),
        path.replace("/secrets/", "/secrets%00/"),
        path.replace("/secrets/", "\\secrets\\"),
        f"/api/../{lower}",
        f"/version/../{lower}",
        f"/version/%2e%2e/{lower}",
        f"/healthz/../{lower}",
        f"/openapi/v2/../../{lower}",
        f"/apis/../{lower}",
        f"/apis//{version}/{tail}",
        f"/apis/core/{version}/{tail}",
        f"/api/{version}/watch/{tail}",
        f"/api/{version}/watch/{tail}/",
        f"/api/{version}/watch/watch/{tail}",
        f"/api/{version}/proxy/{tail}",
        f"/api/{version}/redirect/{tail}",
        f"{path}/status",
        f"{path}/proxy",
        f"{path}?watch=1&timeoutSeconds=1",
        f"{path}?pretty=true",
        f"{path}?resourceVersion=0",
        f"{path}#x",
        path.rpartition("/")[0],
        path.rpartition("/")[0] + "?fieldSelector=metadata.name%3Dheld",
        path.rpartition("/")[0] + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dheld",
        path.rpartition("/")[0] + "?limit=1",
        "/api/v1/secrets",
        "/api/v1/secrets?watch=true&timeoutSeconds=1",
        "/api/v1/watch/secrets?timeoutSeconds=1",
    ]


@pytest.mark.parametrize("accept", ["application/json", "application/yaml"])
def test_no_way_of_writing_a_path_shows_what_is_hidden(
    alice: Client, nobody: Client, secret: str, accept: str
) -> None:
    for path in variants(secret):
        for client in (alice, nobody):
            for method in ("GET", "HEAD"):
                answer = client.request(method, path, headers={"Accept": accept})
                assert HIDDEN not in answer.text, path
                assert answer.status in (400, 401, 403, 404), (method, path, answer.status)


def test_no_way_of_writing_a_path_changes_anything(
    space: Space, alice: Client, secret: str
) -> None:
    before = space.secrets.read("held")["metadata"]["resourceVersion"]
    body = {"metadata": {"name": "held"}, "data": {"k": "eA=="}}
    for path in variants(secret):
        for method in ("PUT", "PATCH", "DELETE", "POST"):
            answer = alice.request(method, path, body)
            assert answer.status in (400, 401, 403, 404, 405), (method, path, answer.status)
    assert space.secrets.read("held")["metadata"]["resourceVersion"] == before
    assert space.secrets.names() == ["held"]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-HTTP-Method-Override": "GET"},
        {"X-Original-URL": "/version"},
        {"X-Rewrite-URL": "/version"},
        {"X-Forwarded-User": "admin", "X-Remote-User": "admin", "X-Remote-Group": "system:masters"},
        {"Impersonate-User": "admin", "Impersonate-Group": "system:masters"},
        {"Impersonate-Group": "system:masters"},
        {"Impersonate-User": "system:serviceaccount:default:default"},
    ],
)
def test_no_header_gives_rights(alice: Client, secret: str, headers: dict[str, str]) -> None:
    for method in ("GET", "POST"):
        answer = alice.request(method, secret, headers=headers)
        assert answer.status in (400, 401, 403, 500), answer.text
        assert HIDDEN not in answer.text


def everything(space: Space) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every resource and subresource: its base path, its group, its entry in discovery."""
    results = [("/api/v1", "")]
    for group in space.client.get("/apis").body["groups"]:
        for version in group["versions"]:
            results.append((f"/apis/{version['groupVersion']}", group["name"]))
    for base, group_name in results:
        for resource in space.client.get(base).body["resources"]:
            yield base, group_name, resource


def test_every_verb_of_every_resource_is_refused_before_anything_else(
    space: Space, alice: Client
) -> None:
    """The body is not JSON and the object does not exist: the answer mentions neither."""
    count = 0
    for base, _, resource in everything(space):
        top, slash, subresource = resource["name"].partition("/")
        middle = f"/namespaces/{space.name}" if resource["namespaced"] else ""
        for verb in resource["verbs"]:
            if (resource["name"], verb) in OPEN:
                continue
            path = f"{base}{middle}/{top}"
            if slash or verb in ("get", "update", "patch", "delete"):
                path += "/missing" + (f"/{subresource}" if slash else "")
            query = "?watch=1" if verb == "watch" else "?dryRun=All" if verb == "create" else ""
            answer = alice.request(METHODS[verb], path + query, "{" if verb != "get" else None)
            assert answer.status == 403, (verb, path, answer.status, answer.text)
            output = answer.message
            assert f'cannot {verb} resource "{resource["name"]}"' in output, (path, output)
            count += 1
    assert count > 300


def code_and_text(answer: Answer, name: str) -> tuple[int, str]:
    return answer.status, answer.text.replace(name, "NAME")


def test_what_exists_and_what_does_not_look_the_same(
    space: Space, alice: Client, nobody: Client, secret: str
) -> None:
    other = secret.replace("/held", "/gone")
    nowhere = f"/api/v1/namespaces/nowhere-{random_word()}"
    for client in (alice, nobody):
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            there, missing = client.request(method, secret, "{"), client.request(method, other, "{")
            assert there.status == 403
            assert code_and_text(there, "held") == code_and_text(missing, "gone")
        space_answer = client.get(f"/api/v1/namespaces/{space.name}")
        nowhere_answer = client.get(nowhere)
        assert code_and_text(space_answer, space.name) == code_and_text(
            nowhere_answer, nowhere.split("/")[-1]
        )
    for path in ("/api/v1/nosuchthings", "/apis/nosuch.example.com/v1/x", "/apis/apps/v9/x", "/x"):
        for client in (alice, nobody):
            assert client.get(path).status == 403, path


@pytest.mark.parametrize(
    ("path", "alice_status", "nobody_status"),
    [
        ("/healthz", 200, 200),
        ("/livez", 200, 200),
        ("/readyz", 200, 200),
        ("/version", 200, 200),
        ("/healthz/ping", 403, 403),
        ("/healthz/", 403, 403),
        ("//healthz", 403, 403),
        ("/HEALTHZ", 403, 403),
        ("/metrics", 403, 403),
        ("/metrics/", 403, 403),
        ("//metrics", 403, 403),
        ("/", 403, 403),
        ("/api", 200, 403),
        ("/api/v1", 200, 403),
        ("/apis", 200, 403),
        ("/apis/apps/v1", 200, 403),
        ("/apisx", 403, 403),
        ("/logs", 403, 403),
        ("/debug/pprof", 403, 403),
    ],
)
def test_paths_beside_the_api(
    alice: Client, nobody: Client, path: str, alice_status: int, nobody_status: int
) -> None:
    assert alice.get(path).status == alice_status
    assert nobody.get(path).status == nobody_status
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert alice.request(method, path).status == 403
        assert nobody.request(method, path).status == 403


def test_a_right_is_for_its_verb_its_namespace_and_its_subresource(
    space: Space, alice: Client
) -> None:
    grant(space, core("configmaps", "get", "delete"))
    space.config_maps.create("a")
    path = space.config_maps.path
    assert alice.get(f"{path}/a").status == 200
    assert alice.get(path).status == 403
    assert alice.get(path, watch=1).status == 403
    assert alice.delete(path).status == 403
    assert alice.delete(path, fieldSelector="metadata.name=a").status == 403
    assert alice.patch(f"{path}/a", {}).status == 403
    assert alice.get(f"{path}/a/status").status == 403
    assert alice.get("/api/v1/namespaces/default/configmaps/a").status == 403
    assert alice.get(f"/api/v1/watch/namespaces/{space.name}/configmaps/a").status == 403
    assert alice.delete(f"{path}/a").status == 200


def test_a_refusal_is_not_to_be_taken_for_anything_but_text(alice: Client) -> None:
    answer = alice.get("/api/v1/nodes/%3Cscript%3E")
    assert (answer.status, answer.headers["X-Content-Type-Options"]) == (403, "nosniff")


def test_names_by_field_selector(space: Space, alice: Client) -> None:
    grant(space, core("configmaps", "list", "watch", "deletecollection", names=("a",)))
    space.config_maps.create_all("a", "b")
    path = space.config_maps.path
    text = "metadata.name=a"
    assert alice.get(path, fieldSelector=text).names == ["a"]
    for refused in (
        "", "metadata.name=b", "metadata.name!=b", "metadata.name=", "metadata.namespace=a",
        "metadata.name=b,metadata.name=c", " metadata.name=a", "metadata.name=a/../b",
    ):  # fmt: skip
        assert alice.get(path, fieldSelector=refused).status == 403, refused
        assert alice.get(path, fieldSelector=refused, watch=1).status == 403, refused
    assert alice.get(path, fieldSelector=["", text]).status == 403
    assert "b" not in alice.get(path, fieldSelector=[text, ""]).names
    for both in ("metadata.name=a,metadata.name=b", "metadata.name=b,metadata.name=a"):
        assert alice.get(path, fieldSelector=both).names == []
    assert alice.delete(path, fieldSelector=text).status == 403
    assert alice.get("/api/v1/configmaps", fieldSelector=text).status == 403
    page = space.config_maps.list(limit=1).body["metadata"]["continue"]
    answer = alice.get(path, fieldSelector=text, continue_=page)
    assert answer.status != 200 or "b" not in answer.names
    assert alice.get(path, continue_=page).status == 403


@pytest.mark.both_dialects
def test_creating_needs_the_right_to_create(space: Space, alice: Client) -> None:
    leases = "coordination.@"
    group = space.dialect.group_name(leases)
    grant(
        space,
        {"apiGroups": ["", group], "resources": ["configmaps", "leases"],
         "verbs": ["get", "update", "patch"]},
    )  # fmt: skip
    base = space.collection("leases", leases).path
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}
    answer = alice.put(f"{base}/l", lease)
    assert (answer.status, answer.message) == (403, f'leases.{group} "l" is forbidden: ')
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    path = space.config_maps.item("c")
    answer = alice.patch(path, body, kind=APPLY, fieldManager="m")
    assert (answer.status, answer.message) == (403, 'configmaps "c" is forbidden: ')
    assert alice.patch(path, body, kind=APPLY, fieldManager="m", dryRun="All").status == 403
    assert space.config_maps.get("c").status == 404
    answer = alice.patch(path, {**body, "data": {"a b": "c"}}, kind=APPLY, fieldManager="m")
    assert (answer.status, answer.causes[0][0]) == (422, "data[a b]")  # told before the right is
    grant(space, core("configmaps", "create"))
    assert alice.patch(path, body, kind=APPLY, fieldManager="m").status == 201


def test_a_dry_run_needs_the_same_rights(space: Space, alice: Client) -> None:
    space.config_maps.create("a")
    path = space.config_maps.path
    body = {"metadata": {"name": "a"}}
    for method, where in (
        ("POST", path), ("PUT", f"{path}/a"), ("PATCH", f"{path}/a"), ("DELETE", f"{path}/a"),
        ("DELETE", path),
    ):  # fmt: skip
        assert alice.request(method, where, body, dryRun="All").status == 403


def test_a_change_counts_for_the_very_next_request(space: Space, alice: Client) -> None:
    roles, bindings = space.collection("roles", RBAC), space.collection("rolebindings", RBAC)
    path = space.config_maps.path
    for _ in range(5):
        assert alice.get(path).status == 403
        name = grant(space, core("configmaps", "list"))
        assert alice.get(path).status == 200
        roles.update({**roles.read(name), "rules": [core("configmaps", "get")]})
        assert alice.get(path).status == 403
        roles.update({**roles.read(name), "rules": [core("configmaps", "list")]})
        assert alice.get(path).status == 200
        bindings.remove(name)
        assert alice.get(path).status == 403
        roles.remove(name)


@pytest.mark.both_dialects
def test_a_missing_role_is_told(space: Space, alice: Client) -> None:
    name = grant(space, core("configmaps", "list"))
    space.collection("roles", RBAC).remove(name)
    group = space.dialect.group_name(RBAC)
    text = alice.get(space.config_maps.path).message
    assert text.endswith(f': RBAC: role.{group} "{name}" not found')


@pytest.mark.both_dialects
def test_nobody_gives_more_than_they_have(space: Space, alice: Client) -> None:
    group = space.dialect.group_name(RBAC)
    rbac_rule = {"apiGroups": [group], "resources": ["roles", "rolebindings"], "verbs": ["*"]}
    name = grant(space, {**rbac_rule, "verbs": ["create", "update", "patch", "get"]})
    roles, bindings = (
        space.collection("roles", RBAC).path,
        space.collection("rolebindings", RBAC).path,
    )
    new = {"metadata": {"name": "new"}, "rules": [core("secrets", "get")]}
    own = f"{roles}/{name}"
    assert alice.post(roles, new).status == 403
    assert alice.post(roles, new, dryRun="All").status == 403
    assert alice.put(f"{roles}/new", new).status == 403
    apply_body = {"apiVersion": f"{group}/v1", "kind": "Role", **new}
    assert alice.patch(f"{roles}/new", apply_body, kind=APPLY, fieldManager="m").status == 403
    assert alice.patch(own, {"rules": [core("secrets", "get")]}).status == 403
    assert alice.patch(own, {"metadata": {"labels": {"a": "b"}}}).status == 200
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}
    admin = {
        "metadata": {"name": "new"},
        "roleRef": role,
        "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}],
    }
    assert alice.post(bindings, admin).status == 403
    assert alice.put(f"{bindings}/new", admin).status == 403
    assert alice.post(bindings, {**admin, "roleRef": {**role, "name": "none"}}).status == 404
    assert space.collection("rolebindings", RBAC).names() == [name]


def test_reviews_tell_what_requests_do(space: Space, alice: Client) -> None:
    grant(space, core("pods", "get"))
    path = f"{space.base('authorization.@')}/selfsubjectaccessreviews"
    for verb, namespace, expected in (
        ("get", space.name, True),
        ("list", space.name, False),
        ("get", "default", False),
    ):
        value = {"verb": verb, "resource": "pods", "namespace": namespace}
        answer = alice.post(path, {"spec": {"resourceAttributes": value}})
        assert (answer.status, answer.body["status"]["allowed"]) == (201, expected)
    about_others = {"spec": {"user": "admin", "resourceAttributes": {"verb": "get"}}}
    assert (
        alice.post(f"{space.base('authorization.@')}/subjectaccessreviews", about_others).status
        == 403
    )
