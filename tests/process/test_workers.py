"""Several workers of one server are one server to clients."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.client import Answer, Client, Watch
from support.namespaces import random_word
from support.process import ServerProcess, failed_start
from support.slow_answers import PRELUDE
from support.waiting import eventually
from support.workers import Workers

pytestmark = pytest.mark.usefixtures("new_interpreters")
FreshServer = Callable[..., ServerProcess]
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Three workers, of which none is killed."""
    server = ServerProcess(tmp_path_factory.mktemp("workers"), "kubernetes", ("--workers", "3"))
    yield Workers(server.start())
    assert server.stop() == 0


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Two workers that tests kill."""
    server = ServerProcess(
        tmp_path_factory.mktemp("mortal"), "kubernetes", ("--workers", "2", "--simulate-nodes", "1")
    )
    yield Workers(server.start())
    assert server.stop() == 0


@pytest.fixture
def pair(mortal: Workers) -> Workers:
    """Both workers alive, without leftovers of other tests."""
    mortal.await_all(2)
    assert mortal.server.client().delete(MAPS).status == 200
    return mortal


def clients(workers: Workers, token: str = "admin-token") -> list[Client]:
    """Return a client for each worker, the owner's first."""
    return [workers.client(pid, token) for pid in (workers.owner(), *workers.followers())]


def create(client: Client, name: str, **data: str) -> int:
    answer = client.post(MAPS, {"metadata": {"name": name}, "data": data})
    assert answer.status == 201, answer.text
    return int(answer.version)


def metric(client: Client, name: str) -> float:
    """Return the sum of all lines of a metric that contain these texts."""
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if re.match(name, line))


# One server


def test_what_was_created_at_one_worker_is_found_at_all(shared: Workers) -> None:
    every = clients(shared)
    for writer in every:
        name = random_word()
        create(writer, name)
        for reader in every:
            assert reader.get(f"{MAPS}/{name}").status == 200
            assert name in reader.get(MAPS).names
        assert every[-1].delete(f"{MAPS}/{name}").status == 200
        for reader in every:
            assert reader.get(f"{MAPS}/{name}").status == 404


def test_a_right_that_was_given_or_taken_counts_for_the_very_next_request_anywhere(
    shared: Workers,
) -> None:
    admins, users = clients(shared), clients(shared, "alice-token")
    group, bindings = "rbac.authorization.k8s.io", random_word()
    path = f"/apis/{group}/v1/namespaces/default/rolebindings"
    for admin in admins:
        answer = admin.post(
            path,
            {
                "metadata": {"name": bindings},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
                "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}],
            },
        )
        assert answer.status == 201, answer.text
        assert [user.get(MAPS).status for user in users] == [200] * 3
        assert admin.delete(f"{path}/{bindings}").status == 200
        assert [user.get(MAPS).status for user in users] == [403] * 3


def test_a_new_kind_is_served_by_all_as_soon_as_by_one(shared: Workers) -> None:
    every = clients(shared)
    names = {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    answer = every[1].post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "metadata": {"name": "boats.example.com"},
            "spec": {
                "group": "example.com",
                "names": names,
                "scope": "Cluster",
                "versions": [version],
            },
        },
    )
    assert answer.status == 201, answer.text
    path = "/apis/example.com/v1/boats"
    eventually(lambda: every[0].get(path).status == 200, "it is served")
    assert [client.get(path).status for client in every] == [200] * 3
    body = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}}
    assert every[2].post(path, body).status == 201
    assert [client.get(path).names for client in every] == [["b"]] * 3


def test_a_watch_at_one_worker_tells_what_others_wrote_in_order(shared: Workers) -> None:
    every = clients(shared)
    prefix = random_word()
    version = every[0].get(MAPS).version
    watches = [client.watch(MAPS, resourceVersion=version) for client in every * 2]
    written = []
    for number in range(30):
        written.append(create(every[number % 3], f"{prefix}-{number}"))
    for watch in watches:
        events = watch.take(30)
        assert [int(event.version) for event in events] == written
        watch.close()


