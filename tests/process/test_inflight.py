"""Limits of concurrent requests without priority and fairness: 429 with Retry-After; watches do not
count."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
from support.client import JSON, MERGE_PATCH, Client
from support.namespaces import Space
from support.process import ServerProcess
from support.slow_answers import PRELUDE
from support.waiting import eventually
from support.wire import Wire

PLAIN = "--enable-priority-and-fairness=false"


class Pending:
    """A request that is being answered for a while."""

    def __init__(
        self, client: Client, path: str, method: str = "POST", seconds: float = 60
    ) -> None:
        self.connection = client.connect()
        kind = MERGE_PATCH if method == "PATCH" else JSON
        headers = {**client.head_of(), "Content-Type": kind, "X-Hold": str(seconds)}
        self.connection.request(method, path, b"{}", headers)

    def close(self) -> None:
        self.connection.close()


def limited_space(server: ServerProcess) -> Space:
    """A namespace in which alice, who is not in system:masters, may do everything."""
    space = Space(server, server.client())
    space.everywhere("clusterrolebindings", "rbac.authorization.@").create(
        space.name,
        roleRef={"kind": "ClusterRole", "name": "cluster-admin"},
        subjects=[{"kind": "User", "name": "alice"}],
    )
    space.client.token = "alice-token"
    return space


@pytest.fixture(scope="module")
def limited_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that takes two writes at once."""
    limits = ("--max-mutating-requests-inflight", "2", "--max-requests-inflight", "3")
    directory = tmp_path_factory.mktemp("limited")
    server = ServerProcess(directory, flags=(PLAIN, *limits), prelude=PRELUDE).start()
    yield server
    server.kill()


@pytest.fixture
def limited(limited_server: ServerProcess) -> Space:
    """A namespace of that server, with no request of a previous test under way."""
    master = limited_server.client()
    master.request("GET", "/version", headers={"X-Release": "yes"})
    for kind, asking in (("mutating", 0), ("readOnly", 1)):
        eventually(partial(is_under_way, master, kind, asking), "nothing else is under way")
    return limited_space(limited_server)


def under_way(client: Client, kind: str) -> int:
    for line in client.get("/metrics").text.splitlines():
        if line.startswith(f'apiserver_current_inflight_requests{{request_kind="{kind}"}}'):
            return int(float(line.split()[-1]))
    raise AssertionError("no such metric")


def is_under_way(client: Client, kind: str, count: int) -> bool:
    return under_way(client, kind) == count


def hold(
    space: Space, count: int, path: str = "", method: str = "POST", seconds: float = 60
) -> list[Pending]:
    """Keep this many writes under way."""
    path = path or space.secrets.path
    held = [Pending(space.client, path, method, seconds) for _ in range(count)]
    eventually(lambda: under_way(space.client, "mutating") == count, f"{count} are under way")
    return held


def release(held: Sequence[Pending | Wire]) -> None:
    for pending in held:
        pending.close()


def test_writes_over_the_limit_are_told_to_come_back(limited: Space) -> None:
    held = hold(limited, 2)
    answer = limited.client.post(limited.secrets.path, {"metadata": {"name": "a"}})
    assert answer.status == 429
    assert answer.headers["Retry-After"] == "1"
    assert answer.body["reason"] == "TooManyRequests"
    assert answer.body["details"]["retryAfterSeconds"] == 1
    assert answer.message
    release(held)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_every_write_counts(limited: Space, method: str) -> None:
    held = hold(limited, 2, limited.secrets.item("a"), method)
    assert limited.client.post(limited.secrets.path, {"metadata": {"name": "a"}}).status == 429
    release(held)


def test_reads_have_a_limit_of_their_own(limited: Space) -> None:
    held = hold(limited, 2)
    assert limited.secrets.list().status == 200
    release(held)


def test_a_place_is_free_again_when_a_request_ends(limited: Space) -> None:
    held = hold(limited, 2, seconds=1)
    eventually(lambda: under_way(limited.client, "mutating") == 0, "they have ended")
    assert limited.client.post(limited.secrets.path, {"metadata": {"name": "a"}}).status == 201
    release(held)


def test_masters_are_taken_however_many_are_under_way(limited: Space) -> None:
    held = hold(limited, 2)
    master = limited.server.client()
    assert master.post(limited.secrets.path, {"metadata": {"name": "a"}}).status == 201
    release(held)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_told_however_many_are_under_way(limited: Space, path: str) -> None:
    held = [Pending(limited.client, limited.secrets.path, "GET") for _ in range(3)]
    master = limited.server.client()
    eventually(lambda: under_way(master, "readOnly") == 3 + 1, "they and who asks are under way")
    assert limited.secrets.list().status == 429
    assert limited.server.client(None).get(path).status == 200
    release(held)


