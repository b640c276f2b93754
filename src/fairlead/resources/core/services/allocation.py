"""Tracks which cluster addresses and node ports are allocated, and to which services.

A server has one `ServiceAllocators`. A write reserves values in a `Reservation`. After the commit,
`observe` assigns them to the service; if the write fails, the reservation is released. Committed
services always win: `observe` follows the store, regardless of reservations. If several servers
share the store, reserved values are also claimed in the store (`Claims`).
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Sequence
from ipaddress import ip_address
from itertools import chain

from fairlead.codec.types.model import Object as Object
from fairlead.resources.core.addresses import Network, family_of, parse_address, parse_network
from fairlead.resources.core.services.fields import HEADLESS, addresses, needs_address, node_ports
from fairlead.storage.backend import ConditionFailed
from fairlead.storage.store import Store
from fairlead.storage.writes import Companion

DEFAULT_NETWORKS = "10.0.0.0/24"
DEFAULT_PORTS = "30000-32767"

_MAX_POOL_SIZE = 2**16
_SMALLEST_BAND, _LARGEST_BAND, _BANDS = 16, 256, 16
# The first port that a dry run shows in place of an allocated port.
_DRY_PORT = 32769


class AllocationError(Exception):
    """A value that cannot be allocated."""


class Pool:
    """The numbers from 0 up to `size`, each with any number of holders. Free numbers are chosen at
    random, first outside of the lowest `static` numbers, which are kept for explicit requests."""

    def __init__(self, size: int, static: int = 0) -> None:
        self.size = size
        self.static = min(static, size)
        self._holders: dict[int, set[Hashable]] = {}

    def is_taken(self, number: int) -> bool:
        return number in self._holders

    def hold(self, number: int, holder: Hashable) -> None:
        self._holders.setdefault(number, set()).add(holder)

    def assign(self, number: int, holder: Hashable) -> None:
        """Assign a number to a holder and drop all reservations of it."""
        holders = self._holders.get(number, ())
        services = {each for each in holders if not isinstance(each, Reservation)}
        self._holders[number] = services | {holder}

    def release(self, number: int, holder: Hashable) -> None:
        holders = self._holders.get(number)
        if holders is None:
            return
        holders.discard(holder)
        if not holders:
            del self._holders[number]

    def free(self) -> int | None:
        """A random free number; None if the pool is full."""
        number = self._free_between(self.static, self.size)
        return self._free_between(0, self.static) if number is None else number

    def _free_between(self, low: int, high: int) -> int | None:
        if low >= high:
            return None
        start = random.randrange(low, high)
        for number in chain(range(start, high), range(low, start)):
            if number not in self._holders:
                return number
        return None


class AddressRange:
    """The allocatable addresses of a network, without its network and broadcast addresses."""

    def __init__(self, network: Network, *, static_band: bool = True) -> None:
        self.network = network
        self.family = f"IPv{network.version}"
        self._first = int(network.network_address) + 1
        usable = min(network.num_addresses, _MAX_POOL_SIZE) - 1
        if network.version == 4:
            usable = network.num_addresses - 2
        static = _static_size(network.num_addresses) if static_band else 0
        self.pool = Pool(max(usable, 0), static)

    def number_of(self, text: str) -> int | None:
        """The pool number of an address; None if it is outside of the network."""
        address = parse_address(text)
        if address is None or address.version != self.network.version:
            return None
        number = int(address) - self._first
        return number if 0 <= number < self.pool.size else None

    def address_of(self, number: int) -> str:
        address = type(self.network.network_address)(self._first + number)
        return str(address)


def _static_size(addresses_in_network: int) -> int:
    """The number of lowest addresses that random allocation uses last."""
    if addresses_in_network <= _SMALLEST_BAND:
        return 0
    return min(max(addresses_in_network // _BANDS, _SMALLEST_BAND), _LARGEST_BAND)


class PortRange:
    """The node ports from `low` to `high`, both inclusive."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.pool = Pool(high - low + 1)

    def __str__(self) -> str:
        return f"{self.low}-{self.high}"

    def number_of(self, port: int) -> int | None:
        return port - self.low if self.low <= port <= self.high else None


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
    default for services."""

    def __init__(
        self,
        networks: Sequence[Network],
        ports: tuple[int, int],
        *,
        static_band: bool = True,
        claims: Claims | None = None,
    ) -> None:
        self._claims_in_store = claims
        ranges = [AddressRange(network, static_band=static_band) for network in networks]
        self.ranges = {each.family: each for each in ranges}
        self.ports = PortRange(*ports)
        self._assigned: dict[str, set[tuple[Pool, int]]] = {}

    @property
    def families(self) -> tuple[str, ...]:
        """The configured families, the default first."""
        return tuple(self.ranges)

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
        for text in addresses(spec) if needs_address(spec) else ():
            each = self.ranges.get(family_of(text)) if text != HEADLESS else None
            number = each.number_of(text) if each is not None else None
            if each is not None and number is not None:
                claimed.add((each.pool, number))
        for port in (*node_ports(spec), spec.get("healthCheckNodePort") or 0):
            number = self.ports.number_of(port)
            if number is not None:
                claimed.add((self.ports.pool, number))
        return claimed

    def reserve(self, *, dry_run: bool = False) -> Reservation:
        return Reservation(self, dry_run)

    def claims(self, reservation: Reservation) -> list[Companion]:
        """The companions to write with the service that gets the reserved values."""
        if self._claims_in_store is None:
            return []
        return self._claims_in_store.of(reservation.names)


class Reservation:
    """The values that one write has reserved. A dry run reserves nothing and returns example
    values."""

    def __init__(self, allocators: ServiceAllocators, dry_run: bool) -> None:
        self._allocators = allocators
        self._dry_run = dry_run
        self._taken: list[tuple[Pool, int]] = []
        self.names: list[str] = []  # of the reserved values, as keys in the store
        self._dry_ports: set[int] = set()
        self._last_dry_port = 0

    def address(self, family: str, requested: str = "") -> str:
        """Allocate a free address of a family, or the wanted address; raises AllocationError."""
        each = self._allocators.ranges[family]
        if not requested:
            if self._dry_run:
                return str(ip_address(each.network.network_address))
            allocated = each.address_of(self._take_free(each.pool))
            self.names.append(f"address-{allocated}")
            return allocated
        number = each.number_of(requested)
        if number is None:
            raise AllocationError(
                f"the provided IP ({requested}) is not in the valid range."
                f" The range of valid IPs is {each.network}"
            )
        if not self._dry_run:
            self._take(each.pool, number, "provided IP is already allocated")
            self.names.append(f"address-{each.address_of(number)}")
        return requested

    def port(self, requested: int = 0) -> int:
        """Allocate a free node port, or the wanted port; raises AllocationError."""
        if self._dry_run:
            return self._dry_port(requested)
        ports = self._allocators.ports
        if not requested:
            allocated = ports.low + self._take_free(ports.pool)
            self.names.append(f"port-{allocated}")
            return allocated
        number = ports.number_of(requested)
        if number is None:
            raise AllocationError(
                f"provided port is not in the valid range. The range of valid ports is {ports}"
            )
        self._take(ports.pool, number, "provided port is already allocated")
        self.names.append(f"port-{requested}")
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

    def _take_free(self, pool: Pool) -> int:
        number = pool.free()
        if number is None:
            raise AllocationError("range is full")
        self._hold(pool, number)
        return number

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


# Claims on addresses and ports, as keys in the store, for several servers on one store
#
# A reservation exists in the memory of one server; another server may choose the same value
# before it sees the service. So the service and a key for the value are written in one commit:
# of two servers that want a value, one finds its key changed. Keys are never deleted. A key
# alone does not mean that a value is in use: a server that finds the value free among the
# services may write its key again.

CLAIMS = "fairlead/serviceclaims"


class Claims:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._collection = store.collection(CLAIMS)

    def of(self, names: Iterable[str]) -> list[Companion]:
        """The companions to write with a service that takes these values."""
        return [
            Companion(
                self._collection,
                {"metadata": {"name": name}},
                self._collection.latest(name),
                name,
            )
            for name in names
        ]


def is_claimed(error: ConditionFailed) -> bool:
    """Whether a write failed because another server allocated one of its values."""
    return error.condition.resource == CLAIMS
