"""Tracks which cluster addresses and node ports are allocated, and to which services.

A server has one `ServiceAllocators`. A write reserves values in a `Reservation`. After the commit,
`observe` assigns them to the service; if the write fails, the reservation is released. Committed
services always win: `observe` follows the store, regardless of reservations. If several servers
share the store, reserved values are also claimed in the store (`Claims`).

From release 1.33 on, ServiceCIDR objects have the ranges of addresses, and each allocated address
is an IPAddress object, which is written in the commit of its service (`AddressObjects`).
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from ipaddress import ip_address

from sortedcontainers import SortedDict

from fairlead.codec.types.model import Object as Object
from fairlead.resources.core.addresses import Network, family_of, parse_address, parse_network
from fairlead.resources.core.services.claims import (
    IP_ADDRESSES,
    AddressObjects,
    Claims,
    parent_reference,
)
from fairlead.resources.core.services.fields import HEADLESS, addresses, needs_address, node_ports
from fairlead.storage.writes import Companion

DEFAULT_NETWORKS = "10.0.0.0/24"
DEFAULT_PORTS = "30000-32767"

_MAX_CAPPED = 2**16
_SMALLEST_BAND, _LARGEST_BAND, _BANDS = 16, 256, 16
# The first port that a dry run shows in place of an allocated port.
_DRY_PORT = 32769


class AllocationError(Exception):
    """A value that cannot be allocated."""


class Pool:
    """Numbers with their holders, any number of holders for each."""

    def __init__(self) -> None:
        self._holders: SortedDict[int, set[Hashable]] = SortedDict()

    def is_taken(self, number: int) -> bool:
        return number in self._holders

    def holders(self, number: int) -> Iterable[Hashable]:
        return self._holders.get(number, ())

    def hold(self, number: int, holder: Hashable) -> None:
        self._holders.setdefault(number, set()).add(holder)

    def assign(self, number: int, holder: Hashable) -> None:
        """Assign a number to a holder and drop all reservations of it."""
        holders = self._holders.get(number, ())
        services = {holder for holder in holders if not isinstance(holder, Reservation)}
        self._holders[number] = services | {holder}

    def release(self, number: int, holder: Hashable) -> None:
        holders = self._holders.get(number)
        if holders is None:
            return
        holders.discard(holder)
        if not holders:
            del self._holders[number]

    def free(self, low: int, high: int) -> int | None:
        """A random free number from `low` up to `high`, exclusive; None if all are taken."""
        if low >= high:
            return None
        start = random.randrange(low, high)
        number = self._free_from(start, high)
        return self._free_from(low, start) if number is None else number

    def _free_from(self, low: int, high: int) -> int | None:
        """The lowest free number. Taken numbers are sorted: as long as all from `low` on are taken,
        a number and its position grow alike, so the first gap is found by halving."""
        taken = self._holders.keys()
        first = left = self._holders.bisect_left(low)
        right = len(taken)
        while left < right:
            middle = (left + right) // 2
            if taken[middle] - low == middle - first:
                left = middle + 1
            else:
                right = middle
        number = low + left - first
        return number if number < high else None


class AddressRange:
    """The allocatable addresses of a network, without its network and broadcast addresses. The
    lowest ones are kept for explicit requests: random allocation takes them last. Ranges of one
    family share a pool, so they may overlap."""

    def __init__(
        self, network: Network, pool: Pool, *, static_band: bool = True, is_capped: bool = False
    ) -> None:
        """`is_capped`: only the first 65,536 addresses of an IPv6 network are allocatable."""
        self.network = network
        self.family = f"IPv{network.version}"
        self.pool = pool
        self._first = int(network.network_address) + 1
        usable = network.num_addresses - 2
        if network.version == 6:
            usable = (min(network.num_addresses, _MAX_CAPPED) if is_capped else usable + 2) - 1
        self._end = self._first + max(usable, 0)
        self.static = _static_size(network.num_addresses) if static_band else 0
        self._dynamic = min(self._first + self.static, self._end)

    def number_of(self, text: str) -> int | None:
        """An address as a number; None if it is outside of the range."""
        address = parse_address(text)
        if address is None or address.version != self.network.version:
            return None
        return int(address) if self._first <= int(address) < self._end else None

    def address_of(self, number: int) -> str:
        return str(type(self.network.network_address)(number))

    def free(self) -> int | None:
        """A random free address as a number; None if the range is full."""
        number = self.pool.free(self._dynamic, self._end)
        return self.pool.free(self._first, self._dynamic) if number is None else number


def _static_size(addresses_in_network: int) -> int:
    """The number of lowest addresses that random allocation uses last."""
    if addresses_in_network <= _SMALLEST_BAND:
        return 0
    return min(max(addresses_in_network // _BANDS, _SMALLEST_BAND), _LARGEST_BAND)


class PortRange:
    """The node ports from `low` to `high`, both inclusive."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.pool = Pool()

    def __str__(self) -> str:
        return f"{self.low}-{self.high}"

    def number_of(self, port: int) -> int | None:
        return port if self.low <= port <= self.high else None

    def free(self) -> int | None:
        return self.pool.free(self.low, self.high + 1)


