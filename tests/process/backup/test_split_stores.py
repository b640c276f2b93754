"""Backups of a server that keeps events and leases in another etcd cluster."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from support.backups import (
    Everything,
    Follower,
    admin_config,
    archive,
    command,
    everything,
    refusal,
    succeed,
)
from support.client import Client
from support.etcd import needs_etcd
from support.process import FreshServer, ServerProcess
from support.reference_store import keys_below
from support.split_stores import Split, event, events
from support.waiting import eventually

pytestmark = needs_etcd

RELEASE = ("--release", "1.36")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/kept"
DIALECT = ("--dialect", "kubernetes")


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Split]:
    """A server whose other cluster is at a higher revision than the main one."""
    split = Split(tmp_path_factory.mktemp("split"))
    lease = {"metadata": {"name": "kept"}, "spec": {"holderIdentity": "nobody"}}
    assert split.client.post(LEASE.rpartition("/")[0], lease).status == 201
    for number in range(600):
        answer = split.client.patch(LEASE, {"spec": {"holderIdentity": f"holder-{number}"}})
        assert answer.status == 200
    assert split.client.post(events("default"), event("default", "e")).status == 201
    yield split
    split.close()


@pytest.fixture(scope="module")
def backup(split: Split) -> Path:
    """A backup of the running server."""
    path = split.server.directory / "backup"
    succeed("backup", path, "--kubeconfig", admin_config(split.server))
    return path


def named(client: Client) -> tuple[str, list[str]]:
    """Return the holder of the lease and the events by their names."""
    return client.get(LEASE).body["spec"]["holderIdentity"], client.get(events("default")).names


def lasting(client: Client) -> Everything:
    """Every object but those that a server writes at its start."""
    own = ("leases", "componentstatuses")
    return {place: item for place, item in everything(client).items() if not set(own) & set(place)}


def test_a_backup_of_a_server_has_the_objects_of_all_its_clusters(
    split: Split, backup: Path, tmp_path: Path, fresh_server: FreshServer
) -> None:
    server = ServerProcess(tmp_path, flags=RELEASE)
    succeed("restore", backup, "--data-dir", server.data)
    restored = server.start().client()
    try:
        assert named(restored) == ("holder-599", ["e"])
        before = lasting(split.client)
        assert set(lasting(restored)) >= set(before)
    finally:
        server.stop()


def test_restored_revisions_are_above_those_of_all_clusters(
    split: Split, backup: Path, tmp_path: Path
) -> None:
    known = split.client.get(LEASE).version
    server = ServerProcess(tmp_path, flags=RELEASE)
    succeed("restore", backup, "--data-dir", server.data, "--revision-gap", "1")
    client = server.start().client()
    try:
        assert int(client.get(LEASE).version) > int(known)
        with client.watch(events("default"), resourceVersion=known) as watch:
            assert watch.next().object["code"] == 410
    finally:
        server.stop()


def test_a_backup_of_the_clusters_themselves_has_the_same_objects(
    split: Split, backup: Path, tmp_path: Path
) -> None:
    succeed("backup", tmp_path / "direct", *split.storage, *DIALECT)

    def places(path: Path) -> set[tuple[str, str]]:
        return {(row.resource, row.key) for row in archive(path.read_bytes()).rows()}

    assert places(tmp_path / "direct") == places(backup)
    assert ("core/events", "default/e") in places(backup)


def test_each_cluster_is_restored_where_it_was(split: Split, backup: Path, tmp_path: Path) -> None:
    there = (*split.storage, "--etcd-prefix", "/restored")
    succeed("restore", backup, *there, "--revision-gap", "1")
    in_main, in_other = (set(keys_below(etcd, "/restored/")) for etcd in (split.main, split.other))
    assert {"/restored/events/default/e", "/restored/leases/default/kept"} <= in_other
    assert not [key for key in in_main if "/events/" in key or "/leases/" in key]
    assert not [key for key in in_other if "namespaces/" in key or "fairlead" in key]
    server = ServerProcess(tmp_path, flags=there)
    copytree(split.server.data / "pki", server.data / "pki")
    try:
        assert named(server.start().client()) == ("holder-599", ["e"])
    finally:
        server.stop()


def test_verification_names_what_comes_from_another_cluster(backup: Path) -> None:
    line = subprocess_output("backup", backup, "--verify")
    pattern = (
        r".*: \d+ objects at revision \d+, \S+,"
        r" core/events and \S+/leases from another cluster at revision \d+\n"
    )
    assert re.fullmatch(pattern, line), line


def subprocess_output(*words: object) -> str:
    return subprocess.run(
        command(*words), check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_a_follower_tells_what_it_does_not_follow(split: Split, tmp_path: Path) -> None:
    following = Follower(tmp_path / "series", "--kubeconfig", admin_config(split.server))
    maps = "/api/v1/namespaces/default/configmaps"
    assert split.client.post(maps, {"metadata": {"name": "followed"}}).status == 201
    following.has(split.client.get(f"{maps}/followed").version)
    told = following.stop()
    assert told.count("are not followed, because other clusters keep them") == 1
    assert "core/events and coordination" in told
    server = ServerProcess(tmp_path, flags=RELEASE)
    succeed("restore", tmp_path / "series", "--data-dir", server.data)
    client = server.start().client()
    try:
        assert named(client) == ("holder-599", ["e"])
        assert "followed" in client.get(maps).names
    finally:
        server.stop()


def test_no_backup_is_made_without_the_other_cluster(split: Split, tmp_path: Path) -> None:
    split.other.pause()
    try:
        eventually(
            lambda: split.client.get("/readyz/etcd-override-0").status == 500, "it is noticed"
        )
        told = refusal("backup", tmp_path / "file", "--kubeconfig", admin_config(split.server))
        assert re.search(
            "the cluster of core/events and .*leases cannot be written or read", told
        ), told
        assert not (tmp_path / "file").exists()
    finally:
        split.other.resume()
    eventually(lambda: split.client.get("/readyz").status == 200, "it is back")
