"""etcd faults: members that die, stall or are partitioned, and foreign keys."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from support.backends import THINGS, write
from support.etcd import Etcd, EtcdCluster, Tls, make_tls, needs_etcd
from support.etcd_links import LinkedCluster
from support.logged import logged
from support.plain_codec import PlainCodec
from support.sources import closing_feed
from support.waiting import comes_true

from fairlead.storage.backend import Compacted, Conflict, Row, StorageError, Unanswered
from fairlead.storage.etcd.client import Client, Timing
from fairlead.storage.etcd.source import EtcdSource, Ttl
from fairlead.wire.grpc.calls import Stream
from fairlead.wire.grpc.channel import Trust
from fairlead.wire.grpc.failures import CallFailed

pytestmark = needs_etcd

VALUE = "v1\n{}"  # as `PlainCodec` keeps one
HASTY = Timing(
    open=20.0, request=8.0, answer=1.0, stalled=0.3, heartbeat=0.3, pause=0.02, longest_pause=0.2
)


@asynccontextmanager
async def opened(
    urls: str,
    prefix: str = "/registry",
    timing: Timing = HASTY,
    trust: Trust | None = None,
    ttl: Ttl | None = None,
    *,
    may_write: bool = True,
) -> AsyncIterator[EtcdSource]:
    source = EtcdSource(
        urls.split(","), PlainCodec(), prefix, trust, ttl=ttl, timing=timing, may_write=may_write
    )
    await source.open()
    try:
        yield source
    finally:
        await source.close()


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(test(), 60)

    asyncio.run(main())


def etcdctl(member: Etcd, *words: str, tls: Tls | None = None, user: str = "") -> str:
    trust: Sequence[str] = ()
    if tls is not None:
        trust = (
            *("--cacert", str(tls.ca), "--cert", str(tls.client_certificate)),
            *("--key", str(tls.client_key)),
        )
    if user:
        trust = (*trust, "--user", user)
    if shutil.which("etcdctl") is None:
        pytest.skip("etcdctl is not installed (etcd-client of Debian)")
    done = subprocess.run(
        ["etcdctl", "--endpoints", member.url, *trust, *words],
        env={**os.environ, "ETCDCTL_API": "3"},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return done.stdout


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    three = EtcdCluster(tmp_path_factory.mktemp("etcd")).start()
    yield three
    three.close()


@pytest.fixture
def cluster(three: EtcdCluster) -> EtcdCluster:
    """All of its members run when a test begins."""
    for member in three.members:
        if member.process is not None and member.process.poll() is None:
            member.resume()
        else:
            member.start(wait=False)
    for member in three.members:
        member.await_health()
    return three


def used(cluster: EtcdCluster, source: EtcdSource) -> Etcd:
    [used] = [member for member in cluster.members if member.url == source.client.url]
    return used


async def created(source: EtcdSource, key: str) -> int:
    """Create a key; tried again until the answer is known, as a client would."""
    while True:
        try:
            [revision] = await source.write([write(key)])
            return revision
        except StorageError:
            await asyncio.sleep(0.02)
        except Conflict:  # an earlier try of ours had no answer
            newest = await source.fetch_newest()
            rows = (await source.state(THINGS, newest, "", None, 0)).rows
            return next(row.revision for row in rows if row.key == key)


class Follower:
    """Resumes a feed whenever it fails, like a store; `keys` are those that it received."""

    def __init__(self, source: EtcdSource) -> None:
        self.keys: list[str] = []
        self.losses = 0
        self.reached = 0
        self._source = source
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Follower:
        self.reached = await self._source.client.fetch_newest()
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *raised: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _follow(self) -> None:
        while True:
            try:
                async with closing_feed(self._source, self.reached) as feed:
                    async for reached in feed:
                        self.keys += [row.key for row in reached.rows]
                        self.reached = reached.revision
            except StorageError:
                self.losses += 1
                await asyncio.sleep(0.02)

    async def has(self, *keys: str) -> None:
        await comes_true(lambda: set(keys) <= set(self.keys), f"told of {keys}")
        assert len(set(self.keys)) == len(self.keys)


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_etcd_calls_go_to_other_members_when_the_one_in_use_is_lost(
    cluster: EtcdCluster, fault: str
) -> None:
    async def test() -> None:
        async with opened(cluster.urls, f"/{fault}") as source, Follower(source) as follower:
            await created(source, "before")
            await follower.has("before")
            lost = used(cluster, source)
            (lost.kill if fault == "kill" else lost.pause)()
            names = [f"k{n}" for n in range(20)]
            revisions = [await created(source, name) for name in names]
            assert revisions == sorted(revisions)
            assert source.client.url != lost.url
            await follower.has("before", *names)
            assert follower.losses >= 1
            assert source.fault == ""

    run(test)


def test_a_write_that_a_stalled_member_took_fails_when_that_is_left(cluster: EtcdCluster) -> None:
    async def test() -> None:
        async with opened(cluster.urls, "/stalled") as source:
            await created(source, "a")
            used(cluster, source).pause()
            with pytest.raises(Unanswered, match="abandoned"):
                await source.write([write("b")])
            await created(source, "b")

    run(test)


def test_a_member_without_a_quorum_is_no_member_to_ask(cluster: EtcdCluster) -> None:
    async def test() -> None:
        async with opened(cluster.urls, "/quorum") as source, Follower(source) as follower:
            await created(source, "a")
            alone = used(cluster, source)
            others = [member for member in cluster.members if member is not alone]
            for member in others:
                member.pause()
            with pytest.raises(StorageError):
                await source.check(1.0)
            for member in others:
                member.resume()
            await created(source, "b")
            await follower.has("a", "b")

    run(test)


def test_a_member_that_is_cut_off_from_the_others_is_left(tmp_path: Path) -> None:
    linked = LinkedCluster(tmp_path).start()

    async def test() -> None:
        async with opened(linked.urls) as source, Follower(source) as follower:
            await created(source, "before")
            alone = used(linked, source)
            linked.cut_off(alone)
            names = [f"k{n}" for n in range(5)]
            for name in names:
                await created(source, name)
            assert source.client.url != alone.url
            await follower.has("before", *names)

    try:
        run(test)
    finally:
        linked.close()


def test_etcd_members_can_all_go_away_and_come_back(tmp_path: Path) -> None:
    member = Etcd(tmp_path).start()

    async def test() -> None:
        timing = HASTY._replace(request=1.0)
        async with opened(member.url, timing=timing) as source, Follower(source) as follower:
            await created(source, "a")
            await follower.has("a")
            member.kill()
            with pytest.raises(StorageError):
                await source.write([write("lost")])
            with pytest.raises(StorageError, match="refused"):
                await source.check(0.5)
            assert "refused" in source.fault
            member.start()
            await created(source, "b")
            await source.check(5)
            assert source.fault == ""
            await follower.has("a", "b")

    try:
        run(test)
    finally:
        member.close()


def test_etcd_call_to_a_stalled_only_member_does_not_hang(tmp_path: Path) -> None:
    member = Etcd(tmp_path).start()

    async def test() -> None:
        timing = HASTY._replace(request=0.3)
        async with opened(member.url, timing=timing) as source:
            revision = await created(source, "a")
            member.pause()
            for call in (
                source.write([write("b")]),
                source.fetch_newest(),
                source.snapshot(),
                source.state(THINGS, revision, "", None, 0),
                source.changes(THINGS, 1, revision),
                source.check(0.2),
                source.size(),
            ):
                with pytest.raises(StorageError):
                    await call
            member.resume()
            await created(source, "c")

    try:
        run(test)
    finally:
        member.close()


def test_a_feed_that_hears_nothing_of_what_others_are_told_is_ended(
    etcd: Etcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Stream.read

    async def lose(self: Stream) -> bytes:
        while True:
            await read(self)

    async def test() -> None:
        async with opened(etcd.url, "/silent") as source:
            feed = source.feed(await source.fetch_newest())
            await anext(feed)  # the watch has begun
            monkeypatch.setattr(Stream, "read", lose)
            await created(source, "a")
            with pytest.raises(StorageError):
                await anext(feed)

    run(test)


def test_an_etcd_that_went_back_in_time_is_not_followed(etcd: Etcd) -> None:
    async def test() -> None:
        async with opened(etcd.url, "/back") as source:
            ahead = await source.fetch_newest() + 1000
            with pytest.raises(StorageError, match="restored"):
                await anext(source.feed(ahead))

    run(test)


def test_etcd_compaction_is_done_by_one_of_several_servers_at_a_time(etcd: Etcd) -> None:
    async def test() -> None:
        async with opened(etcd.url, "/compact") as iterator, opened(etcd.url, "/compact") as other:
            first, second = await created(iterator, "a"), await created(iterator, "b")
            last = await created(iterator, "c")
            await iterator.compact(first)
            await other.compact(second)  # too soon after the other
            assert (iterator.floor, other.floor) == (first, first)
            await other.compact(second)
            assert other.floor == second
            await iterator.compact(last)
            assert iterator.floor == second
            with pytest.raises(Compacted):
                await iterator.state(THINGS, first, "", None, 0)
        assert etcdctl(etcd, "get", "compact_rev_key").split() == ["compact_rev_key", f"{second}"]

    run(test)


def test_etcd_compaction_by_another_server_is_heard_from_the_feed(etcd: Etcd) -> None:
    async def test() -> None:
        async with (
            opened(etcd.url, "/hears") as iterator,
            opened(etcd.url, "/hears") as other,
            Follower(other) as follower,
        ):
            first = await created(iterator, "a")
            await created(iterator, "b")
            await follower.has("a", "b")
            while iterator.floor < first:
                await iterator.compact(first)
            await comes_true(lambda: other.floor == first, "the floor is known")

    run(test)


def test_etcd_writes_outside_the_prefix_only_move_the_revision(etcd: Etcd) -> None:
    async def test() -> None:
        async with opened(etcd.url, "/own") as source, Follower(source) as follower:
            etcdctl(etcd, "put", "/owner/core/things/x", "v1\n{}")
            etcdctl(etcd, "put", "/own/strange", "v1\n{}")
            newest = await source.fetch_newest()
            await comes_true(lambda: follower.reached >= newest, "came so far")
            assert follower.keys == []
            assert (await source.snapshot()).rows == []

    run(test)


def test_etcd_values_that_cannot_be_read_are_left_out_and_logged_once(
    etcd: Etcd, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with opened(etcd.url, "/bad") as source:
            first = await created(source, "a")
            await created(source, "b")
            async with closing_feed(source, first) as feed:
                for _ in range(3):
                    etcdctl(etcd, "put", "/bad/core/things/a", "nothing of ours")
                newest = await source.fetch_newest()
                rows: list[Row] = []
                async for reached in feed:
                    rows += reached.rows
                    if reached.revision >= newest:
                        break
            assert [(row.key, row.value) for row in rows] == [("b", b"{}")] + [("a", None)] * 3
            assert [row.key for row in (await source.snapshot()).rows] == ["b"]
            state = await source.state(THINGS, newest, "", None, 1)
            assert [row.key for row in state.rows] == ["b"]
            steps = await source.changes(THINGS, first, newest)
            assert [(step.row.key, step.row.value) for step in steps] == [("b", b"{}"), ("a", None)]

    with caplog.at_level(logging.WARNING):
        run(test)
    messages = [line for line in logged(caplog).splitlines() if "cannot be read" in line]
    assert len(messages) == 1
    assert 'reason="core/things" err="a: ' in messages[0]


def test_a_value_that_is_too_large_for_etcd_is_refused_clearly(etcd: Etcd) -> None:
    async def test() -> None:
        async with opened(etcd.url, "/large") as source:
            with pytest.raises(StorageError, match="request is too large"):
                await source.write([write("a", b"x" * 2_000_000)])
            await created(source, "a")

    run(test)


def test_etcd_lease_deletes_rows_with_a_time_to_live_and_the_feed_tells(etcd: Etcd) -> None:
    def ttl(resource: str, key: str) -> int | None:
        return 1 if key.startswith("event") else None

    async def test() -> None:
        async with opened(etcd.url, "/ttl", ttl=ttl) as source:
            start = await source.fetch_newest()
            async with closing_feed(source, start) as feed:
                await asyncio.gather(*(created(source, key) for key in ("event1", "event2", "x")))
                leases = {
                    etcdctl(etcd, "get", f"/ttl/core/things/{key}", "-w", "fields")
                    .partition('"Lease" : ')[2]
                    .split()[0]
                    for key in ("event1", "event2")
                }
                etcdctl(etcd, "lease", "revoke", f"{int(leases.pop()):x}")
                deleted: set[str] = set()
                while deleted != {"event1", "event2"}:
                    reached = await anext(feed)
                    deleted |= {row.key for row in reached.rows if row.value is None}
                await created(source, "event3")  # its lease was over, unknown to us
            assert {row.key for row in (await source.snapshot()).rows} >= {"x", "event3"}

    run(test)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    return make_tls(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, tls: Tls) -> Iterator[Etcd]:
    member = Etcd(tmp_path_factory.mktemp("etcd"), tls=tls).start()
    yield member
    member.close()


def trust_of(tls: Tls) -> Trust:
    return Trust(tls.ca, tls.client_certificate, tls.client_key)


def test_members_are_reached_by_tls_with_a_certificate_of_ours(secured: Etcd, tls: Tls) -> None:
    async def test() -> None:
        async with opened(secured.url, trust=trust_of(tls)) as source, Follower(source) as follower:
            await created(source, "a")
            await follower.has("a")

    run(test)


def test_a_member_that_is_not_trusted_is_told_apart_from_one_that_is_away(
    secured: Etcd, tls: Tls, tmp_path: Path
) -> None:
    other = make_tls(tmp_path)

    async def refusal(trust: Trust, url: str = secured.url) -> str:
        with pytest.raises(StorageError) as raised:
            async with opened(url, trust=trust, timing=HASTY._replace(open=0.5)):
                pass
        return str(raised.value)

    async def test() -> None:
        assert "CERTIFICATE_VERIFY_FAILED" in await refusal(trust_of(tls)._replace(ca=other.ca))
        missing = await refusal(Trust(tmp_path / "missing.crt"))
        assert "missing.crt: No such file or directory" in missing
        away = await refusal(trust_of(tls), "https://127.0.0.1:1")
        assert "refused" in away
        assert "https://127.0.0.1:1" in away

    run(test)


@contextmanager
def limited(directory: Path, tls: Tls, permission: str) -> Iterator[Etcd]:
    """A member at which the client's certificate is good for the prefix alone."""
    member = Etcd(directory, tls=tls).start()

    def control(*words: str) -> None:
        etcdctl(member, *words, tls=tls)

    control("user", "add", "root:secret")
    control("user", "grant-role", "root", "root")
    control("role", "add", "server")
    control("role", "grant-permission", "server", permission, "--prefix=true", "/registry/")
    control("user", "add", "admin", "--no-password")  # the name in the client's certificate
    control("user", "grant-role", "admin", "server")
    control("auth", "enable")
    try:
        yield member
    finally:
        member.close()


