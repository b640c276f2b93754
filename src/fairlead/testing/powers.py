"""The client side of the testing API: snapshots, faults, the clock, controllers and requests."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Self

from fairlead.api.testing import GROUP
from fairlead.client.errors import NotFound, TimedOut
from fairlead.client.sync import SyncClient
from fairlead.codec.types.durations import parse_duration

Object = dict[str, Any]
Duration = float | str | timedelta  # numbers are seconds, texts as in the API

_numbers = count(1)
_MAX_WAIT = 30.0  # seconds per request


def _name(stem: str) -> str:
    return f"{stem}-{next(_numbers)}"


def seconds_of(value: Duration) -> float:
    """Convert a duration; raises ValueError."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    return parse_duration(value) if isinstance(value, str) else value


def all_of(texts: str | Sequence[str]) -> list[str]:
    """Return a list; a single text is one element."""
    return [texts] if isinstance(texts, str) else list(texts)


def lifetime_of(value: Duration) -> timedelta:
    """Convert the lifetime of credentials; raises ValueError."""
    try:
        seconds = seconds_of(value)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise ValueError(f'lifetime={value!r} is no duration such as "10m", 600 or a timedelta')
    return timedelta(seconds=seconds)


def duration_text(value: Duration) -> str:
    """Convert a duration to the form of the API."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return value if isinstance(value, str) else f"{value:f}s"


class Lent:
    """Something that a test starts in a server, until `end` or the end of the context."""

    def __init__(self, lent: list[Lent]) -> None:
        """`lent` is the list of all that have not ended."""
        self._lent = lent
        lent.append(self)

    def end(self) -> None:
        if self in self._lent:
            self._lent.remove(self)
            self._end()

    def _end(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()


class Powers:
    """The testing API of one server. `lent` lists everything that was started and has not ended."""

    admin: SyncClient

    def __init__(self) -> None:
        self.lent: list[Lent] = []
        self._ahead = timedelta()

    def _do(self, resource: str, name: str = "", subresource: str = "", **body: Any) -> Object:
        kinds = self.admin.resource(f"{resource}.{GROUP}")
        return kinds.create(body, name=name, subresource=subresource, fieldValidation="Strict")

    def _undo(self, resource: str, name: str) -> None:
        with suppress(NotFound):  # e.g. after a restart
            self.admin.resource(f"{resource}.{GROUP}").delete(name)

    def snapshot(self) -> Snapshot:
        """Take a snapshot of everything that is stored. As a context manager, restores it at the
        end."""
        name = _name("snapshot")
        self._do("snapshots", metadata={"name": name})
        return Snapshot(self, name)

    def fault(
        self,
        *,
        error: int | Mapping[str, Any] | None = None,
        verbs: str | Sequence[str] = (),
        groups: str | Sequence[str] = (),
        resources: str | Sequence[str] = (),
        namespaces: str | Sequence[str] = (),
        names: str | Sequence[str] = (),
        users: str | Sequence[str] = (),
        user_agents: str | Sequence[str] = (),
        delay: Duration = "",
        **spec: Any,
    ) -> Fault:
        """Make requests fail until the fault is ended: `with cluster.fault(error=409,
        verbs=["update"], count=1): ...`. Further arguments are fields of a Fault's spec: `cut`,
        `events`, `stale`, `count`, `skip`, `probability`, `seed`."""
        match = {
            "verbs": all_of(verbs),
            "groups": all_of(groups),
            "resources": all_of(resources),
            "namespaces": all_of(namespaces),
            "names": all_of(names),
            "users": all_of(users),
            "userAgents": all_of(user_agents),
        }
        if error is not None:
            spec["error"] = {"code": error} if isinstance(error, int) else dict(error)
        if delay:
            spec["delay"] = duration_text(delay)
        name = _name("fault")
        chosen = {key: value for key, value in match.items() if value}
        self._do("faults", metadata={"name": name}, spec={"match": chosen, **spec})
        return Fault(self, name)

    def now(self) -> datetime:
        """Return the time of the server's clock."""
        clock = self.admin.resource(f"clocks.{GROUP}").get("clock")
        return _moment(clock)

    def advance(self, by: Duration) -> datetime:
        """Move the server's clock forward and return its new time. Timers that become due fire at
        once."""
        return self._move(by=duration_text(by))

    def set_clock(self, to: datetime) -> datetime:
        """Move the server's clock to a time in the future."""
        return self._move(to=to.astimezone(UTC).isoformat(timespec="microseconds"))

    def _move(self, **spec: str) -> datetime:
        moved = self._do("clocks", "clock", "move", spec=spec)
        self._ahead = timedelta(seconds=moved["status"]["aheadSeconds"])
        return _moment(moved)

    def reset_clock(self) -> datetime:
        """Reset the clock to the machine's. Timestamps of objects stay."""
        clock = self._do("clocks", "clock", "reset")
        self._ahead = timedelta()
        return _moment(clock)

    @property
    def clock_was_moved(self) -> bool:
        return bool(self._ahead)

    def pause(self, *controllers: str) -> Pause:
        """Stop controllers until `resume`, or the end of the context."""
        pause = Pause(self, controllers)
        for name in controllers:
            self._do("controllers", name, "pause")
        return pause

    def resume(self, *controllers: str) -> None:
        for name in controllers:
            self._do("controllers", name, "resume")

    def controllers(self) -> list[Object]:
        """Return all running controllers, as `{name, paused, waiting, working, retries}`."""
        listed = self.admin.resource(f"controllers.{GROUP}").list()
        return [{"name": item["metadata"]["name"], **item["status"]} for item in listed["items"]]

    def requests(self, **fields: str | int) -> list[Object]:
        """Return the recorded requests, oldest first, as `{spec..., code, seconds}`. `fields` are
        those of a RequestSpec, or `code`: `cluster.requests(verb="patch",
        subresource="status")`."""
        paths = {name: "status.code" if name == "code" else f"spec.{name}" for name in fields}
        selector = ",".join(f"{paths[name]}={value}" for name, value in fields.items())
        query = {"fieldSelector": selector} if selector else {}
        listed = self.admin.resource(f"requests.{GROUP}").list(limit=0, **query)
        return [{**item["spec"], **(item.get("status") or {})} for item in listed["items"]]

    def record(self) -> Recording:
        """Record the requests from now on; as a context manager, until its end."""
        return Recording(self, self.now())

    def forget_requests(self) -> None:
        self.admin.resource(f"requests.{GROUP}").delete_collection()

    def wait_idle(self, timeout: Duration = 30, quiet: Duration = 0.05) -> None:
        """Return when no controller, queue, watch or request has work left; raises TimedOut, which
        names those that have."""
        ends = time.monotonic() + seconds_of(timeout)
        while True:
            left = max(0.0, ends - time.monotonic())
            spec = {"timeout": duration_text(min(left, _MAX_WAIT)), "quiet": duration_text(quiet)}
            try:
                self._do("idlewaits", spec=spec)
                return
            except TimedOut:
                if left <= _MAX_WAIT:
                    raise


