"""Deadlines of requests, and what happens when they pass."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest
from support.client import Client, Object
from support.namespaces import Space, random_word
from support.process import FreshServer, ServerProcess
from support.slow_answers import PRELUDE
from support.waiting import eventually
from support.webhook import Hooked, allow
from support.wire import Wire
from support.workers import Workers

TIMED_OUT = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "Timeout: request did not complete within the allotted timeout",
    "reason": "Timeout",
    "details": {},
    "code": 504,
}


class Gate:
    """A webhook that answers after it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, request: Object) -> Object:
        self.open.wait(60)
        return allow(request)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that gives nothing much time."""
    flags = ("--request-timeout", "1500ms", "--min-request-timeout", "1")
    running = ServerProcess(tmp_path_factory.mktemp("hasty"), "kubernetes", flags, PRELUDE).start()
    yield running
    running.stop()


def service(port: int) -> Object:
    ports = [{"port": 80, "nodePort": port}]
    return {"metadata": {"name": random_word()}, "spec": {"type": "NodePort", "ports": ports}}


def counted(client: Client, name: str, *labels: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(
        float(line.split()[-1])
        for line in lines
        if line.startswith(f"{name}{{") and all(label in line for label in labels)
    )


@pytest.mark.parametrize("text", ["soon", "5", "1y", "-", "1s 2s"])
def test_what_is_no_duration_is_refused_before_anybody_asks_who_it_is(
    any_server: ServerProcess, text: str
) -> None:
    answer = any_server.client(token="nobody's").get("/api/v1/namespaces", timeout=text)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message.startswith("invalid timeout specified in the request URL - time: ")


def test_a_write_whose_time_is_up_is_not_done(hooked: Hooked, gate: Gate) -> None:
    path = hooked.validate(gate)
    things = hooked.space.config_maps
    before = counted(hooked.space.client, "apiserver_request_terminations_total", '"configmaps"')
    answer = hooked.space.client.post(things.path, {"metadata": {"name": "a"}}, timeout="100ms")
    assert (answer.status, answer.body) == (504, TIMED_OUT)
    assert len(hooked.requests(path)) == 1
    client = hooked.space.client
    labels = ('"configmaps"', 'verb="POST"', 'component="apiserver"', 'code="504"')
    assert counted(client, "apiserver_request_terminations_total", *labels) == before + 1
    assert counted(client, "apiserver_current_inflight_requests", '"mutating"') == 0
    gate.open.set()
    hooked.remove()
    assert "a" not in things.names()
    things.create("a")


@pytest.mark.parametrize("change", ["create", "update"])
def test_what_was_set_aside_for_it_is_given_back(hooks: Hooked, gate: Gate, change: str) -> None:
    space, port = hooks.space, 30300 + (change == "update")
    services = space.collection("services")
    value = service(port)
    name = value["metadata"]["name"]
    if change == "update":
        plain = {**value, "spec": {"ports": [{"port": 80}]}}
        assert space.client.post(services.path, plain).status == 201
    hooks.validate(gate, resources=["services"])
    if change == "update":
        answer = services.patch(name, {"spec": value["spec"]}, timeout="100ms")
    else:
        answer = space.client.post(services.path, value, timeout="100ms")
    assert answer.status == 504
    gate.open.set()
    hooks.remove()
    assert space.client.post(services.path, service(port)).status == 201


@pytest.mark.parametrize("timeout", ["1ns", "1us"])
def test_nothing_is_begun_of_what_is_late_from_the_start(space: Space, timeout: str) -> None:
    path = space.secrets.path
    for number in range(5):
        answer = space.client.post(path, {"metadata": {"name": f"s{number}"}}, timeout=timeout)
        assert (answer.status, answer.body) == (504, TIMED_OUT)
    assert space.client.get(path, timeout=timeout).status == 504
    assert space.secrets.names() == []


def test_a_body_that_does_not_come_is_not_waited_for(space: Space) -> None:
    head = ("Content-Type: application/json", "Content-Length: 100")
    line = f"POST {space.config_maps.path}?timeout=100ms"
    with Wire(space.server).ask(line, *head, body=b"{") as wire:
        code, body = wire.answer()
        assert code == 504
        assert b"did not complete within the allotted timeout" in body


def test_the_server_says_how_long_at_most(hasty: ServerProcess) -> None:
    requests = [
        Wire(hasty).ask(f"GET /api/v1/namespaces{timeout}", "X-Hold: 30")
        for timeout in ("", "?timeout=0s", "?timeout=-1s", "?timeout=1h")
    ]
    for wire in requests:
        with wire:
            assert wire.answer()[0] == 504


def test_the_time_of_a_request_is_no_concern_of_the_next_one(hasty: ServerProcess) -> None:
    with Wire(hasty) as wire:
        assert wire.ask("GET /version?timeout=500ms").answer()[0] == 200
        assert wire.ask("GET /version", "X-Hold: 0.6").answer()[0] == 200


def test_a_watch_has_its_own_time(space: Space) -> None:
    with space.secrets.watch(timeout="1ms") as watch:
        head = ("Content-Type: application/json", "Content-Length: 100")
        late = Wire(space.server).ask(f"POST {space.secrets.path}?timeout=100ms", *head)
        assert late.status() == 504
        late.close()
        space.secrets.create("a")
        assert watch.next().name == "a"


def test_a_watch_may_be_asked_for_with_any_timeout(space: Space) -> None:
    with space.secrets.watch(timeout="soon", timeoutSeconds=1) as watch:
        assert watch.rest() == []


def test_a_watch_without_a_time_ends_after_that_of_the_server(hasty: ServerProcess) -> None:
    client = hasty.client()
    with client.watch("/api/v1/secrets") as watch:
        watch.rest()


def test_a_write_to_a_store_that_stands_still_is_given_up(fresh_server: FreshServer) -> None:
    server = fresh_server("--workers", "2")
    workers = Workers(server)
    owner = workers.owner()
    client = workers.client(workers.followers()[0])
    space = Space(server, client)
    services, value = space.collection("services"), service(30400)
    os.kill(owner, signal.SIGSTOP)
    try:
        answer = client.post(services.path, value, timeout="200ms")
        assert (answer.status, answer.body) == (504, TIMED_OUT)
    finally:
        os.kill(owner, signal.SIGCONT)
    # It was under way: it may come about, but nothing of it is left when it is gone.
    name = value["metadata"]["name"]
    eventually(lambda: services.get(name).status == 200, "it was written after all")
    assert services.delete(name).status == 200
    assert client.post(services.path, service(30400)).status == 201
