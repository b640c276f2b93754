"""Injects faults into requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.api.testing.effects import CutOff, FaultyWatch, error_of, wait
from fairlead.api.testing.memory_objects import Handlers, ObjectTable
from fairlead.api.watch_stream import WatchStream
from fairlead.base.errors import bad_request
from fairlead.codec.types.durations import parse_duration
from fairlead.operations.api import Api, Object
from fairlead.operations.watch import Watch

KEY = "testing/v1/faults"
_MAX_FAULTS = 1000
_LISTS = ("verbs", "groups", "namespaces", "names", "users")
_CUTS = ("", "before", "after", "middle")

Answering = Callable[[Request], Awaitable[Answer]]


class Fault:
    """A fault: which requests it affects, how, and how often. Raises StatusError for an invalid
    spec."""

    def __init__(self, value: Object) -> None:
        self._value = value
        self.spec: Object = value["spec"]
        self._match: Object = self.spec.get("match") or {}
        self._random = Random(self.spec.get("seed") or 0)
        probability = self.spec.get("probability")
        self._probability = 1.0 if probability is None else float(probability)
        self._matched = self._applied = 0
        self.delay = self._read_delay()
        self.cut = self.spec.get("cut") or ""
        self.stale = int(self.spec.get("stale") or 0)
        self.events: Object = self.spec.get("events") or {}
        self._check()

    def _read_delay(self) -> float:
        text = self.spec.get("delay") or ""
        try:
            return parse_duration(text) if text else 0.0
        except ValueError as error:
            raise bad_request(f"spec.delay: {error}") from None

    def _check(self) -> None:
        spec, error = self.spec, self.spec.get("error")
        if not (error or self.delay or self.cut or self.stale or self.events):
            raise bad_request("spec: one of error, delay, cut, stale and events says what happens")
        if error and not 400 <= (error.get("code") or 0) <= 599:
            raise bad_request("spec.error.code: must be from 400 to 599")
        if self.cut not in _CUTS:
            raise bad_request(f"spec.cut: must be one of {', '.join(_CUTS[1:])}")
        if not 0 <= self._probability <= 1:
            raise bad_request("spec.probability: must be from 0 to 1")
        numbers = (spec.get("count") or 0, spec.get("skip") or 0, self.stale, self.delay)
        if min(numbers) < 0 or (self.events.get("repeat") or 0) < 0:
            raise bad_request("spec: count, skip, stale, delay and repeat cannot be negative")

    def document(self) -> Object:
        status = {"matched": self._matched, "applied": self._applied}
        return {**self._value, "status": status}

    def matches(self, request: Request) -> bool:
        """Whether the fault matches a request."""
        target, match = request.target, self._match
        facts = (target.verb, target.group, target.namespace, target.name, request.user.name)
        for name, fact in zip(_LISTS, facts, strict=True):
            allowed = match.get(name)
            if allowed and fact not in allowed:
                return False
        resources = match.get("resources")
        if resources and target.full_resource_name not in resources:
            return False
        agents = match.get("userAgents")
        return not agents or request.user_agent.startswith(tuple(agents))

    def happens(self) -> bool:
        """Decide whether the fault occurs for a matching request or event; counts the match."""
        self._matched += 1
        if self._matched <= (self.spec.get("skip") or 0):
            return False
        count = self.spec.get("count") or 0
        if count and self._applied >= count:
            return False
        if self._probability < 1 and self._random.random() >= self._probability:
            return False
        self._applied += 1
        return True


class Faults:
    """The faults of a server. All that match a request occur, in the order of their creation."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._table = ObjectTable(Fault, _MAX_FAULTS)
        self.past: dict[int, int] = {}  # revision to read from, by id of the request

    def _read_stale(self, request: Request, versions: int) -> None:
        """Answer a read of the newest state with the state `versions` revisions ago."""
        store, verb = self._api.store, request.target.verb
        revision = max(store.floor, store.revision - versions, 1)
        if verb == "get":
            self.past[id(request)] = revision
        elif verb == "list" and not request.parameter("continue"):
            exact = {"resourceVersion": [str(revision)], "resourceVersionMatch": ["Exact"]}
            request.query = {**request.query, **exact}

    @property
    def active(self) -> bool:
        return bool(self._table.objects)

    def handlers(self) -> Handlers:
        return self._table.handlers(KEY)

    async def answer(self, request: Request, answer: Answering) -> Answer:
        """Answer a request under the faults that match it; raises StatusError."""
        matching = [fault for fault in self._table.objects.values() if fault.matches(request)]
        on_events = [fault for fault in matching if fault.events]
        active = [fault for fault in matching if not fault.events and fault.happens()]
        for fault in active:
            if fault.delay:
                await wait(request, fault.delay)
            if fault.cut == "before":
                return CutOff()
            if fault.spec.get("error"):
                raise error_of(fault.spec["error"])
            if fault.stale:
                self._read_stale(request, fault.stale)
        try:
            result = await answer(request)
        finally:
            self.past.pop(id(request), None)
        if any(fault.cut == "after" for fault in active):
            return CutOff()
        cut = any(fault.cut == "middle" for fault in active)
        source = result.source if isinstance(result, WatchStream) else None
        if isinstance(result, WatchStream) and isinstance(source, Watch) and (on_events or cut):
            result.source = FaultyWatch(source, on_events, request if cut else None)
        return result