def _moment(clock: Object) -> datetime:
    return datetime.fromisoformat(clock["status"]["time"])


class Snapshot(Lent):
    """A state of the store that can be restored any number of times."""

    def __init__(self, powers: Powers, name: str) -> None:
        super().__init__(powers.lent)
        self._powers = powers
        self.name = name

    def restore(self) -> Object:
        """Restore the state. Watches end with 410. Returns `{resourceVersion, changed}`."""
        status: Object = self._powers._do("snapshots", self.name, "restore")["status"]
        return status

    def _end(self) -> None:
        self._powers._undo("snapshots", self.name)

    def __exit__(self, *raised: object) -> None:
        self.restore()
        self.end()


class Fault(Lent):
    """A fault that makes requests fail. The counts are still available after its end."""

    def __init__(self, powers: Powers, name: str) -> None:
        super().__init__(powers.lent)
        self._powers = powers
        self._last: Object | None = None
        self.name = name

    def _status(self) -> Object:
        if self._last is not None:
            return self._last
        fault = self._powers.admin.resource(f"faults.{GROUP}").get(self.name)
        return fault.get("status") or {}

    @property
    def matched(self) -> int:
        """The number of requests that matched."""
        return int(self._status().get("matched") or 0)

    @property
    def applied(self) -> int:
        """The number of requests that failed."""
        return int(self._status().get("applied") or 0)

    def _end(self) -> None:
        try:
            self._last = self._status()
        except NotFound:  # e.g. after a restart
            self._last = {}
        self._powers._undo("faults", self.name)


class Pause(Lent):
    """Paused controllers."""

    def __init__(self, powers: Powers, controllers: Sequence[str]) -> None:
        super().__init__(powers.lent)
        self._powers = powers
        self._controllers = controllers

    def _end(self) -> None:
        """Resume the controllers that are still paused."""
        paused = {
            controller["name"]
            for controller in self._powers.controllers()
            if controller.get("paused")
        }
        self._powers.resume(*(name for name in self._controllers if name in paused))


class Recording:
    """The requests between two times."""

    def __init__(self, powers: Powers, since: datetime) -> None:
        self._powers = powers
        self._since = since
        self._until: datetime | None = None

    def requests(self, **fields: str | int) -> list[Object]:
        """Like `Powers.requests`."""
        return [request for request in self._powers.requests(**fields) if self._has(request)]

    def count(self, **fields: str | int) -> int:
        return len(self.requests(**fields))

    def _has(self, request: Object) -> bool:
        moment = datetime.fromisoformat(request["time"])
        return self._since <= moment and (self._until is None or moment < self._until)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._until = self._powers.now()
