"""Formats quantities and resource lists, and adds up the resources of pods."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.codec.types.quantity import Amount, QuantityError, amount, canonical

NOTHING = Amount(Decimal(0))
Amounts = dict[str, Amount]
_COUNTED = ("cpu", "memory")  # resources that determine the QoS class


def quantity_text(value: Fields) -> str:
    """The quantity in canonical form; 0 if there is none."""
    text = value.text()
    try:
        return canonical(text) if text else "0"
    except QuantityError:
        return text


def amount_of(value: Fields) -> Amount:
    """The quantity as a number; 0 if it cannot be parsed."""
    try:
        return amount(value.text() or "0")
    except QuantityError:
        return NOTHING


def draw_resources(page: Page, resources: Fields, level: int) -> None:
    for name, quantity in resources.parts():
        page.pair(name, quantity_text(quantity), level)


def draw_limits_and_requests(page: Page, resources: Fields, level: int) -> None:
    for name, path in (("Limits", "limits"), ("Requests", "requests")):
        if resources.map(path):
            page.write(f"{name}:", level)
            draw_resources(page, resources.part(path), level + 1)


# Computes the resource requests and limits of pods, and their QoS class.


def _resources(container: Fields, path: str) -> Amounts:
    return {name: amount_of(value) for name, value in container.parts(f"resources.{path}")}


def add(total: Amounts, more: Amounts) -> None:
    for name, added in more.items():
        total[name] = total[name].plus(added) if name in total else added


def of_pod(pod: Fields, path: str) -> Amounts:
    """The `requests` or `limits` of a pod: the sum of its containers and sidecars or the maximum of
    its init containers, whichever is larger, unless the pod has its own; plus overhead."""
    total: Amounts = {}
    for container in pod.items("spec.containers"):
        add(total, _resources(container, path))
    _add_init_containers(total, pod, path)
    total.update(_resources(pod.part("spec"), path))
    overhead = {name: amount_of(value) for name, value in pod.parts("spec.overhead")}
    if path == "limits":
        overhead = {
            name: amount for name, amount in overhead.items() if total.get(name, NOTHING).value
        }
    add(total, overhead)
    return total


def _add_init_containers(total: Amounts, pod: Fields, path: str) -> None:
    """An init container runs beside the sidecars before it."""
    sidecars: Amounts = {}
    phases: list[Amounts] = []
    for container in pod.items("spec.initContainers"):
        phase = _resources(container, path)
        if container.text("restartPolicy") == "Always":
            add(total, phase)
            add(sidecars, phase)
            phase = dict(sidecars)
        else:
            add(phase, sidecars)
        phases.append(phase)
    for phase in phases:
        for name, needed in phase.items():
            if name not in total or needed.value > total[name].value:
                total[name] = needed


def of_pods(pods: Iterable[Fields], path: str) -> Amounts:
    total: Amounts = {}
    for pod in pods:
        add(total, of_pod(pod, path))
    return total


def quality_of_service(pod: Fields) -> str:
    """The QoS class of a pod, computed from its requests and limits."""
    containers = [*pod.items("spec.containers"), *pod.items("spec.initContainers")]
    limits, requests = (
        [_counted(container, path) for container in containers] for path in ("limits", "requests")
    )
    if not any((*limits, *requests)):
        return "BestEffort"
    limited = all(len(limit) == len(_COUNTED) for limit in limits)
    equal = all(
        all(limit[name] == value for name, value in request.items() if name in limit)
        for limit, request in zip(limits, requests, strict=True)
    )
    return "Guaranteed" if limited and equal else "Burstable"


def _counted(container: Fields, path: str) -> dict[str, Amount]:
    amounts = _resources(container, path)
    return {name: amounts[name] for name in _COUNTED if name in amounts and amounts[name].value > 0}
