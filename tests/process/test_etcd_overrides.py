"""`--etcd-servers-overrides`: events and leases in another etcd cluster than everything else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.etcd import needs_etcd
from support.namespaces import random_word
from support.process import ServerProcess, failed_start
from support.reference_store import keys_below
from support.split_stores import Split, event, events
from support.waiting import eventually

pytestmark = needs_etcd

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Split]:
    split = Split(tmp_path_factory.mktemp("split"))
    yield split
    split.close()


@pytest.fixture
def space(split: Split) -> str:
    name = f"n-{random_word()}"
    assert split.client.post("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
    return name


def create_events(split: Split, space: str, *names: str) -> list[str]:
    """Create events; returns their resourceVersions."""
    answers = [split.client.post(events(space), event(space, name)) for name in names]
    assert [answer.status for answer in answers] == [201] * len(names)
    return [answer.version for answer in answers]


def test_an_event_and_a_lease_are_only_in_the_other_cluster(split: Split, space: str) -> None:
    create_events(split, space, "e")
    assert split.client.post(LEASES.format(space), {"metadata": {"name": "l"}}).status == 201
    kept = {f"/registry/events/{space}/e", f"/registry/leases/{space}/l"}
    assert kept <= set(keys_below(split.other, "/registry/"))
    in_main = keys_below(split.main, "/registry/")
    assert f"/registry/namespaces/{space}" in in_main
    assert not [key for key in in_main if key.startswith(("/registry/events", "/registry/leases"))]


def test_both_groups_of_events_are_overridden(split: Split, space: str) -> None:
    create_events(split, space, "e")
    path = f"/apis/events.k8s.io/v1/namespaces/{space}/events/e"
    assert split.client.get(path).status == 200


def test_revisions_are_those_of_the_cluster(split: Split, space: str) -> None:
    (created,) = create_events(split, space, "e")
    listed = split.client.get(events(space))
    assert int(listed.version) >= int(created)
    path = f"{events(space)}/e"
    changed = {**split.client.get(path).body, "reason": "Changed"}
    assert split.client.put(path, changed).status == 200
    assert split.client.put(path, changed).status == 409
    past = split.client.get(events(space), resourceVersion=created, resourceVersionMatch="Exact")
    assert "reason" not in past.body["items"][0] or past.body["items"][0]["reason"] != "Changed"


def test_a_watch_continues_from_a_revision_of_the_cluster(split: Split, space: str) -> None:
    first, second = create_events(split, space, "a", "b")
    with split.client.watch(events(space), resourceVersion=first) as watch:
        assert watch.next().brief == ("ADDED", "b")
        create_events(split, space, "c")
        assert watch.next().brief == ("ADDED", "c")
        split.client.delete(f"{events(space)}/b")
        assert watch.next().brief == ("DELETED", "b")
    assert int(second) > int(first)


def test_pages_are_of_one_state(split: Split, space: str) -> None:
    create_events(split, space, "a", "b", "c")
    page = split.client.get(events(space), limit=2)
    create_events(split, space, "d")
    rest = split.client.get(
        events(space), limit=2, **{"continue": page.body["metadata"]["continue"]}
    )
    assert (page.names, rest.names) == (["a", "b"], ["c"])


def test_a_deleted_namespace_takes_its_events_with_it(split: Split, space: str) -> None:
    create_events(split, space, "a", "b")
    split.client.delete(f"/api/v1/namespaces/{space}")
    eventually(lambda: split.client.get(f"/api/v1/namespaces/{space}").status == 404, "it is gone")
    assert not keys_below(split.other, f"/registry/events/{space}/")


def test_no_event_is_created_in_a_missing_namespace(split: Split) -> None:
    assert split.client.post(events("missing"), event("missing", "e")).status == 404


def test_a_quota_is_charged_in_the_main_cluster(split: Split, space: str) -> None:
    name = "count/leases.coordination.k8s.io"
    quota = f"/api/v1/namespaces/{space}/resourcequotas"
    split.client.post(quota, {"metadata": {"name": "q"}, "spec": {"hard": {name: "1"}}})
    eventually(
        lambda: split.client.get(f"{quota}/q").body.get("status", {}).get("hard"), "it counts"
    )
    statuses = [
        split.client.post(LEASES.format(space), {"metadata": {"name": lease}}).status
        for lease in ("a", "b")
    ]
    assert statuses == [201, 403]
    assert split.client.get(f"{quota}/q").body["status"]["used"] == {name: "1"}


def test_events_have_no_history_in_the_console(split: Split, space: str) -> None:
    answer = split.client.get(f"/history/all{events(space)}")
    assert answer.status == 404


def test_events_are_there_after_a_restart(split: Split, space: str) -> None:
    (created,) = create_events(split, space, "e")
    assert split.server.stop() == 0
    split.start()
    assert split.client.get(events(space)).names == ["e"]
    with split.client.watch(events(space), resourceVersion=str(int(created) - 1)) as watch:
        assert watch.next().brief == ("ADDED", "e")


def test_without_the_other_cluster_everything_else_goes_on(split: Split, space: str) -> None:
    client = split.client
    split.other.kill()
    try:
        eventually(lambda: client.get("/readyz/etcd-override-0").status == 500, "it is noticed")
        assert client.get(events(space)).status == 503
        assert client.post(events(space), event(space, "e")).status == 503
        maps = f"/api/v1/namespaces/{space}/configmaps"
        assert client.post(maps, {"metadata": {"name": "c"}}).status == 201
        assert client.get(f"{maps}/c").status == 200
        assert client.get("/readyz/etcd").status == 200
        verbose = client.get("/readyz", verbose=None).text
        assert "[-]etcd-override-readiness-0 failed: reason withheld\n" in verbose
        excluding = client.get("/livez", verbose=None, exclude="etcd").text
        assert "[+]etcd-override-0 excluded with etcd: ok\n" in excluding
        client.delete(f"/api/v1/namespaces/{space}")
        assert client.get(f"/api/v1/namespaces/{space}").status == 200
    finally:
        split.other.start()
    eventually(lambda: client.get("/readyz").status == 200, "it is back")
    eventually(lambda: client.get(f"/api/v1/namespaces/{space}").status == 404, "it is gone")


def test_events_end_with_their_lease_in_the_other_cluster(split: Split, tmp_path: Path) -> None:
    prefix = "/short"
    flags = (*split.server.flags, "--etcd-prefix", prefix, "--event-ttl", "1s")
    server = ServerProcess(tmp_path, flags=flags)
    try:
        client = server.start().client()
        assert client.post(events("default"), event("default", "e")).status == 201
        path = f"{events('default')}/e"
        eventually(lambda: client.get(path).status == 404, "it expires")
        assert f"{prefix}/events/default/e" not in keys_below(split.other, f"{prefix}/")
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("/pods", "/pods cannot be kept in another cluster"),
        ("example.com/widgets", "example.com/widgets is not a resource of this release"),
    ],
)
def test_other_resources_are_refused(override: str, message: str, tmp_path: Path) -> None:
    done = failed_start(
        tmp_path,
        *("--storage", "etcd", "--etcd-servers", "http://127.0.0.1:1"),
        *("--etcd-servers-overrides", f"{override}#http://127.0.0.1:2"),
    )
    assert done.returncode == 1
    assert f"--etcd-servers-overrides: {message}" in done.stderr
