"""All published devices, and those in use, read again only where objects have changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.base import meter
from fairlead.controllers.devices.pools import Pools
from fairlead.controllers.devices.usage import Usage
from fairlead.operations.api import Object
from fairlead.storage.version import Version

_STEPS_PER_BYTE = 0.02  # of reading an object


class Stock(NamedTuple):
    pools: Pools
    usage: Usage


class Inventory:
    """The inventory. Only one thread may use it at a time."""

    def __init__(self) -> None:
        self._slices: list[tuple[str, int]] = []
        self._pools = Pools(())
        self._claims: dict[str, tuple[int, Object]] = {}

    def stock(self, slices: Sequence[Version], claims: Sequence[Version]) -> Stock:
        published = [(version.key, version.revision) for version in slices]
        if published != self._slices:
            self._pools = Pools(read_version(version) for version in slices)
            self._slices = published
        known, allocated = self._claims, set()
        for version in claims:
            meter.spend()
            if not version.mentions("allocation"):
                continue
            allocated.add(version.key)
            before = known.get(version.key)
            if before is None or before[0] != version.revision:
                status = read_version(version).get("status") or {}
                result = {"status": {"allocation": status.get("allocation")}}
                known[version.key] = version.revision, result
        for key in known.keys() - allocated:
            del known[key]
        return Stock(self._pools, Usage(self._pools, (claim for _, claim in known.values())))


def read_version(version: Version) -> Object:
    """The object of a version; decoding it counts as steps of the meter."""
    meter.spend(int(len(version.body or b"") * _STEPS_PER_BYTE))
    return version.object()
