"""Computes the resource requests and limits of pods, and their QoS class."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.parts.quantities import NOTHING, amount_of
from fairlead.codec.types.quantity import Amount

Amounts = dict[str, Amount]
_COUNTED = ("cpu", "memory")  # resources that determine the QoS class


def _resources(container: Fields, path: str) -> Amounts:
    return {name: amount_of(value) for name, value in container.parts(f"resources.{path}")}


def add(total: Amounts, more: Amounts) -> None:
    for name, much in more.items():
        total[name] = total[name].plus(much) if name in total else much


def of_pod(pod: Fields, path: str) -> Amounts:
    """The `requests` or `limits` of a pod: the sum of its containers or the maximum of its init
    containers, whichever is larger, plus overhead."""
    total: Amounts = {}
    for container in pod.items("spec.containers"):
        add(total, _resources(container, path))
    for container in pod.items("spec.initContainers"):
        for name, much in _resources(container, path).items():
            if name not in total or much.value > total[name].value:
                total[name] = much
    overhead = {name: amount_of(value) for name, value in pod.parts("spec.overhead")}
    if path == "limits":
        overhead = {name: much for name, much in overhead.items() if total.get(name, NOTHING).value}
    add(total, overhead)
    return total


def of_pods(pods: Iterable[Fields], path: str) -> Amounts:
    total: Amounts = {}
    for pod in pods:
        add(total, of_pod(pod, path))
    return total


def quality_of_service(pod: Fields) -> str:
    """The QoS class of a pod, computed from its requests and limits."""
    containers = [*pod.items("spec.containers"), *pod.items("spec.initContainers")]
    limits, requests = (
        [_counted(one, path) for one in containers] for path in ("limits", "requests")
    )
    if not any((*limits, *requests)):
        return "BestEffort"
    limited = all(len(one) == len(_COUNTED) for one in limits)
    equal = all(
        all(limit[name] == value for name, value in request.items() if name in limit)
        for limit, request in zip(limits, requests, strict=True)
    )
    return "Guaranteed" if limited and equal else "Burstable"


def _counted(container: Fields, path: str) -> dict[str, Amount]:
    found = _resources(container, path)
    return {name: found[name] for name in _COUNTED if name in found and found[name].value > 0}
