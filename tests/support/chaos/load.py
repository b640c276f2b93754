"""Clients that write, read and list a few contended objects and many others, and watchers of
them."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from support.chaos.exchange import BROKEN, Exchange
from support.client import JSON, MERGE_PATCH, Object
from support.operations import Operation, Outcome, Verb
from support.watch_gaps import Bookmark, Cut, Listing, Shown, WatchedEvent, WatchLog

DEADLINE = 5.0  # seconds per request; the server's own deadline is earlier
SERVER_DEADLINE = "3s"
HOT, COLD = 3, 60  # contended objects, and others
OPERATIONS_A_KEY = 150  # then a new name replaces the key: checking long histories takes long
PAUSE = 0.02  # seconds, about, between the requests of a client
PAGE = 7
WEIGHTS = {Verb.CREATE: 3, Verb.GET: 6, Verb.UPDATE: 6, Verb.PATCH: 4, Verb.DELETE: 2}
LIST_SHARE, DROP_SHARE = 0.05, 0.01
# Share of watchers that pause before they resume, and their longest pause in seconds.
ABSENT_SHARE, ABSENCE = 0.1, 12.0
PAGED_SHARE, STALE_SHARE = 0.3, 0.3  # shares of lists


class Endpoint(Protocol):
    """A server, whose address may change when it restarts."""

    @property
    def address(self) -> str: ...


@dataclass
class Run:
    """One round's namespace, its keys, and the recorded observations."""

    path: str  # of the collection
    endpoints: Sequence[Endpoint]
    dice: random.Random
    operations: list[Operation] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    logs: list[WatchLog] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    late: int = 0  # requests that were abandoned without an answer
    over: bool = False

    def __post_init__(self) -> None:
        self._values = count(1)
        self._used: Counter[str] = Counter()
        self._generation: Counter[str] = Counter()

    def new_value(self) -> str:
        """Return a unique value, which is also valid base64."""
        return f"v{next(self._values):07}"

    def key(self) -> str:
        hot = self.dice.random() < 0.6
        slot = f"hot-{self.dice.randrange(HOT)}" if hot else f"cold-{self.dice.randrange(COLD)}"
        self._used[slot] += 1
        if self._used[slot] % OPERATIONS_A_KEY == 0:
            self._generation[slot] += 1
        return f"{slot}.{self._generation[slot]}"

    def address(self) -> str:
        return self.dice.choice(self.endpoints).address

    def keys(self) -> set[str]:
        return {operation.key for operation in self.operations}


def listed_item(item: Object) -> Shown:
    return Shown(item["data"]["content"], int(item["metadata"]["resourceVersion"]))


