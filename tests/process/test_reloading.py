"""SIGHUP: files are read again, and a line of the log says what became of each."""

from __future__ import annotations

import json
import re
import signal
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from support.client import Client
from support.process import FreshServer, ServerProcess
from support.waiting import eventually

from fairlead.process.certificates.authority import ensure_pki, ensure_service_account_key

NAMESPACES = "/api/v1/namespaces"
NEW = "the new content is in use"
_TOLD = re.compile(r'reload: .* part="(.*)" (?:outcome|err)="(.*)"')


def reload(server: ServerProcess) -> dict[str, str]:
    """Have it read its files again; return what it logs about each, by flag."""
    done = server.log.read_text().count("reload: done")
    server.signal(signal.SIGHUP)
    eventually(lambda: server.log.read_text().count("reload: done") > done, "it has reloaded")
    lines = server.log.read_text().splitlines()
    ends = [number for number, line in enumerate(lines) if line.endswith("reload: done")]
    begin = ends[-2] + 1 if len(ends) > 1 else 0
    told = (_TOLD.search(line) for line in lines[begin : ends[-1]])
    return {match[1]: match[2] for match in told if match is not None}


def policy(path: Path, level: str) -> Path:
    content = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": level}]}
    path.write_text(yaml.safe_dump(content))
    return path


def test_tokens_are_exchanged_also_on_open_connections(fresh_server: FreshServer) -> None:
    server = fresh_server()
    tokens = server.directory / "tokens.csv"
    admin, alice = server.client(), server.client("alice-token")
    assert admin.get(NAMESPACES).status == 200
    assert alice.get(NAMESPACES).status == 403
    assert reload(server)["--token-auth-file"] == "unchanged"
    tokens.write_text('admin-token,admin,1,"system:masters"\nnew-token,new,2,"system:masters"\n')
    assert reload(server)["--token-auth-file"] == NEW
    assert admin.get(NAMESPACES).status == 200
    assert alice.get(NAMESPACES).status == 401
    assert server.client("new-token").get(NAMESPACES).status == 200


