"""Hours of a server's life in seconds: its clock is moved on between short bursts of everything
that recurs, and what it uses must not grow."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.chaos.exchange import Exchange
from support.client import MERGE_PATCH, Object
from support.process import MOVABLE_CLOCK, ServerProcess

STEP = 300  # seconds of the server's clock
STEPS_AN_HOUR = 3600 // STEP
OBJECTS = 10  # created and deleted in each step
TOKEN_SECONDS = 3600
SPACE = "/api/v1/namespaces/default"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"

# Certificates are renewed every few hours, and SIGUSR2 writes the number of tasks to a file.
PRELUDE = (
    f"{MOVABLE_CLOCK}; import asyncio; from datetime import timedelta;"
    " from fairlead.process.certificates import authority, serving;"
    " serving.DEFAULT_LIFETIMES = authority.Lifetimes(others=timedelta(hours=6));"
    " signal.signal(signal.SIGUSR2, lambda *_: step.with_name('tasks').write_text("
    "str(len(asyncio.all_tasks(asyncio.get_running_loop())))))"
)


class Sample(NamedTuple):
    """What a server uses after some hours of its clock."""

    hour: float
    memory_mb: float
    files: int
    tasks: int
    store_kb: int
    events: int


# How much more of each the second half of the time may need than the first: a share, and a number.
ALLOWANCES = {
    "memory_mb": (0.1, 8),
    "files": (0.0, 6),
    "tasks": (0.0, 40),  # some come and go
    "store_kb": (0.25, 512),
    "events": (0.25, 5),
}


def growth(samples: Sequence[Sample]) -> list[str]:
    """Compare the second half of the samples with the first, without the start."""
    middle = len(samples) // 2
    problems = []
    for name, (share, number) in ALLOWANCES.items():
        values = [getattr(sample, name) for sample in samples]
        before, after = max(values[1 : middle + 1]), max(values[middle + 1 :])
        if after > before * (1 + share) + number:
            problems.append(f"{name} grew from {before} to {after}")
    return problems


class Soak:
    """One server under a recurring load."""

    def __init__(self, directory: Path) -> None:
        flags = ("--history-retention=5s", "--event-ttl=1h")
        self.server = ServerProcess(directory, flags=flags, prelude=PRELUDE)
        self.problems: list[str] = []
        self.requests = 0
        self._tokens: list[str] = []
        self._exchange: Exchange

    async def play(self, hours: int) -> list[Sample]:
        """Let so many hours pass; return a sample of the start and of each hour."""
        await asyncio.to_thread(self.server.start)
        try:
            await self._ask("POST", LEASES, {"metadata": {"name": "soak"}}, new=True)
            samples = [await self._sample(0)]
            for step in range(1, hours * STEPS_AN_HOUR + 1):
                await self._step(step)
                if step % STEPS_AN_HOUR == 0:
                    samples.append(await self._sample(step / STEPS_AN_HOUR))
            return samples
        finally:
            await asyncio.to_thread(self.server.stop)

    async def _step(self, step: int) -> None:
        """Do everything once, over a connection of its own, and let the time of a step pass."""
        await self._watch(step)
        await self._event(step)
        await self._token()
        moment = f"2026-01-01T00:00:00.{step:06d}Z"
        await self._ask("PATCH", f"{LEASES}/soak", {"spec": {"renewTime": moment}}, new=True)
        if step % STEPS_AN_HOUR == 0:
            name = {"metadata": {"name": f"soak-{step}"}}
            await self._ask("POST", "/api/v1/namespaces", name)
            await self._ask("DELETE", f"/api/v1/namespaces/soak-{step}")
        self._exchange.close()
        self.server.advance(STEP)

    async def _watch(self, step: int) -> None:
        """Watch from the newest revision, and see every object come and go."""
        listed = await self._ask("GET", f"{SPACE}/configmaps", new=True)
        version = listed["metadata"]["resourceVersion"]
        async with await Exchange.open(self.server.address) as watch:
            watch.send("GET", f"{SPACE}/configmaps?watch=1&resourceVersion={version}")
            await watch.status()
            for number in range(OBJECTS):
                name = f"soak-{step}-{number}"
                body = {"metadata": {"name": name}, "data": {"text": "x" * 1000}}
                await self._ask("POST", f"{SPACE}/configmaps", body)
                await self._ask("DELETE", f"{SPACE}/configmaps/{name}")
            seen = 0
            async for event in watch.lines():
                seen += event["object"]["metadata"]["name"].startswith(f"soak-{step}-")
                if seen == 2 * OBJECTS:
                    return

    async def _event(self, step: int) -> None:
        about = {"kind": "Namespace", "name": "default", "namespace": "default"}
        body = {"metadata": {"name": f"soak-{step}"}, "involvedObject": about, "reason": "Soak"}
        await self._ask("POST", f"{SPACE}/events", body)

    async def _token(self) -> None:
        """Take a token; the one of this step is valid, one older than its life is not."""
        request = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
        path = f"{SPACE}/serviceaccounts/default/token"
        self._tokens.append((await self._ask("POST", path, request))["status"]["token"])
        await self._review(self._tokens[-1], True)
        if len(self._tokens) > STEPS_AN_HOUR + 1:
            await self._review(self._tokens.pop(0), False)

    async def _review(self, token: str, expected: bool) -> None:
        review = await self._ask("POST", REVIEWS, {"spec": {"token": token}})
        if review["status"].get("authenticated", False) is not expected:
            self.problems.append(f"a token is valid: {not expected}")

    async def _ask(self, method: str, path: str, body: Any = None, *, new: bool = False) -> Object:
        """Send a request over the connection of the step; `new` opens that."""
        if new:
            self._exchange = await Exchange.open(self.server.address)
        patch = (MERGE_PATCH,) if method == "PATCH" else ()
        self._exchange.send(method, path, body, *patch)
        status = await self._exchange.status()
        answer = await self._exchange.body()
        self.requests += 1
        if status >= 400:
            self.problems.append(f"{method} {path}: {status} {answer.get('message', '')}")
        return answer

    async def _sample(self, hour: float) -> Sample:
        tasks = self.server.directory / "tasks"
        tasks.unlink(missing_ok=True)
        self.server.signal(signal.SIGUSR2)
        for _ in range(500):
            if tasks.exists() and tasks.read_text():
                break
            await asyncio.sleep(0.01)
        events = await self._ask("GET", f"{SPACE}/events", new=True)
        self._exchange.close()
        store = self.server.data.glob("fairlead.db*")
        return Sample(
            hour,
            round(self.server.resident_bytes() / 2**20, 1),
            len(os.listdir(f"/proc/{self.server.pid}/fd")),
            int(tasks.read_text()),
            sum(path.stat().st_size for path in store) // 1024,
            len(events["items"]),
        )
