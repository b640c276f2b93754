"""kill -9 under concurrent writes, round after round, on one data directory.

What was acknowledged is there, no revision stands for two writes, and a watcher that resumes from
the last revision it saw misses nothing. FAIRLEAD_CRASH_ROUNDS says how many rounds.
"""

from __future__ import annotations

import http.client
import os
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.client import Client, Event, WatchEnded
from support.namespaces import Space
from support.process import ServerProcess

ROUNDS = int(os.environ.get("FAIRLEAD_CRASH_ROUNDS", "3"))
WRITERS = 6
KEYS_A_WRITER = 3
WRITES_BEFORE_THE_END = 300

State = str | None  # the content of an object, None when it does not exist


@dataclass
class Key:
    """The known state of an object with a single writer."""

    acknowledged: State = None
    attempted: State = None  # the write whose answer never came, if `open`
    open: bool = False

    def may_be(self, state: State) -> bool:
        return state == self.acknowledged or (self.open and state == self.attempted)


@dataclass
class Record:
    """The observed content of every revision, over all rounds."""

    writes: dict[int, tuple[str, State]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, revision: int, name: str, content: State) -> None:
        with self.lock:
            before = self.writes.setdefault(revision, (name, content))
        assert before == (name, content), f"revision {revision} stands for two writes"

    @property
    def highest(self) -> int:
        return max(self.writes, default=0)


class Writer(threading.Thread):
    """Creates, changes and deletes its own objects until the server dies."""

    def __init__(self, number: int, client: Client, path: str, record: Record) -> None:
        super().__init__(name=f"writer-{number}", daemon=True)
        self.keys = {f"w{number}-k{key}": Key() for key in range(KEYS_A_WRITER)}
        self.client = client
        self.path = path
        self.record = record
        self.count = 0
        self.answered = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while True:
                for name, key in self.keys.items():
                    self._write(name, key)
        except (OSError, http.client.HTTPException):
            pass
        except BaseException as error:
            self.error = error

    def _write(self, name: str, key: Key) -> None:
        self.count += 1
        content: State = f"{self.name}-{self.count}"
        if key.acknowledged is not None and self.count % 4 == 0:
            content = None
        key.attempted, key.open = content, True
        answer = self._send(name, content, exists=key.acknowledged is not None)
        assert answer.status in (200, 201), answer.text
        key.acknowledged, key.open = content, False
        self.answered += 1
        if content is not None:
            self.record.note(int(answer.version), name, content)

    def _send(self, name: str, content: State, exists: bool) -> Any:
        if content is None:
            return self.client.delete(f"{self.path}/{name}")
        body = as_secret(name, content)
        if exists:
            return self.client.put(f"{self.path}/{name}", body)
        return self.client.post(self.path, body)

    def settle(self, result: dict[str, State]) -> None:
        """Take over the checked state after the crash."""
        for name, key in self.keys.items():
            assert key.may_be(result.get(name)), (
                f"{name}: acknowledged {key.acknowledged!r}, found {result.get(name)!r}"
            )
            key.acknowledged, key.open = result.get(name), False


class Follower(threading.Thread):
    """Watches, and holds the state that the events lead to."""

    def __init__(self, client: Client, path: str, version: str, state: dict[str, State]) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.path = path
        self.version = version
        self.state = state
        self.seen: list[tuple[int, str, State]] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with self.client.watch(self.path, resourceVersion=self.version) as watch:
                while True:
                    self.take(watch.next())
        except (OSError, http.client.HTTPException, WatchEnded, ValueError):
            pass  # the server is gone, perhaps in the middle of an event
        except BaseException as error:
            self.error = error

    def take(self, event: Event) -> None:
        assert int(event.version) > int(self.version), "the stream went back"
        self.version = event.version
        content = content_of(event.object)
        if event.type == "DELETED":
            assert self.state.pop(event.name) == content
            content = None
        elif event.type == "ADDED":
            assert event.name not in self.state
            self.state[event.name] = content
        else:
            assert event.name in self.state
            self.state[event.name] = content
        self.seen.append((int(event.version), event.name, content))


def as_secret(name: str, content: str) -> dict[str, Any]:
    """No controller writes Secrets, so a follower sees only our writes."""
    return {"metadata": {"name": name}, "data": {"content": b64encode(content.encode()).decode()}}


def content_of(value: dict[str, Any]) -> State:
    return b64decode(value["data"]["content"]).decode()


def listed(client: Client, path: str) -> tuple[dict[str, State], str]:
    answer = client.get(path)
    state = {item["metadata"]["name"]: content_of(item) for item in answer.body["items"]}
    return state, answer.version


def crash_round(
    server: ServerProcess, path: str, writers: list[Writer], record: Record, follower: Follower
) -> None:
    """Write from many sides, and kill the server in the middle of it."""
    for writer in writers:
        writer.start()
    follower.start()
    stop = threading.Event()
    while sum(writer.answered for writer in writers) < WRITES_BEFORE_THE_END:
        assert any(writer.is_alive() for writer in writers), [writer.error for writer in writers]
        stop.wait(0.005)
    server.kill()
    threads: list[Writer | Follower] = [*writers, follower]
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
        if thread.error is not None:
            raise thread.error
    for revision, name, content in follower.seen:
        record.note(revision, name, content)


def catch_up(client: Client, path: str, follower: Follower, record: Record, mark: str) -> None:
    """Resume from the last seen revision and read up to a mark that is written now."""
    answer = client.post(path, as_secret(mark, mark))
    assert answer.status == 201, answer.text
    assert int(answer.version) > record.highest, "a revision was given out again"
    with client.watch(path, resourceVersion=follower.version) as watch:
        for event in watch.until(mark):
            follower.take(event)
            state = None if event.type == "DELETED" else content_of(event.object)
            record.note(int(event.version), event.name, state)


def test_nothing_acknowledged_is_lost_and_no_revision_comes_twice(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    path = space.secrets.path
    record = Record()
    follower_state: dict[str, State] = {}
    version = space.secrets.version()
    states: list[dict[str, Key]] = [{} for _ in range(WRITERS)]
    for number in range(ROUNDS):
        writers = [Writer(n, server.client(), path, record) for n in range(WRITERS)]
        for writer, known in zip(writers, states, strict=True):
            writer.count = number * 1_000_000
            writer.keys.update(known)
        follower = Follower(server.client(), path, version, follower_state)
        crash_round(server, path, writers, record, follower)
        server.start()
        client = server.client()
        result, newest = listed(client, path)
        for writer in writers:
            writer.settle(result)
        assert int(newest) >= record.highest
        catch_up(client, path, follower, record, f"mark-{number}")
        assert follower.state == listed(client, path)[0]
        follower_state, version = follower.state, follower.version
        states = [writer.keys for writer in writers]
    assert len(record.writes) >= ROUNDS * WRITES_BEFORE_THE_END // 2
