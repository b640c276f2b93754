"""Filling a storage that assigns revisions itself: all or nothing, above all revisions that clients
know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path

import pytest
from support.backups import HEADER, ROWS, make_store, stored
from support.sources import MemorySource, Shared

from fairlead.process.backup.archive import BackupError, ClusterState, Header
from fairlead.process.backup.progress import Progress
from fairlead.process.backup.shared_restore import MAX_RAISED, Cluster, RevisionGap
from fairlead.process.backup.shared_restore import fill as fill_source
from fairlead.process.backup.storages import DirectoryStorage, SharedStorage
from fairlead.storage.backend import Row, StorageError, Write

AT_ONCE = RevisionGap()
DEFINITION = Row(2, "apiextensions.@/customresourcedefinitions", "a", 0, "v1", b'{"metadata":{}}')


class Source(MemorySource):
    """Accepts a number of writes, then runs `then`."""

    def __init__(
        self, shared: Shared, takes: int = 1000, then: BaseException | None = None
    ) -> None:
        super().__init__(shared)
        self.groups: list[list[str]] = []
        self._takes = takes
        self._then = then

    async def write(self, group: Sequence[Write]) -> list[int]:
        if group[0].resource != "fairlead/restore" and group[0].value is not None:
            if len(self.groups) == self._takes and self._then is not None:
                await super().write(group)  # it may have happened all the same
                raise self._then
            self.groups.append([write.key for write in group])
        return await super().write(group)


class Given:
    """Rows as the contents of a store."""

    def __init__(self, rows: Callable[[], Iterable[Row]], header: Header = HEADER) -> None:
        self.header = header
        self.rows = lambda: iter(rows())


def fill(source: Source, contents: Given, raising: RevisionGap = AT_ONCE) -> int:
    storage = SharedStorage(lambda dialect, unread: [Cluster(source)], "cluster")
    return storage.fill(contents, raising, Progress("", stream=StringIO()))


def filled(
    source: Source, rows: list[Row] = ROWS, raising: RevisionGap = AT_ONCE, header: Header = HEADER
) -> int:
    return fill(source, Given(lambda: rows, header), raising)


def many(count: int) -> list[Row]:
    value = b'{"metadata":{"name":"x"}}'
    return [Row(1, "core/things", str(number), 0, "v1", value) for number in range(count)]


def contents(shared: Shared) -> list[tuple[str, str, str, bytes | None]]:
    return sorted(
        (row.resource, row.key, row.api_version, row.value) for row in shared.kept.heads()
    )


def copied(rows: list[Row]) -> list[tuple[str, str, str, bytes | None]]:
    return sorted((row.resource, row.key, row.api_version, row.value) for row in rows)


def test_a_directory_comes_back_from_a_shared_storage(tmp_path: Path) -> None:
    make_store(tmp_path / "old", "a", "b")
    shared = SharedStorage(lambda dialect, unread: [Cluster(MemorySource(kept))], "cluster")
    kept = Shared()
    progress = Progress("", stream=StringIO())
    with DirectoryStorage(tmp_path / "old").reading() as contents:
        revision = shared.fill(contents, AT_ONCE, progress)
    with shared.reading() as contents:
        assert contents.header.revision == revision
        assert DirectoryStorage(tmp_path / "new").fill(contents, AT_ONCE, progress) == revision
    before, after = stored(tmp_path / "old"), stored(tmp_path / "new")
    assert after[0] > before[0]
    assert copied(after[1]) == copied(before[1])


def test_everything_is_there_and_nothing_else() -> None:
    shared = Shared()
    filled(Source(shared), many(500))
    assert contents(shared) == copied(many(500))


def test_every_object_is_newer_than_what_clients_know() -> None:
    shared = Shared()
    revision = filled(Source(shared), raising=RevisionGap(gap=50))
    assert min(row.revision for row in shared.kept.heads()) > HEADER.revision + 50
    assert revision == shared.kept.revision


def test_history_begins_when_all_is_there() -> None:
    shared = Shared()
    revision = filled(Source(shared))
    assert shared.kept.floor == revision


def test_a_storage_that_is_ahead_is_not_raised() -> None:
    shared = Shared()
    shared.kept.revision = 1000
    assert filled(Source(shared)) == 1000 + 1 + len(ROWS) + 1  # with a mark, and without it


def test_what_cannot_be_made_up_for_is_refused_before_anything_is_written() -> None:
    shared = Shared()
    header = Header("cluster", MAX_RAISED + 1, "")
    with pytest.raises(BackupError, match="--accept-older-revisions"):
        filled(Source(shared), header=header)
    assert shared.kept.rows == []
    filled(Source(shared), header=header, raising=RevisionGap(accept_older=True))
    assert contents(shared) == copied(ROWS)


def test_definitions_go_first() -> None:
    source = Source(Shared())
    filled(source, [*many(100), DEFINITION])
    assert source.groups[0] == ["a"]


def test_groups_are_bounded_in_number_and_bytes() -> None:
    source = Source(Shared())
    large = b'{"metadata":{"name":"%b"}}' % (b"x" * 400_000)
    filled(source, [*many(100), *(Row(1, "core/large", f"l{n}", 0, "v1", large) for n in range(3))])
    assert max(map(len, source.groups)) == 64
    assert all(sum(key.startswith("l") for key in group) < 2 for group in source.groups)


def test_a_storage_that_holds_something_is_refused() -> None:
    shared = Shared()
    filled(Source(shared))
    before = list(shared.kept.rows)
    with pytest.raises(BackupError, match="holds 3 objects already"):
        filled(Source(shared))
    assert shared.kept.rows == before


def test_a_restore_that_was_cut_off_is_recognised() -> None:
    shared = Shared()
    asyncio.run(Source(shared).write([Write("fairlead/restore", "0", "", b"{}", 0)]))
    with pytest.raises(BackupError, match="a part of an interrupted restore"):
        filled(Source(shared))


@pytest.mark.parametrize(
    "error",
    [StorageError("away"), KeyboardInterrupt(), ValueError("odd")],
)
def test_what_fails_in_the_middle_leaves_nothing(error: BaseException) -> None:
    shared = Shared()
    with pytest.raises((BackupError, StorageError, KeyboardInterrupt)):
        filled(Source(shared, takes=3, then=error), many(500))
    assert contents(shared) == []


def test_what_is_cancelled_in_the_middle_leaves_nothing() -> None:
    shared = Shared()
    filling: asyncio.Task[int] | None = None

    class Stopping(Source):
        async def write(self, group: Sequence[Write]) -> list[int]:
            if len(self.groups) == 3:
                assert filling is not None
                filling.cancel()
            return await super().write(group)

    async def run() -> None:
        nonlocal filling
        progress = Progress("", stream=StringIO())
        filling = asyncio.create_task(
            fill_source([Cluster(Stopping(shared))], HEADER, lambda: many(500), AT_ONCE, progress)
        )
        await filling

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    assert len(shared.kept.rows) > 3
    assert contents(shared) == []


def test_a_copy_that_breaks_off_leaves_nothing() -> None:
    shared = Shared()

    def broken() -> Iterator[Row]:
        yield from many(200)
        raise BackupError("damaged")

    with pytest.raises(BackupError, match="damaged"):
        fill(Source(shared), Given(broken))
    assert contents(shared) == []


def test_what_others_wrote_meanwhile_stays() -> None:
    shared = Shared()
    rows = many(300)

    def interrupted() -> Iterator[Row]:
        yield from rows[:100]
        shared.kept.append([Write("core/things", "299", "v1", b"theirs", 0)])
        yield from rows[100:]

    with pytest.raises(BackupError, match="another program writes"):
        fill(Source(shared), Given(interrupted))
    assert contents(shared) == [("core/things", "299", "v1", b"theirs")]


def test_what_is_there_twice_is_refused() -> None:
    shared = Shared()
    with pytest.raises(BackupError, match="occurs twice"):
        filled(Source(shared), [*many(100), *many(1)])
    assert contents(shared) == []


def test_what_is_encrypted_cannot_go_to_others() -> None:
    shared = Shared()
    with pytest.raises(BackupError, match="core/secrets s is encrypted"):
        filled(Source(shared), [Row(1, "core/secrets", "s", 0, "v1", b"k8s:enc:aescbc:v1:k:...")])
    assert contents(shared) == []


def test_what_could_not_be_taken_away_is_said() -> None:
    shared = Shared()

    class Leaving(Source):
        async def write(self, group: Sequence[Write]) -> list[int]:
            if group[0].resource == "core/things":
                shared.away = True
            return await super().write(group)

    with pytest.raises(BackupError, match="delete all keys under the prefix"):
        filled(Leaving(shared), many(3))


def test_what_cannot_be_read_is_not_passed_over() -> None:
    shared = Shared()

    def connect(dialect: str, unread: Callable[[str], None]) -> list[Cluster]:
        unread("core/secrets ns/s: is encrypted")
        return [Cluster(MemorySource(shared))]

    storage = SharedStorage(connect, "cluster")
    why = "1 values in the storage cannot be read, such as core/secrets ns/s: is encrypted"
    with pytest.raises(BackupError, match=why), storage.reading():
        pass
    with pytest.raises(BackupError, match=why):
        storage.fill(Given(lambda: ROWS), AT_ONCE, Progress("", stream=StringIO()))
    assert shared.kept.rows == []


# Clusters that keep some resources apart.

OTHERS = Header(
    HEADER.dialect, HEADER.revision, HEADER.created, (ClusterState(("core/others",), 70),)
)
OTHER_ROWS = [row._replace(resource="core/others") for row in many(100)]


def fill_two(main: Source, other: Source) -> int:
    clusters = [Cluster(main), Cluster(other, ("core/others",))]
    storage = SharedStorage(lambda dialect, unread: clusters, "cluster")
    given = Given(lambda: [*ROWS, *OTHER_ROWS], OTHERS)
    return storage.fill(given, RevisionGap(20), Progress("", stream=StringIO()))


def test_each_cluster_gets_the_resources_that_it_keeps() -> None:
    main, other = Shared(), Shared()
    fill_two(Source(main), Source(other))
    assert contents(main) == copied(ROWS)
    assert contents(other) == copied(OTHER_ROWS)


def test_objects_are_newer_than_what_clients_know_of_any_cluster() -> None:
    main, other = Shared(), Shared()
    assert fill_two(Source(main), Source(other)) > 90
    for shared in (main, other):
        assert min(row.revision for row in shared.kept.heads()) > 90


@pytest.mark.parametrize("is_first", [True, False])
def test_a_cluster_that_fails_leaves_nothing_in_any(is_first: bool) -> None:
    main, other = Shared(), Shared()
    failing = Source(main if is_first else other, takes=0, then=StorageError("away"))
    sound = Source(other if is_first else main)
    with pytest.raises(StorageError, match="away"):
        fill_two(*((failing, sound) if is_first else (sound, failing)))
    assert contents(main) == contents(other) == []


def test_a_cluster_that_holds_something_is_refused() -> None:
    main, other = Shared(), Shared()
    filled(Source(other), many(1))
    with pytest.raises(BackupError, match="the storage holds 1 objects already"):
        fill_two(Source(main), Source(other))
    assert contents(main) == []
