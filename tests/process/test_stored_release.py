"""A store served as a later release of the API, and the way back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from support.client import Client
from support.etcd import Etcd, needs_etcd
from support.process import ServerProcess, failed_start

from fairlead.storage.backend import Row
from fairlead.storage.sqlite.format import checksum

NEWER = ("--release", "1.36")
LEVEL = "/apis/flowcontrol.apiserver.k8s.io/{}/prioritylevelconfigurations"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
# Exits in the middle of the rewriting.
DIES = (
    "import os; from fairlead.storage.store import Store; put = Store.put; done = []\n"
    "def dying(self, *args, **more):\n"
    "    done.append(1); os._exit(9) if len(done) > 3 else None\n"
    "    return put(self, *args, **more)\n"
    "Store.put = dying"
)


def deployment() -> dict[str, Any]:
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


def fill(client: Client) -> None:
    """Create objects that release 1.36 stores differently."""
    limited = {"assuredConcurrencyShares": 77, "limitResponse": {"type": "Reject"}}
    level = {"metadata": {"name": "mine"}, "spec": {"type": "Limited", "limited": limited}}
    assert client.post(LEVEL.format("v1beta2"), level).status == 201
    policy = {"metadata": {"name": "open"}, "spec": {"podSelector": {}}}
    assert client.post(POLICIES, policy).status == 201
    assert client.post(DEPLOYMENTS, deployment()).status == 201
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {
        "metadata": {"name": "web"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": target},
    }
    assert client.post(SCALERS.format("v2beta2"), scaler).status == 201


_ADOPTED = 'the store was served as another release of the API release="1.25"'


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The directory of a stopped server of release 1.25 that has such objects."""
    server = ServerProcess(tmp_path).start()
    fill(server.client())
    server.stop()
    return tmp_path


def test_objects_are_served_as_the_later_release(older: Path) -> None:
    server = ServerProcess(older, flags=NEWER).start()
    check_filled(server.client())
    server.stop()
    assert _ADOPTED in server.log.read_text()


def check_filled(client: Client) -> None:
    level = client.get(LEVEL.format("v1") + "/mine").body
    limited = level["spec"]["limited"]
    assert (limited["nominalConcurrencyShares"], limited["lendablePercent"]) == (77, 0)
    assert "assuredConcurrencyShares" not in limited
    assert "status" not in client.get(f"{POLICIES}/open").body
    template = client.get(f"{DEPLOYMENTS}/web").body["spec"]["template"]
    assert "creationTimestamp" not in template["metadata"]
    assert client.get(SCALERS.format("v2") + "/web").body["spec"]["maxReplicas"] == 3
    assert client.get(f"{POLICIES}/open").text.count('"resourceVersion"') == 1


def test_an_object_that_cannot_be_read_does_not_stop_the_others(older: Path) -> None:
    damage(older / "data" / "fairlead.db", "default/web")
    server = ServerProcess(older, flags=NEWER).start()
    client = server.client()
    assert client.get(LEVEL.format("v1") + "/mine").status == 200
    server.stop()
    assert 'resource="apps/v1/deployments" key="default/web"' in server.log.read_text()


def damage(file: Path, key: str) -> None:
    """Cut off the newest Deployment with a key, with a matching checksum."""
    with closing(sqlite3.connect(file)) as database, database:
        names = dict(database.execute("SELECT id, name FROM names"))
        for revision, resource, previous, version, value in database.execute(
            "SELECT revision, resource, previous, version, value FROM log WHERE key = ?", (key,)
        ).fetchall():
            if names[resource].endswith("/deployments"):
                row = Row(revision, names[resource], key, previous, names[version], value[:-1])
                update = "UPDATE log SET value = ?, sum = ? WHERE revision = ?"
                database.execute(update, (row.value, checksum(row), revision))


