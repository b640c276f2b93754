"""Servers of two releases on one etcd, replaced one after the other under load."""

from __future__ import annotations

import asyncio
from itertools import cycle
from pathlib import Path

import pytest
from support.chaos.fleets import LONGEST_END, Fault, OnEtcd
from support.chaos.rounds import Report, play_round
from support.client import Client
from support.etcd import needs_etcd
from support.namespaces import random_word
from support.process import ServerProcess
from support.releases import PREVIOUS, ROOT, apply, sources_of
from support.waiting import eventually

pytestmark = [needs_etcd, pytest.mark.slow]

SECONDS = 40.0


class TwoReleases(OnEtcd):
    """Two servers, both of the earlier release at first. Each replacement starts one of them with
    the other release: both go forward, then back, and so on."""

    def __init__(self, directory: Path, earlier: Path) -> None:
        super().__init__(directory, members=1, environment={"PYTHONPATH": str(earlier)})
        self._steps = cycle([(0, ROOT / "src"), (1, ROOT / "src"), (0, earlier), (1, earlier)])

    def faults(self) -> dict[str, Fault]:
        return {"replace a server": Fault("servers", lambda _: self._replace_next())}

    async def _replace_next(self) -> str:
        number, sources = next(self._steps)
        await self._replace(self.servers[number], sources)
        await asyncio.to_thread(self._check_together)
        return f"server-{number} is now that of {sources}"

    async def _replace(self, server: ServerProcess, sources: Path) -> None:
        if server.process is not None:
            code = await asyncio.to_thread(self._stop, server)
            assert code == 0, f"{server.directory.name} ended with {code}"
        server.environment = {"PYTHONPATH": str(sources)}
        await asyncio.to_thread(server.start)

    @staticmethod
    def _stop(server: ServerProcess) -> int:
        assert server.process is not None
        server.process.terminate()
        return server.wait(LONGEST_END)

    def _check_together(self) -> None:
        """Check that controllers work, and that each server goes on with what the other wrote."""
        first, other = (server.client() for server in self.servers)
        space = random_word()
        assert first.post("/api/v1/namespaces", {"metadata": {"name": space}}).status == 201
        account = f"/api/v1/namespaces/{space}/serviceaccounts/default"
        for client in (first, other):
            eventually(lambda: client.get(account).status == 200, "controllers work", 60)  # noqa: B023
        self._check_applies(first, other, space)
        self._check_addresses(first, other, space)
        token = first.post(f"{account}/token", {"spec": {}}).body["status"]["token"]
        review = {"spec": {"token": token}}
        answer = other.post("/apis/authentication.k8s.io/v1/tokenreviews", review)
        assert answer.body["status"]["authenticated"], answer.text

    @staticmethod
    def _check_addresses(first: Client, other: Client, space: str) -> None:
        path, spec = f"/api/v1/namespaces/{space}/services", {"ports": [{"port": 80}]}
        for name, client in (("a", first), ("b", other)):
            answer = client.post(path, {"metadata": {"name": name}, "spec": spec})
            assert answer.status == 201, answer.text
        services = first.get("/api/v1/services").body["items"]
        addresses = [service["spec"]["clusterIP"] for service in services]
        assert len(addresses) == len(set(addresses))

    @staticmethod
    def _check_applies(first: Client, other: Client, space: str) -> None:
        path = f"/api/v1/namespaces/{space}/configmaps"
        for number, client in enumerate((first, other, first)):
            value = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "c"},
                "data": {"n": str(number)},
            }
            answer = apply(client, path, value, "m")
            assert answer.status in (200, 201), answer.text
            managers = answer.body["metadata"]["managedFields"]
            assert [entry["manager"] for entry in managers] == ["m"]


def test_replacing_servers_loses_no_write_and_answers_only_errors_to_be_retried(
    tmp_path: Path,
) -> None:
    earlier = sources_of(PREVIOUS, tmp_path / "earlier")

    (tmp_path / "fleet").mkdir()
    fleet = TwoReleases(tmp_path / "fleet", earlier)

    async def round_() -> Report:
        try:
            await fleet.start()
            return await play_round(fleet, 1, SECONDS)
        finally:
            await fleet.close()

    report = asyncio.run(round_())
    assert not report.problems, report.evidence
    assert report.counts["replace a server"] >= 2