class Client:
    """Sends one request after the other, each until its end or its deadline."""

    def __init__(self, name: str, run: Run, endpoints: Sequence[Endpoint] = ()) -> None:
        self.name = name
        self.run = run
        self._endpoints = endpoints or run.endpoints
        self._exchange: Exchange | None = None
        self._known: dict[str, int] = {}  # the last revision that it saw of a key

    async def work(self) -> None:
        dice = self.run.dice
        while not self.run.over:
            if dice.random() < LIST_SHARE:
                limit = PAGE if dice.random() < PAGED_SHARE else 0
                await self.list_all(limit, recent=dice.random() > STALE_SHARE)
            else:
                verb = dice.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
                await self.operate(verb, self.run.key())
            await asyncio.sleep(dice.expovariate(1 / PAUSE))
        self.disconnect()

    def disconnect(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    async def connected(self) -> Exchange | None:
        if self._exchange is None:
            try:
                async with asyncio.timeout(DEADLINE):
                    self._exchange = await Exchange.open(
                        self.run.dice.choice(self._endpoints).address
                    )
            except BROKEN:
                return None
        return self._exchange

    async def operate(self, verb: Verb, key: str) -> None:
        expected: int | None = None
        if verb is Verb.UPDATE or (verb is Verb.DELETE and self.run.dice.random() < 0.5):
            expected = self._known.get(key)
            verb = verb if expected is not None else Verb.GET
        exchange = await self.connected()
        if exchange is None:
            return
        value = self.run.new_value() if verb in (Verb.CREATE, Verb.UPDATE, Verb.PATCH) else None
        began = Operation(
            *(self.name, key, verb, time.monotonic(), math.inf, Outcome.UNKNOWN),
            value=value,
            expected=expected,
        )
        ended = began
        try:
            async with asyncio.timeout(DEADLINE):
                exchange.send(*self._request(verb, key, value, expected))
                if self.run.dice.random() < DROP_SHARE:
                    self.disconnect()
                else:
                    status, body = await exchange.status(), await exchange.body()
                    ended = self._judge(began, status, body)
        except BROKEN as error:
            self.disconnect()
            self.run.late += isinstance(error, TimeoutError)
        self.run.operations.append(ended)

    def _request(
        self, verb: Verb, key: str, value: str | None, expected: int | None
    ) -> tuple[str, str, Object | None, str]:
        item = f"{self.run.path}/{key}"
        query = f"?timeout={SERVER_DEADLINE}"
        meta: Object = {"name": key}
        if expected is not None:
            meta["resourceVersion"] = str(expected)
        content: Object = {"metadata": meta, "data": {"content": value}}
        if verb is Verb.CREATE:
            return "POST", self.run.path + query, content, JSON
        if verb is Verb.UPDATE:
            return "PUT", item + query, content, JSON
        if verb is Verb.PATCH:
            return "PATCH", item + query, {"data": {"content": value}}, MERGE_PATCH
        if verb is Verb.DELETE:
            meta.pop("name")
            return "DELETE", item + query, {"preconditions": meta}, JSON
        return "GET", item + query, None, JSON

    def _judge(self, began: Operation, status: int, body: Object) -> Operation:
        """Derive the outcome of an operation from its answer."""
        self.run.statuses[status] += 1
        facts = began.client, began.key, began.verb, began.called, time.monotonic()
        value, revision = began.value, None
        if status in (200, 201):
            outcome = Outcome.DONE
            if began.verb is not Verb.DELETE:
                value, revision = listed_item(body)
                self._known[began.key] = revision
                if began.writes and value != began.value:
                    self.run.unexpected.append(f"answered with {value}: {began}")
        elif status == 404 and body.get("details", {}).get("name") == began.key:
            outcome = Outcome.ABSENT
        elif status == 409:
            # A patch has no precondition: a conflict with other writers tells the client nothing.
            outcome = Outcome.REFUSED if began.verb is Verb.PATCH else Outcome.CONFLICT
            if began.expected is not None:
                self._known.pop(began.key, None)
        elif status in (503, 504):
            outcome = Outcome.UNKNOWN
            facts = *facts[:-1], math.inf
        else:
            outcome = Outcome.REFUSED
            if status != 429:
                self.run.unexpected.append(f"answered {status} {body.get('message')}: {began}")
        return Operation(*facts, outcome, value, revision, began.expected)

    async def list_all(self, limit: int = 0, *, recent: bool = True) -> Listing | None:
        """List the most recent state (or a possibly older one), as one answer or in pages, and
        record it as a read of every key."""
        called = time.monotonic()
        try:
            async with asyncio.timeout(2 * DEADLINE):
                result = await self._pages(limit, "" if recent else "0")
        except BROKEN:
            self.disconnect()
            return None
        if result is None:
            return None
        returned = time.monotonic()
        revision, items = result
        listing = Listing(self.name, called, returned, revision, items, recent)
        self.run.listings.append(listing)
        if recent and not limit:  # later pages show the past state
            self._note_reads(listing)
        return listing

    def _note_reads(self, listing: Listing) -> None:
        for key in self.run.keys() | listing.items.keys():
            value, revision = listing.items.get(key, (None, None))
            self.run.operations.append(
                Operation(
                    *(self.name, key, Verb.GET, listing.called, listing.returned),
                    Outcome.ABSENT if value is None else Outcome.DONE,
                    *(value, revision),
                )
            )

    async def _pages(self, limit: int, version: str) -> tuple[int, dict[str, Shown]] | None:
        items: dict[str, Shown] = {}
        revision, token = 0, ""
        while True:
            exchange = await self.connected()
            if exchange is None:
                return None
            first = f"resourceVersion={version}" if version else ""
            query = f"limit={limit}&" + (f"continue={token}" if token else first)
            exchange.send("GET", f"{self.run.path}?{query}")
            status, body = await exchange.status(), await exchange.body()
            self.run.statuses[status] += 1
            if status != 200:
                if status not in (410, 429, 503, 504):
                    self.run.unexpected.append(f"a list answered {status} {body.get('message')}")
                return None
            here = int(body["metadata"]["resourceVersion"])
            if revision and here != revision:
                self.run.unexpected.append(f"pages at {revision} and {here}")
            revision = here
            items |= {item["metadata"]["name"]: listed_item(item) for item in body["items"]}
            token = body["metadata"].get("continue", "")
            if not token:
                return revision, items
            if len(self.run.endpoints) > 1:
                self.disconnect()  # the next page comes from another server


class Watcher:
    """Lists, watches, and resumes if possible, until it reaches a revision."""

    def __init__(self, name: str, run: Run) -> None:
        self.run = run
        self.log = WatchLog(name)
        self.until: float = math.inf
        self.listed = asyncio.Event()  # from now on it receives every event
        self._ending = asyncio.Event()
        self._client = Client(name, run)
        run.logs.append(self.log)

    async def work(self) -> None:
        listed = False
        while self.log.position < self.until:
            if not listed:
                listing = await self._client.list_all()
                self._client.disconnect()
                if listing is not None:
                    self.log.entries.append(listing)
                    listed = True
                    self.listed.set()
            else:
                listed = await self._watch()
            long = self.run.dice.random() < ABSENT_SHARE
            await self._rest(self.run.dice.random() * (ABSENCE if long else 0.1))

    async def _rest(self, seconds: float) -> None:
        """Pause, but only briefly when the end is near."""
        await asyncio.sleep(0.01)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()

    def end_at(self, revision: int) -> None:
        self.until = revision
        self._ending.set()

    async def _watch(self) -> bool:
        """Read one stream; return whether it can be resumed."""
        seconds = self.run.dice.randint(3, 8)
        path = (
            f"{self.run.path}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}"
            f"&resourceVersion={self.log.position}"
        )
        try:
            async with (
                asyncio.timeout(seconds + DEADLINE),
                await Exchange.open(self.run.address()) as exchange,
            ):
                exchange.send("GET", path)
                status = await exchange.status()
                if status != 200:
                    return self._may_resume(status, await exchange.body())
                async for line in exchange.lines():
                    if line["type"] == "ERROR":
                        return self._may_resume(line["object"].get("code", 0), line["object"])
                    self._take(line["type"], line["object"])
                    if self.log.position >= self.until:
                        break
        except BROKEN:
            pass
        self.log.entries.append(Cut())
        return True

    def _may_resume(self, code: int, status: Object) -> bool:
        self.run.statuses[code] += 1
        if code not in (410, 429, 503, 504):
            self.run.unexpected.append(
                f"{self.log.name}: {code} {status.get('message')} at {self.log.position}"
            )
        return code != 410

    def _take(self, kind: str, item: Object) -> None:
        if kind == "BOOKMARK":
            self.log.entries.append(Bookmark(int(item["metadata"]["resourceVersion"])))
            return
        value, revision = listed_item(item)
        event = WatchedEvent(kind, item["metadata"]["name"], value, revision, time.monotonic())
        self.log.entries.append(event)
