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
from support.namespaces import random_word
from support.process import FreshServer, ServerProcess
from support.reference_store import keys_below
from support.split_stores import Split, event, events
from support.waiting import eventually

from fairlead.process.backup import PATH
from fairlead.process.backup.series import Series, reach

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
    line = printed("backup", backup, "--verify")
    pattern = (
        r".*: \d+ objects at revision \d+, \S+,"
        r" core/events and \S+/leases from another cluster at revision \d+\n"
    )
    assert re.fullmatch(pattern, line), line


def printed(*words: object) -> str:
    return subprocess.run(
        command(*words), check=True, capture_output=True, text=True, timeout=60
    ).stdout


# Series: the journals of all clusters.

MAPS = "/api/v1/namespaces/default/configmaps"


class Followed:
    """Follows a split store in a directory of backups, and restores states from that."""

    def __init__(self, split: Split, directory: Path, *words: object) -> None:
        self.client = split.client
        self.series = directory / "series"
        self._directory = directory
        self._words = words or ("--kubeconfig", admin_config(split.server))

    def start(self) -> Follower:
        return Follower(self.series, *self._words)

    def write(self, follower: Follower, name: str) -> str:
        """Make the lease's holder and an event of this name; return the main cluster's revision
        when they are in the journals."""
        held = self.client.patch(LEASE, {"spec": {"holderIdentity": name}})
        made = self.client.post(events("default"), event("default", name))
        assert (held.status, made.status) == (200, 201)
        (base,) = Series(self.series).bases()
        eventually(
            lambda: reach(base, 1).revision >= int(made.version),
            "the other cluster's journal has it",
        )
        answer = self.client.post(MAPS, {"metadata": {"name": f"{name}-{random_word()}"}})
        assert answer.status == 201
        follower.has(answer.version)
        return answer.version

    def restored(self, *words: object) -> tuple[str, list[str]]:
        """Return the holder and the events of a restored state."""
        directory = self._directory / f"restored-{random_word()}"
        directory.mkdir()
        server = ServerProcess(directory, flags=RELEASE)
        succeed("restore", self.series, "--data-dir", server.data, *words)
        try:
            return named(server.start().client())
        finally:
            server.stop()


@pytest.fixture(params=["server", "clusters"])
def followed(split: Split, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Followed]:
    """A split store that is followed through its server, or directly."""
    words = (*split.storage, *DIALECT) if request.param == "clusters" else ()
    yield Followed(split, tmp_path, *words)
    for name in set(split.client.get(events("default")).names) - {"e"}:
        split.client.delete(f"{events('default')}/{name}")
    split.client.patch(LEASE, {"spec": {"holderIdentity": "holder-599"}})


def test_changes_of_all_clusters_are_followed(followed: Followed) -> None:
    follower = followed.start()
    follower.has(1)
    early = followed.write(follower, "first")
    assert followed.client.delete(f"{events('default')}/first").status == 200
    followed.write(follower, "second")
    told = follower.stop()
    assert told == ""
    assert followed.restored() == ("second", ["e", "second"])
    assert followed.restored("--to-revision", early) == ("first", ["e", "first"])


def test_journals_continue_after_a_restart_of_the_follower(followed: Followed) -> None:
    follower = followed.start()
    follower.has(1)
    followed.write(follower, "first")
    follower.stop()
    assert followed.client.delete(f"{events('default')}/first").status == 200
    follower = followed.start()
    followed.write(follower, "second")
    follower.stop()
    assert len(Series(followed.series).bases()) == 1
    assert followed.restored() == ("second", ["e", "second"])


def test_verification_prints_the_journals_of_all_clusters(followed: Followed) -> None:
    follower = followed.start()
    follower.has(1)
    followed.write(follower, "first")
    follower.stop()
    lines = printed("backup", followed.series, "--verify").splitlines()
    assert [line.partition(":")[0].partition(".")[2] for line in lines] == [
        "backup",
        "journal",
        "1.journal",
    ]


def test_rotation_leaves_no_journals_of_deleted_backups(split: Split, tmp_path: Path) -> None:
    words = ("--every", "1s", "--keep", "1", "--kubeconfig", admin_config(split.server))
    followed = Followed(split, tmp_path, *words)
    follower = followed.start()

    def is_third() -> bool:
        newest = Series(followed.series).newest() if followed.series.is_dir() else None
        return newest is not None and newest.number >= 3 and newest.journal_of(1).exists()

    eventually(is_third, "a third backup is followed")
    follower.stop()
    (base,) = Series(followed.series).bases()
    files = {path.name for path in followed.series.iterdir()} - {"lock"}
    assert {name.partition(".")[0] for name in files} == {base.path.stem}


def test_resources_that_move_to_another_cluster_begin_another_backup(
    split: Split, tmp_path: Path
) -> None:
    followed = Followed(split, tmp_path, *split.storage, *DIALECT)
    follower = followed.start()
    follower.has(1)
    follower.stop()
    alone = ("--storage", "etcd", "--etcd-servers", split.main.url, *RELEASE, *DIALECT)
    follower = Follower(followed.series, *alone)
    eventually(lambda: len(Series(followed.series).bases()) == 2, "another backup begins")
    follower.stop()


def test_changes_of_a_resource_that_no_other_cluster_keeps_are_gone(split: Split) -> None:
    assert split.client.get(PATH, after=1, resource="core/pods").status == 410


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
