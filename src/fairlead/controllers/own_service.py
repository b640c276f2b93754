"""Maintains the Service of the API servers, its Endpoints and EndpointSlice; reverts edits and
deletes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from fairlead.base.dialect import Dialect
from fairlead.controllers.framework import Keys
from fairlead.controllers.servers.election import LEASES
from fairlead.controllers.servers.endpoint_list import Listing, Server
from fairlead.controllers.service_endpoints.endpoints import ENDPOINTS
from fairlead.controllers.service_endpoints.mirror import SKIP
from fairlead.controllers.service_endpoints.pods import SERVICES
from fairlead.controllers.service_endpoints.slice_index import SLICES
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.core.addresses import family_of, special_uses
from fairlead.storage.version import Change

# Addresses reserved for documentation (RFC 5737, RFC 3849): a UDP connect to them reveals the local
# address in use.
_REMOTE_ADDRESSES = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
Mend = Callable[[Object], Object]
_OF_PORT = ("name", "port", "protocol", "targetPort")


def advertised_address(*configured: str) -> str:
    """The first configured address that is reachable from outside, else this machine's; empty if
    there is none."""
    return (
        next((address for address in configured if not special_uses(address)), "")
        or _machine_address()
    )


def _machine_address() -> str:
    for family, far in _REMOTE_ADDRESSES:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((far, 9))  # sends nothing
            except OSError:
                continue
            address = str(probe.getsockname()[0])
            if not special_uses(address):
                return address
    return ""


class OwnService:
    """There is one key. `service` is the desired Service, `listing` returns the servers for its
    Endpoints."""

    name = "own-service"
    workers = 1
    is_steady = True

    def __init__(
        self, objects: Client, dialect: Dialect, service: Object, listing: Listing
    ) -> None:
        self._objects = objects
        self._service = service
        self._listing = listing
        self._name: str = service["metadata"]["name"]
        self._namespace: str = service["metadata"]["namespace"]
        self._key = f"{self._namespace}/{self._name}"
        self._skip_label = dialect.label(SKIP)
        self._service_label = dialect.label("@/service-name")

    def add_by(self, add: Callable[[str], None]) -> None:
        add(self._key)  # also creates the objects if none exist yet

    def follows(self) -> Mapping[str, Keys]:
        followed = dict.fromkeys((SERVICES, ENDPOINTS, SLICES), self._own)
        if self._listing.prefix:
            followed[LEASES] = self._of_a_server
        return followed

    def _own(self, change: Change) -> Iterable[str]:
        return (self._key,) if change.key == self._key else ()

    def _of_a_server(self, change: Change) -> Iterable[str]:
        return (self._key,) if change.key.startswith(self._listing.prefix) else ()

    async def sync(self, key: str = "") -> float | None:
        delay = await self._listing.keep()
        servers = self._listing.servers(self._find(ENDPOINTS))
        await self._write(SERVICES, self._service, partial(self._with_ports, servers))
        if not servers:
            return delay
        endpoints, endpoint_slice = self._desired_endpoints(servers), self._desired_slice(servers)
        await asyncio.gather(
            self._write(ENDPOINTS, endpoints, lambda old: _merged(old, endpoints)),
            self._put_slice(endpoint_slice),
        )
        return delay

    async def leave(self) -> None:
        """Remove this server from the Endpoints at shutdown. The last server leaves them
        unchanged."""
        await self._listing.leave()
        await self.sync()

    def _with_ports(self, servers: Sequence[Server], old: Object) -> Object:
        """The Service with our ports and type. Keeps its other fields, such as cluster IPs, and
        ports that point to another live server."""
        ports = self._service["spec"]["ports"]
        spec = {**old["spec"], "type": "ClusterIP"}
        listed = [{name: port.get(name) for name in _OF_PORT} for port in spec.get("ports") or ()]
        others = ([{**ports[0], "targetPort": server.port}] for server in servers)
        if listed != ports and listed not in others:
            spec["ports"] = ports
        return {**old, "spec": spec}

    def _desired_endpoints(self, servers: Sequence[Server]) -> Object:
        subsets = []
        for port in sorted({server.port for server in servers}):
            listed = [{"ip": server.address} for server in servers if server.port == port]
            subsets.append({"addresses": listed, "ports": [self._offered(port)]})
        return {
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                "labels": {self._skip_label: "true"},
            },
            "subsets": subsets,
        }

    def _offered(self, port: int) -> Object:
        service = self._service["spec"]["ports"][0]
        return {"name": service["name"], "port": port, "protocol": service["protocol"]}

    def _desired_slice(self, servers: Sequence[Server]) -> Object:
        """A slice has one port and one address family: the lowest port, and the family of the first
        address with it."""
        port = min(server.port for server in servers)
        addresses = [server.address for server in servers if server.port == port]
        family = family_of(addresses[0])
        return {
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                "labels": {self._service_label: self._name},
            },
            "addressType": family,
            "endpoints": [
                {"addresses": [address], "conditions": {"ready": True}}
                for address in addresses
                if family_of(address) == family
            ],
            "ports": [self._offered(port)],
        }

    async def _put_slice(self, endpoint_slice: Object) -> None:
        old = self._find(SLICES)
        if old is not None and old["addressType"] != endpoint_slice["addressType"]:
            await self._objects.delete(SLICES, self._namespace, self._name)
        await self._write(SLICES, endpoint_slice, lambda old: _merged(old, endpoint_slice))

    def _find(self, key: str) -> Object | None:
        return self._objects.find(key, self._namespace, self._name)

    async def _write(self, key: str, new: Object, mend: Mend) -> None:
        """Create the object if it is missing, update it if `mend` changes it."""
        if not self._objects.serves(key):
            return
        old = self._find(key)
        if old is None:
            await self._objects.create(key, new)
        elif mend(old) != old:
            await self._objects.change(key, self._namespace, self._name, mend)


def _merged(old: Object, new: Object) -> Object:
    """The desired content and labels on top of the existing object."""
    metadata = {**old["metadata"], "labels": new["metadata"]["labels"]}
    return {**old, **new, "metadata": metadata}