def test_workers_write_to_one_object_without_losing_a_write(shared: Workers) -> None:
    name = random_word()
    create(shared.server.client(), name)
    failed: list[str] = []

    def work(client: Client, number: int) -> None:
        for turn in range(10):
            key = f"k{number}-{turn}"
            answer = client.patch(f"{MAPS}/{name}", {"data": {key: "x"}})
            if answer.status != 200:
                failed.append(answer.text)

    threads = [
        threading.Thread(target=work, args=(client, number))
        for number, client in enumerate(clients(shared) * 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(shared.server.client().get(f"{MAPS}/{name}").body["data"]) == 30


def test_services_get_different_addresses_from_different_workers(shared: Workers) -> None:
    results = set()
    for number, client in enumerate(clients(shared) * 4):
        answer = client.post(
            "/api/v1/namespaces/default/services",
            {
                "metadata": {"name": f"s-{random_word()}-{number}"},
                "spec": {"type": "NodePort", "ports": [{"port": 80}]},
            },
        )
        assert answer.status == 201, answer.text
        spec = answer.body["spec"]
        results |= {spec["clusterIP"], spec["ports"][0]["nodePort"]}
    assert len(results) == 24


def test_connections_spread_evenly(shared: Workers) -> None:
    opened = [shared.server.client() for _ in range(30)]
    before = dict.fromkeys(shared.pids(), 0)
    for client in opened:
        assert client.get("/version").status == 200
        for pid in before:
            before[pid] += shared.serves(pid, client)
    for client in opened:
        client.close()
    assert sum(before.values()) == 30
    assert min(before.values()) >= 5


def test_metrics_of_any_worker_are_those_of_all(shared: Workers) -> None:
    every = clients(shared)
    line = r'apiserver_request_total\{code="404".*resource="secrets".*verb="GET"'
    before = metric(every[0], line)
    for client in every:
        for _ in range(5):
            assert client.get("/api/v1/namespaces/default/secrets/none").status == 404
    assert [metric(client, line) - before for client in every] == [15] * 3
    watch = every[1].watch("/api/v1/nodes")
    for client in every:
        assert metric(client, r'apiserver_registered_watchers\{resource="nodes"') == 1
    watch.close()
    objects = {
        metric(client, r'apiserver_storage_objects\{resource="namespaces"') for client in every
    }
    assert objects == {float(len(every[0].get("/api/v1/namespaces").names))}


def test_first_objects_are_made_once_and_controllers_run_once(shared: Workers) -> None:
    client = shared.server.client()
    name = random_word()
    assert client.post("/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
    path = f"/api/v1/namespaces/{name}/serviceaccounts"
    eventually(lambda: client.get(path).names == ["default"], "a controller makes the account")
    assert "started again" not in shared.server.log.read_text()


# Limits


def test_requests_under_way_are_limited_over_all_workers(fresh_server: FreshServer) -> None:
    flags = ("--max-mutating-requests-inflight", "2", "--enable-priority-and-fairness=false")
    workers = Workers(fresh_server("--workers", "2", *flags, prelude=PRELUDE))
    every = clients(workers)
    answer = every[0].post(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {
            "metadata": {"name": "alice"},
            "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "name": "alice"}],
        },
    )
    assert answer.status == 201, answer.text
    for pid in workers.pids():
        client = workers.client(pid, "alice-token")
        connection = client._connection
        assert connection is not None
        headers = {**client.head_of(), "Content-Type": "application/json", "X-Hold": "20"}
        connection.request("POST", MAPS, b"{}", headers)
    kind = r'apiserver_current_inflight_requests\{request_kind="mutating"'
    eventually(lambda: metric(every[0], kind) == 2, "two are under way")
    for pid in workers.pids():
        refused = workers.client(pid, "alice-token").post(MAPS, {"metadata": {"name": "x"}})
        assert refused.status == 429


def test_connections_are_limited_over_all_workers(fresh_server: FreshServer) -> None:
    server = fresh_server("--workers", "2", "--max-connections", "6")
    parts = urlsplit(server.address)
    tls = ssl.create_default_context(cafile=str(server.ca))
    opened: list[socket.socket] = []

    def connect() -> bool:
        raw = socket.create_connection((parts.hostname, parts.port), 10)
        try:
            opened.append(tls.wrap_socket(raw, server_hostname=parts.hostname))
        except OSError:
            raw.close()
            return False
        return True

    assert [connect() for _ in range(9)] == [True] * 6 + [False] * 3
    opened.pop().close()
    eventually(connect, "there is room again")
    for item in opened:
        item.close()


# Death


class Load:
    """Clients that create objects continuously, and their answers."""

    def __init__(self, server: ServerProcess, clients: int) -> None:
        self.acknowledged: list[str] = []
        self.refused = 0
        self._server = server
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(number,)) for number in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        client = self._server.client()
        turn = 0
        while not self._stop.is_set():
            turn += 1
            name = f"load-{number}-{turn}"
            try:
                answer = client.post(MAPS, {"metadata": {"name": name}})
            except (OSError, HTTPException):
                continue
            if answer.status == 201:
                self.acknowledged.append(name)
            else:
                assert answer.status in (503, 504), answer.text
                self.refused += 1
        client.close()

    def more(self, count: int = 20) -> None:
        """Wait until so many more were acknowledged."""
        wanted = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= wanted, "writes go on")

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


class Following:
    """A watch of one worker, read in a thread."""

    def __init__(self, client: Client) -> None:
        self.names: list[str] = []
        self.versions: list[int] = []
        self._connection = connection = client._connection
        assert connection is not None
        connection.request("GET", f"{MAPS}?watch=1&resourceVersion=0", headers=client.head_of())
        self._watch = Watch(connection)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, HTTPException):
            for event in self._watch:
                self.names.append(event.name)
                self.versions.append(int(event.version))

    def end(self) -> None:
        assert self._connection is not None
        self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(20)