def test_health_tells_what_bounds_requests(limited: Space, any_server: ServerProcess) -> None:
    plain = limited.client.get("/readyz?verbose").text
    assert "[+]poststarthook/max-in-flight-filter ok" in plain
    assert "priority-and-fairness-filter" not in plain
    fair = any_server.client().get("/readyz?verbose").text
    assert "[+]poststarthook/priority-and-fairness-filter ok" in fair
    assert "[+]poststarthook/priority-and-fairness-config-consumer ok" in fair


def test_a_stranger_takes_no_place(limited: Space) -> None:
    strangers = [
        Pending(limited.server.client("wrong"), limited.secrets.path, "GET") for _ in range(3)
    ]
    assert [stranger.connection.getresponse().status for stranger in strangers] == [401] * 3
    assert limited.secrets.list().status == 200
    release(strangers)


def test_a_body_that_never_comes_takes_no_place(limited: Space) -> None:
    silent = [Wire(limited.server) for _ in range(4)]
    for wire in silent:
        head = f"POST {limited.secrets.path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        wire.send(f"{head}Authorization: Bearer alice-token\r\nContent-Length: 9\r\n\r\n".encode())
        assert wire.status() == 100
    assert limited.client.post(limited.secrets.path, {"metadata": {"name": "a"}}).status == 201
    release(silent)


def test_answers_that_nobody_reads_take_no_place(limited: Space) -> None:
    limited.client.token = "admin-token"
    for number in range(4):
        limited.config_maps.create(f"large-{number}", data={"k": "x" * 900_000})
    limited.client.token = "alice-token"
    sleepers = [Wire(limited.server, buffer=4096) for _ in range(6)]
    for wire in sleepers:
        wire.send(
            f"GET {limited.config_maps.path} HTTP/1.1\r\nHost: x\r\n"
            "Authorization: Bearer alice-token\r\n\r\n".encode()
        )
        wire.sock.recv(10)
    assert limited.secrets.list().status == 200
    release(sleepers)


def test_a_write_is_not_a_watch_for_carrying_its_parameter(limited: Space) -> None:
    held = hold(limited, 2)
    answer = limited.client.post(limited.secrets.path, {"metadata": {"name": "a"}}, watch=1)
    assert answer.status == 429
    release(held)


def test_watches_do_not_count(limited: Space) -> None:
    watches = [limited.secrets.watch() for _ in range(10)]
    assert all(watch.status == 200 for watch in watches)
    assert limited.secrets.list().status == 200
    limited.secrets.create("a")
    assert all(watch.next().name == "a" for watch in watches)
    for watch in watches:
        watch.close()


def test_no_limit_is_no_limit(fresh_server: Callable[..., ServerProcess]) -> None:
    server = fresh_server(PLAIN, "--max-mutating-requests-inflight", "0", prelude=PRELUDE)
    space = limited_space(server)
    held = hold(space, 5)
    assert space.client.post(space.secrets.path, {"metadata": {"name": "a"}}).status == 201
    release(held)


def test_reads_over_the_limit_are_told_to_come_back(limited: Space) -> None:
    """Gets that wait for a version to come are under way meanwhile."""
    limited.secrets.create("a")
    future = int(limited.secrets.version()) + 1000
    waiting = []
    for _ in range(3):
        connection = limited.client.connect()
        path = f"{limited.secrets.item('a')}?resourceVersion={future}"
        connection.request("GET", path, headers=limited.client.head_of())
        waiting.append(connection)
    eventually(lambda: limited.secrets.list().status == 429, "no more are taken", 2.5)
    assert limited.secrets.list().headers["Retry-After"] == "1"
    assert limited.client.post(limited.secrets.path, {"metadata": {"name": "b"}}).status == 201
    assert [connection.getresponse().status for connection in waiting] == [504] * 3
    for connection in waiting:
        connection.close()


def test_a_client_that_is_slow_to_speak_holds_nothing_up(limited: Space) -> None:
    """Connections without a request are not requests."""
    host, _, port = limited.server.address.removeprefix("https://").rpartition(":")
    plain = [socket.create_connection((host, int(port))) for _ in range(10)]
    context = ssl.create_default_context(cafile=str(limited.server.ca))
    spoken = [context.wrap_socket(connection, server_hostname=host) for connection in plain[:5]]
    assert limited.client.post(limited.secrets.path, {"metadata": {"name": "a"}}).status == 201
    for connection in (*spoken, *plain[5:]):
        connection.close()
