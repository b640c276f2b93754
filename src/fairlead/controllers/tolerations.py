"""Which taints are tolerated: by pods on nodes, and by requests on devices."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.operations.api import Object
from fairlead.resources.core.pods import NO_EXECUTE, NO_SCHEDULE

_REPELLING_EFFECTS = (NO_EXECUTE, NO_SCHEDULE)


def is_tolerated(device: Object, tolerations: Iterable[Object]) -> bool:
    """Whether all taints of a device that keep claims away are tolerated."""
    return all(
        any(tolerates(toleration, taint) for toleration in tolerations)
        for taint in device.get("taints") or ()
        if taint["effect"] in _REPELLING_EFFECTS
    )


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether one toleration covers a taint."""
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    key = toleration.get("key", "")
    if toleration.get("operator") == "Exists":
        return key in ("", taint["key"])
    return bool(key == taint["key"] and toleration.get("value", "") == taint.get("value", ""))