def test_nothing_acknowledged_is_lost_when_the_owner_is_killed_and_watches_go_on(
    pair: Workers,
) -> None:
    (follower,) = pair.followers()
    following = Following(pair.client(follower))
    load = Load(pair.server, 4)

    def has_other_owner(old: int) -> bool:
        return pair.owner() not in (0, old)

    for _ in range(3):
        load.more()
        owner = pair.owner()
        pair.kill(owner)
        eventually(partial(has_other_owner, owner), "there is an owner again")
    load.more()
    load.end()
    kept = set(pair.server.client().get(MAPS).names)
    assert set(load.acknowledged) <= kept
    assert follower in pair.pids()
    eventually(lambda: kept <= set(following.names), "the watch has seen everything")
    assert following.versions == sorted(set(following.versions))
    assert len(following.names) == len(set(following.names))
    following.end()


def test_nothing_acknowledged_is_lost_when_a_follower_is_killed(pair: Workers) -> None:
    load = Load(pair.server, 4)
    for _ in range(3):
        load.more()
        (follower,) = pair.followers()
        pair.kill(follower)
        eventually(lambda: len(pair.pids()) == 2, "there is another one")
    load.more()
    load.end()
    pair.await_all(2)
    for client in clients(pair):
        assert set(load.acknowledged) <= set(client.get(MAPS).names)


def test_no_count_falls_when_a_worker_is_started_again(pair: Workers) -> None:
    line = r'apiserver_request_total\{.*resource="configmaps"'
    for client in clients(pair):
        for _ in range(10):
            client.get(f"{MAPS}/none")
    seconds = metric(pair.server.client(), line)
    assert seconds >= 20
    for pid in pair.pids():
        pair.kill(pid)
        assert metric(pair.server.client(), line) >= seconds
        pair.await_all(2)
        assert metric(pair.server.client(), line) >= seconds


def test_while_the_owner_is_away_stale_reads_work_and_others_wait(pair: Workers) -> None:
    owner, (follower,) = pair.owner(), pair.followers()
    client = pair.client(follower)
    version = create(client, "before")
    os.kill(owner, signal.SIGSTOP)
    try:
        assert client.get(f"{MAPS}/before", resourceVersion=0).status == 200
        assert client.get(f"{MAPS}/before").status == 200  # nothing newer was told to anybody
        late = threading.Thread(target=create, args=(client, "late"))
        late.start()
        late.join(0.3)
        assert late.is_alive()
    finally:
        os.kill(owner, signal.SIGCONT)
    late.join(20)
    assert int(pair.server.client().get(f"{MAPS}/late").version) > version


