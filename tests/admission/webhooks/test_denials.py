"""Webhooks: the answer to the client after a denial, a failure or an invalid response."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.client import Answer, Object, Query
from support.webhook import Hooked, WebhookServer, allow, deny, encoded

from fairlead.wire.outgoing.webhooks import MAX_CALLS

MUTATING, VALIDATING = "mutating", "validating"
both_kinds = pytest.mark.parametrize("kind", [MUTATING, VALIDATING])

NO_KIND = "couldn't get version/kind; json parse error"


def _hook(hooked: Hooked, kind: str, respond: Any = allow, **webhook: Any) -> str:
    return (hooked.mutate if kind == MUTATING else hooked.validate)(respond, **webhook)


def _create(hooked: Hooked, name: str = "a", **query: Query) -> Answer:
    things = hooked.space.config_maps
    return things.client.post(things.path, {"metadata": {"name": name}}, **query)


def _named(hooked: Hooked, path: str) -> str:
    return f"{hooked.name_of(path)}.example.com"


def _failure(hooked: Hooked, path: str, why: str) -> Object:
    """Return the answer to a write whose webhook failed this way."""
    text = f'failed calling webhook "{_named(hooked, path)}": {why}'
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {text}",
        "reason": "InternalError",
        "details": {"causes": [{"message": text}]},
        "code": 500,
    }


@both_kinds
def test_a_webhook_that_allows_lets_the_write_pass(hooked: Hooked, kind: str) -> None:
    path = _hook(hooked, kind)
    assert _create(hooked).status == 201
    assert [request["name"] for request in hooked.requests(path)] == ["a"]


@both_kinds
def test_a_denial_has_the_code_and_message_of_the_webhook(hooked: Hooked, kind: str) -> None:
    path = _hook(hooked, kind, deny("not here", code=418, reason="Teapot"))
    answer = _create(hooked)
    assert answer.status == 418
    assert answer.body["code"] == 418
    assert answer.body["reason"] == "Teapot"
    text = f'admission webhook "{_named(hooked, path)}" denied the request: not here'
    assert answer.message == text
    assert hooked.space.config_maps.get("a").status == 404


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (None, 400, " without explanation"),
        ({}, 400, " without explanation"),
        ({"code": 200, "status": "Success"}, 400, " without explanation"),
        ({"reason": "Because"}, 400, ": Because"),
        ({"message": "x", "reason": "Because", "code": 403}, 403, ": x"),
        ({"code": 599}, 599, " without explanation"),
        ({"code": 600}, 600, " without explanation"),
        ({"code": 999}, 999, " without explanation"),
        ({"code": 100000}, 500, " without explanation"),
    ],
)
def test_what_a_denial_leaves_out(hooks: Hooked, status: Any, code: int, text: str) -> None:
    path = hooks.validate(lambda request: {"allowed": False, "status": status})
    answer = _create(hooks)
    assert answer.status == code
    denied = f'admission webhook "{_named(hooks, path)}" denied the request'
    assert answer.message == f"{denied}{text}"
    assert answer.body["status"] == "Failure"


def test_details_of_a_denial_reach_the_client(hooks: Hooked) -> None:
    details = {"name": "n", "kind": "k", "retryAfterSeconds": 7}
    hooks.validate(deny("later", code=429, details=details))
    answer = _create(hooks)
    assert answer.body["details"] == details
    assert answer.headers["Retry-After"] == "7"


def _free_port() -> int:
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        port: int = result.getsockname()[1]
        return port


@both_kinds
def test_a_webhook_that_nobody_serves_fails_the_write(hooked: Hooked, kind: str) -> None:
    port = _free_port()
    config = {"url": f"https://127.0.0.1:{port}/x", "caBundle": hooked.server.bundle}
    path = _hook(hooked, kind, clientConfig=config, timeoutSeconds=3)
    answer = _create(hooked)
    assert answer.status == 500
    assert answer.body == _failure(
        hooked,
        path,
        f'failed to call webhook: Post "https://127.0.0.1:{port}/x?timeout=3s":'
        f" dial tcp 127.0.0.1:{port}: connect: connection refused",
    )


@both_kinds
def test_a_failure_that_is_ignored_lets_the_write_pass(hooked: Hooked, kind: str) -> None:
    config = {"url": f"https://127.0.0.1:{_free_port()}/x", "caBundle": hooked.server.bundle}
    _hook(hooked, kind, clientConfig=config, failurePolicy="Ignore")
    assert _create(hooked).status == 201


def test_a_denial_is_not_ignored(hooks: Hooked) -> None:
    hooks.validate(deny(), failurePolicy="Ignore")
    assert _create(hooks).status == 400


@both_kinds
def test_a_webhook_that_takes_too_long_has_failed(hooks: Hooked, kind: str) -> None:
    with socket.socket() as silent:  # takes connections and never says a word
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/x"
        config = {"url": url, "caBundle": hooks.server.bundle}
        path = _hook(hooks, kind, clientConfig=config, timeoutSeconds=1)
        answer = _create(hooks)
    why = f'failed to call webhook: Post "{url}?timeout=1s": context deadline exceeded'
    assert answer.body == _failure(hooks, path, why)


def test_a_webhook_that_hangs_and_is_ignored_lets_all_writes_pass(hooks: Hooked) -> None:
    """Also writes that wait for a slot until other calls time out."""
    things = hooks.space.config_maps

    def create(number: int) -> int:
        client = things.client.clone()
        status = client.post(things.path, {"metadata": {"name": f"a{number}"}}).status
        client.close()
        return status

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(MAX_CALLS * 2)
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/x"
        config = {"url": url, "caBundle": hooks.server.bundle}
        hooks.validate(clientConfig=config, timeoutSeconds=1, failurePolicy="Ignore")
        with ThreadPoolExecutor(MAX_CALLS * 2) as pool:
            statuses = list(pool.map(create, range(MAX_CALLS * 2)))
    assert statuses == [201] * len(statuses)


@pytest.mark.parametrize(
    ("bundle", "why"),
    [
        (b"garbage", "unable to parse bytes as PEM block"),
        (
            b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "no valid certificate authority data seen",
        ),
    ],
)
def test_a_bundle_without_certificates_fails_the_write(
    hooks: Hooked, bundle: bytes, why: str
) -> None:
    config = {"url": hooks.server.url("/x"), "caBundle": hooks.server.bundle_of(bundle)}
    path = hooks.validate(clientConfig=config)
    wanted = f"could not get REST client: unable to load root certificates: {why}"
    assert _create(hooks).body == _failure(hooks, path, wanted)


def test_a_certificate_of_another_authority_is_not_trusted(hooks: Hooked, tmp_path: Path) -> None:
    other = WebhookServer(tmp_path)
    other.close()
    config = {"url": hooks.server.url("/x"), "caBundle": other.bundle}
    path = hooks.validate(clientConfig=config)
    why = (
        'x509: certificate signed by unknown authority (possibly because of "x509: ECDSA'
        ' verification failure" while trying to verify candidate authority certificate'
        ' "fairlead-ca")'
    )
    url = f"{hooks.server.url('/x')}?timeout=10s"
    wanted = _failure(hooks, path, f'failed to call webhook: Post "{url}": {why}')
    assert _create(hooks).body == wanted


def test_a_certificate_for_another_host_is_not_trusted(hooks: Hooked) -> None:
    url = f"https://127.0.0.2:{hooks.server.port}/x"
    hooks.validate(clientConfig={"url": url, "caBundle": hooks.server.bundle})
    assert "x509: certificate is valid for 127.0.0.1, not 127.0.0.2" in _create(hooks).message


def test_a_service_that_is_not_there_fails_the_write(hooks: Hooked) -> None:
    service = {"namespace": hooks.space.name, "name": "nobody", "path": "/p", "port": 8443}
    path = hooks.validate(clientConfig={"service": service})
    url = f"https://nobody.{hooks.space.name}.svc:8443/p?timeout=10s"
    why = f'failed to call webhook: Post "{url}": service "nobody" not found'
    assert _create(hooks).body == _failure(hooks, path, why)


@pytest.mark.parametrize(
    ("code", "content", "why"),
    [
        (404, b"{}", "the server could not find the requested resource"),
        (503, b"{}", "the server is currently unable to handle the request"),
        (302, b"", "the server responded with the status code 302 but did not return more"),
        (500, b"{}", 'an error on the server ("unknown") has prevented the request from'),
        (500, b'{"kind":"Status","status":"Failure","message":"I broke"}', "I broke"),
        (200, b"hello", f"{NO_KIND}: json: cannot unmarshal string into Go value of type struct"),
        (200, b"{hello", f"{NO_KIND}: invalid character 'h' looking for beginning of object key"),
        (200, b"", "0-length response with status code: 200 and content type: application/json"),
        (200, b"[]", f"{NO_KIND}: json: cannot unmarshal array into Go value of type struct"),
        (200, b"[" * 100_000, "yaml: "),
        (200, b'{"response":{"patch":"*"}}', "illegal base64 data"),
        (
            200,
            b'{"response":{"allowed":"yes"}}',
            "json: cannot unmarshal string into Go struct field",
        ),
    ],
)
def test_an_answer_that_is_no_review_has_failed(
    hooks: Hooked, code: int, content: bytes, why: str
) -> None:
    path = hooks.validate(lambda request: (code, content))
    answer = _create(hooks)
    assert answer.status == 500
    head = f'failed calling webhook "{_named(hooks, path)}": failed to call webhook: '
    assert answer.message.startswith(f"Internal error occurred: {head}{why}")


def _invalid(hooks: Hooked, path: str, why: str) -> Object:
    return _failure(hooks, path, f"received invalid webhook response: {why}")


@pytest.mark.both_dialects
def test_an_answer_in_a_version_that_was_not_asked_in_has_failed(hooked: Hooked) -> None:
    name = hooked.space.dialect.group_name("admission.@/v1beta1")
    review = {"apiVersion": name, "kind": "AdmissionReview", "response": {"allowed": True}}
    path = hooked.validate(lambda request: review)
    why = "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"
    assert _create(hooked).body == _failure(hooked, path, f"failed to call webhook: {why}")


@pytest.mark.parametrize("content", [b'{"kind":"AdmissionReview"}', b"null"])
def test_an_answer_without_a_response_is_invalid(hooks: Hooked, content: bytes) -> None:
    path = hooks.validate(lambda request: (200, content))
    assert _create(hooks).body == _invalid(hooks, path, "webhook response was absent")


def test_an_answer_to_another_question_is_invalid(hooked: Hooked) -> None:
    path = hooked.validate(lambda request: {"allowed": True, "uid": "other"})
    answer = _create(hooked)
    uid = hooked.requests(path)[0]["uid"]
    why = f'expected response.uid="{uid}", got "other"'
    assert answer.body == _invalid(hooked, path, why)


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("version", "kind", "output"),
    [
        ("admission.@/v1", "Review", "admission.@/v1, Kind=Review"),
        ("", "", "/, Kind="),
    ],
)
def test_an_answer_in_another_version_is_invalid(
    hooked: Hooked, version: str, kind: str, output: str
) -> None:
    name = hooked.space.dialect.group_name

    def respond(request: Object) -> Object:
        response = {"uid": request["uid"], "allowed": True}
        return {"apiVersion": name(version), "kind": kind, "response": response}

    path = hooked.validate(respond)
    wanted = name("admission.@/v1, Kind=AdmissionReview")
    why = f"expected webhook response of {wanted}, got {name(output)}"
    assert _create(hooked).body == _invalid(hooked, path, why)


@pytest.mark.parametrize(
    ("kind", "response", "why"),
    [
        (
            MUTATING,
            {"patch": encoded([])},
            "webhook returned response.patch but not response.patchType",
        ),
        (
            MUTATING,
            {"patchType": "JSONPatch"},
            "webhook returned response.patchType but not response.patch",
        ),
        (
            MUTATING,
            {"patchType": "", "patch": encoded([])},
            'webhook returned invalid response.patchType of ""',
        ),
        (
            VALIDATING,
            {"patchType": "JSONPatch", "patch": encoded([])},
            "validating webhook may not return response.patch",
        ),
        (
            VALIDATING,
            {"patchType": "JSONPatch"},
            "validating webhook may not return response.patchType",
        ),
    ],
)
def test_a_patch_in_the_wrong_place_is_invalid(
    hooks: Hooked, kind: str, response: Object, why: str
) -> None:
    path = _hook(hooks, kind, lambda request: {"allowed": True, **response})
    assert _create(hooks).body == _invalid(hooks, path, why)


def test_a_patch_of_another_type_has_failed(hooks: Hooked) -> None:
    patch = {"patchType": "MergePatch", "patch": encoded([{"op": "remove", "path": "/data"}])}
    path = hooks.mutate(lambda request: {"allowed": True, **patch})
    assert _create(hooks).body == _failure(hooks, path, 'unsupported patch type "MergePatch"')


@pytest.mark.both_dialects
def test_the_older_version_of_the_answer_is_not_held_to_its_question(hooked: Hooked) -> None:
    content = json.dumps({"response": {"allowed": True, "uid": "other"}}).encode()
    path = hooked.validate(lambda request: (200, content), admissionReviewVersions=["v1beta1"])
    assert _create(hooked).status == 201
    version = hooked.space.dialect.group_name("admission.@/v1beta1")
    assert hooked.server.reviews[path][0]["apiVersion"] == version


@pytest.mark.both_dialects
def test_the_first_version_that_both_know_is_sent(hooked: Hooked) -> None:
    path = hooked.validate(admissionReviewVersions=["v7", "v1beta1", "v1"])
    assert _create(hooked).status == 201
    version = hooked.space.dialect.group_name("admission.@/v1beta1")
    assert hooked.server.reviews[path][0]["apiVersion"] == version


def test_a_configuration_without_a_version_that_we_know_is_refused(hooked: Hooked) -> None:
    webhook = hooked.webhook("/x/0", admissionReviewVersions=["v7"])
    things = hooked.configurations(VALIDATING)
    answer = things.client.post(things.path, {"metadata": {"name": "x"}, "webhooks": [webhook]})
    assert answer.status == 422
    assert "must include at least one of v1, v1beta1" in answer.message


def test_of_several_refusals_the_client_gets_that_of_the_first(hooks: Hooked) -> None:
    hooks.validate(deny("first"))
    second = hooks.validate(deny("second"))
    assert _create(hooks).message.endswith("denied the request: first")
    assert len(hooks.requests(second)) == 1  # it was heard all the same


def test_a_mutating_webhook_that_denies_ends_the_asking(hooks: Hooked) -> None:
    hooks.mutate(deny("first"))
    second, judge = hooks.mutate(), hooks.validate()
    assert _create(hooks).message.endswith("denied the request: first")
    assert hooks.requests(second) == hooks.requests(judge) == []
