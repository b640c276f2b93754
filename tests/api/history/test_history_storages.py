"""History that is not in memory: from disk, from other servers, and compacted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.etcd import Etcd, needs_etcd
from support.history import at_revision, column, history, items, revision
from support.namespaces import Collection, Space
from support.process import FreshServer, ServerProcess
from support.waiting import eventually
from support.workers import Workers

ONE, TWO = "MQ==", "Mg=="


def lived(space: Space) -> tuple[str, str, str]:
    """Return the revisions of an object that was created, changed and deleted."""
    secret = space.secrets.create("a", data={"x": ONE})
    changed = space.secrets.patch("a", {"data": {"x": TWO}}).body
    space.secrets.remove("a")
    gone = column(history(space.secrets, "a"), "resourceVersion")[-1]
    return revision(secret), revision(changed), gone


def check_life(secrets: Collection, revisions: tuple[str, str, str]) -> None:
    answer = history(secrets, "a")
    assert column(answer, "resourceVersion") == list(revisions)
    assert column(answer, "type") == ["ADDED", "MODIFIED", "DELETED"]
    assert column(answer, "changed") == [None, ["data.x"], None]
    created, changed, gone = revisions
    assert at_revision(secrets, "a", created).body["data"] == {"x": ONE}
    assert at_revision(secrets, "a", changed).body["data"] == {"x": TWO}
    assert at_revision(secrets, "a", gone).status == 404
    assert column(history(secrets, since=created), "resourceVersion")[:2] == [changed, gone]


def again(space: Space) -> Space:
    """The same namespace, after the server was started again."""
    space.server.stop()
    space.server.start()
    space.client = space.server.client()
    space.secrets = space.collection("secrets")
    return space


def test_a_server_that_was_started_again_tells_what_it_has_on_disk(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    revisions = lived(space)
    space.secrets.create("stays", data={})
    space = again(space)
    check_life(space.secrets, revisions)
    assert column(history(space.secrets, "a"), "user") == [None] * 3
    assert column(history(space.secrets, "stays"), "type") == ["ADDED"]
    everything = space.client.get("/history", namespace=space.name)
    assert set(revisions) <= set(column(everything, "resourceVersion"))
    with space.client.watch("/history", namespace=space.name, resourceVersion=revisions[0]) as feed:
        messages = [feed.next().object["resourceVersion"]]
        while messages[-1] != revisions[2]:
            messages.append(feed.next().object["resourceVersion"])
        assert messages == sorted(messages, key=int)
        assert revisions[1] in messages


def test_memory_that_is_too_small_changes_nothing(fresh_server: FreshServer) -> None:
    server = fresh_server("--history-memory", "100k")
    space = Space(server, server.client())
    revisions = lived(space)
    space.secrets.create("b", data={"k": "QUFB" * 50_000})
    for number in range(3):
        space.secrets.patch("b", {"metadata": {"labels": {"n": str(number)}}})
    check_life(space.secrets, revisions)
    newest = history(space.secrets, "b", limit=2)
    assert column(newest, "changed") == [["metadata.labels.n"]] * 2
    older = history(space.secrets, "b", before=newest.body["metadata"]["before"])
    assert column(older, "type") == ["ADDED", "MODIFIED"]


def test_what_is_forgotten_is_expired_and_what_was_there_then_comes_first(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--history-retention", "100ms")
    space = Space(server, server.client())
    secret = space.secrets.create("a", data={"x": ONE})
    first = int(revision(secret))

    def floor() -> int:
        space.secrets.client.post(space.secrets.path, {"metadata": {"generateName": "moves-"}})
        return int(space.client.get("/history", limit=1).body["metadata"]["oldest"])

    eventually(lambda: floor() > first, "the first version is forgotten")
    answer = history(space.secrets, "a")
    assert column(answer, "type") == ["EXISTING"]
    assert column(answer, "resourceVersion") == [revision(secret)]
    assert items(answer)[0]["by"][0]["manager"] == "tests"
    old = at_revision(space.secrets, "a", str(first - 1))
    assert (old.status, old.body["reason"]) == (410, "Expired")
    with space.client.watch("/history", resourceVersion="1") as feed:
        [event] = feed.rest()
    assert (event.type, event.object["code"]) == ("ERROR", 410)
    changed = space.secrets.patch("a", {"data": {"x": TWO}}).body
    reported = column(history(space.secrets, "a"), "resourceVersion")
    assert reported[-1] == revision(changed)


def test_the_past_is_read_from_any_worker(fresh_server: FreshServer) -> None:
    server = fresh_server("--workers", "2")
    space = Space(server, server.client())
    revisions = lived(space)
    workers = Workers(server)
    for pid in workers.pids():
        client = workers.client(pid)
        check_life(Collection(client, space.secrets.path), revisions)
        path = f"/history{space.secrets.item('a')}"
        future = client.get(path, resourceVersion=str(10**9))
        assert future.status == 504
    with space.client.watch("/history", namespace=space.name) as feed:
        space.secrets.create("here")
        names = [feed.next().object.get("name")]
        while names[-1] != "here":
            names.append(feed.next().object.get("name"))


@pytest.fixture
def in_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    directory = tmp_path_factory.mktemp("etcd")
    etcd = Etcd(directory).start()
    flags = ("--storage", "etcd", "--etcd-servers", etcd.url)
    server = ServerProcess(directory, "kubernetes", flags).start()
    yield Space(server, server.client())
    server.kill()
    etcd.close()


@needs_etcd
def test_what_etcd_keeps_is_told(in_etcd: Space) -> None:
    revisions = lived(in_etcd)
    check_life(in_etcd.secrets, revisions)
    assert column(history(in_etcd.secrets, "a"), "user") == ["admin"] * 3
    space = again(in_etcd)
    check_life(space.secrets, revisions)
    everything = space.client.get("/history", namespace=space.name)
    assert set(revisions) <= set(column(everything, "resourceVersion"))


def test_objects_of_other_servers_have_their_past_there(fresh_server: FreshServer) -> None:
    server = fresh_server()
    client = server.client()
    service = {
        "metadata": {"name": "v1.remote.example.com"},
        "spec": {
            "group": "remote.example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "none"},
        },
    }
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    assert client.post(path, service).status == 201
    answer = client.get("/history/apis/remote.example.com/v1/things/a")
    assert (answer.status, answer.body["reason"]) == (404, "NotFound")
    assert "another server" in answer.message
