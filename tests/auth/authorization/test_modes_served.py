"""The authorization modes on a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.answering import Answering
from support.process import ServerProcess, failed_start

PODS = "/api/v1/namespaces/default/pods"


def pods(running: ServerProcess, token: str = "alice-token") -> tuple[int, str]:
    answer = running.client(token).get(PODS)
    return answer.status, answer.body.get("message", "")


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("RBAC,RBAC",), "has mode specified more than once"),
        (("Nope",), "is not a valid mode"),
        (("ABAC",), "authorization policy file not passed"),
        (("Webhook",), "authorization config file not passed"),
        (("RBAC", "--authorization-policy-file", "/x"), "without mode ABAC"),
        (("ABAC", "--authorization-policy-file", "/no/such"), "cannot read the policy file"),
    ],
)
def test_modes_that_cannot_be(tmp_path: Path, flags: tuple[str, ...], error: str) -> None:
    ended = failed_start(tmp_path, "--authorization-mode", *flags)
    assert ended.returncode != 0
    assert error in ended.stderr


def test_always(fresh_server: Any) -> None:
    assert pods(fresh_server("--authorization-mode", "AlwaysAllow"))[0] == 200
    denying = fresh_server("--authorization-mode", "AlwaysDeny")
    status, message = pods(denying)
    assert status == 403
    assert message.endswith(": Everything is forbidden.")
    assert pods(denying, "admin-token")[0] == 200


def test_abac(fresh_server: Any, tmp_path: Path) -> None:
    spec = {"user": "alice", "namespace": "default", "resource": "pods", "readonly": True}
    version = "abac.authorization.kubernetes.io/v1beta1"
    path = tmp_path / "policies"
    path.write_text(json.dumps({"apiVersion": version, "kind": "Policy", "spec": spec}))
    flags = ("--authorization-mode", "ABAC", "--authorization-policy-file", str(path))
    running = fresh_server(*flags)
    assert pods(running)[0] == 200
    client = running.client("alice-token")
    assert client.post(PODS, {}).status == 403
    assert client.get("/api/v1/pods").message.endswith(": No policy matched.")


@pytest.fixture
def judge() -> Iterator[Answering]:
    answering = Answering()
    yield answering
    answering.close()


def test_webhook(fresh_server: Any, tmp_path: Path, judge: Answering) -> None:
    path = tmp_path / "webhook"
    path.write_text(
        yaml.safe_dump(
            {
                "clusters": [
                    {"name": "c", "cluster": {"server": f"http://127.0.0.1:{judge.port}/judge"}}
                ],
                "contexts": [{"name": "x", "context": {"cluster": "c"}}],
                "current-context": "x",
            }
        )
    )
    running = fresh_server(
        *("--authorization-mode", "RBAC,Webhook"),
        *("--authorization-webhook-config-file", str(path)),
        *("--authorization-webhook-version", "v1"),
        *("--authorization-webhook-cache-unauthorized-ttl", "0"),
    )
    judge.answers = [
        (201, b'{"status": {"allowed": false, "denied": true, "reason": "not today"}}'),
        (201, b'{"status": {"allowed": false}}'),
        (403, b"the webhook is broken"),
        (201, b'{"status": {"allowed": true}}'),
    ]
    assert pods(running)[1].endswith(": not today")
    assert pods(running)[0] == 403
    assert pods(running)[0] == 403
    assert pods(running)[0] == 200
    assert pods(running)[0] == 200  # from the cache: there is no answer left
    spec = judge.seen[0][1]["spec"]
    assert (spec["user"], spec["resourceAttributes"]["resource"]) == ("alice", "pods")
