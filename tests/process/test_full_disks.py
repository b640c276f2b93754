"""Disks that fill up, fail or become read-only below a running server, and get room again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.audited import POLICY
from support.namespaces import Space
from support.process import ServerProcess
from support.small_disks import SmallDisk, allow_writes, needs_mounts, refuse_writes
from support.waiting import eventually

pytestmark = needs_mounts
LARGE = {"data": {"filling": "eHh4" * 20_000}}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with SmallDisk(tmp_path / "small") as disk:
        yield disk


def is_ready(space: Space) -> bool:
    return space.client.get("/readyz").status == 200


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_full_disk_of_the_store_refuses_writes_until_there_is_room(
    tmp_path: Path, workers: str
) -> None:
    with SmallDisk(tmp_path / "data", "8m") as disk:
        server = disk.attach(ServerProcess(tmp_path, flags=("--workers", workers))).start()
        try:
            space = Space(server, server.client())
            space.secrets.create("before")
            with space.secrets.watch() as watch:
                assert watch.next().name == "before"
                disk.fill()
                large = {"metadata": {"name": "no"}, **LARGE}
                refused = [space.client.post(space.secrets.path, large) for _ in range(3)]
                assert [answer.status for answer in refused] == [503] * 3
                assert refused[0].body["reason"] == "ServiceUnavailable"
                assert space.client.get("/readyz").status == 500
                assert space.secrets.names() == ["before"]
                disk.clear()
                eventually(lambda: is_ready(space), "it is ready without a restart")
                space.secrets.create("after", **LARGE)
                assert watch.next().name == "after"
            server.kill()
            space.client = server.start().client()
            assert space.client.get(space.secrets.path).names == ["after", "before"]
        finally:
            server.kill()


def test_a_disk_that_fails_all_writes_is_used_again_when_it_works(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path).start()
    try:
        space = Space(server, server.client())
        space.secrets.create("before")
        refuse_writes(server.pid)
        assert space.client.post(space.secrets.path, {"metadata": {"name": "no"}}).status == 503
        assert not is_ready(space)
        assert space.secrets.names() == ["before"]
        allow_writes(server.pid)
        eventually(lambda: is_ready(space), "it is ready without a restart")
        space.secrets.create("after")
        server.kill()
        space.client = server.start().client()
        assert space.client.get(space.secrets.path).names == ["after", "before"]
    finally:
        server.kill()


def audited(disk: SmallDisk, directory: Path, mode: str) -> ServerProcess:
    policy, log = directory / "policy.yaml", directory / "small" / "audit.log"
    policy.write_text(POLICY % "k8s.io")
    flags = ("--audit-policy-file", str(policy), "--audit-log-path", str(log))
    return disk.attach(ServerProcess(directory, flags=(*flags, "--audit-log-mode", mode))).start()


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "status"), [("blocking", 200), ("blocking-strict", 500)])
def test_a_full_disk_of_the_audit_log_is_told_and_holds_up_strict_requests_alone(
    disk: SmallDisk, tmp_path: Path, mode: str, status: int
) -> None:
    server = audited(disk, tmp_path, mode)
    try:
        client = server.client()
        disk.fill()
        path = "/api/v1/namespaces/kube-system"
        eventually(
            lambda: (
                'apiserver_audit_error_total{plugin="log"}' in client.get("/metrics").text
                or client.get(path).status == status == 500
            ),
            "an event is lost",
        )
        assert client.get(path).status == status
        assert "No space left on device" in server.log.read_text()
        disk.clear()
        answer = client.get(path)
        assert answer.status == 200
        events = [json.loads(line) for line in (disk.path / "audit.log").read_text().splitlines()]
        assert answer.headers["Audit-Id"] in {event["auditID"] for event in events}
    finally:
        server.kill()


RENEWING = (
    "import fairlead.process.certificates.renewal as r; r._CHECK_EVERY = 0.05;"
    " from fairlead.process.certificates.authority import Lifetimes;"
    " from datetime import timedelta;"
    " import fairlead.process.certificates.serving as s;"
    " s.DEFAULT_LIFETIMES = Lifetimes(others=timedelta(seconds=6))"
)


def renewals(server: ServerProcess) -> int:
    return server.log.read_text().count("serving with a new certificate")


@pytest.mark.parametrize("fault", ["full", pytest.param("read-only", marks=pytest.mark.slow)])
def test_a_certificate_that_cannot_be_written_is_renewed_when_it_can(
    tmp_path: Path, fault: str
) -> None:
    with SmallDisk(tmp_path / "data" / "pki") as disk:
        server = disk.attach(ServerProcess(tmp_path, prelude=RENEWING)).start()
        try:
            if fault == "full":
                disk.fill()
            else:
                disk.remount("ro")
            failure = "own certificates cannot be renewed"
            eventually(lambda: failure in server.log.read_text(), "it is told")
            before = renewals(server)
            if fault == "full":
                disk.clear()
            else:
                disk.remount("rw")
            eventually(lambda: renewals(server) > before, "it is renewed")
            assert server.client().get("/readyz").status == 200
        finally:
            server.kill()
