"""Batches of reads and writes of connections: in order, and independent when one fails."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial

import pytest
from support.namespaces import Space

from fairlead.wire.incoming.batches import Batch, BatchedConnection, Data

Steps = list[tuple[str, str, bytes]]


class Peer(BatchedConnection):
    """Records its calls, and runs a function of the test on received bytes."""

    def __init__(self, name: str, steps: Steps) -> None:
        self.name = name
        self.steps = steps
        self.answer: Callable[[bytes], None] | None = None
        self.fails_at = ""

    def _note(self, step: str, data: Data = b"") -> None:
        self.steps.append((self.name, step, bytes(data)))
        if step == self.fails_at:
            raise RuntimeError(step)

    def process(self, data: bytes) -> None:
        self._note("received", data)
        if self.answer is not None:
            self.answer(data)

    def send(self, data: Data) -> None:
        self._note("sent", data)

    def abort(self) -> None:
        self._note("aborted")


def in_a_loop(test: Callable[[Batch, Peer, Peer, Steps], None]) -> Steps:
    """The steps of a test, of the round that it began and of the next."""
    steps: Steps = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, item: steps.append(("loop", item["message"], b"")))
        test(Batch(loop), Peer("a", steps), Peer("b", steps), steps)
        for _ in range(2):
            await asyncio.sleep(0)

    asyncio.run(main())
    return steps


def test_batch_receives_and_sends_step_by_step_for_all_connections() -> None:
    def test(batch: Batch, a: Peer, b: Peer, steps: Steps) -> None:
        for peer in (a, b):
            peer.answer = partial(batch.send, peer)
            batch.receive(peer, b"x")
        assert steps == []

    assert in_a_loop(test) == [
        *(("a", "received", b"x"), ("b", "received", b"x")),
        *(("a", "sent", b"x"), ("b", "sent", b"x")),
    ]


def test_batch_of_one_connection_does_every_step_at_once() -> None:
    def test(batch: Batch, a: Peer, _b: Peer, steps: Steps) -> None:
        batch.receive(a, b"1")
        batch.send(a, b"1")
        batch.process_all()
        steps.clear()
        batch.receive(a, b"2")
        batch.send(a, b"2")
        assert [step for _, step, _ in steps] == ["received", "sent"]

    in_a_loop(test)


def test_batch_keeps_the_order_of_what_a_connection_sends() -> None:
    def test(batch: Batch, a: Peer, b: Peer, _steps: Steps) -> None:
        batch.send(a, b"1")
        batch.send(a, b"2")
        batch.send(b, b"3")
        batch.send(a, b"4" * 20_000)

    passed = [(name, data[:1]) for name, step, data in in_a_loop(test) if step == "sent"]
    assert passed == [("a", b"1"), ("a", b"2"), ("b", b"3"), ("a", b"4")]


def test_batch_keeps_only_a_little_before_it_sends() -> None:
    def test(batch: Batch, a: Peer, b: Peer, steps: Steps) -> None:
        for number in range(40):
            batch.send((a, b)[number % 2], b"x" * 10_000)
            batch.receive((a, b)[number % 2], b"x" * 10_000)
        done = [step for _, step, _ in steps]
        assert done.count("sent") > 20
        assert done.count("received") > 20

    steps = in_a_loop(test)
    assert [step for _, step, _ in steps].count("sent") == 40
    assert [step for _, step, _ in steps].count("received") == 40


def test_batch_copies_a_memoryview() -> None:
    def test(batch: Batch, a: Peer, _b: Peer, _steps: Steps) -> None:
        memory = bytearray(b"before")
        batch.send(a, memoryview(memory))
        memory[:] = b"behind"

    assert ("a", "sent", b"before") in in_a_loop(test)


@pytest.mark.parametrize("step", ["received", "sent"])
def test_batch_cuts_off_a_connection_that_fails_and_no_other(step: str) -> None:
    def test(batch: Batch, a: Peer, b: Peer, _steps: Steps) -> None:
        a.fails_at = step
        for peer in (a, b):
            batch.receive(peer, b"x")
            batch.send(peer, b"y")

    steps = in_a_loop(test)
    assert ("loop", "a connection failed", b"") in steps
    assert ("a", "aborted", b"") in steps
    assert [step for name, step, _ in steps if name == "b"] == ["received", "sent"]


class Late(Peer):
    """Sends something more once something was sent."""

    more: Callable[[], None]

    def send(self, data: Data) -> None:
        super().send(data)
        self.more()


def test_batch_leaves_what_is_sent_while_it_ends_to_the_next() -> None:
    def test(batch: Batch, _a: Peer, b: Peer, steps: Steps) -> None:
        late = Late("late", steps)
        late.more = partial(batch.send, b, b"more")
        batch.send(late, b"x")

    assert in_a_loop(test)[-1] == ("b", "sent", b"more")


def test_batch_receives_without_the_context_variables_of_a_sender() -> None:
    whose: ContextVar[str] = ContextVar("whose", default="nobody's")
    seen: list[str] = []

    def test(batch: Batch, a: Peer, b: Peer, _steps: Steps) -> None:
        b.answer = lambda _: seen.append(whose.get())
        whose.set("a's")
        batch.send(a, b"x")
        batch.receive(b, b"y")

    in_a_loop(test)
    assert seen == ["nobody's"]


def test_every_one_of_many_connections_gets_its_own_answer(kubernetes: Space) -> None:
    names = [f"own-{number}" for number in range(40)]
    collection = kubernetes.collection("configmaps")
    collection.create_all(*names)
    connections = [kubernetes.client.connect() for _ in names]
    for _ in range(3):
        for connection, name in zip(connections, names, strict=True):
            connection.request("GET", collection.item(name), headers=kubernetes.client.head_of({}))
        for connection, name in zip(connections, names, strict=True):
            assert f'"name":"{name}"'.encode() in connection.getresponse().read()
    for connection in connections:
        connection.close()


def test_client_that_half_closes_at_once_is_answered(kubernetes: Space) -> None:
    connections = [kubernetes.client.connect() for _ in range(20)]
    for connection in connections:
        connection.request("GET", "/version", headers=kubernetes.client.head_of({}))
        socket.socket.shutdown(connection.sock, socket.SHUT_WR)  # TLS knows nothing of it
    for connection in connections:
        assert connection.getresponse().status == 200
        connection.close()
