"""Copies into and out of a real etcd."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.backups import (
    admin_config,
    archive,
    command,
    refusal,
    stored,
    succeed,
)
from support.client import Object
from support.etcd import Etcd, needs_etcd
from support.namespaces import Space
from support.process import ServerProcess
from support.waiting import eventually

from fairlead.storage.backend import Row

pytestmark = needs_etcd


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    created = Etcd(tmp_path_factory.mktemp("etcd")).start()
    yield created
    created.close()


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a server with a custom resource and a secret."""
    directory = tmp_path_factory.mktemp("backup")
    server = ServerProcess(directory, "kubernetes").start()
    space = Space(server, server.client())
    space.secrets.create("secret", data={"key": "AAEC/w=="})
    definitions = space.everywhere("customresourcedefinitions", "apiextensions.@")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definitions.create(
        "anchors.a.example.com",
        spec={
            "group": "a.example.com",
            "scope": "Namespaced",
            "names": {"plural": "anchors", "kind": "Anchor"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )
    anchors = space.collection("anchors", "a.example.com")
    eventually(lambda: anchors.list().status == 200, "anchors are served")
    anchor = {"apiVersion": "a.example.com/v1", "kind": "Anchor", "metadata": {"name": "a"}}
    assert space.client.post(anchors.path, anchor).status == 201
    succeed("backup", directory / "file", "--kubeconfig", admin_config(server))
    server.stop()
    return directory / "file"


def flags(etcd: Etcd, prefix: str, gap: int = 20) -> tuple[str, ...]:
    servers = ("--etcd-servers", etcd.url, "--etcd-prefix", prefix, "--release", "1.25")
    return (*servers, "--revision-gap", str(gap))


def keys(etcd: Etcd, prefix: str) -> list[str]:
    """All keys below a prefix."""
    text = etcdctl(etcd, "get", "--prefix", f"{prefix}/", "--keys-only")
    return [line for line in text.splitlines() if line]


def etcdctl(etcd: Etcd, *words: str) -> str:
    return subprocess.run(
        ["etcdctl", "--endpoints", etcd.url, *words],
        env={**os.environ, "ETCDCTL_API": "3"},
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    ).stdout


def objects(rows: Iterable[Row]) -> dict[tuple[str, str, str], Object]:
    """Return the content of rows without the order of fields; the storage assigns its own
    revisions."""
    return {(row.resource, row.key, row.api_version): json.loads(row.value or b"") for row in rows}


def test_a_backup_goes_through_etcd_and_back(tmp_path: Path, etcd: Etcd, backup: Path) -> None:
    there = flags(etcd, "/through")
    succeed("restore", backup, "--storage", "etcd", *there)
    words = ("migrate", "--from", "etcd", "--to", tmp_path / "data", "--dialect", "kubernetes")
    succeed(*words, *there)
    before = objects(archive(backup.read_bytes()).rows())
    assert len(before) > 130
    assert objects(stored(tmp_path / "data")[1]) == before


def test_store_of_release_1_36_goes_into_a_directory(tmp_path: Path, etcd: Etcd) -> None:
    there = ("--etcd-servers", etcd.url, "--etcd-prefix", "/later")
    newer = ("--release", "1.36")
    server = ServerProcess(tmp_path, "kubernetes", ("--storage", "etcd", *there, *newer)).start()
    classes = "/apis/resource.k8s.io/v1/deviceclasses"
    assert server.client().post(classes, {"metadata": {"name": "gpu"}, "spec": {}}).status == 201
    server.stop()
    words = ("migrate", "--from", "etcd", "--to", tmp_path / "copy" / "data")
    succeed(*words, "--dialect", "kubernetes", *newer, *there)
    copy = ServerProcess(tmp_path / "copy", "kubernetes", newer).start()
    assert copy.client().get(f"{classes}/gpu").status == 200
    copy.stop()


def test_revisions_in_etcd_are_above_those_that_clients_know(etcd: Etcd, backup: Path) -> None:
    known = archive(backup.read_bytes()).header.revision
    succeed("restore", backup, "--storage", "etcd", *flags(etcd, "/above"))
    numbers = json.loads(etcdctl(etcd, "get", "--prefix", "/above/", "-w", "json"))
    assert min(number["mod_revision"] for number in numbers["kvs"]) > known + 20
    assert not any("restore" in key for key in keys(etcd, "/above"))


def test_clients_of_the_old_server_are_told_to_list_again(
    tmp_path: Path, etcd: Etcd, backup: Path
) -> None:
    there = ("--storage", "etcd", "--etcd-servers", etcd.url, "--etcd-prefix", "/served")
    succeed("restore", backup, *there, "--revision-gap", "20")
    server = ServerProcess(tmp_path, "kubernetes", there).start()
    client = server.client()
    known = archive(backup.read_bytes()).header.revision
    for version in (1, known, known + 10):
        with client.watch("/api/v1/secrets", resourceVersion=str(version)) as watch:
            assert watch.next().object["code"] == 410
    assert "secret" in client.get("/api/v1/secrets").names
    server.stop()


def test_a_prefix_with_keys_is_refused(etcd: Etcd, backup: Path) -> None:
    there = ("--storage", "etcd", *flags(etcd, "/taken"))
    etcdctl(etcd, "put", "/taken/pods/ns/odd", "not readable")
    error = refusal("restore", backup, *there)
    assert "1 values in the storage cannot be read, such as core/pods ns/odd" in error
    etcdctl(etcd, "del", "/taken/pods/ns/odd")
    succeed("restore", backup, *there)
    before = etcdctl(etcd, "get", "--prefix", "/taken/")
    assert "objects already" in refusal("restore", backup, *there)
    assert etcdctl(etcd, "get", "--prefix", "/taken/") == before


def test_an_interrupted_restore_leaves_nothing(etcd: Etcd, backup: Path) -> None:
    there = ("--storage", "etcd", *flags(etcd, "/cut", 500_000))
    running = subprocess.Popen(command("restore", backup, *there), stderr=subprocess.PIPE)
    eventually(lambda: len(keys(etcd, "/cut")) > 10, "the restore has begun")
    running.send_signal(signal.SIGINT)
    _, output = running.communicate(timeout=30)
    assert (running.returncode, output) == (130, b"")
    assert keys(etcd, "/cut") == []


def test_values_lie_in_etcd_under_the_keys_that_are_given(
    tmp_path: Path, etcd: Etcd, backup: Path
) -> None:
    config = tmp_path / "keys.yaml"
    key = {"name": "k", "secret": b64encode(bytes(32)).decode()}
    config.write_text(
        json.dumps(
            {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "EncryptionConfiguration",
                "resources": [
                    {"resources": ["secrets"], "providers": [{"aescbc": {"keys": [key]}}]}
                ],
            }
        )
    )
    there = (*flags(etcd, "/sealed"), "--encryption-provider-config", str(config))
    succeed("restore", backup, "--storage", "etcd", *there)
    assert "k8s:enc:aescbc:v1:k:" in etcdctl(etcd, "get", "--prefix", "/sealed/secrets/")
    words = ("migrate", "--from", "etcd", "--dialect", "kubernetes")
    error = refusal(*words, "--to", tmp_path / "plain", *flags(etcd, "/sealed"))
    assert "cannot be read" in error
    succeed(*words, "--to", tmp_path / "sealed", *there)
    values = [row.value or b"" for row in stored(tmp_path / "sealed")[1]]
    assert sum(value.startswith(b"k8s:enc:aescbc:v1:k:") for value in values) == 1
    succeed("backup", tmp_path / "file", "--data-dir", tmp_path / "sealed", *there[-2:])
    succeed("restore", tmp_path / "file", "--data-dir", tmp_path / "opened")
    values = [row.value or b"" for row in stored(tmp_path / "opened")[1]]
    assert all(value.startswith(b"{") for value in values)