def test_unusable_files_leave_everything_as_it_was(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    rules, authorities = policy(tmp_path / "policy.yaml", "Metadata"), tmp_path / "ca.crt"
    authorities.write_bytes(ensure_pki(tmp_path / "other", ["a"]).ca.certificate.read_bytes())
    level = tmp_path / "level"
    level.write_text("0")
    server = fresh_server(
        *(f"--audit-policy-file={rules}", f"--audit-log-path={tmp_path / 'audit.log'}"),
        *(f"--client-ca-file={authorities}", f"--verbosity-file={level}"),
    )
    tokens = server.directory / "tokens.csv"
    tokens.write_text("only-a-token\n")
    policy(rules, "Everything")
    authorities.write_text("no certificate")
    level.write_text("loud")
    outcomes = reload(server)
    assert f"{tokens}, line 1: expected at least" in outcomes["--token-auth-file"]
    assert [flag for flag, outcome in outcomes.items() if outcome not in (NEW, "unchanged")] == [
        "--client-ca-file",
        "--token-auth-file",
        "--audit-policy-file",
        "--verbosity-file",
    ]
    assert server.client().get(NAMESPACES).status == 200


def test_the_audit_policy_judges_later_requests(fresh_server: FreshServer, tmp_path: Path) -> None:
    rules, log = policy(tmp_path / "policy.yaml", "None"), tmp_path / "audit.log"
    server = fresh_server(f"--audit-policy-file={rules}", f"--audit-log-path={log}")
    client = server.client()
    client.get(f"{NAMESPACES}/first")
    policy(rules, "Metadata")
    assert reload(server)["--audit-policy-file"] == NEW
    client.get(f"{NAMESPACES}/first")
    client.get(f"{NAMESPACES}/second")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [
        event["requestURI"]
        for event in events
        if event["stage"] == "ResponseComplete" and event["user"]["username"] == "admin"
    ] == [f"{NAMESPACES}/first", f"{NAMESPACES}/second"]


def test_the_verbosity_changes(fresh_server: FreshServer, tmp_path: Path) -> None:
    level = tmp_path / "level"
    level.write_text("0\n")
    server = fresh_server(f"--verbosity-file={level}")
    client = server.client()
    client.get("/version?unseen")
    level.write_text("1\n")
    assert reload(server)["--verbosity-file"] == NEW
    client.get("/apis")
    level.write_text("0\n")
    reload(server)
    client.get("/api")
    eventually(lambda: 'path="/apis"' in server.log.read_text(), "the request is logged")
    log = server.log.read_text()
    assert "/version" not in log
    assert 'path="/api"' not in log


def test_a_serving_certificate_is_taken_up_at_once(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    pki = ensure_pki(tmp_path / "first", ["127.0.0.1"])
    files = [tmp_path / "tls.crt", tmp_path / "tls.key"]

    def install(certificate: Path, key: Path) -> None:
        files[0].write_bytes(certificate.read_bytes())
        files[1].write_bytes(key.read_bytes())

    install(*pki.serving[:2])
    server = fresh_server(f"--tls-cert-file={files[0]}", f"--tls-private-key-file={files[1]}")
    other = ensure_pki(tmp_path / "second", ["127.0.0.1"])
    install(other.serving.certificate, pki.serving.key)
    assert reload(server)["--tls-cert-file"] not in (NEW, "unchanged")
    assert presented(server) == pki.serving.certificate.read_text().split("-----END")[0]
    install(*other.serving[:2])
    assert reload(server)["--tls-cert-file"] == NEW
    assert presented(server) == other.serving.certificate.read_text().split("-----END")[0]


def presented(server: ServerProcess) -> str:
    parts = urlsplit(server.address)
    assert parts.hostname is not None
    assert parts.port is not None
    text = ssl.get_server_certificate((parts.hostname, parts.port))
    return text.split("-----END")[0]


def test_client_authorities_are_taken_up_at_once(fresh_server: FreshServer, tmp_path: Path) -> None:
    ours, theirs = (ensure_pki(tmp_path / name, ["a"]) for name in ("ours", "theirs"))
    bundle = tmp_path / "bundle.crt"
    bundle.write_bytes(ours.ca.certificate.read_bytes())
    server = fresh_server(f"--client-ca-file={bundle}")
    certificate = (theirs.admin.certificate, theirs.admin.key)
    bundle.write_bytes(theirs.ca.certificate.read_bytes())
    # The file is also looked at once a second.
    assert reload(server)["--client-ca-file"] in (NEW, "unchanged")
    assert server.client(None, certificate).get(NAMESPACES).status == 200


def test_a_refused_authorization_file_is_named_every_time(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    path = tmp_path / "authorization.yaml"
    content = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": [{"type": "RBAC", "name": "rbac"}],
    }
    path.write_text(yaml.safe_dump(content))
    server = fresh_server("--release", "1.36", f"--authorization-config={path}")
    assert reload(server)["--authorization-config"] == "unchanged"
    path.write_text("authorizers: 1")
    for _ in range(2):
        assert reload(server)["--authorization-config"] not in (NEW, "unchanged")


def test_files_that_are_read_at_start_only_are_named_when_they_change(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    key = ensure_service_account_key(tmp_path / "keys")
    server = fresh_server(f"--service-account-signing-key-file={key}")
    assert reload(server)["--service-account-signing-key-file"] == "unchanged"
    key.write_bytes(key.read_bytes() + b"\n")
    outcome = reload(server)["--service-account-signing-key-file"]
    assert outcome == f"{key} has changed, which only a restart takes up"


@pytest.mark.usefixtures("new_interpreters")
def test_all_workers_reload_and_one_reports(fresh_server: FreshServer) -> None:
    server = fresh_server("--workers=3")
    (server.directory / "tokens.csv").write_text('new-token,new,2,"system:masters"\n')
    assert reload(server)["--token-auth-file"] == NEW
    told = f'part="--token-auth-file" outcome="{NEW}"'
    assert server.log.read_text().count(told) == 1

    def is_known_everywhere() -> bool:
        answers = [Client(server.address, server.ca, "new-token") for _ in range(9)]
        codes = [client.get(NAMESPACES).status for client in answers]
        for client in answers:
            client.close()
        return codes == [200] * len(codes)

    eventually(is_known_everywhere, "every worker knows the new token")
