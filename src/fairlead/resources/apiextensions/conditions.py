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
    return next((condition for condition in listed if condition["type"] == kind), None)


def is_true(value: Object, kind: str) -> bool:
    condition = condition_of(value, kind)
    return condition is not None and condition["status"] == "True"


def condition(kind: str, status: bool, reason: str, message: str) -> Object:
    return {
        "type": kind,
        "status": str(status),
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def set_condition(value: Object, new: Object) -> None:
    """Set a condition. A condition whose status does not change keeps its time. The status and its
    list are replaced, not changed in place."""
    listed = list(value["status"]["conditions"] or ())
    old = condition_of(value, new["type"])
    if old is None:
        listed.append(new)
    else:
        if old["status"] == new["status"]:
            new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
        listed[listed.index(old)] = new
    value["status"] = {**value["status"], "conditions": listed}


def drop_condition(value: Object, kind: str) -> None:
    listed = value["status"]["conditions"] or ()
    if any(condition["type"] == kind for condition in listed):
        left = [condition for condition in listed if condition["type"] != kind]
        value["status"] = {**value["status"], "conditions": left}
