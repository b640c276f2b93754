"""A service manager such as systemd owns the listening socket: restarts lose no connection attempt.
It is told what the server does."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.client import ADMIN_TOKEN, PATIENCE, Client
from support.process import ServerProcess
from support.service_manager import PlayedManager
from support.waiting import eventually


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[PlayedManager]:
    played = PlayedManager(tmp_path)
    yield played
    played.close()


def client_of(manager: PlayedManager) -> Client:
    ca = manager.directory / "data" / "pki" / "ca.crt"
    return Client(f"https://127.0.0.1:{manager.port}", ca, ADMIN_TOKEN)


class Callers:
    """Clients that ask over a new connection each time; `failures` has what went wrong."""

    def __init__(self, manager: PlayedManager, count: int = 4) -> None:
        self.answered = 0
        self.failures: list[str] = []
        self._manager = manager
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        while not self._ended.is_set():
            client = client_of(self._manager)
            try:
                status = client.get("/version").status
            except OSError as error:
                self.failures.append(repr(error))
            else:
                self.answered += 1
                if status != 200:
                    self.failures.append(str(status))
            finally:
                client.close()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def await_answers(self, count: int = 20) -> None:
        expected = self.answered + count
        eventually(lambda: self.answered >= expected, "clients are answered")


@pytest.mark.parametrize("workers", [1, 2])
def test_socket_hand_over_loses_no_request_of_an_orderly_restart(
    manager: PlayedManager, workers: int
) -> None:
    flags = (f"--workers={workers}",)
    manager.start(*flags)
    manager.await_state("READY=1")
    callers = Callers(manager)
    try:
        for _ in range(2):
            callers.await_answers()
            assert manager.process is not None
            manager.process.send_signal(signal.SIGTERM)
            manager.await_state("STOPPING=1")
            assert manager.process.wait(PATIENCE) == 0
            manager.start(*flags)  # meanwhile attempts to connect wait in the socket
            manager.await_state("READY=1")
        callers.await_answers()
    finally:
        callers.end()
    assert callers.failures == []


def test_socket_hand_over_keeps_attempts_to_connect_while_a_killed_server_is_replaced(
    manager: PlayedManager,
) -> None:
    manager.start()
    manager.await_state("READY=1")
    assert manager.process is not None
    manager.process.kill()
    manager.process.wait(PATIENCE)
    waiting = [socket.create_connection(("127.0.0.1", manager.port)) for _ in range(50)]
    manager.start()
    client = client_of(manager)
    assert client.get("/readyz").status == 200
    client.close()
    for connection in waiting:
        connection.close()


def test_notifications_tell_of_start_reload_and_stop(manager: PlayedManager) -> None:
    process = manager.start(watchdog=0.5)
    manager.await_state("READY=1")
    assert f"STATUS=serving on https://127.0.0.1:{manager.port}" in manager.states
    manager.await_state("WATCHDOG=1", times=3)
    process.send_signal(signal.SIGHUP)
    manager.await_state("RELOADING=1")
    manager.await_state("READY=1", times=2)
    process.send_signal(signal.SIGTERM)
    manager.await_state("STOPPING=1")
    assert process.wait(PATIENCE) == 0


def test_notifications_of_life_come_from_the_parent_of_workers(manager: PlayedManager) -> None:
    manager.start("--workers=2", watchdog=0.5)
    manager.await_state("READY=1")
    manager.await_state("WATCHDOG=1", times=3)


def test_a_socket_for_another_process_is_left_alone(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path)
    server.environment = {"LISTEN_FDS": "1", "LISTEN_PID": "1"}
    try:
        assert server.start().client().get("/readyz").status == 200
    finally:
        server.kill()


def test_more_sockets_than_one_are_refused(manager: PlayedManager) -> None:
    assert manager.start(sockets=2).wait(PATIENCE) == 1
    message = "LISTEN_FDS: 2 sockets are handed over, only one can be served\n"
    assert message in (manager.directory / "log").read_text()


def test_a_socket_of_another_kind_is_refused(manager: PlayedManager) -> None:
    manager.listener.close()
    manager.listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    assert manager.start().wait(PATIENCE) == 1
    message = "LISTEN_FDS: descriptor 3 is no TCP socket\n"
    assert message in (manager.directory / "log").read_text()
