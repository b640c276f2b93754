"""What a running container uses: what its script or its annotations say, else a share of its
requests that moves gently with the clock."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from math import sin, tau
from typing import NamedTuple
from zlib import crc32

from fairlead.base import clock
from fairlead.codec.types.quantity import Amount, amount
from fairlead.controllers.simulation.behaviour import (
    BehaviourError,
    ContainerBehaviour,
    usage_amount,
)
from fairlead.controllers.simulation.script import Script
from fairlead.operations.api import Object

WINDOW = 15  # seconds between two measurements
Usage = dict[str, Amount]


class _Share(NamedTuple):
    """The share of the request, the usage without a request, and the precision of both."""

    of_request: Decimal
    without_request: Amount
    precision: Decimal


_SHARES = {
    "cpu": _Share(Decimal("0.5"), amount("5m"), amount("1u").value),
    "memory": _Share(Decimal("0.7"), amount("32Mi"), amount("1Ki").value),
}
# What a node uses by itself.
_BASE = {"cpu": amount("100m"), "memory": amount("512Mi")}
_WAVE, _WAVE_SECONDS = 0.1, 600.0  # how far the usage moves, and how fast


def measured_at() -> int:
    """When usage was last measured, in seconds."""
    return int(clock.time()) // WINDOW * WINDOW


def container_usage(
    uid: str, container: Object, script: Script, behaviour: ContainerBehaviour, time: int
) -> Usage:
    """What a container of the pod with this uid uses at a time."""
    annotated = {"cpu": behaviour.cpu_usage, "memory": behaviour.memory_usage}
    requests = (container.get("resources") or {}).get("requests") or {}
    wave, usage = None, {}
    for name, share in _SHARES.items():
        used = _scripted(script, name) or annotated[name]
        if used is None:
            wave = wave or _wave(uid + container["name"], time)
            used = _share_of(share, requests.get(name), wave)
        usage[name] = used
    return usage


def consumed(used: Mapping[str, float]) -> Usage:
    """What a container uses that was told so many processors and bytes, with a little of its
    own."""
    return {
        "cpu": amount(f"{int(used.get('cpu', 0.0) * 1000) + 1}m"),
        "memory": amount(f"{int(used.get('memory', 0.0) / 1024) + 4096}Ki"),
    }


def node_usage(name: str, time: int) -> Usage:
    """What a node uses without its pods."""
    wave = _wave(name, time)
    return {
        resource: _rounded(base, wave, _SHARES[resource].precision)
        for resource, base in _BASE.items()
    }


def _scripted(script: Script, resource: str) -> Amount | None:
    text = script.usage.get(resource)
    if text is None:
        return None
    try:
        return usage_amount(text)
    except BehaviourError:
        return None


def _share_of(share: _Share, request: str | None, wave: Decimal) -> Amount:
    requested = amount(request) if request else None
    if requested is None or not requested.value:
        return _rounded(share.without_request, wave, share.precision)
    return _rounded(requested, wave * share.of_request, share.precision)


def _rounded(base: Amount, factor: Decimal, precision: Decimal) -> Amount:
    kind = "binary" if precision > 1 else "decimal"
    return Amount((base.value * factor / precision).quantize(1, ROUND_HALF_UP) * precision, kind)


def _wave(seed: str, time: int) -> Decimal:
    """A number around 1 that goes up and down; each seed has its own phase."""
    phase = crc32(seed.encode()) / 2**32
    return Decimal(round(1 + _WAVE * sin(tau * (time / _WAVE_SECONDS + phase)), 6))
