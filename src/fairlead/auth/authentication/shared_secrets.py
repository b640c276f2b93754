"""Secrets with an expiry that several servers share through their store.

Each is an object in the store, named by the hash of its secret and signed with a key that only the
servers have: a user who can write such objects cannot forge a valid secret.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Protocol

from fairlead.auth.authentication.expiring_secrets import (
    MAX_PER_OWNER,
    MAX_SECRETS,
    IssuedSecret,
    TooManySecrets,
    hashed_name,
    is_secret,
    mark_of,
    new_secret,
)
from fairlead.base.clock import time

_CONTENT, _UNTIL, _SIGNATURE = "content", "until", "signature"

Data = Mapping[str, str]


class Objects(Protocol):
    """Objects with texts by name, which all servers of a store share. The methods that write block;
    they raise OSError if the store does not answer."""

    def find(self, name: str) -> Data | None: ...

    def names(self, prefix: str) -> list[str]: ...

    def create(self, name: str, data: Data) -> None: ...

    def change(self, name: str, change: Callable[[Data], Data | None]) -> bool:
        """Change the newest version of an object. Returns False if it is gone, or if `change`
        returns None."""

    def delete(self, name: str) -> None: ...

    def catch_up(self) -> Awaitable[None]:
        """Wait until `find` knows all writes acknowledged before the call."""


class SharedSecrets:
    """The issued secrets of a kind. `key` returns the key of all servers."""

    def __init__(self, kind: str, objects: Objects, key: Callable[[], bytes]) -> None:
        self._prefix = f"fairlead-console-{kind}-"
        self._objects = objects
        self._key = key

    def issue(self, owner: str, content: bytes, until: float) -> str:
        mark = mark_of(owner)
        self._make_room(mark)
        secret = new_secret(mark)
        name = self._name(secret)
        self._objects.create(name, self._signed(name, b64encode(content).decode(), until))
        return secret

    def find(self, secret: str) -> IssuedSecret | None:
        if not is_secret(secret):
            return None
        name = self._name(secret)
        return self._verified(name, self._objects.find(name))

    def take(self, secret: str) -> IssuedSecret | None:
        if not is_secret(secret):
            return None
        name, taken = self._name(secret), None

        def take(data: Data) -> Data | None:
            nonlocal taken
            taken = self._verified(name, data)
            return self._signed(name, "", 0.0) if taken is not None else None

        if not self._objects.change(name, take):
            return None
        self._objects.delete(name)
        return taken

    def extend(self, secret: str, until: float) -> bool:
        name = self._name(secret)

        def extended(data: Data) -> Data | None:
            if self._verified(name, data) is None:
                return None
            return self._signed(name, data[_CONTENT], until)

        return is_secret(secret) and self._objects.change(name, extended)

    def end(self, secret: str) -> None:
        if is_secret(secret):
            self._objects.delete(self._name(secret))

    def expiry_reader(self, secret: str) -> Callable[[], float]:
        def ends_at() -> float:
            found = self.find(secret)
            return found.until if found is not None else 0.0

        return ends_at

    def catch_up(self) -> Awaitable[None]:
        return self._objects.catch_up()

    def _name(self, secret: str) -> str:
        return self._prefix + hashed_name(secret)

    def _signed(self, name: str, content: str, until: float) -> Data:
        end = repr(until)
        return {_CONTENT: content, _UNTIL: end, _SIGNATURE: self._signature(name, content, end)}

    def _signature(self, name: str, content: str, until: str) -> str:
        signed = "\n".join((name, until, content)).encode()
        return hmac.digest(self._key(), signed, "sha256").hex()

    def _verified(self, name: str, data: Data | None) -> IssuedSecret | None:
        """The secret in an object; None if no server has signed it or it has expired."""
        if data is None:
            return None
        content, until = data.get(_CONTENT, ""), data.get(_UNTIL, "")
        signature = self._signature(name, content, until)
        if not hmac.compare_digest(signature.encode(), data.get(_SIGNATURE, "").encode()):
            return None
        end = float(until)
        return IssuedSecret(b64decode(content), end) if time() < end else None

    def _make_room(self, mark: str) -> None:
        left = sorted(self._sweep())
        own = [name for _, name in left if name.startswith(f"{self._prefix}{mark}.")]
        for name in own[: max(0, len(own) + 1 - MAX_PER_OWNER)]:
            self._objects.delete(name)
        if len(left) >= MAX_SECRETS:
            raise TooManySecrets

    def _sweep(self) -> Iterator[tuple[float, str]]:
        """Delete secrets that have expired or have no valid signature; yield the others with their
        expiry."""
        for name in self._objects.names(self._prefix):
            valid = self._verified(name, self._objects.find(name))
            if valid is None:
                self._objects.delete(name)
            else:
                yield valid.until, name
