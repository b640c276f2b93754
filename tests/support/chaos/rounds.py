"""Rounds of load and faults, each checked when it is over."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from support.chaos.exchange import BROKEN, Exchange, ask
from support.chaos.fleets import Fleet
from support.chaos.load import Client, Run, Watcher
from support.linearizability import Undecided, check, check_revisions
from support.operations import Outcome, Verb
from support.watch_gaps import Cut, Listing, check_watches, times_seen

CLIENTS, WATCHERS = 8, 4
HEALING = 60.0  # seconds after the last fault until everything must answer again
CATCHING_UP = 30.0
TOGETHER_SHARE = 0.3  # of faults that coincide with another fault
MIN_ACKNOWLEDGED = 30  # a round with fewer proves nothing


@dataclass
class Report:
    """The problems that a round found, and counts of what it checked."""

    seed: int
    run: Run
    problems: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        listed = ", ".join(f"{number} {what}" for what, number in sorted(self.counts.items()))
        verdict = f"{len(self.problems)} problems" if self.problems else "nothing wrong"
        return f"seed {self.seed}: {verdict}; {listed}"

    @property
    def evidence(self) -> str:
        return "\n".join([str(self), *self.faults, *self.problems[:20]])

    @property
    def history(self) -> str:
        """Return all operations and watch entries as text."""
        done = sorted(self.run.operations, key=lambda item: item.called)
        messages = [f"{log.name}: {entry}" for log in self.run.logs for entry in log.entries]
        return "\n".join([str(self), *self.faults, *self.problems, *map(str, done), *messages])


async def play_round(fleet: Fleet, seed: int, seconds: float, only: Sequence[str] = ()) -> Report:
    """Run load and faults for a time, then let the servers recover, and check all observations.
    `only` restricts the faults by name."""
    space = f"round-{seed}"
    run = Run(f"/api/v1/namespaces/{space}/secrets", fleet.servers, random.Random(seed))
    report = Report(seed, run)
    base = await begin(run, space)
    watchers = [Watcher(f"watcher-{n}", run) for n in range(WATCHERS)]
    clients = [Client(f"client-{n}", run) for n in range(CLIENTS)]
    watching = [asyncio.create_task(watcher.work()) for watcher in watchers]
    async with asyncio.timeout(HEALING):
        await asyncio.gather(*(watcher.listed.wait() for watcher in watchers))
    working = [asyncio.create_task(client.work()) for client in clients]
    try:
        await afflict(fleet, random.Random(seed + 1), seconds, only, report)
        report.problems += await heal(fleet)
        run.over = True
        await asyncio.gather(*working)
        report.problems += await end(fleet, run, watchers, watching)
    finally:
        for task in (*watching, *working):
            task.cancel()
        ended = await asyncio.gather(*watching, *working, return_exceptions=True)
    failed = [item for item in ended if isinstance(item, Exception)]
    report.problems += [f"the load itself failed: {item!r}" for item in failed]
    report.problems += run.unexpected
    judge(run, base, report)
    return report


async def begin(run: Run, space: str) -> int:
    """Create the namespace; return a revision at which it is empty."""
    deadline = time.monotonic() + HEALING
    while True:
        try:
            body = {"metadata": {"name": space}}
            status, _ = await ask(run.address(), "POST", "/api/v1/namespaces", body)
            if status in (201, 409):
                _, result = await ask(run.address(), "GET", run.path)
                return int(result["metadata"]["resourceVersion"])
        except BROKEN:
            pass
        assert time.monotonic() < deadline, "no namespace could be made"
        await asyncio.sleep(0.1)


async def afflict(
    fleet: Fleet, dice: random.Random, seconds: float, only: Sequence[str], report: Report
) -> None:
    """Cause faults, single or two at once, with pauses between them."""
    began = time.monotonic()
    faults = {name: fault for name, fault in fleet.faults().items() if not only or name in only}

    async def strike(name: str) -> None:
        at = time.monotonic()
        try:
            done = await faults[name].strike(dice)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            done = f"not mended: {error}"
            report.problems.append(f"{name}: {done}")
        report.faults.append(f"{at:.6f} to {time.monotonic():.6f}  {name}: {done}")
        report.counts[name] += 1

    await asyncio.sleep(min(1.0, seconds / 4))
    while faults and time.monotonic() < began + seconds:
        chosen = [dice.choice(list(faults))]
        domain = faults[chosen[0]].domain
        others = [name for name, fault in faults.items() if fault.domain != domain]
        if others and dice.random() < TOGETHER_SHARE:
            chosen.append(dice.choice(others))
        await asyncio.gather(*map(strike, chosen))
        await asyncio.sleep(dice.uniform(0.1, 1.5))
    await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))


async def heal(fleet: Fleet) -> list[str]:
    """Wait until all servers are ready."""
    deadline = time.monotonic() + HEALING
    for server in fleet.servers:
        while True:
            try:
                async with asyncio.timeout(5):
                    status, text = await readiness(server.address)
                if status == 200:
                    break
            except BROKEN as error:
                text = repr(error)
            if time.monotonic() > deadline:
                return [f"{server.directory.name} is not ready after all is well: {text}"]
            await asyncio.sleep(0.1)
    return []


async def readiness(address: str) -> tuple[int, str]:
    async with await Exchange.open(address) as exchange:
        exchange.send("GET", "/readyz")
        status = await exchange.status()
        return status, await exchange.text()


async def end(
    fleet: Fleet, run: Run, watchers: list[Watcher], watching: list[asyncio.Task[None]]
) -> list[str]:
    """Write a marker that every watcher must see, and list everything from every server."""
    marker = Client("marker", run)
    marked = None
    for attempt in range(20):
        await marker.operate(Verb.CREATE, f"mark-{attempt}")
        last = run.operations[-1] if run.operations else None
        if last is not None and last.client == "marker" and last.outcome is Outcome.DONE:
            marked = last.revision
            break
        await asyncio.sleep(0.5)
    marker.disconnect()
    if marked is None:
        return ["nothing can be written after all is well"]
    for watcher in watchers:
        watcher.end_at(marked)
    await asyncio.wait(watching, timeout=CATCHING_UP)
    problems = [
        f"{watcher.log.name} is at {watcher.log.position} and never came to {marked}"
        for watcher in watchers
        if watcher.log.position < marked
    ]
    for server in fleet.servers:
        looker = Client(f"look at {server.directory.name}", run, [server])
        if await looker.list_all() is None:
            problems.append(f"{server.directory.name} gives no list after all is well")
        looker.disconnect()
    return problems


def judge(run: Run, base: int, report: Report) -> None:
    count(run, report.counts)
    if report.counts["acknowledged"] < MIN_ACKNOWLEDGED:
        report.problems.append(f"only {report.counts['acknowledged']} writes were acknowledged")
    try:
        report.problems += map(str, check(run.operations, times_seen(run.logs)))
    except Undecided as error:
        report.problems.append(f"linearizability is undecided: {error}")
    report.problems += map(str, check_revisions(run.operations))
    report.problems += check_watches(run.logs, run.operations, run.listings, base)


def count(run: Run, counts: Counter[str]) -> None:
    for operation in run.operations:
        unsure = operation.outcome is Outcome.UNKNOWN
        counts["reads" if not operation.writes else "unsure" if unsure else "writes"] += 1
        counts["acknowledged"] += operation.is_acknowledged
    counts["keys"] = len(run.keys())
    counts["lists"] = len(run.listings)
    counts["late"] = run.late
    for log in run.logs:
        counts["cuts"] += sum(isinstance(entry, Cut) for entry in log.entries)
        counts["relists"] += sum(isinstance(entry, Listing) for entry in log.entries) - 1
        counts["events"] += len(log.entries)
    for status, number in run.statuses.items():
        counts[f"answers {status}"] += number
