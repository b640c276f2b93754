"""Every refusal is a Status: its shape, its reason, and the headers that go with it."""

from __future__ import annotations

import http.client

import pytest
from support.client import Client
from support.namespaces import Space
from support.process import ServerProcess

NO_METHOD = "the server does not allow this method on the requested resource"
NO_RESOURCE = "the server could not find the requested resource"


def status(code: int, reason: str, message: str, **more: object) -> dict[str, object]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **more,
        "code": code,
    }


def test_400_for_a_body_that_is_not_json(space: Space) -> None:
    answer = space.client.post(
        space.config_maps.path, "{", headers={"Content-Type": "application/json"}
    )
    assert answer.status == 400
    assert answer.body == status(
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get"
        " version/kind; json parse error: unexpected end of JSON input ({)",
    )


def test_400_for_an_empty_body(space: Space) -> None:
    answer = space.client.post(space.config_maps.path, "")
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize("body", ["[]", "5", '"text"', "true"])
def test_400_for_a_body_that_is_no_object(space: Space, body: str) -> None:
    answer = space.client.post(space.config_maps.path, body)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


def test_null_as_a_body_is_an_object_without_anything(space: Space) -> None:
    answer = space.client.post(space.config_maps.path, "null")
    assert (answer.status, answer.causes[0][0]) == (422, "metadata.name")


def test_400_for_wrong_types_names_the_field(space: Space) -> None:
    answer = space.client.post(
        space.config_maps.path, {"metadata": {"name": "a"}, "data": {"k": 5}}
    )
    assert answer.body == status(
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number'
        " into Go struct field ConfigMap.data of type string",
    )


def test_401_for_a_bad_token(any_server: ServerProcess) -> None:
    answer = any_server.client(token="wrong").get("/api/v1/namespaces/default/secrets")
    assert answer.status == 401
    assert answer.body == status(401, "Unauthorized", "Unauthorized")


def test_nobody_reads_without_a_name(any_server: ServerProcess) -> None:
    """Requests without credentials are refused: as unauthenticated, or as anonymous without
    permissions."""
    answer = any_server.client(token=None).get("/api/v1/namespaces/default/secrets")
    assert (answer.status, answer.body["reason"]) in ((401, "Unauthorized"), (403, "Forbidden"))


def test_a_bad_token_is_401_everywhere(any_server: ServerProcess) -> None:
    client = any_server.client(token="wrong")
    for path in ("/healthz", "/version", "/api", "/nothing", "/metrics"):
        assert client.get(path).status == 401


def test_the_admins_certificate_is_accepted(any_server: ServerProcess) -> None:
    pki = any_server.data / "pki"
    client = any_server.client(token=None, certificate=(pki / "admin.crt", pki / "admin.key"))
    assert client.get("/api/v1/namespaces").status == 200


def test_404_for_an_object(space: Space) -> None:
    assert space.secrets.get("no").body == status(
        404, "NotFound", 'secrets "no" not found', details={"name": "no", "kind": "secrets"}
    )


def test_404_names_the_group(space: Space) -> None:
    assert space.collection("deployments", "apps").get("no").body == status(
        404,
        "NotFound",
        'deployments.apps "no" not found',
        details={"name": "no", "group": "apps", "kind": "deployments"},
    )


@pytest.mark.parametrize(
    ("resource", "group", "named"),
    [
        ("replicationcontrollers", "", "replicationcontrollers/scale.autoscaling"),
        ("deployments", "apps", "deployments/scale.apps"),
        ("statefulsets", "apps", "statefulsets.apps"),
    ],
)
def test_404_for_a_scale(space: Space, resource: str, group: str, named: str) -> None:
    answer = space.client.get(space.collection(resource, group).item("no", "scale"))
    assert (answer.status, answer.message) == (404, f'{named} "no" not found')


@pytest.mark.parametrize("what", ["exec", "attach", "portforward", "proxy", "proxy/a"])
def test_400_for_a_connection_that_would_be_none(space: Space, what: str) -> None:
    path = f"{space.collection('pods').path}/no/{what}"
    answer = space.client.request("POST", path, dryRun="All")
    assert (answer.status, answer.message) == (400, "dryRun is not supported")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/foos",
        "/api/v1/foos/x",
        "/api/v1/namespaces/default/foos",
        "/apis/apps/v7/deployments",
        "/apis/apps/v1/gadgets",
        "/api/v7",
        "/apis/apps/v7",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/namespaces/default/configmaps/a/status",
        "/api/v1/secrets/a",
        "/api/v1/namespaces/default/pods/a/status/more",
        "/api/v1/namespaces/default/namespaces",
        "/api/v1/namespaces/default/namespaces/kube-system",
        "/api/v1/namespaces/default/bindings/a",
        "/api/v1//pods",
        "/apis/apps//deployments",
        "/api/v1/proxy/nodes/x",
        "/api/v1/watch/nodes/x/status",
    ],
)
def test_404_for_a_path_inside_a_known_group(client: Client, path: str) -> None:
    assert client.get(path).body == status(404, "NotFound", NO_RESOURCE, details={})


