"""How long a pod takes to stop when it is deleted."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlead.base.dialect import Dialect
from fairlead.controllers.simulation.agent.containers import state_of
from fairlead.controllers.simulation.behaviour import PodBehaviour
from fairlead.operations.api import Object
from fairlead.resources.metadata import LONGEST_GRACE, deletion_end

_SLEEP = re.compile(r"(?:\A|[\s;&/])sleep\s+(\d{1,7}(?:\.\d{1,3})?)([smh]?)(?=\Z|[\s;&])")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def hook_time(container: Object) -> float:
    """The seconds that the hook takes which runs before a container is stopped: those it sleeps,
    nothing else takes time."""
    hook = ((container.get("lifecycle") or {}).get("preStop") or {}).get("exec") or {}
    command = " ".join(hook.get("command") or ())
    return sum(float(number) * _UNITS[unit] for number, unit in _SLEEP.findall(command))


def running(pod: Object) -> Iterable[Object]:
    """The regular containers of a pod that run."""
    statuses = pod["status"].get("containerStatuses") or ()
    names = {one["name"] for one in statuses if "running" in state_of(one)}
    return [one for one in pod["spec"]["containers"] if one["name"] in names]


def stop_moments(pod: Object, behaviour: PodBehaviour, dialect: Dialect) -> tuple[float, float]:
    """The moment at which a pod that is being deleted has stopped by itself, and the one at which
    it is killed."""
    metadata = pod["metadata"]
    killed = deletion_end(metadata, dialect)
    grace = min(metadata.get("deletionGracePeriodSeconds") or 0, LONGEST_GRACE)
    times = (hook_time(one) + behaviour.of(one["name"]).stop_after for one in running(pod))
    return killed - grace + max(times, default=0.0), killed
