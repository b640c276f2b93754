"""Stores that earlier releases wrote (`tools/upgrade_fixture.py`) are served by this one."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from support.client import Client, Object
from support.etcd import needs_etcd
from support.reference_store import value_at
from support.releases import (
    DEPLOYMENTS,
    LEAVING,
    MAPS,
    PREVIOUS,
    ROOT,
    SECRETS,
    SPACE,
    WIDGETS,
    Store,
    Unpacked,
    apply,
    deployment,
    objects_of,
    settings,
    sources_of,
    write_store,
)
from support.waiting import eventually

from fairlead import __version__
from fairlead.process.certificates.validity import validity_of


def stores() -> list[object]:
    """Every store that is kept; by default those of the previous release in one dialect are
    opened."""
    results: list[object] = []
    for store in Store.all():
        marks = [needs_etcd] if store.storage == "etcd" else []
        if store.release != PREVIOUS or store.dialect == "cluster":
            marks.append(pytest.mark.slow)
        results.append(pytest.param(store, id=str(store), marks=marks))
    return results


def test_stores_of_every_release_are_kept() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## \[([0-9][^]]*)\]", changes, re.MULTILINE)
    missing = {*releases, PREVIOUS} - {store.release for store in Store.all()}
    assert not missing, "run tools/upgrade_fixture.py with the sources of each"


@pytest.fixture(scope="module", params=stores())
def looked_at(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Unpacked]:
    """A store whose server writes nothing."""
    unpacked = Unpacked(request.param, request.param.file, tmp_path_factory.mktemp("looked-at"))
    unpacked.server.flags += ("--read-only",)
    unpacked.server.start()
    yield unpacked
    unpacked.close()


@pytest.fixture(scope="module", params=stores())
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Unpacked]:
    unpacked = Unpacked(request.param, request.param.file, tmp_path_factory.mktemp("served"))
    unpacked.server.start()
    yield unpacked
    unpacked.close()


@pytest.fixture
def client(served: Unpacked) -> Client:
    return served.server.client()


def test_every_object_is_as_the_release_that_wrote_it_showed_it(looked_at: Unpacked) -> None:
    client = looked_at.server.client()
    objects, expected = objects_of(client), looked_at.expected["objects"]
    for item, before in zip(objects, expected, strict=True):
        assert item == before
    assert client.get(MAPS).version == looked_at.expected["newest"]


def test_a_list_at_an_earlier_revision_is_as_it_was(served: Unpacked, client: Client) -> None:
    then = served.expected["then"]
    at_revision = partial(client.get, MAPS, resourceVersionMatch="Exact")
    assert at_revision(resourceVersion=then["revision"]).body["items"] == then["items"]
    assert at_revision(resourceVersion=served.expected["compacted"]).status == 410


def test_a_watch_from_an_earlier_revision_has_what_happened_since(
    served: Unpacked, client: Client
) -> None:
    revision = served.expected["then"]["revision"]
    with client.watch(MAPS, resourceVersion=revision) as watch:
        events = [event.brief for event in watch.take(4)]
    assert events == [
        ("DELETED", "gone"),
        ("MODIFIED", "settings"),
        ("ADDED", "held"),
        ("MODIFIED", "held"),
    ]
    with client.watch(MAPS, resourceVersion=served.expected["newest"]) as watch:
        created = client.post(MAPS, {"metadata": {"name": "later"}})
        assert int(created.version) > int(served.expected["newest"])
        assert watch.next().version == created.version


def test_managers_go_on_applying_what_they_own(served: Unpacked, client: Client) -> None:
    before = client.get(f"{MAPS}/settings").body
    assert before["data"] == {"alice": "yellow", "bob": "blue"}
    assert apply(client, MAPS, settings("alice", "yellow"), "alice").body == before
    foreign = apply(client, MAPS, settings("alice", "black"), "bob")
    assert (foreign.status, foreign.body["reason"]) == (409, "Conflict")
    changed = apply(client, MAPS, settings("bob", "white"), "bob")
    assert changed.body["data"] == {"alice": "yellow", "bob": "white"}
    assert apply(client, DEPLOYMENTS, deployment("nginx:2"), "deployer").status == 200
    eventually(lambda: generation(client) == 2, "the deployment is reconciled")


def generation(client: Client) -> int:
    status: Object = client.get(f"{DEPLOYMENTS}/web").body["status"]
    return int(status["observedGeneration"])


def test_tokens_of_service_accounts_work(served: Unpacked) -> None:
    for token in served.expected["tokens"]:
        robot = served.server.client(token)
        assert robot.get(f"{MAPS}/settings").status == 200
        assert robot.get(f"{SECRETS}/plain").status == 403


def test_the_certificate_of_the_former_kubeconfig_works(served: Unpacked) -> None:
    files = served.credentials()
    if validity_of(files[0].read_bytes()).end < datetime.now(UTC):
        pytest.skip("it has expired; the server has written a new one")
    admin = served.server.client(token=None, certificate=files)
    assert admin.get(SECRETS).status == 200


def test_deletions_that_waited_are_finished(served: Unpacked, client: Client) -> None:
    held = f"/api/v1/namespaces/{LEAVING}/configmaps/held"
    for path in (f"{MAPS}/held", held):
        assert client.patch(path, {"metadata": {"finalizers": None}}).status == 200
        assert client.get(path).status == 404
    space = f"/api/v1/namespaces/{LEAVING}"
    eventually(lambda: client.get(space).status == 404, "the namespace is gone")


def test_custom_objects_of_both_versions_are_served_and_changed(client: Client) -> None:
    for version in ("v1", "v1beta1"):
        path = WIDGETS.format(version=version)
        for name in ("old", "new"):
            item = client.get(f"{path}/{name}").body
            assert item["apiVersion"] == f"example.com/{version}"
            item["spec"]["size"] += 1
            assert client.put(f"{path}/{name}", item).status == 200


def test_secrets_are_encrypted_as_they_are_written_again(served: Unpacked, client: Client) -> None:
    for name in ("plain", "sealed"):
        path = f"{SECRETS}/{name}"
        secret = client.get(path).body
        assert secret["data"]["p"]
        changed = client.patch(path, {"data": {"q": "cQ=="}})
        assert changed.body["data"] == {"p": secret["data"]["p"], "q": "cQ=="}


def test_the_node_port_of_a_service_is_not_given_to_another(client: Client) -> None:
    path = f"/api/v1/namespaces/{SPACE}/services"
    spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30123}]}
    answer = client.post(path, {"metadata": {"name": "other"}, "spec": spec})
    assert answer.status == 422
    assert "provided port is already allocated" in answer.message


def test_the_store_shows_the_release_that_serves_it(served: Unpacked) -> None:
    if served.etcd is not None:
        value = json.loads(value_at(served.etcd, "/registry/fairlead/version"))
        assert value == {"format": 1, "release": __version__}
        return
    db = sqlite3.connect(served.server.data / "fairlead.db")
    (recorded,) = db.execute("SELECT value FROM state WHERE name = 'release'").fetchone()
    db.close()
    assert recorded == __version__


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["sqlite", pytest.param("etcd", marks=needs_etcd)])
def test_the_previous_release_serves_what_this_one_wrote(storage: str, tmp_path: Path) -> None:
    store, file = Store("this", "kubernetes", storage), tmp_path / "packed"
    write_store(store, {}, file)
    unpacked = Unpacked(store, file, tmp_path)
    server = unpacked.server
    server.environment = {"PYTHONPATH": str(sources_of(PREVIOUS, tmp_path / "previous"))}
    try:
        client = server.start().client()
        assert apply(client, MAPS, settings("bob", "white"), "bob").status == 200
        assert server.stop() == 0
        server.environment = {}
        client = server.start().client()
        assert client.get(f"{MAPS}/settings").body["data"]["bob"] == "white"
    finally:
        unpacked.close()