@pytest.mark.parametrize(
    "path",
    [
        "/apis/nope.example.com",
        "/apis/nope.example.com/v1",
        "/apis/nope.example.com/v1/things",
        "/nothing/here",
        "/apis/extensions/v1beta1",
        "/swagger.json",
        "//api/v1/pods",
        "/apis//v1/pods",
        "/apis//",
    ],
)
def test_404_for_an_unknown_group_or_page_is_plain_text(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status, answer.text) == (404, "404 page not found\n")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.both_dialects
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_404_below_what_can_only_be_made(space: Space, method: str) -> None:
    path = space.dialect.group_name("/apis/authorization.@/v1/selfsubjectaccessreviews/x")
    assert space.client.request(method, path).status == 404


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/v1/namespaces/default/secrets"),
        ("PATCH", "/api/v1/namespaces/default/secrets"),
        ("POST", "/api/v1/namespaces/default/secrets/a"),
        ("DELETE", "/api/v1/namespaces"),
        ("DELETE", "/api/v1/secrets"),
        ("POST", "/api/v1/secrets"),
        ("DELETE", "/api/v1/componentstatuses/x"),
        ("DELETE", "/api/v1/namespaces/default/pods/a/status"),
        ("GET", "/apis/authorization.@/v1/selfsubjectaccessreviews"),
        ("OPTIONS", "/api/v1/namespaces/default/secrets"),
        ("OPTIONS", "/api/v1/namespaces/default/secrets/a"),
        ("TRACE", "/api/v1/namespaces/default/secrets"),
        ("POST", "/api/v1/watch/secrets"),
        ("DELETE", "/api/v1/watch/secrets"),
        ("POST", "/version"),
        ("DELETE", "/api"),
    ],
)
def test_405_for_a_method_that_is_not_allowed(space: Space, method: str, path: str) -> None:
    answer = space.client.request(method, space.dialect.group_name(path))
    assert answer.status == 405
    assert answer.body == status(405, "MethodNotAllowed", NO_METHOD, details={})


@pytest.mark.parametrize(
    "path",
    [
        *("/api/v1/namespaces/default", "/api/v1/namespaces/no", "/api/v1/secrets"),
        *("/api", "/api/v1", "/apis/apps/v1", "/version"),
    ],
)
def test_405_for_head_has_no_body(client: Client, path: str) -> None:
    answer = client.request("HEAD", path)
    assert (answer.status, answer.raw) == (405, b"")


def test_head_reads_documents(client: Client) -> None:
    for path in ("/", "/apis", "/apis/apps", "/livez", "/openapi/v2"):
        answer = client.request("HEAD", path)
        assert (answer.status, answer.raw) == (200, b"")


@pytest.mark.both_dialects
def test_406_lists_what_is_there(space: Space) -> None:
    answer = space.client.get(space.secrets.path, headers={"Accept": "text/html"})
    assert (answer.status, answer.body["reason"]) == (406, "NotAcceptable")
    assert answer.message == (
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml,"
        f" {space.dialect.protobuf_media_type}, application/json;stream=watch,"
        f" {space.dialect.protobuf_media_type};stream=watch"
    )


def test_413_for_a_body_over_3_mib(space: Space) -> None:
    body = {"metadata": {"name": "a"}, "data": {"k": "x" * 3_145_728}}
    answer = space.client.post(space.config_maps.path, body)
    assert answer.status == 413
    assert answer.body["reason"] == "RequestEntityTooLarge"
    assert answer.message == "Request entity too large: limit is 3145728"
    space.client.close()


@pytest.mark.both_dialects
def test_an_object_that_its_managers_make_too_large_does_without_them(space: Space) -> None:
    name = "a-long-name-makes-large-who-manages-the-field-of-this-name"
    data = {f"{name}-{number:05}": "a" for number in range(12_000)}
    assert "managedFields" not in space.config_maps.create("a", data=data)["metadata"]
    changed = space.config_maps.label("a", x="1")
    assert "managedFields" not in changed["metadata"]
    config = {"kind": "ConfigMap", "apiVersion": "v1", "data": data}
    answer = space.client.patch(
        space.config_maps.item("a"),
        config,
        kind="application/apply-patch+yaml",
        fieldManager="m",
        force="true",
    )
    assert answer.status == 413


def test_413_for_a_body_of_unknown_length_over_3_mib(space: Space) -> None:
    connection = space.client.connect()
    chunks = (b"x" * 65536 for _ in range(60))
    headers = {**space.client.head_of(), "Content-Type": "application/json"}
    connection.request("POST", space.config_maps.path, chunks, headers, encode_chunked=True)
    response = connection.getresponse()
    assert response.status == 413
    connection.close()