@needs_etcd
def test_objects_in_etcd_are_served_as_the_later_release(tmp_path: Path) -> None:
    etcd = Etcd(tmp_path / "etcd").start()
    flags = ("--storage", "etcd", "--etcd-servers", etcd.url)
    server = ServerProcess(tmp_path, flags=flags).start()
    fill(server.client())
    server.stop()
    server = ServerProcess(tmp_path, flags=(*flags, *NEWER)).start()
    check_filled(server.client())
    server.stop()
    done = failed_start(tmp_path, *flags)
    assert "was served as release 1.36" in done.stderr
    etcd.close()


@needs_etcd
def test_server_of_the_earlier_release_stops_when_another_serves_the_later(tmp_path: Path) -> None:
    etcd = Etcd(tmp_path / "etcd").start()
    flags = ("--storage", "etcd", "--etcd-servers", etcd.url)
    (tmp_path / "a").mkdir()
    earlier = ServerProcess(tmp_path / "a", flags=flags).start()
    copytree(earlier.data / "pki", tmp_path / "b" / earlier.data.name / "pki")
    later = ServerProcess(tmp_path / "b", flags=(*flags, *NEWER)).start()
    assert earlier.wait() != 0
    assert "another server serves the store as release 1.36" in earlier.log.read_text()
    later.stop()
    etcd.close()


def test_workers_serve_the_later_release(older: Path) -> None:
    server = ServerProcess(older, flags=(*NEWER, "--workers", "2")).start()
    check_filled(server.client())
    server.stop()


def test_second_start_rewrites_nothing(older: Path) -> None:
    for _ in range(2):
        server = ServerProcess(older, flags=NEWER).start()
        server.stop()
    assert server.log.read_text().count(_ADOPTED) == 1


def test_way_back_is_refused(older: Path) -> None:
    ServerProcess(older, flags=NEWER).start().stop()
    done = failed_start(older)
    assert done.returncode == 1
    assert "was served as release 1.36" in done.stderr
    assert "--release 1.36" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_killed_rewriting_is_finished_at_the_next_start(older: Path) -> None:
    with pytest.raises(AssertionError, match="did not start"):
        ServerProcess(older, flags=NEWER, prelude=DIES).start()
    server = ServerProcess(older, flags=NEWER).start()
    check_filled(server.client())
    server.stop()


def test_history_of_the_earlier_release_is_not_served(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path).start()
    client = server.client()
    version = client.get(LEVEL.format("v1beta2")).version
    fill(client)
    server.stop()
    server = ServerProcess(tmp_path, flags=NEWER).start()
    levels = LEVEL.format("v1")
    with server.client().watch(levels, resourceVersion=version, timeoutSeconds="1") as events:
        (event,) = events
    assert event.object["reason"] == "Expired"
    past = server.client().get(levels, resourceVersion=version, resourceVersionMatch="Exact")
    assert past.status == 410
    server.stop()


def test_read_only_server_does_not_serve_objects_of_an_earlier_release(older: Path) -> None:
    done = failed_start(older, *NEWER, "--read-only")
    assert "was served as release 1.25 of the API and is read only" in done.stderr
    ServerProcess(older, flags=NEWER).start().stop()
    server = ServerProcess(older, flags=(*NEWER, "--read-only")).start()
    check_filled(server.client())
    server.stop()


# Changes an object before it is rewritten, as another server would.
WRITES = (
    "from fairlead.storage.store import Store; put = Store.put\n"
    "async def late(self, collection, key, value, over, *args, **more):\n"
    "    if key == 'default/open':\n"
    "        Store.put = put\n"
    "        changed = {**value, 'metadata': {**value['metadata'], 'labels': {'a': 'b'}}}\n"
    "        await put(self, collection, key, changed, over)\n"
    "    return await put(self, collection, key, value, over, *args, **more)\n"
    "Store.put = late"
)


def test_write_of_another_server_during_the_rewriting_stays(older: Path) -> None:
    server = ServerProcess(older, flags=NEWER, prelude=WRITES).start()
    check_filled(server.client())
    policy = server.client().get(f"{POLICIES}/open").body
    assert policy["metadata"]["labels"] == {"a": "b"}
    server.stop()
