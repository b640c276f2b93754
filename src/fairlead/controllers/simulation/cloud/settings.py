"""Annotations of Services and Ingresses that control their load balancers."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.base import clock
from fairlead.codec.types.names import is_dns_subdomain
from fairlead.codec.types.times import parse_time
from fairlead.controllers.simulation.behaviour import PREFIX, BehaviourError, parse_delay
from fairlead.controllers.workloads.statuses import (
    condition,
    find_condition,
    with_condition,
    without_condition,
)
from fairlead.operations.api import Object

LOAD_BALANCER_DELAY = f"{PREFIX}load-balancer-delay"
LOAD_BALANCER_HOSTNAME = f"{PREFIX}load-balancer-hostname"


class BalancerSettings(NamedTuple):
    """`delay` in seconds; `hostname` is shown in place of an address."""

    delay: float = 0.0
    hostname: str = ""


def balancer_settings(annotations: dict[str, str] | None) -> BalancerSettings:
    """Parse the annotations; raises BehaviourError."""
    texts = annotations or {}
    hostname = texts.get(LOAD_BALANCER_HOSTNAME, "")
    if hostname and not is_dns_subdomain(hostname):
        raise BehaviourError(f"{LOAD_BALANCER_HOSTNAME}: not the name of a host")
    try:
        delay = parse_delay(texts.get(LOAD_BALANCER_DELAY, "0s"))
    except BehaviourError as error:
        raise BehaviourError(f"{LOAD_BALANCER_DELAY}: {error}") from None
    return BalancerSettings(delay, hostname)


# Delays that outlive the server: a condition says when the delay began.

_DELAYED = f"{PREFIX}Delayed"


def delay_left(status: Object, delay: float) -> float:
    """The seconds until a delay is over; all of it if it has not begun."""
    begun = find_condition(status.get("conditions") or (), _DELAYED)
    if begun is None:
        return delay
    return parse_time(begun["lastTransitionTime"]).timestamp() + delay - clock.time()


def with_delay(status: Object) -> Object:
    """The status with a delay that begins now, unless it has begun."""
    text = "Simulated delay before the cloud provider answers"
    new = condition(_DELAYED, "True", "Simulated", text)
    return {**status, "conditions": with_condition(status.get("conditions") or (), new)}


def is_delayed(status: Object) -> bool:
    return find_condition(status.get("conditions") or (), _DELAYED) is not None


def without_delay(status: Object) -> Object:
    left = without_condition(status.get("conditions") or (), _DELAYED)
    rest = {name: part for name, part in status.items() if name != "conditions"}
    return {**rest, "conditions": left} if left else rest
