"""Validation of conditions in the status of objects."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlead.codec.types.names import qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes

STATUSES = ("False", "True", "Unknown")
MAX_REASON_LENGTH = 1024
MAX_MESSAGE_LENGTH = 32768
_REASON_FORMAT = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON = re.compile(rf"\A(?:{_REASON_FORMAT})\Z", re.ASCII)
REASON_ERROR = (
    "a condition reason must start with alphabetic character, optionally followed by a string of"
    " alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
    " (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB',"
    f" regex used for validation is '{_REASON_FORMAT}')"
)


def check_conditions(conditions: Sequence[Object] | None, path: str, causes: Causes) -> None:
    """Check conditions of the standard type; each condition type may occur once."""
    seen = set()
    for index, condition in enumerate(conditions or ()):
        item_path, kind = f"{path}[{index}]", condition["type"]
        if kind in seen:
            causes.duplicate(f"{item_path}.type", kind)
        seen.add(kind)
        _check_condition(condition, item_path, causes)


def check_condition_states(value: Object, causes: Causes) -> None:
    """Check that every condition in a status has a type and a known status."""
    for index, condition in enumerate((value.get("status") or {}).get("conditions") or ()):
        item_path = f"status.conditions[{index}]"
        if "type" in condition and not condition["type"]:
            causes.required(f"{item_path}.type")
        status = condition.get("status")
        if status == "":
            causes.required(f"{item_path}.status")
        elif status is not None and status not in STATUSES:
            causes.unsupported(f"{item_path}.status", status, STATUSES)


def _check_condition(condition: Object, path: str, causes: Causes) -> None:
    kind, status, reason = condition["type"], condition["status"], condition["reason"]
    causes.invalid_each(f"{path}.type", kind, qualified_name(kind))
    if status not in STATUSES:
        causes.unsupported(f"{path}.status", status, STATUSES)
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        detail = "must be greater than or equal to zero"
        causes.invalid(f"{path}.observedGeneration", generation, detail)
    if condition.get("lastTransitionTime") is None:
        causes.required(f"{path}.lastTransitionTime", "must be set")
    if not reason:
        causes.required(f"{path}.reason", "must be set")
    elif not _REASON.match(reason):
        causes.invalid(f"{path}.reason", reason, REASON_ERROR)
    if len(reason.encode()) > MAX_REASON_LENGTH:
        causes.too_long(f"{path}.reason", MAX_REASON_LENGTH)
    if len(condition["message"].encode()) > MAX_MESSAGE_LENGTH:
        causes.too_long(f"{path}.message", MAX_MESSAGE_LENGTH)
