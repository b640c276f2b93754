"""Converts etcd entries to rows and back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from fairlead.base.logs import Logger, Tally
from fairlead.base.metrics import REGISTRY
from fairlead.storage.backend import Fault, Row, StorageError, Write
from fairlead.storage.encryption.keyring import SEALED, Sealed
from fairlead.storage.etcd.messages import Event, KeyValue

logger = Logger("fairlead.storage.etcd")

UNREADABLE = REGISTRY.counter(
    "fairlead_etcd_unreadable_values",
    "Values in etcd that could not be decoded, by resource.",
    ("resource",),
)

_MAX_REMEMBERED = 4096


class Codec(Protocol):
    """Maps keys of rows to paths in etcd, and encodes values.

    Paths begin with a slash and follow the prefix. The path of a key is the path of the empty
    key followed by the key, so the keys of a resource form one range, in order."""

    def path(self, resource: str, key: str) -> str: ...

    def location(self, path: str) -> tuple[str, str] | None:
        """Return the resource and key at a path; None if the resource is not served."""

    def encode(self, resource: str, key: str, api_version: str, value: bytes) -> bytes: ...

    def decode(self, resource: str, key: str, raw: bytes) -> tuple[str, bytes]:
        """Return the apiVersion and the row's value. Raises any exception if the value is
        unreadable, Sealed if a key for it is missing."""

    def form(self, resource: str, raw: bytes) -> bytes | None:
        """Return what identifies the way a value is stored; None if there is only one."""

    def current_form(self, resource: str) -> bytes | None:
        """Return the form of a value that is stored now."""

    async def prepare(self, resource: str, values: Sequence[bytes]) -> None:
        """Get what `decode` needs from others for these values. Raises StorageError."""


class Rows:
    """Converts the keys below a prefix.

    Values written here are remembered until the feed returns them, which saves decoding. An
    encrypted value without its key is fatal, because a server that took it for missing would act on
    that; with `leaves_sealed_out` it is skipped like any other unreadable value. Keys of
    resources for which `holds` returns False are not served.
    """

    def __init__(
        self,
        prefix: bytes,
        codec: Codec,
        *,
        leaves_sealed_out: bool = False,
        holds: Callable[[str], bool] = lambda resource: True,
    ) -> None:
        self._prefix = prefix
        self._below = prefix + b"/"
        self._codec = codec
        self._leaves_sealed_out = leaves_sealed_out
        self._holds = holds
        # Revisions and forms of the newest values, for resources that have several forms.
        self._forms: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._sent: dict[bytes, tuple[bytes, str, bytes]] = {}
        self._unreadable = Tally(logger, logging.WARNING, "values in etcd that cannot be read")

    def key(self, resource: str, key: str) -> bytes:
        return self._prefix + self._codec.path(resource, key).encode()

    def location(self, key: bytes) -> tuple[str, str] | None:
        """Return the resource and key of an etcd key; None if it is not served."""
        if not key.startswith(self._below):
            return None
        try:
            location = self._codec.location(key[len(self._prefix) :].decode())
        except UnicodeDecodeError:
            return None
        return location if location is not None and self._holds(location[0]) else None

    def encode(self, write: Write, key: bytes) -> bytes | None:
        """Return the value to store; None for a deletion."""
        if write.value is None:
            return None
        raw = self._codec.encode(write.resource, write.key, write.api_version, write.value)
        if len(self._sent) < _MAX_REMEMBERED:
            self._sent[key] = raw, write.api_version, write.value
        return raw

    def forget(self, keys: Sequence[bytes]) -> None:
        """Forget remembered values of failed writes: the feed may never return them."""
        for key in keys:
            self._sent.pop(key, None)

    def forget_all(self) -> None:
        self._sent.clear()

    def row(self, entry: KeyValue, previous: int = 0) -> Row | None:
        """Convert an entry to a row; None if it is not served or unreadable."""
        location = self.location(entry.key)
        if location is None:
            return None
        resource, key = location
        remembered = self._sent.get(entry.key)
        if remembered is not None and remembered[0] == entry.value:
            del self._sent[entry.key]
            self._record_form(location, entry)
            return Row(entry.revision, resource, key, previous, remembered[1], remembered[2])
        try:
            api_version, value = self._codec.decode(resource, key, entry.value)
        except Sealed as error:
            if not self._leaves_sealed_out:
                raise StorageError(f"etcd: {error}", Fault.FATAL) from None
            self._count_unreadable(resource, key, error)
            return None
        except StorageError:
            raise
        except Exception as error:  # values of other clients can be anything
            self._count_unreadable(resource, key, error)
            return None
        self._record_form(location, entry)
        return Row(entry.revision, resource, key, previous, api_version, value)

    def _count_unreadable(self, resource: str, key: str, error: Exception) -> None:
        UNREADABLE.add(of=(resource,))
        self._unreadable.add(resource, f"{key}: {error}")

    def is_stale(self, resource: str, key: str, revision: int) -> bool:
        """See `Source.is_stale`."""
        form = self._forms.get((resource, key))
        if form is None or form[0] != revision:
            return False
        return form[1] != self._codec.current_form(resource)

    def _record_form(self, location: tuple[str, str], entry: KeyValue) -> None:
        form = self._codec.form(location[0], entry.value)
        if form is not None and entry.revision >= self._forms.get(location, (0, b""))[0]:
            self._forms[location] = entry.revision, form

    async def prepare(self, entries: Iterable[KeyValue]) -> None:
        """As `Codec.prepare`, for entries that are decoded next."""
        values: dict[str, list[bytes]] = {}
        for entry in entries:
            if entry.value.startswith(SEALED) and (location := self.location(entry.key)):
                values.setdefault(location[0], []).append(entry.value)
        for resource, stored in values.items():
            await self._codec.prepare(resource, stored)

    def step(self, event: Event, previous: int = 0, api_version: str = "") -> Row | None:
        """Convert an event to a row. An unreadable value becomes a deletion, since the previous
        value is gone."""
        if not event.is_deletion:
            row = self.row(event.entry, previous)
            if row is not None:
                return row
        location = self.location(event.entry.key)
        if location is None:
            return None
        self._forms.pop(location, None)
        return Row(event.entry.revision, *location, previous, api_version, None)
