"""Calls to a working member of the etcd cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from random import uniform
from typing import NamedTuple

from fairlead.base.logs import Logger
from fairlead.base.metrics import REGISTRY
from fairlead.base.tracing import CLIENT, step
from fairlead.storage.backend import Fault, StorageError
from fairlead.storage.etcd.failures import is_away, is_unsent
from fairlead.storage.etcd.members import Member
from fairlead.storage.etcd.messages import RANGE, RangeRequest, encode, read_header, read_revision
from fairlead.wire.grpc.calls import Stream
from fairlead.wire.grpc.channel import Trust
from fairlead.wire.grpc.failures import CallFailed

logger = Logger("fairlead.storage.etcd")

REQUEST_SECONDS = REGISTRY.histogram(
    "fairlead_etcd_request_duration_seconds", "Duration of a call to etcd.", labels=("method",)
)
FAILURES = REGISTRY.counter(
    "fairlead_etcd_request_failures", "Failed calls to etcd, by status code.", ("code",)
)
SWITCHES = REGISTRY.counter("fairlead_etcd_member_switches", "Switches to another etcd member.")


class Timing(NamedTuple):
    """Timeouts and intervals in seconds."""

    open: float = 20.0  # to find a member at the start
    request: float = 10.0  # for a call, including the search for a member
    answer: float = 2.0  # for a health check; without an answer the store is unavailable
    stalled: float = 1.0  # without an answer, until other members are probed
    probe: float = 5.0  # for a member to answer a probe
    heartbeat: float = 2.0  # between health checks
    pause: float = 0.05  # between searches for a member, at first
    longest_pause: float = 1.0


DEFAULT_TIMING = Timing()


class Client:
    """Uses one member as long as it answers.

    After a failure all members are probed. A member that leaves calls unanswered while another one
    answers a linearizable read, which needs a quorum, is dropped: its calls in progress fail.
    `probe_key` is a key that never exists.
    """

    def __init__(
        self, urls: Sequence[str], trust: Trust, probe_key: bytes, timing: Timing = DEFAULT_TIMING
    ) -> None:
        self.timing = timing
        self.error = "no member was asked yet"  # empty while healthy
        self._members = [Member(url, trust) for url in urls]
        self._probe = encode(RangeRequest, key=probe_key, count_only=1)
        self._member: Member | None = None
        self._former: Member | None = None  # last used, lost and not yet replaced
        self._cluster = 0
        self._search: asyncio.Task[None] | None = None
        self._watchdog: asyncio.Task[None] | None = None
        self._calls: dict[int, float] = {}  # start times of calls, oldest first
        self._count = 0
        self._is_closed = False

    async def open(self) -> None:
        """Find a member; raises StorageError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timing.open
        self._is_closed = False
        try:
            await self._await_member(deadline, keep_trying=False)
        except CallFailed as error:
            await self.close()
            raise StorageError(f"no member of etcd answers: {error}", Fault.DOUBTFUL) from None
        self._watchdog = loop.create_task(self._run_watchdog())

    async def close(self) -> None:
        """Fail the calls in progress and stop searching for members."""
        self._is_closed, self._member = True, None
        tasks = [task for task in (self._search, self._watchdog) if task is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        for member in self._members:
            await member.close()

    @property
    def url(self) -> str:
        """The URL of the member in use, empty if none."""
        return self._member.url if self._member is not None else ""

    async def call(
        self, method: str, request: bytes, *, is_repeatable: bool = True, timeout: float = 0.0
    ) -> bytes:
        """Make a call; raises CallFailed. Retries on other members; a call that is not repeatable
        only if it certainly had no effect."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        deadline = start + (timeout or self.timing.request)
        while True:
            member = self._member or await self._await_member(deadline)
            self._count = number = self._count + 1
            self._calls[number] = now = loop.time()
            try:
                with step(method[1:], CLIENT):
                    answer = await member.call(method, request, max(deadline - now, 0.001))
            except CallFailed as error:
                FAILURES.add(of=(error.code,))
                if is_away(error) and not (timeout and error.is_late):
                    # A short timeout says nothing about the member.
                    self.member_failed(member, error)
                if not is_away(error) or not (is_repeatable or is_unsent(error)):
                    raise
                if loop.time() >= deadline or self._is_closed:
                    raise
                await asyncio.sleep(uniform(0, self.timing.pause))
            else:
                REQUEST_SECONDS.observe(loop.time() - start, (method,))
                if self.error:
                    self._recovered(member)
                return answer
            finally:
                del self._calls[number]

    async def fetch_newest(self, timeout: float = 0.0) -> int:
        """Return the current revision by a linearizable read; raises CallFailed."""
        return read_revision(await self.call(RANGE, self._probe, timeout=timeout))

    async def check_kept(self, revision: int) -> None:
        """Raise CallFailed if changes after a revision are compacted. A watch does not check that:
        it starts at a compacted revision whose deletions may be gone."""
        if revision > 0:
            await self.call(RANGE, self._probe + encode(RangeRequest, revision=revision))

    async def watch(self, request: bytes) -> tuple[Member, Stream]:
        """Start a watch; returns the member and the stream. Raises CallFailed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timing.request
        member = self._member or await self._await_member(deadline)
        return member, await member.watch(request, max(deadline - loop.time(), 0.001))

    def member_failed(self, member: Member, error: CallFailed) -> None:
        """Search for another member after a failure of this one."""
        if self._member is member:
            self._report(f"{member.url}: {error}")
            self._member, self._former = None, member
            self._start_search()

    def _report(self, error: str) -> None:
        if not self.error:
            logger.warning("etcd does not answer", err=error)
        self.error = error

    def _recovered(self, member: Member) -> None:
        if member is self._member:
            self.error = ""
            logger.warning("etcd answers", member=member.url)

    def _start_search(self) -> asyncio.Task[None]:
        if self._search is None or self._search.done():
            self._search = asyncio.get_running_loop().create_task(self._search_member())
        return self._search

    async def _await_member(self, deadline: float, *, keep_trying: bool = True) -> Member:
        loop = asyncio.get_running_loop()
        while self._member is None:
            if self._is_closed:
                raise CallFailed("CANCELLED", "the client is closed", is_unsent=True)
            search = self._start_search()
            seconds_left = max(deadline - loop.time(), 0.0)
            await asyncio.wait(
                {search}, timeout=seconds_left if keep_trying else min(seconds_left, 0.1)
            )
            if self._member is None and (
                loop.time() >= deadline or (not keep_trying and self._all_mistrusted())
            ):
                raise CallFailed("UNAVAILABLE", self.error)
        return self._member

    def _all_mistrusted(self) -> bool:
        return all(member.is_mistrusted for member in self._members)

    async def _search_member(self) -> None:
        pause = self.timing.pause
        while True:
            member = await self._first_answer(self._members)
            if member is not None:
                self._switch_to(member)
                return
            await asyncio.sleep(pause * uniform(0.5, 1.5))
            pause = min(pause * 2, self.timing.longest_pause)

    def _switch_to(self, member: Member) -> None:
        previous = self._member or self._former
        self._member, self._former = member, None
        if previous is not None and previous is not member:
            SWITCHES.add()
            previous.drop()
        self.error = ""
        if previous is not None:
            logger.warning("switched to another member of etcd", member=member.url)

    async def _first_answer(self, members: Sequence[Member]) -> Member | None:
        """Return the first member that answers a linearizable read, None if none does."""
        loop = asyncio.get_running_loop()
        members_by_task = {
            loop.create_task(self._probe_member(member)): member for member in members
        }
        pending = set(members_by_task)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if task.result():
                        return members_by_task[task]
            return None
        finally:
            for task in pending:
                task.cancel()

    async def _probe_member(self, member: Member) -> bool:
        try:
            header = read_header(await member.call(RANGE, self._probe, timeout=self.timing.probe))
        except CallFailed as error:
            member.is_mistrusted = error.is_tls_rejection
            if error.is_late and member is not self._member:
                member.drop()  # the connection may be dead
            if self._member is None:
                self._report(f"{member.url}: {error}")
            return False
        if self._cluster not in (0, header.cluster):
            self._report(f"{member.url} has become a member of another cluster")
            return False
        self._cluster = header.cluster
        return True

    async def _run_watchdog(self) -> None:
        """Replace a member that stalls while another one answers."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self.timing.stalled / 2)
            oldest = next(iter(self._calls), None)
            current = self._member
            if oldest is None or current is None:
                continue
            if loop.time() - self._calls[oldest] < self.timing.stalled:
                continue
            replacement = await self._first_answer(
                [member for member in self._members if member is not current]
            )
            if replacement is not None and oldest in self._calls and self._member is current:
                self._report(f"{current.url}: does not answer")
                self._switch_to(replacement)
