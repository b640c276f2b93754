"""The servers listed in the Endpoints of the API servers' Service: `--endpoint-reconciler-type`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from ipaddress import ip_address
from typing import NamedTuple, Protocol

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import format_micro_time
from fairlead.controllers.servers.election import LEASES
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.addresses import special_uses

_RENEWAL = 10.0  # seconds between renewals
_LEASE_SECONDS = 15  # seconds without a renewal after which a server counts as gone


class Server(NamedTuple):
    """The address of a server; sorts in the order of Endpoints."""

    address: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Server | None:
        """Parse `host:port`; None if Endpoints cannot list it."""
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        try:
            address = str(ip_address(host))
        except ValueError:
            return None
        if special_uses(address) or not (port.isascii() and port.isdigit() and len(port) <= 5):
            return None
        return cls(address, int(port)) if 0 < int(port) < 65536 else None


class Listing(Protocol):
    """The strategy that determines the listed servers."""

    prefix: str  # key prefix of the Leases that servers write; empty if there are none

    async def keep(self) -> float | None:
        """Announce this server; returns the seconds until that is due again, or None."""

    def servers(self, endpoints: Object | None) -> Sequence[Server]:
        """The servers to list, given the current Endpoints; empty to leave those unchanged."""

    async def leave(self) -> None:
        """Announce that this server ends."""


class NoListing:
    """Leaves the Endpoints alone."""

    prefix = ""

    async def keep(self) -> float | None:
        return None

    def servers(self, endpoints: Object | None) -> Sequence[Server]:
        return ()

    async def leave(self) -> None:
        return None


class SingleServer(NoListing):
    """Lists this server only."""

    def __init__(self, own: Server) -> None:
        self._own = own

    def servers(self, endpoints: Object | None) -> Sequence[Server]:
        return (self._own,)


class MasterCount(NoListing):
    """Lists the servers already in the Endpoints and this one, up to a maximum. Drops servers
    beyond it, alive or not."""

    def __init__(self, own: Server, maximum: int) -> None:
        self._own = own
        self._maximum = maximum
        self._left = False

    def servers(self, endpoints: Object | None) -> Sequence[Server]:
        own, port = self._own, self._own.port
        servers = {Server(address, port) for address in _listed(endpoints)}
        if self._left:
            return sorted(servers - {own})
        listed = sorted(servers | {own})
        position = listed.index(own)
        while len(listed) > self._maximum:
            gone = (position + 1) % len(listed)  # first the servers after our own
            position -= gone < position
            del listed[gone]
        return listed

    async def leave(self) -> None:
        self._left = True


def _listed(endpoints: Object | None) -> list[str]:
    """The addresses in Endpoints of the form this server writes."""
    subsets = (endpoints or {}).get("subsets") or []
    if len(subsets) != 1:
        return []
    return [address["ip"] for address in subsets[0].get("addresses") or ()]


class LeaseBased:
    """Lists live servers by Leases.

    Every server renews a Lease in the system namespace, named after its address. Any server deletes
    a Lease that has not changed for its duration by that server's own monotonic clock. So the
    existing Leases are the live servers, all servers see the same list, and clocks are never
    compared.
    """

    def __init__(self, client: Client, dialect: Dialect, own: Server) -> None:
        self._client = client
        self._own = own
        self._namespace = dialect.system_namespace
        self._start = f"{dialect.system_prefix}-apiserver-endpoint-"
        self._name = f"{self._start}{own.address.replace(':', '-')}-{own.port}"
        self.prefix = f"{self._namespace}/{self._start}"
        self._renewed = -math.inf
        # Spec of other servers' leases, and since when it is unchanged.
        self._observed: dict[str, tuple[Object, float]] = {}
        self._left = False

    async def keep(self) -> float | None:
        if self._left:
            return None
        if self._find() is None or clock.steady() >= self._renewed + _RENEWAL:
            began = clock.steady()
            await self._renew()
            self._renewed = began
        ends = [self._renewed + _RENEWAL]
        for record in self._records():
            if record["metadata"]["name"] != self._name:
                ends.append(await self._check_lease(record))
        return max(0.0, min(ends) - clock.steady())

    def _find(self) -> Object | None:
        return self._client.find(LEASES, self._namespace, self._name)

    def _records(self) -> list[Object]:
        versions = self._client.collection(LEASES).current(self._namespace)
        return [version.object() for version in versions if version.name.startswith(self._start)]

    async def _renew(self) -> None:
        moment = format_micro_time(clock.now())
        lease_spec = {
            "holderIdentity": str(self._own),
            "leaseDurationSeconds": _LEASE_SECONDS,
            "renewTime": moment,
        }
        if self._find() is None:
            metadata = {"name": self._name, "namespace": self._namespace}
            spec = {**lease_spec, "acquireTime": moment}
            await self._client.create(LEASES, {"metadata": metadata, "spec": spec})
        else:
            await self._client.change(
                LEASES,
                self._namespace,
                self._name,
                lambda old: {**old, "spec": {**(old.get("spec") or {}), **lease_spec}},
            )

    async def _check_lease(self, record: Object) -> float:
        """Check another server's lease, deleting it if expired; returns when it expires."""
        metadata, spec = record["metadata"], record.get("spec") or {}
        name, now = metadata["name"], clock.steady()
        renewal, since = self._observed.get(name, (None, now))
        if renewal != spec:
            self._observed[name] = spec, now
            return now + _LEASE_SECONDS
        if now < since + _LEASE_SECONDS:
            return since + _LEASE_SECONDS
        del self._observed[name]
        await self._forget(name, metadata["resourceVersion"])
        return math.inf

    async def _forget(self, name: str, revision: str = "") -> None:
        options = DeleteOptions(revision=revision)
        try:
            await self._client.delete(LEASES, self._namespace, name, options)
        except StatusError as error:
            if error.code != 409:  # renewed meanwhile
                raise

    def servers(self, endpoints: Object | None) -> Sequence[Server]:
        holders = (
            (lease.get("spec") or {}).get("holderIdentity") or "" for lease in self._records()
        )
        return sorted({server for server in map(Server.parse, holders) if server is not None})

    async def leave(self) -> None:
        self._left = True
        await self._forget(self._name)