def parse_networks(text: str) -> list[Network]:
    """Parse `--service-cluster-ip-range`: one network, or two of different families; raises
    ValueError."""
    networks = [parse_network(part.strip()) for part in text.split(",")]
    valid = [network for network in networks if network is not None]
    if len(valid) != len(networks):
        raise ValueError(f"not a list of IP ranges: {text}")
    if len(valid) > 2 or len({network.version for network in valid}) != len(valid):
        raise ValueError("at most one service range of each IP family can be given")
    return valid


def parse_ports(text: str) -> tuple[int, int]:
    """Parse `--service-node-port-range`: `low-high`, `base+size` or one port; raises ValueError."""
    low, dash, high = text.strip().partition("-")
    base, plus, size = text.strip().partition("+")
    first, last = (int(low), int(high)) if dash else (int(base), int(base) + int(size or 0))
    if plus and not size:
        raise ValueError(f"not a port range: {text}")
    if not 0 < first <= last <= 65535:
        raise ValueError(f"not a port range: {text}")
    return first, last


class ServiceAllocators:
    """The cluster addresses and node ports of a server. The family of the first network is the
    default for services. `objects`: addresses are IPAddress objects, and ServiceCIDR objects have
    the ranges."""

    def __init__(
        self,
        networks: Sequence[Network],
        ports: tuple[int, int],
        *,
        static_band: bool = True,
        claims: Claims | None = None,
        objects: AddressObjects | None = None,
    ) -> None:
        self._claims_in_store = claims
        self.objects = objects
        self._static_band = static_band
        self._pools: dict[str, Pool] = {}
        self._configured = [self._range(network) for network in networks]
        self._by_object: dict[str, list[AddressRange]] = {}  # those of ready ServiceCIDRs
        self.ports = PortRange(*ports)
        self._assigned: dict[str, set[tuple[Pool, int]]] = {}

    def _range(self, network: Network) -> AddressRange:
        pool = self._pools.setdefault(f"IPv{network.version}", Pool())
        is_capped = self.objects is None
        return AddressRange(network, pool, static_band=self._static_band, is_capped=is_capped)

    @property
    def families(self) -> tuple[str, ...]:
        """The configured families, the default first."""
        return tuple(address_range.family for address_range in self._configured)

    @property
    def configured(self) -> list[str]:
        """The configured ranges."""
        return [str(address_range.network) for address_range in self._configured]

    def ranges(self, family: str) -> list[AddressRange]:
        """The ranges that addresses of a family come from: those of the ServiceCIDRs that are
        ready, and the configured one until its ServiceCIDR exists."""
        configured = self._configured
        if self.objects is not None and self.objects.default_range in self._by_object:
            configured = []
        ranges = (configured, *self._by_object.values())
        return [
            address_range
            for group in ranges
            for address_range in group
            if address_range.family == family
        ]

    def observe_range(self, name: str, value: Object | None) -> None:
        """Record a committed ServiceCIDR; None if it is deleted. One that is not ready or is being
        deleted gives no addresses."""
        ready = _readiness(value) if value is not None else ""
        is_default = self.objects is not None and name == self.objects.default_range
        if value is None or (is_default and not ready):
            self._by_object.pop(name, None)
            return
        networks = map(parse_network, value["spec"].get("cidrs") or ())
        usable = ready == "True" and not value["metadata"].get("deletionTimestamp")
        self._by_object[name] = [self._range(network) for network in networks if network and usable]

    def observe_address(self, name: str, exists: bool) -> None:
        """Record a committed or deleted IPAddress: while it exists, its address is not allocated to
        others."""
        address = parse_address(name)
        if address is None:
            return
        pool = self._pools.setdefault(f"IPv{address.version}", Pool())
        if exists:
            pool.hold(int(address), IP_ADDRESSES)
        else:
            pool.release(int(address), IP_ADDRESSES)

    def load(self, services: Iterable[Object]) -> None:
        """Record the stored services at start."""
        for service in services:
            self.observe(None, service)

    def observe(self, old: Object | None, new: Object | None) -> None:
        """Record a committed change of a service: created (no `old`), changed or deleted (no
        `new`). Must be called in commit order."""
        service = new if new is not None else old
        if service is None:
            return
        metadata = service["metadata"]
        key = f"{metadata.get('namespace', '')}/{metadata['name']}"
        before = self._assigned.pop(key, set())
        after = self._claims(new["spec"]) if new is not None else set()
        for pool, number in after:
            pool.assign(number, key)
        for pool, number in before - after:
            pool.release(number, key)
        if after:
            self._assigned[key] = after

    def _claims(self, spec: Object) -> set[tuple[Pool, int]]:
        claimed: set[tuple[Pool, int]] = set()
        for text in cluster_addresses(spec):
            address, pool = ip_address(text), self._pools.get(family_of(text))
            if pool is not None:
                claimed.add((pool, int(address)))
        for port in (*node_ports(spec), spec.get("healthCheckNodePort") or 0):
            number = self.ports.number_of(port)
            if number is not None:
                claimed.add((self.ports.pool, number))
        return claimed

    def released(self, old: Object, new: Object | None) -> list[str]:
        """The addresses that the new version of a service does not have, whose IPAddress objects
        refer to it."""
        kept = set(cluster_addresses(new["spec"])) if new is not None else set()
        return [
            text
            for text in cluster_addresses(old["spec"])
            if text not in kept and self._is_of(text, old["metadata"])
        ]

    def services_of(self, address: str) -> list[str]:
        """The keys of the services that have an address; there is more than one only after an
        error."""
        number = ip_address(address)
        pool = self._pools.get(f"IPv{number.version}")
        holders = pool.holders(int(number)) if pool is not None else ()
        return sorted(
            holder for holder in holders if isinstance(holder, str) and holder != IP_ADDRESSES
        )

    def _is_of(self, address: str, service: Mapping[str, str]) -> bool:
        held = self.objects.collection.latest(address) if self.objects is not None else None
        reference = parent_reference(service["namespace"], service["name"])
        return held is not None and held.object()["spec"].get("parentRef") == reference

    def reserve(self, *, dry_run: bool = False) -> Reservation:
        return Reservation(self, dry_run)

    def claims(self, reservation: Reservation, service: Object) -> list[Companion]:
        """The companions to write with the service that gets the reserved values."""
        companions: list[Companion] = []
        if self.objects is not None:
            companions += (
                self.objects.companion(text, service["metadata"]) for text in reservation.addresses
            )
        if self._claims_in_store is not None:
            shared = [] if self.objects is not None else reservation.addresses
            names = [
                *(f"address-{text}" for text in shared),
                *(f"port-{port}" for port in reservation.ports),
            ]
            companions += self._claims_in_store.of(names)
        return companions


