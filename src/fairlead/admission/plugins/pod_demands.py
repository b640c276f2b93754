"""The resource requests and limits of pods."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.admission.plugins.base import Object
from fairlead.base import meter
from fairlead.codec.types.quantity import Amount, amount

Totals = dict[str, Amount]

_STEPS_PER_NAME = 8  # includes the later work on its total


def demands(spec: Object) -> list[object]:
    """The parts of a pod spec that determine its totals; equal for pods of one template."""
    initial = spec.get("initContainers")
    return [
        [container["resources"] for container in spec["containers"]],
        [container["resources"] for container in initial] if initial else (),
        spec.get("overhead"),
    ]


def pod_totals(spec: Object) -> tuple[Totals, Totals]:
    """Requests and limits of a pod: the sum over its containers or the largest init container,
    whichever is more, plus the overhead."""
    requests: Totals = {}
    limits: Totals = {}
    for container in spec["containers"]:
        resources = container["resources"]
        if resources:
            _add(requests, resources.get("requests"))
            _add(limits, resources.get("limits"))
    for container in spec.get("initContainers") or ():
        resources = container["resources"]
        if resources:
            _raise(requests, resources.get("requests"))
            _raise(limits, resources.get("limits"))
    overhead = spec.get("overhead")
    if overhead:
        _add(requests, overhead)
        _add(limits, {name: text for name, text in overhead.items() if name in limits})
    return requests, limits


def _add(totals: Totals, amounts: Mapping[str, str] | None) -> None:
    if not amounts:
        return
    meter.spend(_STEPS_PER_NAME * len(amounts))
    for name, text in amounts.items():
        value, total = amount(text), totals.get(name)
        totals[name] = value if total is None else total.plus(value)


def _raise(totals: Totals, amounts: Mapping[str, str] | None) -> None:
    if not amounts:
        return
    meter.spend(_STEPS_PER_NAME * len(amounts))
    for name, text in amounts.items():
        value, total = amount(text), totals.get(name)
        if total is None or value.value > total.value:
            totals[name] = value
