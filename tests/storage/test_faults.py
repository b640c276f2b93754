"""Errors at every step of a commit: nothing acknowledged is lost, nothing refused appears, and the
store recovers or the process stops."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.backends import thing
from support.waiting import comes_true

from fairlead.storage.backend import StorageError
from fairlead.storage.collection import Collection
from fairlead.storage.sqlite import backend, log
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(f"injected {code}")
    error.sqlite_errorcode = code
    return error


WRITE_ERROR = sqlite3.SQLITE_IOERR_WRITE
FSYNC_ERROR = sqlite3.SQLITE_IOERR_FSYNC


class Faults:
    """The errors to raise, by statement: `at` is its prefix. With `afterwards` it is executed
    first; `times` is how often."""

    def __init__(self) -> None:
        self._planned: list[tuple[str, BaseException, bool]] = []
        self.answers: dict[str, Any] = {}
        self.instead: dict[str, str] = {}  # other statements that are executed
        self.began = threading.Event()  # one of those

    def plan(
        self, at: str, error: BaseException, *, afterwards: bool = False, times: int = 1
    ) -> None:
        self._planned += [(at, error, afterwards)] * times

    def clear(self) -> None:
        self._planned.clear()

    def take(self, sql: str) -> tuple[BaseException, bool] | None:
        for number, (at, error, afterwards) in enumerate(self._planned):
            if sql.startswith(at):
                del self._planned[number]
                return error, afterwards
        return None


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    faults = Faults()

    class Faulty(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            for start, answer in faults.answers.items():
                if sql.startswith(start):
                    return super().execute(f"SELECT {answer!r}")
            for start, other in faults.instead.items():
                if sql.startswith(start):
                    faults.began.set()
                    return super().execute(other)
            result = faults.take(sql)
            if result is None:
                return super().execute(sql, *parameters)
            error, afterwards = result
            if afterwards:
                super().execute(sql, *parameters)
            raise error

    def connect(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Faulty)

    monkeypatch.setattr(backend, "connect", connect)
    monkeypatch.setattr(log, "PROBE_EVERY", 0.02)
    return faults


class Running:
    """A store on a disk that fails as planned."""

    def __init__(self, store: Store, backend: SqliteBackend) -> None:
        self.store = store
        self.backend = backend
        self.collection: Collection = store.collection("core/things")
        self.fatal_errors: list[str] = []
        store.log.on_fatal = self.fatal_errors.append

    async def put(self, key: str, number: int = 0) -> None:
        await self.store.put(self.collection, key, thing(number), self.collection.latest(key))

    async def put_many(self, count: int) -> list[Any]:
        writes = (self.put(f"many{number}") for number in range(count))
        return await asyncio.gather(*writes, return_exceptions=True)

    async def becomes_healthy(self) -> None:
        await comes_true(lambda: self.store.healthy, "the store is healthy")

    async def is_told(self) -> None:
        await comes_true(lambda: bool(self.fatal_errors), "the process is told to stop")


def run(directory: Path, test: Callable[[Running], Awaitable[None]]) -> list[str]:
    """Run a test on a store that holds `a`; gives the keys that are there after another start."""

    async def main() -> None:
        backend = SqliteBackend(directory)
        store = Store(EmbeddedLog(backend))
        running = Running(store, backend)
        await store.open()
        await running.put("a", 1)
        try:
            await test(running)
        finally:
            await store.close()

    asyncio.run(main())
    again = SqliteBackend(directory)
    again.open()
    try:
        return sorted(row.key for row in again.heads())
    finally:
        again.close()


@pytest.mark.parametrize(
    ("at", "count", "afterwards"),
    [
        ("INSERT INTO log", 1, False),
        ("INSERT INTO log", 300, False),
        ("COMMIT", 300, False),
        ("COMMIT", 300, True),
    ],
    ids=["one statement", "one of many", "commit", "commit that happened"],
)
def test_a_write_error_fails_the_batch_and_the_file_proves_itself(
    tmp_path: Path, faults: Faults, at: str, count: int, afterwards: bool
) -> None:
    async def test(running: Running) -> None:
        faults.plan(at, sqlite_error(WRITE_ERROR), afterwards=afterwards)
        results = await running.put_many(count)
        assert all(isinstance(result, StorageError) for result in results)
        assert not running.store.healthy
        await running.becomes_healthy()
        assert running.fatal_errors == []
        assert len(running.collection) == 1
        await running.put("b")
        await running.put("a", 2)

    assert run(tmp_path, test) == ["a", "b"]


def test_commit_that_reached_the_file_though_it_failed_is_rolled_back(
    tmp_path: Path, faults: Faults
) -> None:
    async def test(running: Running) -> None:
        faults.plan("INSERT INTO log", sqlite_error(WRITE_ERROR), afterwards=True)
        with pytest.raises(StorageError):
            await running.put("b")
        await running.becomes_healthy()
        await running.put("c")

    assert run(tmp_path, test) == ["a", "c"]


def test_a_resource_that_is_new_in_a_failed_commit_can_be_written_later(
    tmp_path: Path, faults: Faults
) -> None:
    async def test(running: Running) -> None:
        others = running.store.collection("example.com/others")
        faults.plan("COMMIT", sqlite_error(WRITE_ERROR), afterwards=True)
        with pytest.raises(StorageError):
            await running.store.put(others, "o", thing(), None)
        await running.becomes_healthy()
        await running.store.put(others, "o", thing(), None)

    assert run(tmp_path, test) == ["a", "o"]


def test_failed_rollback_makes_the_store_verify_its_file(tmp_path: Path, faults: Faults) -> None:
    async def test(running: Running) -> None:
        faults.plan("COMMIT", sqlite_error(sqlite3.SQLITE_FULL))
        faults.plan("ROLLBACK", sqlite_error(WRITE_ERROR))
        results = await running.put_many(300)
        assert all(isinstance(result, StorageError) for result in results)
        await running.becomes_healthy()
        assert running.fatal_errors == []
        await running.put("b")

    assert run(tmp_path, test) == ["a", "b"]


@pytest.mark.parametrize("at", ["INSERT INTO log", "COMMIT", "ROLLBACK"])
def test_a_failed_fsync_is_fatal_at_once(tmp_path: Path, faults: Faults, at: str) -> None:
    async def test(running: Running) -> None:
        if at == "ROLLBACK":
            faults.plan("COMMIT", sqlite_error(WRITE_ERROR))
        faults.plan(at, sqlite_error(FSYNC_ERROR))
        results = await running.put_many(300)
        assert all(isinstance(result, StorageError) for result in results)
        await running.is_told()
        assert "injected" in running.fatal_errors[0]
        assert not running.store.healthy
        with pytest.raises(StorageError):
            await running.put("b")
        assert len(running.fatal_errors) == 1

    assert run(tmp_path, test) == ["a"]


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY])
def test_full_or_read_only_disk_fails_writes_until_it_is_writable_again(
    tmp_path: Path, faults: Faults, code: int
) -> None:
    async def test(running: Running) -> None:
        faults.plan("INSERT INTO log", sqlite_error(code), times=2)
        faults.plan("UPDATE state", sqlite_error(code), times=3)
        for key in ("b", "c"):
            with pytest.raises(StorageError):
                await running.put(key)
            assert not running.store.healthy
        await running.becomes_healthy()
        assert running.fatal_errors == []

    assert run(tmp_path, test) == ["a"]


def test_a_write_that_works_makes_the_store_healthy_again(tmp_path: Path, faults: Faults) -> None:
    async def test(running: Running) -> None:
        faults.plan("INSERT INTO log", sqlite_error(sqlite3.SQLITE_FULL))
        faults.plan("UPDATE state", sqlite_error(sqlite3.SQLITE_FULL), times=1000)
        with pytest.raises(StorageError):
            await running.put("b")
        await running.put("c")
        assert running.store.healthy

    assert run(tmp_path, test) == ["a", "c"]


def test_a_really_full_disk_loses_nothing_and_is_over_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PROBE_EVERY", 0.02)

    async def test(running: Running) -> None:
        db = running.backend._db
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages + 5}")
        large = {"metadata": {"name": "n"}, "data": {"n": "x" * 100_000}}
        with pytest.raises(StorageError, match="full"):
            await running.store.put(running.collection, "large", large, None)
        assert not running.store.healthy
        await running.becomes_healthy()
        db.execute(f"PRAGMA max_page_count = {pages + 500}")
        await running.store.put(running.collection, "large", large, None)

    assert run(tmp_path, test) == ["a", "large"]


@pytest.mark.parametrize("error", [ValueError("odd"), MemoryError(), SystemExit(3)], ids=repr)
def test_any_exception_fails_its_batch_and_the_writer_goes_on(
    tmp_path: Path, faults: Faults, error: BaseException
) -> None:
    async def test(running: Running) -> None:
        faults.plan("INSERT INTO log", error)
        with pytest.raises(StorageError):
            await running.put("b")
        await running.becomes_healthy()
        await running.put("c")

    assert run(tmp_path, test) == ["a", "c"]


def test_a_file_that_is_found_damaged_is_fatal(tmp_path: Path, faults: Faults) -> None:
    async def test(running: Running) -> None:
        faults.plan("INSERT INTO log", sqlite_error(WRITE_ERROR))
        faults.answers["PRAGMA quick_check"] = "row 7 missing"
        with pytest.raises(StorageError):
            await running.put("b")
        await running.is_told()
        assert "is damaged: row 7 missing" in running.fatal_errors[0]
        faults.answers.clear()

    assert run(tmp_path, test) == ["a"]


def test_a_file_that_lost_what_was_acknowledged_is_fatal(tmp_path: Path, faults: Faults) -> None:
    async def test(running: Running) -> None:
        await running.put("b")
        with sqlite3.connect(running.backend.path) as other:
            other.execute("DELETE FROM log WHERE key = 'b'")
        other.close()
        faults.plan("INSERT INTO log", sqlite_error(WRITE_ERROR))
        with pytest.raises(StorageError):
            await running.put("c")
        await running.is_told()
        assert "lost writes that were acknowledged" in running.fatal_errors[0]

    with pytest.raises(StorageError, match="--accept-lost-writes"):
        run(tmp_path, test)


def test_verification_is_repeated_while_the_disk_refuses_writes(
    tmp_path: Path, faults: Faults
) -> None:
    """SQLite reports a disk that became read-only, or a quota, as a write error."""

    async def test(running: Running) -> None:
        faults.plan("INSERT INTO log", sqlite_error(WRITE_ERROR))
        faults.plan("PRAGMA synchronous", sqlite_error(WRITE_ERROR), times=2)
        faults.plan("UPDATE state", sqlite_error(WRITE_ERROR), times=2)
        with pytest.raises(StorageError):
            await running.put("b")
        await running.becomes_healthy()
        assert running.fatal_errors == []
        await running.put("c")

    assert run(tmp_path, test) == ["a", "c"]


def test_verification_that_fails_on_a_full_disk_is_tried_again(
    tmp_path: Path, faults: Faults
) -> None:
    async def test(running: Running) -> None:
        faults.plan("INSERT INTO log", sqlite_error(WRITE_ERROR))
        faults.plan("UPDATE state", sqlite_error(sqlite3.SQLITE_FULL), times=3)
        with pytest.raises(StorageError):
            await running.put("b")
        await running.becomes_healthy()
        assert running.fatal_errors == []
        await running.put("c")

    assert run(tmp_path, test) == ["a", "c"]


def test_damage_that_the_check_at_start_finds_is_fatal(tmp_path: Path, faults: Faults) -> None:
    faults.answers["PRAGMA quick_check"] = "page 3 is odd"

    async def main() -> None:
        store = Store(EmbeddedLog(SqliteBackend(tmp_path)))
        messages: list[str] = []
        store.log.on_fatal = messages.append
        await store.open()
        await comes_true(lambda: bool(messages), "the process is told to stop")
        assert "is damaged: page 3 is odd" in messages[0]
        await store.close()

    asyncio.run(main())


def test_check_at_start_ends_when_the_store_is_closed(tmp_path: Path, faults: Faults) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    faults.instead["PRAGMA quick_check"] = endless

    async def main() -> None:
        store = Store(EmbeddedLog(SqliteBackend(tmp_path)))
        messages: list[str] = []
        store.log.on_fatal = messages.append
        await store.open()
        await asyncio.to_thread(faults.began.wait, 10)
        closing = asyncio.create_task(store.close())
        turns = 0
        while not closing.done():
            turns += 1
            await asyncio.sleep(0.001)
        await closing
        assert turns > 1
        assert messages == []

    asyncio.run(asyncio.wait_for(main(), 30))


def test_event_loop_goes_on_while_a_store_closes_its_file(tmp_path: Path) -> None:
    release = threading.Event()

    class Slow(SqliteBackend):
        def check(self) -> None:
            release.wait(10)

        def stop_check(self) -> None:
            pass

    async def main() -> None:
        store = Store(EmbeddedLog(Slow(tmp_path)))
        await store.open()
        asyncio.get_running_loop().call_later(0.02, release.set)
        began = time.monotonic()
        await store.close()
        assert time.monotonic() - began < 5

    asyncio.run(main())


def test_a_store_that_cannot_be_written_is_unhealthy_from_the_start(
    tmp_path: Path, faults: Faults
) -> None:
    async def main() -> None:
        faults.plan("UPDATE state", sqlite_error(sqlite3.SQLITE_READONLY), times=3)
        store = Store(EmbeddedLog(SqliteBackend(tmp_path)))
        await store.open()
        assert not store.healthy
        await comes_true(lambda: store.healthy, "the store is healthy")
        await store.close()

    asyncio.run(main())


@pytest.mark.parametrize("step", ["SELECT revision, previous", "BEGIN", "COMMIT"])
def test_a_compaction_that_fails_is_done_later(tmp_path: Path, faults: Faults, step: str) -> None:
    async def test(running: Running) -> None:
        for number in range(5):
            await running.put("a", number)
        faults.plan(step, sqlite_error(WRITE_ERROR))
        with pytest.raises(StorageError):
            await running.store.compact(running.store.revision)
        assert not running.store.healthy
        await running.becomes_healthy()
        await running.store.compact(running.store.revision)
        rows = running.backend._db.execute("SELECT count(*) FROM log").fetchone()[0]
        assert rows == 1

    assert run(tmp_path, test) == ["a"]


def test_storage_failure_is_one_line_in_the_log(
    tmp_path: Path, faults: Faults, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(running: Running) -> None:
        faults.plan("INSERT INTO log", sqlite_error(sqlite3.SQLITE_FULL), times=3)
        for key in "bcd":
            with pytest.raises(StorageError):
                await running.put(key)

    with caplog.at_level(logging.ERROR):
        run(tmp_path, test)
    (line,) = caplog.records  # however many writes are refused
    assert line.exc_info is None
