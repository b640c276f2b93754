"""`--authorization-config`: its checks, the conditions of webhooks, and its reload."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.authorization import ask, user
from support.process import FreshServer
from support.waiting import eventually

from fairlead.auth.authorization.attributes import Attributes, Decision
from fairlead.auth.authorization.configuration import AuthorizationFile
from fairlead.auth.authorization.webhook import Webhook
from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_36
from fairlead.codec.configuration_files import ConfigurationError
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.gates import Gates
from fairlead.storage.selection import Requirement
from fairlead.wire.outgoing.response import CallError

HEAD = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
RBAC = {"type": "RBAC", "name": "rbac"}
NODE = {"type": "Node", "name": "node"}
ALICE = user("alice", "dev")


def file_of(directory: Path, *authorizers: Any, **changes: Any) -> Path:
    path = directory / "authorization.yaml"
    path.write_bytes(orjson.dumps({**HEAD, "authorizers": authorizers, **changes}))
    return path


def webhook(directory: Path, **changes: Any) -> dict[str, Any]:
    client = directory / "client.yaml"
    client.write_text("clusters: []")
    settings = {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "matchConditionSubjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(client)},
        **changes,
    }
    return {"type": "Webhook", "name": "judge", "webhook": settings}


def read(path: Path) -> Any:
    return AuthorizationFile(path, BuiltinTypes(KUBERNETES, V1_36), Gates(release=V1_36)).read()


def problem(path: Path) -> str:
    with pytest.raises(ConfigurationError) as raised:
        read(path)
    return str(raised.value)


def test_authorizers_have_an_order_and_settings(tmp_path: Path) -> None:
    settings = read(file_of(tmp_path, NODE, webhook(tmp_path, unauthorizedTTL="1m"), RBAC))
    assert [one.mode for one in settings] == ["Node", "Webhook", "RBAC"]
    judge = settings[1].webhook
    assert (judge.authorized_ttl, judge.unauthorized_ttl) == (300.0, 60.0)
    assert judge.timeout == 3.0
    assert judge.denies


@pytest.mark.parametrize(
    ("authorizers", "error"),
    [
        ([], "authorizers: Required value: at least one authorization mode must be defined"),
        ([{"name": "a"}], "authorizers[0].type: Required value"),
        ([{"type": "Any", "name": "any"}], 'authorizers[0].type: Unsupported value: "Any"'),
        ([RBAC, RBAC], 'authorizers[1].type: Duplicate value: "RBAC"'),
        ([{"type": "RBAC"}], "authorizers[0].name: Required value"),
        ([{"type": "RBAC", "name": "x"}], "expected name rbac for authorizer RBAC instead of x"),
        ([{"type": "Webhook", "name": "x"}], "authorizers[0].webhook: Required value"),
        ([{**RBAC, "webhook": {}}], "may only be specified when type=Webhook"),
        ([{**RBAC, "extra": 1}], "authorizers[0].extra: unknown field"),
    ],
)
def test_invalid_authorizers_are_named(tmp_path: Path, authorizers: list[Any], error: str) -> None:
    text = problem(file_of(tmp_path, *authorizers))
    assert text.startswith(f"--authorization-config: {tmp_path}/authorization.yaml: ")
    assert error in text


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"timeout": "31s"}, 'timeout: Invalid value: "31s": must be > 0s and <= 30s'),
        ({"timeout": ""}, "authorizers[0].timeout: Required value"),
        ({"authorizedTTL": "-1s"}, "authorizers[0].authorizedTTL: Invalid value"),
        ({"authorizedTTL": "x"}, "time: invalid duration"),
        ({"failurePolicy": "Allow"}, 'failurePolicy: Unsupported value: "Allow"'),
        ({"subjectAccessReviewVersion": "v2"}, "subjectAccessReviewVersion: Unsupported value"),
        ({"connectionInfo": {"type": "KubeConfigFile"}}, "kubeConfigFile: Required value"),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "x"}},
            "must be an absolute path",
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/"}},
            "must be a regular file",
        ),
        ({"matchConditions": [{"expression": " "}]}, "matchConditions[0].expression: Required"),
        ({"matchConditions": [{"expression": "request.user"}]}, "must evaluate to bool but got"),
        ({"matchConditions": [{"expression": "request.no"}]}, "undefined field 'no'"),
        ({"matchConditions": [{"expression": "("}]}, "compilation failed: ERROR: <input>:1:2"),
        ({"matchConditions": [{"expression": "true"}] * 2}, "matchConditions[1].expression: Dupl"),
        (
            {"matchConditions": [{"expression": f"{i}==1"} for i in range(65)]},
            "matchConditions: Too many: 65",
        ),
    ],
)
def test_invalid_webhooks_are_named(tmp_path: Path, changes: Any, error: str) -> None:
    assert error in problem(file_of(tmp_path, webhook(tmp_path, **changes)))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", "is not a mapping of fields"),
        ("[]", "is not a mapping of fields"),
        ("a: [", "yaml"),
        ("apiVersion: v1\nkind: Pod", 'apiVersion: "v1" is not known'),
        ("a: &a [*a, *a]", ""),
        ("a: &a [1,1]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", ""),
    ],
)
def test_files_of_other_formats_are_refused(tmp_path: Path, content: str, error: str) -> None:
    path = tmp_path / "f"
    path.write_text(content)
    assert error in problem(path)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"#" * (4 * 1024 * 1024))
    assert "has more than 3145728 bytes" in problem(path)


class Judge:
    def __init__(self, error: CallError | None = None) -> None:
        self.requests: list[Any] = []
        self.error = error

    async def post_with_retries(self, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        self.requests.append(body)
        if self.error is not None:
            raise self.error
        return {"status": {"allowed": True}}


def decided(judge: Judge, question: Attributes, directory: Path, *texts: str) -> Decision:
    conditions = [{"expression": text} for text in texts]
    (settings,) = read(file_of(directory, webhook(directory, matchConditions=conditions)))
    mode = Webhook(
        KUBERNETES,
        judge,
        version="v1",
        denies=settings.webhook.denies,
        conditions=settings.webhook.conditions,
    )
    return asyncio.run(mode.authorize(question))


@pytest.mark.parametrize(
    ("text", "is_called"),
    [
        ("request.user == 'alice'", True),
        ("'ops' in request.groups", False),
        ("has(request.resourceAttributes)", True),
        ("request.resourceAttributes.namespace == 'ns'", True),
        ("request.resourceAttributes.name == ''", True),
        ("request.extra.size() == 0", True),
        (
            "request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'a' &&"
            " r.operator == 'In' && r.values == ['b'])",
            True,
        ),
        ("has(request.resourceAttributes.labelSelector)", False),
    ],
)
def test_a_webhook_is_called_if_its_conditions_hold(
    tmp_path: Path, text: str, is_called: bool
) -> None:
    judge = Judge()
    question = ask(ALICE, "list", "pods", "ns")
    question = question._replace(fields=(Requirement("a", "in", frozenset("b")),))
    decision = decided(judge, question, tmp_path, text)
    assert decision.allowed is is_called
    assert len(judge.requests) == is_called


def test_a_condition_that_fails_decides_by_the_failure_policy(tmp_path: Path) -> None:
    judge, question = Judge(), ask(ALICE, "get", "/healthz")
    fails = "request.resourceAttributes.verb == 'get'"
    decision = decided(judge, question, tmp_path, fails)
    assert decision.denied
    assert f"cel evaluation error: expression '{fails}' resulted in error" in decision.error
    assert not decided(judge, question, tmp_path, fails, "false").denied
    assert judge.requests == []


def test_a_condition_cannot_run_for_long(tmp_path: Path) -> None:
    names = tuple(f"g{index}" for index in range(2000))
    nested = "request.groups.all(a, request.groups.all(b, request.groups.all(c, a+b+c != '')))"
    decision = decided(Judge(), ask(user("x", *names), "get", "/x"), tmp_path, nested)
    assert "cost limit exceeded" in decision.error


def test_a_failing_webhook_may_deny(tmp_path: Path) -> None:
    judge = Judge(CallError("no route"))
    decision = decided(judge, ask(ALICE, "get", "/x"), tmp_path)
    assert decision.denied


def test_the_file_is_reloaded_and_a_broken_one_is_not_used(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    path = file_of(tmp_path, NODE, RBAC)
    server = fresh_server("--release=1.36", f"--authorization-config={path}")
    admin, nobody = server.client(), server.client(None)

    def status() -> int:
        return nobody.get("/api/v1/pods").status

    assert status() == 403
    file_of(tmp_path, NODE, RBAC, {"type": "AlwaysAllow", "name": "alwaysallow"})
    eventually(lambda: status() == 200, "the new authorizer decides")
    path.write_text(path.read_text()[:-20])
    metric = 'automatic_reloads_total{status="failure"}'
    eventually(lambda: metric in admin.get("/metrics").text, "the broken file is noticed")
    assert status() == 200
    file_of(tmp_path, NODE, {"type": "AlwaysDeny", "name": "alwaysdeny"})
    text = "missing required types: ['RBAC']"
    eventually(lambda: text in server.log.read_text(), "RBAC cannot be left out")
    assert status() == 200
    assert admin.get("/api/v1/pods").status == 200
    path.unlink()
    os.mkfifo(path)
    text = "authorization.yaml: is not a regular file"
    eventually(lambda: text in server.log.read_text(), "a pipe is not read")
    path.unlink()
    file_of(tmp_path, NODE, RBAC)
    eventually(lambda: status() == 403, "the next file is")


def test_release_1_25_does_not_have_the_flag(fresh_server: FreshServer, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"release 1\.25 does not have this flag"):
        fresh_server(f"--authorization-config={file_of(tmp_path, RBAC)}")


def test_the_file_and_the_modes_exclude_each_other(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    path = file_of(tmp_path, RBAC)
    flags = ("--release=1.36", f"--authorization-config={path}", "--authorization-mode=RBAC")
    with pytest.raises(Exception, match="can not be specified when --authorization-mode"):
        fresh_server(*flags)