def test_etcd_rights_to_the_prefix_alone_are_enough(tmp_path: Path, tls: Tls) -> None:
    async def test() -> None:
        async with opened(member.url, trust=trust_of(tls)) as source, Follower(source) as follower:
            first = await created(source, "a")
            last = await created(source, "b")
            etcdctl(member, "put", "/elsewhere", "x", tls=tls, user="root:secret")
            newest = await source.fetch_newest()
            assert newest > last
            await comes_true(lambda: follower.reached >= newest, "came so far")
            await follower.has("a", "b")
            for upto in (last, newest):
                steps = await source.changes(THINGS, first, upto)
                assert [step.row.key for step in steps] == ["b"]
            await source.size()

    with limited(tmp_path, tls, "readwrite") as member:
        run(test)


def test_etcd_rights_to_read_the_prefix_let_a_server_follow_it_and_write_nothing(
    tmp_path: Path, tls: Tls
) -> None:
    async def test() -> None:
        def put(key: str, *value: str) -> None:
            words = ("put", key, *value) if value else ("del", key)
            etcdctl(member, *words, tls=tls, user="root:secret")

        place = "/registry/core/things/"
        put(place + "a", VALUE)
        async with (
            opened(member.url, trust=trust_of(tls), may_write=False) as source,
            Follower(source) as follower,
        ):
            first = follower.reached
            put(place + "b", VALUE)
            put(place + "c", VALUE)
            put(place + "c")
            for _ in range(2):
                put("/elsewhere", "x")
                newest = await source.fetch_newest()
                assert newest == first + 3  # what came behind it concerns nobody here
                await comes_true(lambda: follower.reached >= first + 3, "came so far")
            assert follower.keys == ["b", "c", "c"]
            steps = await source.changes(THINGS, first, first + 4)
            assert [step.row.key for step in steps] == ["b", "c", "c"]
            assert await source.client.fetch_newest() == first + 5

    with limited(tmp_path, tls, "read") as member:
        run(test)


@pytest.mark.parametrize("is_searching", [False, True])
def test_a_closed_client_looks_for_no_member_and_who_waits_is_told(
    etcd: Etcd, is_searching: bool
) -> None:
    async def test() -> None:
        others = asyncio.all_tasks()
        client = Client([etcd.url], Trust(), b"/registry/probe", HASTY)
        await client.open()
        etcd.pause()
        try:
            if is_searching:
                member, _ = await client.watch(b"")
                client.member_failed(member, CallFailed("UNAVAILABLE", "it is gone"))
            waiting = asyncio.create_task(client.fetch_newest())
            await asyncio.sleep(0.05)
            await client.close()
            with pytest.raises(CallFailed):
                await asyncio.wait_for(waiting, HASTY.request / 2)
            with pytest.raises(CallFailed, match="closed"):
                await client.fetch_newest()
            assert asyncio.all_tasks() <= others
        finally:
            etcd.resume()

    run(test)