def cluster_addresses(spec: Object) -> list[str]:
    """The addresses of a service in their canonical form."""
    if not needs_address(spec):
        return []
    parsed = (parse_address(text) for text in addresses(spec) if text != HEADLESS)
    return [str(address) for address in parsed if address is not None]


def _readiness(service_range: Object) -> str:
    """The status of the condition Ready; empty without one."""
    conditions = (service_range.get("status") or {}).get("conditions") or ()
    return next(
        (condition["status"] for condition in conditions if condition["type"] == "Ready"), ""
    )


class Reservation:
    """The values that one write has reserved. A dry run reserves nothing and returns example
    values."""

    def __init__(self, allocators: ServiceAllocators, dry_run: bool) -> None:
        self._allocators = allocators
        self._dry_run = dry_run
        self._taken: list[tuple[Pool, int]] = []
        self.addresses: list[str] = []
        self.ports: list[int] = []
        self._dry_ports: set[int] = set()
        self._last_dry_port = 0

    def address(self, family: str, requested: str = "") -> str:
        """Allocate a free address of a family, or the wanted address; raises AllocationError."""
        ranges = self._allocators.ranges(family)
        if not requested:
            if self._dry_run and ranges:
                return str(ip_address(ranges[0].network.network_address))
            return self._free_address(ranges)
        for address_range in ranges:
            number = address_range.number_of(requested)
            if number is not None:
                if not self._dry_run:
                    self._take(address_range.pool, number, "provided IP is already allocated")
                    self.addresses.append(address_range.address_of(number))
                return requested
        if self._allocators.objects is not None and not self._dry_run:
            raise AllocationError("the provided network does not match the current range")
        raise AllocationError(
            f"the provided IP ({requested}) is not in the valid range."
            f" The range of valid IPs is {ranges[0].network}"
        )

    def _free_address(self, ranges: Sequence[AddressRange]) -> str:
        for address_range in ranges:
            number = address_range.free()
            if number is not None:
                self._hold(address_range.pool, number)
                self.addresses.append(address_range.address_of(number))
                return self.addresses[-1]
        raise AllocationError("range is full")

    def port(self, requested: int = 0) -> int:
        """Allocate a free node port, or the wanted port; raises AllocationError."""
        if self._dry_run:
            return self._dry_port(requested)
        ports = self._allocators.ports
        if not requested:
            allocated = ports.free()
            if allocated is None:
                raise AllocationError("range is full")
            self._hold(ports.pool, allocated)
            self.ports.append(allocated)
            return allocated
        number = ports.number_of(requested)
        if number is None:
            raise AllocationError(
                f"provided port is not in the valid range. The range of valid ports is {ports}"
            )
        self._take(ports.pool, number, "provided port is already allocated")
        self.ports.append(requested)
        return requested

    def _dry_port(self, requested: int) -> int:
        ports = self._allocators.ports
        number = ports.number_of(requested) if requested else None
        taken = number is not None and ports.pool.is_taken(number)
        if taken or requested in self._dry_ports:
            raise AllocationError("provided port is already allocated")
        port = requested or (self._last_dry_port or _DRY_PORT - 1) + 1
        self._last_dry_port = max(self._last_dry_port, port)
        self._dry_ports.add(port)
        return port

    def _take(self, pool: Pool, number: int, refusal: str) -> None:
        if pool.is_taken(number):
            raise AllocationError(refusal)
        self._hold(pool, number)

    def _hold(self, pool: Pool, number: int) -> None:
        pool.hold(number, self)
        self._taken.append((pool, number))

    def release(self) -> None:
        """Release all values; those of a committed service stay allocated to it."""
        for pool, number in self._taken:
            pool.release(number, self)
        self._taken.clear()
