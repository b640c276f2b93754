"""The drill: a server is killed, its disk is lost, another machine takes its place, and clients go
on."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.backups import Follower, admin_config, succeed
from support.connected import connected
from support.etcd import Etcd, free_ports, needs_etcd
from support.namespaces import Space
from support.process import ServerProcess
from support.waiting import comes_true, eventually

from fairlead.client import Informer

PATIENCE = 60.0


class Drill:
    """A followed server. Its `pki/` is kept elsewhere: clients trust that authority."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (self.port,) = free_ports(1)
        self.server = self._machine("first").start()
        self.space = Space(self.server, self.server.client())
        self.config = shutil.copyfile(admin_config(self.server), directory / "kubeconfig")
        shutil.copytree(self.server.data / "pki", directory / "pki")
        self.follower = Follower(directory / "backups", "--kubeconfig", self.config)

    def _machine(self, name: str, *flags: str) -> ServerProcess:
        (self._directory / name).mkdir()
        port = ("--secure-port", str(self.port))
        return ServerProcess(self._directory / name, "kubernetes", (*port, *flags))

    def lose(self) -> None:
        """Kill the server and delete its disk."""
        self.server.kill()
        shutil.rmtree(self.server.data)
        self.follower.stop()

    def replace(self, *words: str, flags: tuple[str, ...] = ()) -> None:
        """Start a server on another machine from the backups."""
        server = self._machine("second", *flags)
        where = words or ("--data-dir", str(server.data))
        succeed("restore", self._directory / "backups", *where)
        server.data.mkdir(exist_ok=True)
        shutil.copytree(self._directory / "pki", server.data / "pki")
        self.server = server.start()

    def close(self) -> None:
        self.follower.process.kill()
        self.follower.process.communicate()
        self.server.kill()


@pytest.fixture
def drill(tmp_path: Path) -> Any:
    drill = Drill(tmp_path)
    yield drill
    drill.close()


class Seen:
    """The resourceVersions that an informer saw of each object, and what it has in the end."""

    def __init__(self, informer: Informer) -> None:
        self.versions: dict[str, list[int]] = {}
        informer.handle(added=self._note, updated=lambda _, now: self._note(now))

    def _note(self, value: dict[str, Any]) -> None:
        metadata = value["metadata"]
        self.versions.setdefault(metadata["name"], []).append(int(metadata["resourceVersion"]))


def test_informer_goes_on_and_sees_no_resource_version_go_back(drill: Drill) -> None:
    secrets = drill.space.secrets
    for number in range(20):
        secrets.create(f"s{number}", data={"a": "MQ=="})
    secrets.label("s1", changed="before")
    secrets.remove("s2")
    newest = secrets.list().version

    async def scenario() -> None:
        async with connected(drill.server) as client:
            resource = await client.resource("secrets")
            async with Informer(resource, drill.space.name) as informer:
                seen = Seen(informer)
                await informer.synced(PATIENCE)
                await asyncio.to_thread(drill.follower.has, newest)
                await asyncio.to_thread(drill.lose)
                drill.replace()
                again, path = drill.server.client(), secrets.path
                created = again.post(path, {"metadata": {"name": "new"}})
                assert created.status == 201
                assert int(created.version) > int(newest) + 1_000_000
                await comes_true(lambda: "new" in seen.versions, "the informer goes on", PATIENCE)
                listed = again.get(path).body["items"]
                names = {item["metadata"]["name"] for item in informer.items()}
                assert names == {item["metadata"]["name"] for item in listed}
                for versions in seen.versions.values():
                    assert versions == sorted(versions)

    asyncio.run(scenario())


def test_watch_from_a_lost_revision_is_told_to_list_again(drill: Drill) -> None:
    secrets = drill.space.secrets
    secrets.create("kept")
    newest = secrets.list().version
    drill.follower.has(newest)
    drill.lose()
    drill.replace()
    client = drill.server.client()
    with client.watch(secrets.path, resourceVersion=newest) as watch:
        event = watch.next()
        assert (event.type, event.object["code"]) == ("ERROR", 410)
    future = str(int(newest) + 500)  # a write that the backup missed and a client saw
    with client.watch(secrets.path, resourceVersion=future) as watch:
        assert watch.next().object["code"] == 410
    listed = client.get(secrets.path)
    assert listed.names == ["kept"]
    assert int(listed.version) > int(newest) + 1_000_000


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
def test_kubectl_goes_on_with_its_configuration(drill: Drill) -> None:
    drill.space.secrets.create("kept", data={"word": "aGVsbG8="})
    drill.follower.has(drill.space.secrets.list().version)
    drill.lose()
    drill.replace()

    program = ("kubectl", "--kubeconfig", str(drill.config), "-n", drill.space.name)

    def kubectl(*words: str) -> str:
        call = [*program, *words]
        done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    value = json.loads(kubectl("get", "secret", "kept", "-o", "json"))
    assert value["data"] == {"word": "aGVsbG8="}
    watching = subprocess.Popen(
        [*program, "get", "secrets", "--watch", "-o", "name"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    assert watching.stdout.readline() == "secret/kept\n"
    kubectl("create", "secret", "generic", "new")
    assert watching.stdout.readline() == "secret/new\n"
    watching.kill()
    watching.communicate()


@needs_etcd
def test_server_on_etcd_takes_the_place_of_a_lost_disk(drill: Drill, tmp_path: Path) -> None:
    secrets = drill.space.secrets
    secrets.create("kept")
    newest = secrets.list().version
    drill.follower.has(newest)
    drill.lose()
    etcd = Etcd(tmp_path / "etcd").start()
    try:
        servers = ("--etcd-servers", etcd.url)
        gap = ("--storage", "etcd", *servers, "--release", "1.25", "--revision-gap", "100")
        drill.replace(*gap, flags=("--storage", "etcd", *servers))
        client = drill.server.client()
        with client.watch(secrets.path, resourceVersion=newest) as watch:
            assert watch.next().object["code"] == 410
        listed = client.get(secrets.path)
        assert listed.names == ["kept"]
        assert int(listed.body["items"][0]["metadata"]["resourceVersion"]) > int(newest)
        series = tmp_path / "of-etcd"
        follower = Follower(series, "--storage", "etcd", *servers, "--dialect", "kubernetes")
        eventually(lambda: follower.reached() > 0, "etcd is followed")
        created = client.post(secrets.path, {"metadata": {"name": "followed"}})
        follower.has(created.version)
        follower.stop()
        succeed("restore", series, "--data-dir", tmp_path / "from-etcd")
    finally:
        drill.server.stop()
        etcd.close()
