"""Secrets under the keys of `--encryption-provider-config`, in a server and on its disk."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from support.client import Client, Object
from support.etcd import Etcd, needs_etcd
from support.process import ServerProcess
from support.workers import Workers

FreshServer = Callable[..., ServerProcess]
SECRETS = "/api/v1/namespaces/default/secrets"
CANARY = b"canary-in-the-coal-mine"


def provider(number: int) -> Object:
    secret = base64.b64encode(bytes([number]) * 32).decode()
    return {"aescbc": {"keys": [{"name": f"key{number}", "secret": secret}]}}


OLD, NEW = provider(1), provider(2)


def configure(path: Path, *providers: Object) -> None:
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": list(providers)}],
    }
    path.write_text(yaml.safe_dump(configuration))


@pytest.fixture(params=["workers", pytest.param("etcd", marks=needs_etcd)])
def kept(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[ServerProcess, Path, Path]]:
    """A server that was not started, its configuration, and where its objects lie."""
    configuration = tmp_path / "encryption.yaml"
    flags: tuple[str, ...] = ("--encryption-provider-config", str(configuration))
    if request.param == "workers":
        server = ServerProcess(tmp_path, "kubernetes", (*flags, "--workers", "2"))
        yield server, configuration, server.data
        server.kill()
        return
    etcd = Etcd(tmp_path / "etcd").start()
    flags += ("--storage", "etcd", "--etcd-servers", etcd.url)
    server = ServerProcess(tmp_path, "kubernetes", flags)
    yield server, configuration, etcd.data
    server.kill()
    etcd.close()


def secret(name: str) -> Object:
    data = {"a": base64.b64encode(CANARY).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def follower(server: ServerProcess) -> Client:
    """A client of the process that does not write to the disk, if there is such."""
    workers = Workers(server)
    return workers.client(workers.followers()[0]) if workers.pids() else server.client()


def lies(content: bytes, below: Path) -> bool:
    return any(content in path.read_bytes() for path in below.rglob("*") if path.is_file())


def test_keys_are_changed_by_writing_everything_once_more(
    kept: tuple[ServerProcess, Path, Path],
) -> None:
    server, configuration, place = kept
    configure(configuration, OLD)
    first = server.start().client().post(SECRETS, secret("a"))
    assert first.status == 201
    assert lies(b"k8s:enc:aescbc:v1:key1:", place)
    assert not lies(CANARY, place)
    assert not lies(base64.b64encode(CANARY), place)
    server.stop()

    configure(configuration, NEW)
    with pytest.raises(AssertionError, match="no configured key opens it"):
        server.start()  # what it cannot read it does not pass for missing

    configure(configuration, NEW, OLD)
    client = follower(server.start())
    once_more = client.put(f"{SECRETS}/a", client.get(f"{SECRETS}/a").body)
    assert once_more.version != first.version
    again = client.put(f"{SECRETS}/a", once_more.body)
    assert again.version == once_more.version
    server.stop()

    configure(configuration, NEW)
    client = server.start().client()
    assert client.get(f"{SECRETS}/a").body["data"] == secret("a")["data"]
    old = client.get(SECRETS, resourceVersion=first.version, resourceVersionMatch="Exact")
    assert old.status == 410  # of that time nobody has the key
    with closing(client.watch(SECRETS, resourceVersion=first.version)) as watch:
        assert watch.next().object["code"] == 410
    assert server.stop() == 0
