"""Whether the devices of a claim are ready for its pod: the conditions that drivers report."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.operations.api import Object
from fairlead.resources.resource.claim_status import device_id, results_of

MAX_SECONDS = 600.0  # from the allocation until all conditions hold


class Readiness(NamedTuple):
    """`until`: when the missing conditions must be there, 0 if none is missing. `problem`: why the
    devices never become ready."""

    until: float = 0.0
    problem: str = ""


READY = Readiness()


def readiness(claim: Object) -> Readiness:
    """The state of an allocated claim."""
    status, name = claim.get("status") or {}, claim["metadata"]["name"]
    states = {device_id(state)[:3]: _by_type(state) for state in status.get("devices") or ()}
    is_waiting = False
    for result in results_of(status):
        needed = result.get("bindingConditions") or ()
        conditions = states.get(device_id(result)[:3], {}) if needed else {}
        for failure in result.get("bindingFailureConditions") or ():
            condition = conditions.get(failure) or {}
            if condition.get("status") == "True":
                details = f'reason={condition["reason"]}, message="{condition["message"]}"'
                return Readiness(0.0, f"device binding failed: claim={name}, {details}")
        is_waiting = is_waiting or any(
            conditions.get(name, {}).get("status") != "True" for name in needed
        )
    if not is_waiting:
        return READY
    since = (status.get("allocation") or {}).get("allocationTimestamp")
    start = clock.time() if since is None else parse_time(since).timestamp()
    if start + MAX_SECONDS <= clock.time():
        return Readiness(0.0, f"device binding timeout: claim={name}")
    return Readiness(start + MAX_SECONDS)


def _by_type(state: Object) -> dict[str, Object]:
    return {condition["type"]: condition for condition in state.get("conditions") or ()}