def test_nobody_is_asked_to_repeat_a_write_that_may_have_happened(pair: Workers) -> None:
    owner, (follower,) = pair.owner(), pair.followers()
    client = pair.client(follower)
    create(client, "before")
    answers: list[Answer] = []
    os.kill(owner, signal.SIGSTOP)
    asking = threading.Thread(
        target=lambda: answers.append(client.post(MAPS, {"metadata": {"name": "open"}}))
    )
    asking.start()
    asking.join(0.3)
    assert asking.is_alive()
    pair.kill(owner)
    asking.join(20)
    (answer,) = answers
    assert answer.status == 503
    assert "it may have been" in answer.body["message"]
    assert answer.headers.get("Retry-After") is None


def test_a_watch_whose_past_no_owner_can_tell_ends_with_503(pair: Workers) -> None:
    version = create(pair.server.client(), "before")
    create(pair.server.client(), "after")
    pair.kill(pair.followers()[0])
    pair.await_all(2)  # this one has not seen these changes
    owner, (follower,) = pair.owner(), pair.followers()
    os.kill(owner, signal.SIGSTOP)
    with pair.client(follower).watch(MAPS, resourceVersion=version) as watch:
        pair.kill(owner)
        (event,) = watch.take(1)
    assert (event.type, event.object["code"]) == ("ERROR", 503), event.object


