"""Parts of events that many of them share, as JSON that is made once."""

from __future__ import annotations

from os import urandom
from time import gmtime, strftime

import orjson

from fairlead import clock
from fairlead.authentication.user import User, user_bytes
from fairlead.bounded import Bounded

_LONGEST = 4096  # bytes of a part that is kept
_MOST = 4096


def quoted(text: str) -> bytes:
    """A text in JSON, whatever bytes of a client it came from."""
    try:
        return orjson.dumps(text)
    except orjson.JSONEncodeError:  # half of a pair that UTF-8 does not have
        return orjson.dumps(text.encode("utf-8", "replace").decode())


def user_info(user: User) -> dict[str, object]:
    """A user as events and reviews show one."""
    found: dict[str, object] = {"username": user.name}
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = user.groups
    if user.extra:
        found["extra"] = {name: user.extra[name] for name in sorted(user.extra)}
    return {name: value for name, value in found.items() if value}


class Users:
    """The JSON of users. Whoever asks again and again is the same object each time, so that they
    are known by identity; the object is held as long as its JSON is."""

    def __init__(self) -> None:
        self._known: Bounded[int, tuple[User, bytes]] = Bounded(_MOST, longest=_LONGEST)

    def json(self, user: User) -> bytes:
        known = self._known.get(id(user))
        if known is not None and known[0] is user:
            return known[1]
        made = dumped(user_info(user))
        self._known.keep(id(user), (user, made), user_bytes(user))
        return made


class Callers:
    """Where requests come from and what program sends them: `,"sourceIPs":…,"userAgent":…`."""

    def __init__(self) -> None:
        self._known: Bounded[tuple[tuple[str, ...], str], bytes] = Bounded(_MOST, longest=_LONGEST)

    def json(self, addresses: tuple[str, ...], agent: str) -> bytes:
        key = (addresses, agent)
        found = self._known.get(key)
        if found is None:
            found = b',"sourceIPs":' + dumped(addresses) if addresses else b""
            if agent:
                found += b',"userAgent":' + quoted(agent)
            self._known.keep(key, found, len(found))
        return found


def dumped(value: object) -> bytes:
    """A value in JSON, also where it holds text that UTF-8 does not have."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return orjson.dumps(_clean(value))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(name): _clean(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(one) for one in value]
    return value


def new_id() -> str:
    """A random UUID."""
    text = urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:]}"


_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}
_second = -1
_prefix = ""


def stamp() -> str:
    """The moment, to the microsecond."""
    global _second, _prefix
    now = clock.time()
    second = int(now)
    if second != _second:
        _prefix = strftime("%Y-%m-%dT%H:%M:%S.", gmtime(second))
        _second = second
    return f"{_prefix}{int((now - second) * 1_000_000):06d}Z"
