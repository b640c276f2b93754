"""The conditions of a CustomResourceDefinition."""

from __future__ import annotations

from fairlead.codec.types.model import Object
from fairlead.codec.types.times import now

ESTABLISHED, NAMES_ACCEPTED = "Established", "NamesAccepted"
NON_STRUCTURAL, TERMINATING = "NonStructuralSchema", "Terminating"
CLEANUP = "customresourcecleanup.apiextensions.@"  # a finalizer
APPROVED = "KubernetesAPIApprovalPolicyConformant"


def condition_of(value: Object, kind: str) -> Object | None:
    listed = value["status"]["conditions"] or ()
    return next((found for found in listed if found["type"] == kind), None)


def is_true(value: Object, kind: str) -> bool:
    found = condition_of(value, kind)
    return found is not None and found["status"] == "True"


def condition(kind: str, status: bool, reason: str, message: str) -> Object:
    return {
        "type": kind,
        "status": str(status),
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def set_condition(value: Object, wanted: Object) -> None:
    """Set a condition. A condition whose status does not change keeps its time. The status and its
    list are replaced, not changed in place."""
    listed = list(value["status"]["conditions"] or ())
    old = condition_of(value, wanted["type"])
    if old is None:
        listed.append(wanted)
    else:
        if old["status"] == wanted["status"]:
            wanted = {**wanted, "lastTransitionTime": old["lastTransitionTime"]}
        listed[listed.index(old)] = wanted
    value["status"] = {**value["status"], "conditions": listed}


def drop_condition(value: Object, kind: str) -> None:
    listed = value["status"]["conditions"] or ()
    if any(found["type"] == kind for found in listed):
        left = [found for found in listed if found["type"] != kind]
        value["status"] = {**value["status"], "conditions": left}