def test_a_server_without_an_owner_stops_although_writes_wait_for_one(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--workers", "3")
    workers = Workers(server)
    known, owner = workers.pids(), workers.owner()
    answers: list[int] = []
    asking = [
        threading.Thread(target=_create_until_refused, args=(workers.client(pid), answers))
        for pid in (*workers.followers(), *workers.followers())
    ]
    for thread in asking:
        thread.start()
    os.kill(owner, signal.SIGKILL)
    eventually(lambda: not set(workers.pids()) <= set(known), "its successor starts")
    server.signal(signal.SIGTERM)
    assert server.wait(10) == 0
    for thread in asking:
        thread.join(20)
    assert set(answers) <= {503}


def _create_until_refused(client: Client, answers: list[int]) -> None:
    """Create objects until one is refused, whose code goes into `answers`, or the server is
    gone."""
    with suppress(OSError, HTTPException):
        while True:
            answer = client.post(MAPS, {"metadata": {"generateName": "c-"}})
            if answer.status != 201:
                answers.append(answer.status)
                return


def test_a_hung_owner_is_replaced_and_writes_nothing_when_it_is_resumed(
    fresh_server: FreshServer,
) -> None:
    hasty = "import fairlead.process.workers.hangs as h; h.CHECK_EVERY = 0.25"
    server = fresh_server("--workers", "2", prelude=hasty)
    workers = Workers(server)
    owner, (follower,) = workers.owner(), workers.followers()
    client = workers.client(follower)
    create(client, "before")
    direct = workers.client(owner)
    os.kill(owner, signal.SIGSTOP)
    sending = direct._connection
    assert sending is not None
    body = json.dumps({"metadata": {"name": "of-the-hung"}})
    sending.request("POST", MAPS, body, direct.head_of({"Content-Type": "application/json"}))
    eventually(lambda: workers.owner() not in (0, owner), "another one owns the store")
    with suppress(ProcessLookupError):
        os.kill(owner, signal.SIGCONT)
    workers.await_all(2)
    create(client, "after")
    assert follower in workers.pids()
    assert client.get(MAPS).names == ["after", "before", "kube-root-ca.crt"]
    assert "a worker hangs and is killed" in server.log.read_text()


# Beginning and end


def test_a_start_that_fails_is_told_once_and_ends_all(tmp_path: Path) -> None:
    ended = failed_start(
        tmp_path, "--workers", "3", "--tls-cert-file", "/x", "--tls-private-key-file", "/y"
    )
    assert ended.returncode == 1
    assert ended.stderr.count("fairlead: ") == 1, ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_number_of_workers_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    ended = failed_start(tmp_path, "--workers", "65")
    assert (ended.returncode, "--workers: must be from 1 to 64" in ended.stderr) == (2, True)


def test_a_place_for_sockets_that_will_not_do_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    ended = failed_start(tmp_path, "--workers", "2")
    assert ended.returncode == 1
    assert ended.stderr.endswith("AF_UNIX path too long; TMPDIR names where such files go\n")


def test_a_directory_in_use_is_refused(shared: Workers) -> None:
    ended = failed_start(shared.server.directory, "--workers", "2")
    assert ended.returncode == 1
    assert "is in use by another server" in ended.stderr


def test_a_signal_ends_all_in_good_order(fresh_server: FreshServer) -> None:
    """As a terminal or a service manager does: parent and workers get the signal at once, which
    counts as one."""
    server = fresh_server("--workers", "2", "--shutdown-delay-duration", "300ms")
    workers = Workers(server)
    pids = workers.pids()
    client = workers.client(workers.followers()[0])
    load = Load(server, 4)
    load.more()
    for pid in (server.pid, *pids):
        os.kill(pid, signal.SIGTERM)
    eventually(lambda: client.get("/readyz").status == 500, "it says so, and goes on for a while")
    assert server.process is not None
    assert server.process.stdout is not None
    text = server.process.stdout.read().decode()
    assert (text.count("ready in"), text.count("serves on")) == (1, 0)  # which was the first line
    assert server.wait() == 0
    load.end()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert "Traceback" not in server.log.read_text()
    again = ServerProcess(server.directory).start()
    assert set(load.acknowledged) <= set(again.client().get(MAPS).names)
    again.stop()


def test_workers_end_with_their_parent(fresh_server: FreshServer) -> None:
    server = fresh_server("--workers", "2")
    pids = Workers(server).pids()
    server.kill()
    eventually(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the workers are gone"
    )
    killed = server.pid
    server.start()
    assert not list(Path(tempfile.gettempdir()).glob(f"fairlead-workers-{killed}-*"))
    assert server.stop() == 0


def test_all_workers_keep_one_audit_log(fresh_server: FreshServer, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    log = tmp_path / "audit.log"
    workers = Workers(
        fresh_server(
            "--workers", "2", "--audit-policy-file", str(policy), "--audit-log-path", str(log)
        )
    )
    for number, client in enumerate(clients(workers)):
        create(client, f"audited-{number}")
    assert workers.server.stop() == 0
    events = [json.loads(line) for line in log.read_text().splitlines()]
    names = [
        event["objectRef"]["name"]
        for event in events
        if event["verb"] == "create"
        and event.get("objectRef", {}).get("resource") == "configmaps"
        and event["objectRef"].get("name", "").startswith("audited-")
        and event["stage"] == "ResponseComplete"
    ]
    assert sorted(names) == ["audited-0", "audited-1"]


def test_any_worker_tells_and_follows_the_log_of_a_simulated_container(mortal: Workers) -> None:
    every = clients(mortal)
    pods = "/api/v1/namespaces/default/pods"
    name = random_word()
    spec = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
    eventually(
        lambda: every[0].get("/api/v1/namespaces/default/serviceaccounts/default").status == 200,
        "there is an account for pods",
    )
    answer = every[0].post(pods, {"metadata": {"name": name}, "spec": spec})
    assert answer.status == 201, answer.text
    eventually(
        lambda: every[0].get(f"{pods}/{name}").body["status"]["phase"] == "Running", "it runs"
    )
    followed = []
    for client in every:
        reply = client.get(f"{pods}/{name}/log")
        assert (reply.status, "started" in reply.text) == (200, True), reply.text
        connection = client._connection
        assert connection is not None
        connection.request("GET", f"{pods}/{name}/log?follow=true", headers=client.head_of())
        followed.append(connection.getresponse())
    assert mortal.server.client().delete(f"{pods}/{name}").status == 200
    assert ["started" in response.read().decode() for response in followed] == [True] * 2
