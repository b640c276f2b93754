"""What clients see when the disk or a part of the server fails."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.client import Client, WatchEnded
from support.namespaces import Space
from support.process import ServerProcess, failed_start
from support.waiting import eventually
from support.workers import Workers

FreshServer = Callable[..., ServerProcess]

# Raises an error of SQLite at every commit while a file lies beside the database.
FAILING = (
    "import os, sqlite3, fairlead.storage.sqlite.backend as s, fairlead.storage.sqlite.log as h\n"
    "h.PROBE_EVERY = 0.1\n"
    "def guard(method):\n"
    "    def call(self, *arguments):\n"
    "        path = str(self.path) + '.fault'\n"
    "        if os.path.exists(path):\n"
    "            with self._guarded('write'):\n"
    "                error = sqlite3.OperationalError('injected')\n"
    "                error.sqlite_errorcode = int(open(path).read())\n"
    "                raise error\n"
    "        return method(self, *arguments)\n"
    "    return call\n"
    "s.SqliteBackend.append = guard(s.SqliteBackend.append)\n"
    "s.SqliteBackend.probe = guard(s.SqliteBackend.probe)\n"
    "s.SqliteBackend.recover = guard(s.SqliteBackend.recover)\n"
)

# Frames of one object cannot be made.
UNENCODABLE = (
    "import fairlead.api.watch_frames as framing; frame = framing.watch_frame\n"
    "def fail(kind, message):\n"
    "    if b'\\n\\x03bad' in message:\n"
    "        raise ValueError('cannot be encoded')\n"
    "    return frame(kind, message)\n"
    "framing.watch_frame = fail\n"
)


def fault(server: ServerProcess, code: int) -> Path:
    path = server.data / "fairlead.db.fault"
    path.write_text(str(code))
    return path


def test_an_event_that_cannot_be_encoded_ends_its_own_stream_only(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server(prelude=f"exec({UNENCODABLE!r})")
    space = Space(server, server.client())
    media_type = server.dialect.protobuf_media_type
    with (
        space.secrets.watch() as plain,
        space.client.watch(space.secrets.path, headers={"Accept": media_type}) as unlucky,
    ):
        space.secrets.create("bad")
        space.secrets.create("good")
        assert [plain.next().name for _ in range(2)] == ["bad", "good"]
        reported = unlucky.answer().content
    assert b"ERROR" in reported
    assert b"InternalError" in reported
    assert space.client.get("/readyz").status == 200
    assert server.stop() == 0


def test_readiness_follows_the_disk_without_a_write(fresh_server: FreshServer) -> None:
    server = fresh_server(prelude=f"exec({FAILING!r})")
    space = Space(server, server.client())
    space.secrets.create("a")
    path = fault(server, 13)
    assert space.client.post(space.secrets.path, {"metadata": {"name": "b"}}).status == 503
    assert space.client.get("/readyz").status == 500
    assert space.secrets.names() == ["a"]
    path.unlink()
    eventually(lambda: space.client.get("/readyz").status == 200, "it is ready again")
    space.secrets.create("b")


def test_a_failed_fsync_ends_the_process_with_one_line(fresh_server: FreshServer) -> None:
    server = fresh_server(prelude=f"exec({FAILING!r})")
    space = Space(server, server.client())
    secret = space.secrets.create("a")
    path = fault(server, 1034)
    with pytest.raises((OSError, WatchEnded, AssertionError)):
        space.secrets.create("b")
    assert server.wait() == 1
    last = server.log.read_text().strip().splitlines()[-1]
    assert last.startswith("fairlead: cannot write ")
    path.unlink()
    server.prelude = ""
    server.start()
    client = server.client()
    assert client.get(space.secrets.item("a")).body == secret
    assert client.get(space.secrets.item("b")).status == 404


def has_readiness(client: Client, status: int) -> bool:
    return client.get("/readyz").status == status


def test_workers_tell_of_a_full_disk_and_one_that_must_stop_is_replaced(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--workers", "2", prelude=f"exec({FAILING!r})")
    workers = Workers(server)
    owner, (follower,) = workers.owner(), workers.followers()
    clients = [workers.client(owner), workers.client(follower)]
    space = Space(server, clients[1])
    space.secrets.create("a")
    path = fault(server, 13)
    assert space.client.post(space.secrets.path, {"metadata": {"name": "b"}}).status == 503
    for client in clients:
        eventually(partial(has_readiness, client, 500), "it is not ready")
    assert space.secrets.names() == ["a"]
    path.unlink()
    for client in clients:
        eventually(partial(has_readiness, client, 200), "it is ready again")
    space.secrets.create("b")
    path = fault(server, 1034)  # a failed fsync
    assert space.client.post(space.secrets.path, {"metadata": {"name": "c"}}).status == 503
    path.unlink()
    eventually(lambda: workers.owner() not in (0, owner), "another one owns the store")
    space.secrets.create("d")
    assert space.secrets.names() == ["a", "b", "d"]
    assert follower in workers.pids()
    assert server.stop() == 0


def test_a_second_server_leaves_the_first_ones_directory_alone(fresh_server: FreshServer) -> None:
    server = fresh_server()
    before = {path: path.read_bytes() for path in (server.data / "pki").iterdir()}
    ended = failed_start(server.directory, "--advertise-address", "10.1.2.3")
    assert ended.returncode == 1
    assert "is in use by another server" in ended.stderr
    assert {path: path.read_bytes() for path in (server.data / "pki").iterdir()} == before


def test_another_dialect_is_refused_in_one_line(fresh_server: FreshServer) -> None:
    server = fresh_server()
    server.stop()
    ended = failed_start(server.directory, dialect="cluster")
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines() == [
        f"fairlead: {server.data} holds a store of the kubernetes dialect: start with"
        " --dialect kubernetes, or use another directory"
    ]


def test_a_lost_database_is_refused_in_one_line(fresh_server: FreshServer) -> None:
    server = fresh_server()
    server.stop()
    (server.data / "fairlead.db").unlink()
    ended = failed_start(server.directory)
    assert ended.returncode == 1
    [line] = ended.stderr.strip().splitlines()
    assert "fairlead.db is missing" in line
    assert not (server.data / "fairlead.db").exists()


def test_lost_writes_are_refused_until_they_are_accepted(fresh_server: FreshServer) -> None:
    server = fresh_server()
    Space(server, server.client()).secrets.create("a")
    server.signal(signal.SIGKILL)
    server.wait()
    wal = server.data / "fairlead.db-wal"
    wal.write_bytes(wal.read_bytes()[: wal.stat().st_size // 2])
    ended = failed_start(server.directory)
    assert ended.returncode == 1
    [line] = ended.stderr.strip().splitlines()
    assert "--accept-lost-writes" in line
    server.flags = ("--accept-lost-writes",)
    server.start()
    assert server.client().get("/readyz").status == 200


# The first write over each service finds that it was changed meanwhile.
CONFLICTING = (
    "from fairlead.storage.backend import Conflict\n"
    "import fairlead.storage.store as s; put = s.Store.put; known = set()\n"
    "async def conflict(self, collection, key, value, over, *more):\n"
    "    if over is not None and key not in known and key.endswith('/contended'):\n"
    "        known.add(key)\n"
    "        raise Conflict(key)\n"
    "    return await put(self, collection, key, value, over, *more)\n"
    "s.Store.put = conflict\n"
)


def test_what_a_write_reserved_is_given_back_when_it_conflicts(fresh_server: FreshServer) -> None:
    """Two ports for two services: one that is kept by a lost attempt would be missed."""
    server = fresh_server(
        "--service-node-port-range", "30000-30001", prelude=f"exec({CONFLICTING!r})"
    )
    services = Space(server, server.client()).collection("services")
    spec = {"ports": [{"port": 80}]}
    for name in ("contended", "other"):
        services.create(name, spec=spec)
    for name in ("contended", "other"):
        answer = services.patch(name, {"spec": {"type": "NodePort"}})
        assert answer.status == 200, answer.text
