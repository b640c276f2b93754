"""What a test may do to its server, as Python: the client side of the testing API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from types import TracebackType
from typing import Any, Self

from fairlead.client.sync import SyncClient

GROUP = "testing.fairlead.dev"
Object = dict[str, Any]

_numbers = count(1)


def _name(stem: str) -> str:
    return f"{stem}-{next(_numbers)}"


def _duration(value: float | str | timedelta) -> str:
    """As the API writes it; numbers are seconds."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return value if isinstance(value, str) else f"{value:g}s"


class Powers:
    """All of it for one server."""

    def __init__(self, admin: SyncClient) -> None:
        self._admin = admin

    def _do(self, resource: str, name: str = "", subresource: str = "", **body: Any) -> Object:
        made: Object = self._admin.resource(f"{resource}.{GROUP}").create(
            body, name=name, subresource=subresource
        )
        return made

    def snapshot(self) -> Snapshot:
        """Remember everything that is stored."""
        name = _name("snapshot")
        self._do("snapshots", metadata={"name": name})
        return Snapshot(self, name)

    def restore(self, name: str) -> Object:
        status: Object = self._do("snapshots", name, "restore")["status"]
        return status

    def forget(self, resource: str, name: str) -> None:
        self._admin.resource(f"{resource}.{GROUP}").delete(name)

    def fault(
        self,
        *,
        error: int | Mapping[str, Any] | None = None,
        verbs: Sequence[str] = (),
        resources: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        names: Sequence[str] = (),
        users: Sequence[str] = (),
        user_agents: Sequence[str] = (),
        **spec: Any,
    ) -> Fault:
        """Let requests go wrong until the fault is ended: `with cluster.fault(error=409,
        verbs=["update"], count=1): ...`. Further arguments are fields of a Fault's spec."""
        match = {
            "verbs": list(verbs),
            "resources": list(resources),
            "namespaces": list(namespaces),
            "names": list(names),
            "users": list(users),
            "userAgents": list(user_agents),
        }
        if error is not None:
            spec["error"] = {"code": error} if isinstance(error, int) else dict(error)
        if "delay" in spec:
            spec["delay"] = _duration(spec["delay"])
        name = _name("fault")
        chosen = {key: value for key, value in match.items() if value}
        self._do("faults", metadata={"name": name}, spec={"match": chosen, **spec})
        return Fault(self, name)

    def fault_status(self, name: str) -> Object:
        found: Object = self._admin.resource(f"faults.{GROUP}").get(name)
        return found["status"] or {}

    def advance(self, by: float | str | timedelta) -> datetime:
        """Move the clock of the server; gives the moment that it is then."""
        return self._move(by=_duration(by))

    def set_clock(self, to: datetime) -> datetime:
        """Move the clock of the server to a moment that is still to come."""
        return self._move(to=to.isoformat(timespec="microseconds"))

    def _move(self, **spec: str) -> datetime:
        moved = self._do("clocks", "clock", "move", spec=spec)
        return datetime.fromisoformat(moved["status"]["time"])

    def pause(self, controller: str) -> None:
        """Let a controller do nothing until `resume`; `paused` does both."""
        self._do("controllers", controller, "pause")

    def resume(self, controller: str) -> None:
        self._do("controllers", controller, "resume")

    @contextmanager
    def paused(self, *controllers: str) -> Iterator[None]:
        for name in controllers:
            self.pause(name)
        try:
            yield
        finally:
            for name in controllers:
                self.resume(name)

    def controllers(self) -> list[str]:
        listed = self._admin.resource(f"controllers.{GROUP}").list()
        return [item["metadata"]["name"] for item in listed["items"]]

    def requests(self, **fields: str | int) -> list[Object]:
        """The requests that were made, oldest first, as `{spec..., code, seconds}`; `fields` are
        those of a RequestSpec, or `code`: `cluster.requests(verb="patch", subresource="status")`."""
        paths = {name: "status.code" if name == "code" else f"spec.{name}" for name in fields}
        selector = ",".join(f"{paths[name]}={value}" for name, value in fields.items())
        query = {"fieldSelector": selector} if selector else {}
        listed = self._admin.resource(f"requests.{GROUP}").list(limit=0, **query)
        return [{**item["spec"], **(item.get("status") or {})} for item in listed["items"] or []]

    def forget_requests(self) -> None:
        self._admin.resource(f"requests.{GROUP}").delete_collection()

    def wait_idle(
        self, timeout: float | str | timedelta = 30, quiet: float | str | timedelta = 0.05
    ) -> None:
        """Return when no controller, queue, watch or request has anything left to do; raises
        TimedOut, which says who has."""
        self._do("idlewaits", spec={"timeout": _duration(timeout), "quiet": _duration(quiet)})


@dataclass
class Snapshot:
    """A state that can be gone back to. As a context, it is gone back to at the end."""

    powers: Powers
    name: str

    def restore(self) -> None:
        """Make everything be as it was. Watches end with 410."""
        self.powers.restore(self.name)

    def delete(self) -> None:
        self.powers.forget("snapshots", self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.restore()
        self.delete()


@dataclass
class Fault:
    """A fault that goes on until its `end`, or that of its context."""

    powers: Powers
    name: str

    @property
    def matched(self) -> int:
        """How many requests it was meant for."""
        return int(self.powers.fault_status(self.name).get("matched") or 0)

    @property
    def applied(self) -> int:
        """How many of them went wrong."""
        return int(self.powers.fault_status(self.name).get("applied") or 0)

    def end(self) -> None:
        self.powers.forget("faults", self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
