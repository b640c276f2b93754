"""Checks an etcd cluster: its members, and the values under the prefix of the servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fairlead.cli.checks.findings import Finding, error, note, warning
from fairlead.storage.backend import StorageError
from fairlead.storage.etcd.members import Member
from fairlead.storage.etcd.messages import STATUS, MemberStatus, read_status
from fairlead.storage.log import Snapshot, Source
from fairlead.wire.grpc.channel import Trust
from fairlead.wire.grpc.failures import CallFailed

_TIMEOUT = 5.0
_LAG = 1_000  # entries of the log
_DEFAULT_QUOTA = 2 << 30  # etcd's, if it is not told
_FULL = 0.8
_EMPTY = 0.5  # of a database that is worth defragmenting
_LARGE = 256 << 20
_MB = 1 << 20


class Answer(NamedTuple):
    """What a member has answered; `failure` says why it has not."""

    url: str
    status: MemberStatus
    failure: str = ""


async def ask_members(urls: Sequence[str], trust: Trust) -> list[Answer]:
    return list(await asyncio.gather(*(_ask(url, trust) for url in urls)))


async def _ask(url: str, trust: Trust) -> Answer:
    member = Member(url, trust)
    try:
        return Answer(url, read_status(await member.call(STATUS, b"", _TIMEOUT)))
    except CallFailed as failure:
        return Answer(url, MemberStatus(), str(failure))
    finally:
        await member.close()


def member_findings(answers: Sequence[Answer]) -> Iterator[Finding]:
    present = [answer for answer in answers if not answer.failure]
    for answer in answers:
        if answer.failure:
            weigh = error if len(present) * 2 <= len(answers) else warning
            yield weigh(answer.url, f"does not answer: {answer.failure}")
    newest = max((answer.status.applied for answer in present), default=0)
    for url, status, _ in present:
        yield from _check_member(url, status, newest)
    versions = sorted({answer.status.version for answer in present})
    if len(versions) > 1:
        yield note("etcd", f"members have several versions: {', '.join(versions)}")
    if len(answers) == 1:
        yield note("etcd", "one member is named: it is lost with its machine", "Name all members")
    elif len(answers) % 2 == 0:
        yield note("etcd", f"{len(answers)} members survive no more losses than one less would")


def _check_member(url: str, status: MemberStatus, newest: int) -> Iterator[Finding]:
    for problem in status.problems:
        yield error(url, problem, "etcdctl alarm list has its alarms")
    if not status.leader:
        yield error(url, "knows no leader: nothing can be written")
    if status.is_learner:
        yield note(url, "is a learner, which does not vote yet")
    if newest - status.applied > _LAG:
        yield warning(url, f"lags {newest - status.applied:,} entries behind the others")
    quota = status.quota or _DEFAULT_QUOTA
    if status.size > quota * _FULL:
        yield warning(
            url,
            f"its database has {status.size // _MB:,} of {quota // _MB:,} MB; at the limit etcd"
            " refuses all writes",
            "Defragment it, or raise --quota-backend-bytes of etcd",
        )
    elif status.size > _LARGE and status.used < status.size * _EMPTY:
        free = (status.size - status.used) // _MB
        yield note(url, f"{free:,} MB of its database are free", "Run etcdctl defrag, one by one")


class ValuesCheck:
    """Reads all values. `snapshot` is None if that failed."""

    def __init__(self, connect: Callable[[Callable[[str], None]], Source]) -> None:
        self._unread: list[str] = []
        self._connect = connect
        self.snapshot: Snapshot | None = None

    async def findings(self) -> list[Finding]:
        try:
            source = self._connect(self._unread.append)
            try:
                await source.open()
                self.snapshot = await source.snapshot()
            finally:
                await source.close()
        except StorageError as problem:
            return [error("etcd", str(problem))]
        if not self._unread:
            return []
        number, first = len(self._unread), self._unread[0]
        remedy = "Encrypted values need the server's --encryption-provider-config"
        return [error("etcd", f"{number} values cannot be read, such as {first}", remedy)]
