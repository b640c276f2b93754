"""Encoded parts of events that many events share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, count
from os import urandom
from time import gmtime, strftime
from typing import NamedTuple
from uuid import uuid4

import orjson

from fairlead.auth.authentication.user import User, user_bytes
from fairlead.base import clock
from fairlead.base.caches import BoundedCache

_LONGEST = 4096  # bytes of a cached part
_MAX_CACHED = 4096


# Matches text that needs no escaping in a URI or in JSON.
is_plain = re.compile(r"[A-Za-z0-9/:@!$&'()*+,;=._~-]*\Z").match


def quoted(text: str) -> str:
    """A string as JSON, whatever bytes it was decoded from."""
    return dumped(text).decode()


def dumped(value: object) -> bytes:
    """Encode a value as JSON; replaces characters that UTF-8 cannot encode."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return orjson.dumps(_clean(value))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


def user_info(user: User) -> dict[str, object]:
    """A user in the form of events."""
    extra = {name: user.extra[name] for name in sorted(user.extra)}
    fields = {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": extra}
    return {name: value for name, value in fields.items() if value}


class Users:
    """Caches the JSON of users by object identity, because repeated requests of a user share a User
    object. The cache holds the object, so that its id stays valid."""

    def __init__(self) -> None:
        self._cache: BoundedCache[int, tuple[User, str]] = BoundedCache(
            _MAX_CACHED, longest=_LONGEST
        )

    def json(self, user: User) -> str:
        cached = self._cache.get(id(user))
        if cached is not None and cached[0] is user:
            return cached[1]
        text = dumped(user_info(user)).decode()
        self._cache.keep(id(user), (user, text), user_bytes(user))
        return text


class Caller(NamedTuple):
    """The source addresses and user agent of a request; `json` holds both as event fields."""

    addresses: tuple[str, ...]
    agent: str
    json: str


def caller(addresses: tuple[str, ...], agent: str) -> Caller:
    fields = f',"sourceIPs":{dumped(addresses).decode()}' if addresses else ""
    if agent:
        fields += f',"userAgent":{quoted(agent)}'
    return Caller(addresses, agent, fields)


_DIGITS = [b"%03d" % number for number in range(1000)]

# IDs are UUIDs with a random prefix whose last part is a counter of twelve digits: unique and
# cheap. A thousand IDs share all but the last three digits.
_start = str(uuid4())[:24]


def _thousand(number: int) -> Iterator[bytes]:
    return map(f"{_start}{number}".encode().__add__, _DIGITS)


new_id = chain.from_iterable(
    map(_thousand, count(10**8 + int.from_bytes(urandom(3), "big")))
).__next__
"""A UUID that no other request has."""


def stamp() -> str:
    """The current time with microseconds."""
    return stamp_of(clock.time())


def stamp_of(now: float) -> str:
    return instant(now).decode()


_LAST_DIGITS = [digits + b"Z" for digits in _DIGITS]
_second, _to_second = -1, b""
_begin, _to_millisecond = -1.0, b""  # of the last millisecond


def instant(now: float) -> bytes:
    """A time with microseconds. Caches the text up to the millisecond."""
    offset = now - _begin
    if not 0.0 <= offset < 0.001:
        offset = _move_to(now)
    return _to_millisecond + _LAST_DIGITS[int(offset * 1_000_000)]


def _move_to(now: float) -> float:
    """Move the cached millisecond to `now`; returns the offset of `now` in it."""
    global _second, _to_second, _begin, _to_millisecond
    millisecond = int(now * 1000)
    second, milliseconds = divmod(millisecond, 1000)
    if second != _second:
        _to_second = strftime("%Y-%m-%dT%H:%M:%S.", gmtime(second)).encode()
        _second = second
    _begin, _to_millisecond = millisecond / 1000, _to_second + _DIGITS[milliseconds]
    return min(max(now - _begin, 0.0), 0.000999)
