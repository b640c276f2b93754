"""Backends of running servers."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest
import yaml
from support.answering import Answering
from support.audited import Audited, config_maps, create
from support.process import ServerProcess
from support.waiting import eventually

from fairlead.api.audit.log import StreamLog
from fairlead.api.audit.metrics import ERRORS
from fairlead.api.audit.setup import AuditError, build_auditor
from fairlead.base.dialect import KUBERNETES
from fairlead.cli.parser import Parser
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.process.flags.serve import add_serve_flags
from fairlead.resources.registry import Resources

DEAD = "--audit-webhook-initial-backoff=1h"


def config(directory: Path, port: int) -> str:
    """A client configuration for a webhook on this machine."""
    file = directory / "webhook.yaml"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}/audit"}}
    context = {"name": "x", "context": {"cluster": "c"}}
    value = {"clusters": [cluster], "contexts": [context], "current-context": "x"}
    file.write_text(yaml.safe_dump(value))
    return str(file)


def counted(server: ServerProcess, name: str) -> float:
    lines = server.client().get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def test_events_and_levels_are_counted(audited: Audited) -> None:
    server = audited.server
    before = counted(server, "apiserver_audit_event_total")
    level = 'apiserver_audit_level_total{level="RequestResponse"}'
    bodies = counted(server, level)
    create(audited.client, "bodies", "counted")
    assert counted(server, level) == bodies + 1
    assert counted(server, "apiserver_audit_event_total") >= before + 2
    assert counted(server, "apiserver_audit_requests_rejected_total") == 0


def write_policy(directory: Path, dialect: str = "k8s.io") -> tuple[str, str]:
    """Return the flags of a policy that records the requests of the administrator."""
    file = directory / "admin-policy.yaml"
    rules = [{"level": "Metadata", "users": ["admin"]}]
    head = {"apiVersion": f"audit.{dialect}/v1", "kind": "Policy"}
    file.write_text(yaml.safe_dump({**head, "rules": rules}))
    return "--audit-policy-file", str(file)


def test_a_full_disk_and_a_dead_webhook_hold_nobody_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        hook = config(tmp_path, listener.getsockname()[1])  # takes calls and never answers
        flags = ("--audit-webhook-config-file", hook, "--audit-webhook-batch-max-wait", "1ms")
        small = ("--audit-webhook-batch-buffer-size", "5", "--audit-log-mode", "batch")
        given = (*write_policy(tmp_path), "--audit-log-path", "/dev/full", *flags, *small, DEAD)
        server = ServerProcess(tmp_path, "kubernetes", given).start()
        client = server.client()
        for index in range(20):
            create(client, "default", f"a-{index}")
        eventually(
            lambda: counted(server, 'apiserver_audit_error_total{plugin="log"}') >= 40,
            "what the disk does not take is counted",
        )
        assert counted(server, 'apiserver_audit_error_total{plugin="buffered"}') > 0
        server.kill()


def test_a_strict_server_does_nothing_that_it_cannot_tell_of(tmp_path: Path) -> None:
    strict = ("--audit-log-path", "/dev/full", "--audit-log-mode", "blocking-strict")
    server = ServerProcess(tmp_path, "kubernetes", (*write_policy(tmp_path), *strict)).start()
    answer = server.client().post(config_maps("default"), {"metadata": {"name": "a"}})
    assert (answer.status, answer.body["reason"]) == (500, "InternalError")
    assert answer.message == "Internal error occurred: failed to store audit event"
    assert server.client(None).get("/version").status == 200
    server.kill()


def test_a_webhook_that_blocks_is_told_before_the_answer_comes(tmp_path: Path) -> None:
    other = Answering()
    other.answers = [(200, b"")] * 100
    hook = ("--audit-webhook-config-file", config(tmp_path, other.port))
    log = tmp_path / "audit.log"
    flags = (*write_policy(tmp_path, "cluster.io"), "--audit-log-path", str(log), *hook)
    blocking = ("--audit-webhook-mode", "blocking")
    server = ServerProcess(tmp_path, "cluster", (*flags, *blocking)).start()
    assert server.client().get("/version").status == 200
    assert [len(body["items"]) for _, body in other.seen] == [1, 1]
    messages = [item for _, body in other.seen for item in body["items"]]
    assert [item["stage"] for item in messages] == ["RequestReceived", "ResponseComplete"]
    head = {"kind": "Event", "apiVersion": "audit.cluster.io/v1"}
    assert other.seen[0][1]["apiVersion"] == "audit.cluster.io/v1"
    written = [json.loads(line) for line in log.read_bytes().splitlines()]
    assert [head | item for item in messages] == written
    assert messages[1]["annotations"]["authorization.cluster.io/decision"] == "allow"
    server.kill()
    other.close()


def test_the_end_of_a_server_stores_what_waits(tmp_path: Path) -> None:
    other = Answering()
    other.answers = [(200, b"")] * 10_000
    flags = ("--audit-webhook-config-file", config(tmp_path, other.port))
    waits = ("--audit-webhook-batch-max-wait", "1h", "--audit-log-batch-max-wait", "1h")
    big = ("--audit-webhook-batch-max-size", "9999", "--audit-log-batch-max-size", "9999")
    audited = Audited(tmp_path, *flags, *waits, *big, "--audit-log-mode", "batch")
    answer = create(audited.client, "plain", "last")
    audit_id = answer.headers["Audit-Id"]
    assert audited.of_id(audit_id) == []
    assert audited.server.stop() == 0
    assert len(audited.of_id(audit_id)) == 2
    messages = [item for _, body in other.seen for item in body["items"]]
    assert sum(item["auditID"] == audit_id for item in messages) == 2
    other.close()


def test_the_standard_output_can_be_the_log(tmp_path: Path) -> None:
    flags = (*write_policy(tmp_path), "--audit-log-path", "-", "--audit-log-format", "legacy")
    server = ServerProcess(tmp_path, "kubernetes", flags).start()
    assert server.client().get(config_maps("default")).status == 200
    assert server.process is not None
    assert server.process.stdout is not None
    lines = iter(server.process.stdout.readline, b"")
    reported = next(line for line in lines if b" AUDIT: id=" in line)
    assert b'stage="RequestReceived"' in reported
    assert b'uri="/api/v1/namespaces/default/configmaps"' in reported
    server.kill()


def test_lines_for_a_reader_that_has_left_are_lost_with_a_count() -> None:
    reading, writing = os.pipe()
    long = b"x" * (1 << 20)

    async def test() -> None:
        log = StreamLog(writing)
        waiting = asyncio.ensure_future(log.deliver_in_background([long]))
        await asyncio.sleep(0)
        os.close(reading)
        assert await waiting is False
        await log.close()

    before = ERRORS.value(of=("log",))
    asyncio.run(asyncio.wait_for(test(), 20))
    assert ERRORS.value(of=("log",)) == before + 1
    os.close(writing)


@pytest.mark.parametrize("flag", ["--audit-log-path", "--audit-webhook-config-file"])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, flag: str) -> None:
    (tmp_path / "file").write_text("")
    parser = Parser(prog="fairlead")
    add_serve_flags(parser)
    given = [*write_policy(tmp_path), flag, str(tmp_path / "file" / "x")]
    resources = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
    with pytest.raises(AuditError, match=f"{flag}: "):
        build_auditor(parser.parse_args(given), KUBERNETES, resources)


def test_the_log_has_no_half_lines(audited: Audited) -> None:
    for line in audited.log.read_bytes().splitlines(keepends=True):
        assert line.endswith(b"}\n")
        json.loads(line)
