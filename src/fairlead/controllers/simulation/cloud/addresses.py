"""The addresses of load balancers, and who waits for one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from fairlead.resources.core.addresses import Network, family_of
from fairlead.resources.core.services.allocation import AddressRange, Pool


class NoAddress(Exception):
    """There is no address for a holder. `slot` is what it has to wait for: an address or a
    family."""

    def __init__(self, text: str, slot: str) -> None:
        super().__init__(text)
        self.slot = slot


class CloudAddresses:
    """Addresses by holder. Holders are any texts; each has at most one address of a family."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self._ranges = {
            f"IPv{network.version}": AddressRange(network, Pool(), static_band=False)
            for network in networks
        }
        self._held: dict[str, dict[str, str]] = {}
        self._waiting: dict[str, dict[str, Callable[[str], None]]] = defaultdict(dict)
        self._slots: dict[str, str] = {}

    @property
    def families(self) -> Sequence[str]:
        """The families that have a range."""
        return tuple(self._ranges)

    def observe(self, holder: str, addresses: Iterable[str]) -> None:
        """Record the addresses that a stored object shows. Those of others are ignored."""
        for address in addresses:
            family = family_of(address)
            if family not in self._held.get(holder, {}):
                self._hold(holder, family, address)

    def take(self, holder: str, family: str, wanted: str = "") -> str:
        """The address of a holder, or a free one, or the wanted one; raises NoAddress."""
        addresses = self._ranges[family]
        current = self._held.get(holder, {}).get(family, "")
        if wanted:
            number = addresses.number_of(wanted)
            if number is None:
                raise NoAddress(f"address {wanted} is not in {addresses.network}", "")
        elif current:
            return current
        else:
            number = addresses.free()
            if number is None:
                raise NoAddress(f"no address is left in {addresses.network}", family)
        address = addresses.address_of(number)
        if address != current and not self._hold(holder, family, address):
            raise NoAddress(f"address {address} is already in use", address)
        return address

    def keep_only(self, holder: str, families: Sequence[str] = ()) -> None:
        """Release the addresses of a holder, except those of the given families."""
        for family in tuple(self._held.get(holder, ())):
            if family not in families:
                self._release(holder, family)

    def _hold(self, holder: str, family: str, address: str) -> bool:
        addresses = self._ranges.get(family)
        number = addresses.number_of(address) if addresses is not None else None
        if addresses is None or number is None or addresses.pool.is_taken(number):
            return False
        self._release(holder, family)
        addresses.pool.hold(number, holder)
        self._held.setdefault(holder, {})[family] = addresses.address_of(number)
        return True

    def _release(self, holder: str, family: str) -> None:
        held = self._held.get(holder, {})
        address = held.pop(family, None)
        if address is None:
            return
        if not held:
            del self._held[holder]
        addresses = self._ranges[family]
        number = addresses.number_of(address)
        assert number is not None
        addresses.pool.release(number, holder)
        self.offer(address)
        self.offer(family)

    # Waiting. One key is woken at a time; when it has tried, `offer` wakes the next.

    def wait(self, key: str, slot: str, wake: Callable[[str], None]) -> None:
        """Have `wake` called with the key when a slot may be free."""
        self._waiting[slot][key] = wake
        self._slots[key] = slot

    def stop_waiting(self, key: str) -> str:
        """What a key waited for, or empty."""
        slot = self._slots.pop(key, "")
        if slot:
            waiting = self._waiting[slot]
            del waiting[key]
            if not waiting:
                del self._waiting[slot]
        return slot

    def offer(self, slot: str) -> None:
        """Wake the first that waits for a slot, if it is free."""
        if slot in self._waiting and self._is_free(slot):
            key, wake = next(iter(self._waiting[slot].items()))
            wake(key)

    def _is_free(self, slot: str) -> bool:
        if slot in self._ranges:
            return self._ranges[slot].free() is not None
        addresses = self._ranges[family_of(slot)]
        number = addresses.number_of(slot)
        return number is not None and not addresses.pool.is_taken(number)