def test_a_body_of_3_mib_is_read(space: Space) -> None:
    frame = '{"metadata": {"name": "a", "annotations": {"k": ""}}}'
    body = frame.replace('""', '"' + "x" * (3_145_728 - len(frame)) + '"')
    assert len(body) == 3_145_728
    answer = space.client.post(space.config_maps.path, body)
    assert answer.status == 422


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/xml",
        "application/merge-patch+json",
        ";",
        "application/json; charset",
        "application/json; a=b; A=c",
    ],
)
def test_415_for_a_body_of_another_format(space: Space, kind: str) -> None:
    answer = space.client.post(space.config_maps.path, "a: b", headers={"Content-Type": kind})
    assert answer.body == status(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include:"
        f" application/json, application/yaml, {space.dialect.protobuf_media_type}",
    )


@pytest.mark.parametrize(
    "kind", ["Application/JSON", "application/json;", 'application/json; a="b;c" ; d=e']
)
def test_a_media_type_is_read_in_any_case_and_with_parameters(space: Space, kind: str) -> None:
    body = '{"metadata": {"name": "a"}}'
    answer = space.client.post(space.config_maps.path, body, headers={"Content-Type": kind})
    assert answer.status == 201


def test_422_names_kind_name_and_causes(space: Space) -> None:
    answer = space.client.post(
        space.config_maps.path, {"metadata": {"name": "a", "labels": {"k": "-"}}}
    )
    assert answer.status == 422
    body = answer.body
    assert body["reason"] == "Invalid"
    assert {key: body["details"][key] for key in ("name", "kind")} == {
        "name": "a",
        "kind": "ConfigMap",
    }
    [cause] = body["details"]["causes"]
    assert set(cause) == {"field", "reason", "message"}
    assert body["message"] == (f'ConfigMap "a" is invalid: {cause["field"]}: {cause["message"]}')


def test_names_are_quoted_with_what_they_have_of_quotes_escaped(space: Space) -> None:
    answer = space.client.post(space.config_maps.path, {"metadata": {"name": 'a"b\\c\n'}})
    assert answer.body["message"].startswith(r'ConfigMap "a\"b\\c\n" is invalid: ')
    assert space.config_maps.get("a%22b").body["message"] == r'configmaps "a\"b" not found'


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("%2E", "may not be '.'"), ("%2E%2E", "may not be '..'"), ("a%25b", "may not contain '%'")],
)
@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
def test_400_for_a_name_that_nothing_can_have(
    space: Space, method: str, name: str, wrong: str
) -> None:
    patch = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
    path = f"{space.config_maps.path}/{name}"
    answer = space.client.request(method, path, None if method == "GET" else {}, headers=patch)
    text = name.replace("%2E", ".").replace("%25", "%")
    assert answer.status == 400
    assert answer.body["message"] == f'Name parameter invalid: "{text}": {wrong}'


def test_several_causes_stand_in_brackets(space: Space) -> None:
    answer = space.client.post(
        space.config_maps.path, {"metadata": {"name": "A", "labels": {"k": "-"}}}
    )
    first, second = answer.causes
    assert answer.message == (
        f'ConfigMap "A" is invalid: [{first[0]}: {first[2]}, {second[0]}: {second[2]}]'
    )


def test_errors_come_in_yaml_to_those_who_take_yaml(space: Space) -> None:
    answer = space.client.get(space.secrets.item("no"), headers={"Accept": "application/yaml"})
    assert answer.headers["Content-Type"] == "application/yaml"
    assert answer.body["message"] == 'secrets "no" not found'


@pytest.mark.both_dialects
def test_errors_are_a_status_to_those_who_want_a_table(space: Space) -> None:
    accept = f"application/json;as=Table;g={space.dialect.meta_group};v=v1"
    answer = space.client.get(space.secrets.item("no"), headers={"Accept": accept})
    assert (answer.status, answer.body["kind"]) == (404, "Status")


def test_answers_are_not_cached_and_carry_a_date(space: Space) -> None:
    for answer in (space.secrets.list(), space.secrets.get("no")):
        assert answer.headers["Cache-Control"] == "no-cache, private"
        assert answer.headers["Date"]


def test_a_connection_is_kept_for_the_next_request_after_an_error(space: Space) -> None:
    connection = space.client.connect()
    for path in (space.secrets.item("no"), "/nothing", space.secrets.path):
        connection.request("GET", path, headers=space.client.head_of())
        connection.getresponse().read()
    connection.close()


def test_a_broken_request_line_does_not_harm_the_server(space: Space) -> None:
    connection = space.client.connect()
    connection.connect()
    connection.sock.sendall(b"NONSENSE\r\n\r\n")
    response = http.client.HTTPResponse(connection.sock)
    response.begin()
    assert response.status == 400
    connection.close()
    assert space.secrets.list().status == 200


def test_plain_http_is_not_served(any_server: ServerProcess) -> None:
    host, _, port = any_server.address.removeprefix("https://").rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 400
    connection.close()
