"""IP addresses of simulated nodes and their pods."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

_NODES = IPv4Network("172.16.0.0/12")
_PODS = IPv4Network("10.64.0.0/10")
_FIRST = 2  # after the network address and the gateway
_PREFIX = 24
_OF_A_NODE = 1 << (32 - _PREFIX)


def node_address(number: int) -> str:
    return str(_NODES[_FIRST + number])


def pod_network(number: int) -> IPv4Network:
    """The pod network of a node."""
    return IPv4Network((int(_PODS.network_address) + number * _OF_A_NODE, _PREFIX))


class AddressPool:
    """The pod addresses of one node; at most one per pod key."""

    def __init__(self, network: IPv4Network) -> None:
        self._first = int(network.network_address)
        self._next = _FIRST
        self._used: dict[int, str] = {}
        self._of: dict[str, int] = {}

    def take(self, key: str) -> str | None:
        """Allocate or return the address of a pod; None if the pool is exhausted. Freed addresses
        are reused last."""
        number = self._of.get(key)
        if number is None:
            number = self._free()
            if number is None:
                return None
            self._hold(key, number)
        return str(IPv4Address(self._first + number))

    def has_room_for(self, key: str) -> bool:
        """Whether a pod has an address or can get one."""
        return key in self._of or len(self._used) < _OF_A_NODE - 1 - _FIRST

    def hold(self, key: str, address: str) -> None:
        """Record that a pod already has this address."""
        try:
            number = int(IPv4Address(address)) - self._first
        except ValueError:  # not from this pool
            return
        if self._of.get(key) == number:
            return
        if _FIRST <= number < _OF_A_NODE - 1 and number not in self._used:
            self.give_back(key)
            self._hold(key, number)

    def give_back(self, key: str) -> None:
        number = self._of.pop(key, None)
        if number is not None:
            del self._used[number]

    def _hold(self, key: str, number: int) -> None:
        self._used[number] = key
        self._of[key] = number

    def _free(self) -> int | None:
        usable = _OF_A_NODE - 1 - _FIRST
        for step in range(usable):
            number = _FIRST + (self._next - _FIRST + step) % usable
            if number not in self._used:
                self._next = number + 1
                return number
        return None
