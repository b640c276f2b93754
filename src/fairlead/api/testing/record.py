"""Records all requests, for tests to inspect."""

from __future__ import annotations

from collections import deque
from typing import Any

import orjson

from fairlead.api.answers import Answer
from fairlead.api.request import Request
from fairlead.api.testing.memory_objects import Handlers, read_handlers, succeeded
from fairlead.base import clock
from fairlead.codec.types.times import format_micro_time
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation

KEY = "testing/v1/requests"
_MAX_REQUESTS = 20_000  # requests
_LONGEST_BODY = 64 * 1024


class Entry:
    """A recorded request. User and body become known after its arrival."""

    __slots__ = ("code", "number", "request", "seconds", "spec")

    def __init__(self, number: int, request: Request) -> None:
        self.number = number
        self.request: Request | None = request  # None once it has ended
        self.code = 0
        self.seconds = 0.0
        target = request.target
        self.spec: Object = {
            "time": format_micro_time(clock.now()),
            "method": request.method,
            "path": request.path,
            "query": request.exchange.head.query.decode("latin-1"),
            "verb": target.verb,
            "group": target.group,
            "version": target.version,
            "resource": target.resource_name,
            "subresource": target.subresource,
            "namespace": target.namespace,
            "name": target.name,
            "userAgent": request.user_agent,
            "contentType": request.header(b"content-type"),
        }

    def document(self) -> Object:
        value: Object = {"metadata": {"name": str(self.number)}, "spec": self._current_spec()}
        if self.code:
            value["status"] = {"code": self.code, "seconds": round(self.seconds, 6)}
        return value

    def _current_spec(self) -> Object:
        if self.request is None:
            return self.spec
        return {**self.spec, "user": _user(self.request)}

    def end(self, request: Request, code: int, seconds: float) -> None:
        self.spec["user"] = _user(request)
        body = _body(request)
        if body is not None:
            self.spec["body"] = body
        self.code, self.seconds, self.request = code, seconds, None


def _user(request: Request) -> str:
    user = getattr(request, "user", None)
    return user.name if user is not None else ""


def _body(request: Request) -> Any:
    raw = request.sent
    if not raw or len(raw) > _LONGEST_BODY:
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


class Record:
    """The newest requests, in order of arrival."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=_MAX_REQUESTS)
        self._open: dict[int, Entry] = {}
        self._count = 0

    def begin(self, request: Request) -> None:
        self._count += 1
        entry = Entry(self._count, request)
        self._entries.append(entry)
        self._open[id(request)] = entry

    def end(self, request: Request, code: int, seconds: float) -> None:
        entry = self._open.pop(id(request), None)
        if entry is not None and entry.request is request:
            entry.end(request, code, seconds)

    def handlers(self) -> Handlers:
        reads = read_handlers(
            KEY, lambda: {str(entry.number): entry.document() for entry in self._entries}
        )
        return {**reads, (KEY, "deletecollection"): self._clear}

    async def _clear(self, api: Api, request: Request, operation: Operation) -> Answer:
        self._entries.clear()
        return succeeded(api, request, operation)
