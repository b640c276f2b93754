"""The requests that the authorizer denied lately, kept in memory per process."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

from fairlead.api.request import Request
from fairlead.auth.authorization.attributes import SELECTORS, Attributes, Refused
from fairlead.base import clock
from fairlead.base.errors import clipped
from fairlead.codec.types.times import format_micro_time
from fairlead.operations.api import Object

_MAX_ENTRIES = 200
_LONGEST = 512
_MAX_GROUPS = 50
_ATTRIBUTES = ("verb", "group", "version", "resource", "subresource", "namespace", "name", "path")


class _Entry:
    """A denied request and how often it occurred."""

    __slots__ = ("count", "facts", "first", "last", "user")

    def __init__(self, user: str, facts: Object, now: float) -> None:
        self.user = user
        self.facts = facts
        self.first = self.last = now
        self.count = 1

    def document(self) -> Object:
        return {
            "time": _time(self.last),
            "firstTime": _time(self.first),
            "count": self.count,
            **self.facts,
        }


class Denied:
    """The latest denied requests. Repeated ones are counted rather than added, so that a client
    that retries does not evict others."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[Any, ...], _Entry] = OrderedDict()

    def note(self, request: Request, error: Refused) -> None:
        attributes = error.attributes
        key: tuple[Any, ...] = (attributes.user.name, *attributes[1:SELECTORS])
        entry = self._entries.get(key)
        if entry is not None:
            entry.count += 1
            entry.last = clock.time()
            entry.facts["groups"] = _groups(attributes)
            self._entries.move_to_end(key)
            return
        if sum(map(len, key[:-1])) > _LONGEST * len(_ATTRIBUTES):
            return  # too long to show, and would take memory
        self._entries[key] = _Entry(attributes.user.name, _facts(request, error), clock.time())
        if len(self._entries) > _MAX_ENTRIES:
            self._entries.popitem(last=False)

    def documents(self, user: str | None = None) -> list[Object]:
        """The entries of a user or of all users, newest last."""
        return [entry.document() for entry in self._entries.values() if user in (None, entry.user)]


def _facts(request: Request, error: Refused) -> Object:
    attributes: Attributes = error.attributes
    name = clipped(attributes.user.name, _LONGEST)
    facts: Object = {"user": name, "groups": _groups(attributes)}
    impersonator = request.impersonator
    if impersonator is not None:
        facts["impersonator"] = clipped(impersonator.name, _LONGEST)
    values = attributes._asdict()
    facts |= {name: clipped(values[name], _LONGEST) for name in _ATTRIBUTES if values[name]}
    if error.decision.reason:
        facts["reason"] = clipped(error.decision.reason, _LONGEST)
    return {**facts, "message": clipped(error.message, 2 * _LONGEST), "code": error.code}


def _groups(attributes: Attributes) -> list[str]:
    return [clipped(name, _LONGEST) for name in attributes.user.groups[:_MAX_GROUPS]]


def _time(seconds: float) -> str:
    return format_micro_time(datetime.fromtimestamp(seconds, UTC))
