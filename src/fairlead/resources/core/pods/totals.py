"""The resource requests and limits of pods: the totals that quotas, limit ranges and the scheduler
count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fairlead.base import meter
from fairlead.codec.types.quantity import Amount, amount
from fairlead.resources.behaviour import Object

Totals = dict[str, Amount]

_STEPS_PER_NAME = 8  # includes the later work on its total


def demands(spec: Object) -> list[object]:
    """The parts of a pod spec that determine its totals; equal for pods of one template."""
    initial = spec.get("initContainers")
    return [
        [container["resources"] for container in spec["containers"]],
        [[c["resources"], c.get("restartPolicy")] for c in initial] if initial else (),
        spec.get("overhead"),
        spec.get("resources"),
    ]


def pod_totals(spec: Object) -> tuple[Totals, Totals]:
    """Requests and limits of a pod: those of its containers, unless the pod itself has some, plus
    the overhead."""
    requests, limits = container_totals(spec, "requests"), container_totals(spec, "limits")
    if "resources" in spec:
        _override(requests, spec["resources"].get("requests"))
        _override(limits, spec["resources"].get("limits"))
    overhead = spec.get("overhead")
    if overhead:
        _add(requests, overhead)
        _add(limits, {name: text for name, text in overhead.items() if name in limits})
    return requests, limits


def container_totals(spec: Object, kind: str) -> Totals:
    """The requests or limits of the containers together: the sum over those that run all the time,
    sidecars among them, or the largest sum while an init container runs, whichever is more."""
    totals: Totals = {}
    for container in spec["containers"] or ():
        resources = container["resources"]
        if resources:
            _add(totals, resources.get(kind))
    if "initContainers" not in spec:
        return totals
    sidecars: Totals = {}
    largest: Totals = {}
    for container in spec["initContainers"] or ():
        amounts = container["resources"].get(kind)
        if is_sidecar(container):
            _add(totals, amounts)
            _add(sidecars, amounts)
            _raise(largest, sidecars)
        elif amounts:
            together = dict(sidecars)
            _add(together, amounts)
            _raise(largest, together)
    _raise(totals, largest)
    return totals


def is_sidecar(init_container: Object) -> bool:
    """Whether an init container is started before the others and keeps running beside them."""
    return bool(init_container.get("restartPolicy") == "Always")


POD_LEVEL_RESOURCES: Final[tuple[str, ...]] = ("cpu", "memory")
HUGE_PAGES: Final = "hugepages-"


def is_pod_level(name: str) -> bool:
    """Whether the resource can be requested for a pod as a whole."""
    return name in POD_LEVEL_RESOURCES or name.startswith(HUGE_PAGES)


def has_own_resources(spec: Object) -> bool:
    """Whether the pod as a whole requests or limits a resource."""
    own: Object = spec.get("resources") or {}
    return any(
        is_pod_level(name) for kind in ("requests", "limits") for name in own.get(kind) or ()
    )


def _override(totals: Totals, amounts: Mapping[str, str] | None) -> None:
    """Take the amounts that are given for the pod as a whole."""
    for name, text in (amounts or {}).items():
        if is_pod_level(name):
            totals[name] = amount(text)


def _add(totals: Totals, amounts: Mapping[str, str] | None) -> None:
    if not amounts:
        return
    meter.spend(_STEPS_PER_NAME * len(amounts))
    for name, text in amounts.items():
        value, total = amount(text), totals.get(name)
        totals[name] = value if total is None else total.plus(value)


def _raise(totals: Totals, others: Totals) -> None:
    meter.spend(_STEPS_PER_NAME * len(others))
    for name, value in others.items():
        total = totals.get(name)
        if total is None or value.value > total.value:
            totals[name] = value
