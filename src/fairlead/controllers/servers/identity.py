"""Maintains the identity Lease of this server and deletes expired ones of other servers."""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from hashlib import sha256
from socket import gethostname
from uuid import uuid4

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import TimeError, format_micro_time, parse_time
from fairlead.controllers.framework import Keys
from fairlead.controllers.servers.election import LEASES
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.storage.version import Change

_SWEEP_INTERVAL = 3600.0


class IdentityLease:
    """There is one key. The identity is new at each start. `address` is where other servers reach
    this one; with it the name of the lease depends on the host, so each host has one lease."""

    name = "apiserver-identity"
    workers = 1
    is_steady = True

    def __init__(
        self, client: Client, dialect: Dialect, duration: int, interval: int, address: str = ""
    ) -> None:
        component = f"{dialect.system_prefix}-apiserver"
        self._client = client
        self._namespace = dialect.system_namespace
        self._labels: dict[str, str] = {}
        self._annotations: dict[str, str] = {}
        if address:
            host = gethostname()
            self._label = dialect.label("apiserver.@/identity"), component
            self._identity = f"apiserver-{_digest(host, component)}"
            self._holder = f"{self._identity}_{uuid4()}"
            self._labels = {dialect.label("@/hostname"): host}
            self._annotations = {dialect.label("@/peer-advertise-address"): address}
        else:
            self._label = dialect.group_name("@/component"), component
            self._identity = self._holder = f"{component}-{uuid4()}"
        self._key = f"{self._namespace}/{self._identity}"
        self._duration = duration
        self._interval = float(interval)
        self._renewed = self._swept = float("-inf")

    def add_by(self, add: Callable[[str], None]) -> None:
        add(self._key)

    def follows(self) -> Mapping[str, Keys]:
        return {LEASES: self._lost}

    def _lost(self, change: Change) -> Iterable[str]:
        return (self._key,) if change.after is None and change.key == self._key else ()

    async def sync(self, key: str) -> float | None:
        lease = self._client.find(LEASES, self._namespace, self._identity)
        if lease is None or clock.steady() >= self._renewed + self._interval:
            began = clock.steady()
            await self._renew(lease)
            self._renewed = began
        if clock.steady() >= self._swept + _SWEEP_INTERVAL:
            await self._sweep()
            self._swept = clock.steady()
        return max(0.0, self._renewed + self._interval - clock.steady())

    async def _renew(self, lease: Object | None) -> None:
        lease_spec = {
            "holderIdentity": self._holder,
            "leaseDurationSeconds": self._duration,
            "renewTime": format_micro_time(clock.now()),
        }
        if lease is None:
            metadata = self._marked({"name": self._identity, "namespace": self._namespace})
            await self._client.create(LEASES, {"metadata": metadata, "spec": lease_spec})
            return

        def renewed(old: Object) -> Object:
            return {**old, "metadata": self._marked(old["metadata"]), "spec": lease_spec}

        await self._client.change(LEASES, self._namespace, self._identity, renewed)

    def _marked(self, metadata: Object) -> Object:
        """The metadata with the labels and annotations of this server."""
        labels = {**(metadata.get("labels") or {}), **self._labels, **dict([self._label])}
        annotations = {**(metadata.get("annotations") or {}), **self._annotations}
        return {**metadata, "labels": labels, "annotations": annotations}

    async def _sweep(self) -> None:
        """Delete expired leases; the revision precondition spares one that is renewed meanwhile."""
        label, component = self._label
        for version in self._client.collection(LEASES).current(self._namespace):
            if version.labels.get(label) != component or not _has_expired(version.object()):
                continue
            options = DeleteOptions(revision=str(version.revision))
            try:
                await self._client.delete(LEASES, self._namespace, version.name, options)
            except StatusError as error:
                if error.code != 409:
                    raise


def _digest(*parts: str) -> str:
    """A digest of texts, each preceded by its length, as 26 letters and digits."""
    texts = (part.encode() for part in parts)
    data = b"".join(len(text).to_bytes(2, "big") + text for text in texts)
    return b32encode(sha256(data).digest()[:16]).decode().rstrip("=").lower()


def _has_expired(lease: Object) -> bool:
    spec = lease.get("spec") or {}
    renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if not renewed or not seconds:
        return True
    try:
        return clock.now() > parse_time(renewed) + timedelta(seconds=seconds)
    except (TimeError, OverflowError):
        return True
