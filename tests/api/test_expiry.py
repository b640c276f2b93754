"""Expired history: every request for it gets a 410."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.client import Answer
from support.namespaces import Space
from support.process import ServerProcess
from support.waiting import eventually
from support.web_sockets import CLOSE, WebSocket

INCONSISTENT = "The provided continue parameter is too old to display a consistent list result."


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that keeps history for a second."""
    running = ServerProcess(
        tmp_path_factory.mktemp("forgetful"), flags=("--etcd-compaction-interval", "1s")
    ).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def place(forgetful: ServerProcess) -> Iterator[Space]:
    client = forgetful.client()
    yield Space(forgetful, client)
    client.close()


def until(ask: Callable[[], Answer], status: int) -> Answer:
    """Repeat the request until the answer has a status."""
    eventually(lambda: ask().status == status, f"the answer is {status}")
    return ask()


@pytest.fixture(scope="module")
def old_version(place: Space) -> str:
    """An expired version: secrets a to e are older, f is newer."""
    place.secrets.create_all(*"abcde")
    old = place.secrets.version()
    place.secrets.create("f")
    until(lambda: place.secrets.list(resourceVersion=old, resourceVersionMatch="Exact"), 410)
    return old


def test_exactly_a_version_that_is_gone_is_expired(place: Space, old_version: str) -> None:
    answer = place.secrets.list(resourceVersion=old_version, resourceVersionMatch="Exact")
    assert answer.message == "The resourceVersion for the provided list is too old."
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": answer.message,
        "reason": "Expired",
        "code": 410,
    }


def test_pages_of_a_version_that_is_gone_are_expired(place: Space, old_version: str) -> None:
    answer = place.secrets.list(resourceVersion=old_version, limit=2)
    assert (answer.status, answer.body["reason"]) == (410, "Expired")


def test_not_older_than_a_version_that_is_gone_is_well_served(
    place: Space, old_version: str
) -> None:
    answer = place.secrets.list(resourceVersion=old_version, resourceVersionMatch="NotOlderThan")
    assert answer.names == list("abcdef")
    assert place.secrets.get("a", resourceVersion=old_version).status == 200


def test_a_watch_over_a_websocket_from_a_version_that_is_gone_is_one_message(
    place: Space, old_version: str
) -> None:
    path = f"{place.secrets.path}?watch=1&resourceVersion={old_version}"
    with WebSocket(place.server, path) as socket:
        event = socket.event()
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert socket.next()[0] == CLOSE
        assert socket.is_closed


def test_a_token_expires(forgetful: ServerProcess) -> None:
    place = Space(forgetful, forgetful.client())
    place.secrets.create_all(*"abc")
    token = place.secrets.list(limit=1).body["metadata"]["continue"]
    place.secrets.create("d")
    answer = until(lambda: place.secrets.list(limit=1, continue_=token), 410)
    assert answer.body["reason"] == "Expired"
    assert answer.message.startswith(INCONSISTENT)


def test_an_expired_token_comes_with_one_that_goes_on_in_the_newest_state(
    forgetful: ServerProcess,
) -> None:
    place = Space(forgetful, forgetful.client())
    place.secrets.create_all(*"abcd")
    token = place.secrets.list(limit=1).body["metadata"]["continue"]
    place.secrets.create("bb")
    place.secrets.remove("c")
    expired = until(lambda: place.secrets.list(limit=1, continue_=token), 410)
    rest = place.secrets.list(limit=2, continue_=expired.body["metadata"]["continue"])
    assert (rest.status, rest.names) == (200, ["b", "bb"])
    last = place.secrets.list(limit=2, continue_=rest.body["metadata"]["continue"])
    assert (last.names, last.version) == (["d"], rest.version)


def test_a_new_list_works_after_an_expired_one(place: Space, old_version: str) -> None:
    first = place.secrets.list(limit=4)
    assert first.names == list("abcd")
    assert place.secrets.list(continue_=first.body["metadata"]["continue"]).names == ["e", "f"]


def test_a_watch_from_a_version_that_is_gone_is_an_error_event(
    place: Space, old_version: str
) -> None:
    with place.secrets.watch(resourceVersion=old_version) as watch:
        assert watch.status == 200
        events = watch.rest()
    assert [event.type for event in events] == ["ERROR"]
    status = events[0].object
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"].startswith(f"too old resource version: {old_version} (")


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadata"])
def test_the_error_event_is_a_status_in_every_representation(
    place: Space, old_version: str, form: str
) -> None:
    accept = f"application/json;as={form};g={place.dialect.meta_group};v=v1"
    with place.client.watch(
        place.secrets.path, headers={"Accept": accept}, resourceVersion=old_version
    ) as watch:
        [event] = watch.rest()
    assert (event.type, event.object["kind"]) == ("ERROR", "Status")


def test_a_client_lists_again_and_goes_on_after_an_error(place: Space, old_version: str) -> None:
    version = place.secrets.version()
    with place.secrets.watch(resourceVersion=version) as watch:
        place.secrets.label("a", changed="yes")
        assert watch.next().brief == ("MODIFIED", "a")


def test_a_watch_under_way_outlives_its_own_beginning(forgetful: ServerProcess) -> None:
    place = Space(forgetful, forgetful.client())
    start = place.secrets.version()
    with place.secrets.watch(resourceVersion=start) as watch:
        place.secrets.create("a")
        until(lambda: place.secrets.list(resourceVersion=start, resourceVersionMatch="Exact"), 410)
        place.secrets.create("b")
        assert [event.brief for event in watch.take(2)] == [("ADDED", "a"), ("ADDED", "b")]


def test_what_is_gone_stays_gone_after_a_restart(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server("--etcd-compaction-interval", "1s")
    place = Space(server, server.client())
    place.secrets.create("a")
    old = place.secrets.version()
    place.secrets.remove("a")
    place.secrets.create("b")
    until(lambda: place.secrets.list(resourceVersion=old, resourceVersionMatch="Exact"), 410)
    newest = place.secrets.version()
    server.stop()
    server.flags = ()
    server.start()
    client = server.client()
    path = place.secrets.path
    exact = client.get(path, resourceVersion=old, resourceVersionMatch="Exact")
    assert exact.status == 410
    assert client.get(path).names == ["b"]
    assert int(client.get(path).version) >= int(newest)


def test_versions_rise_after_the_newest_objects_were_deleted_and_forgotten(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server("--etcd-compaction-interval", "1s")
    place = Space(server, server.client())
    start = place.secrets.version()
    place.secrets.create_all(*"abc")
    for name in "abc":
        place.secrets.remove(name)
    newest = place.secrets.version()
    until(lambda: place.secrets.list(resourceVersion=start, resourceVersionMatch="Exact"), 410)
    server.stop()
    server.start()
    answer = server.client().post(place.secrets.path, {"metadata": {"name": "d"}})
    assert int(answer.version) > int(newest)
