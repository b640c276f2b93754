"""The options of the verbs, already parsed and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fairlead.base.errors import ResourceRef, StatusError, bad_request, conflict
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.metadata import go_strings

PROPAGATION_POLICIES: Final[tuple[str, ...]] = ("Foreground", "Background", "Orphan")


def revision_of(text: str, parameter: str = "resourceVersion") -> int:
    """Parse a resourceVersion from a client; an empty string is 0. Raises BadRequest."""
    if not text:
        return 0
    digits = text.lstrip("0") or "0"
    if not text.isascii() or not text.isdigit() or len(digits) > 20 or int(digits) >= 2**64:
        raise bad_request(
            f'{parameter}: Invalid value: "{text}":'
            f' strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(digits)


@dataclass(slots=True)
class WriteOptions:
    """The options of create, update, patch and apply. `manager` is never empty; `named_manager` and
    `named_validation` are the values from the request, empty if the client left them out."""

    dry_run: bool
    manager: str
    validation: str
    force: bool = False
    named_manager: str = ""
    named_validation: str = ""

    def document(self, operation: str, group: str) -> dict[str, Any]:
        """The options as an object. A patch is an update or a create."""
        kind = "CreateOptions" if operation == "CREATE" else "UpdateOptions"
        values = {"fieldManager": self.named_manager, "fieldValidation": self.named_validation}
        return {
            "kind": kind,
            "apiVersion": f"{group}/v1",
            **({"dryRun": ["All"]} if self.dry_run else {}),
            **{name: value for name, value in values.items() if value},
        }


@dataclass(slots=True)
class DeleteOptions:
    dry_run: bool = False
    grace_period: int | None = None
    propagation: str = ""
    uid: str = ""
    revision: str = ""
    cascades: bool = False  # the older `orphanDependents` was set to false

    def document(self, operation: str, group: str) -> dict[str, Any]:
        """The options as an object."""
        result: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": f"{group}/v1"}
        if self.grace_period is not None:
            result["gracePeriodSeconds"] = self.grace_period
        values = {"uid": self.uid, "resourceVersion": self.revision}
        conditions = {name: value for name, value in values.items() if value}
        if conditions:
            result["preconditions"] = conditions
        if self.cascades:
            result["orphanDependents"] = False
        elif self.propagation:
            result["propagationPolicy"] = self.propagation
        if self.dry_run:
            result["dryRun"] = ["All"]
        return result


@dataclass(slots=True)
class ListOptions:
    """The options of list, watch and deletecollection. `revision` is the raw parameter: an empty
    value and `0` mean different things."""

    limit: int = 0
    token: str = ""
    revision: str = ""
    match: str = ""
    timeout: int | None = None
    watch: bool = False
    bookmarks: bool = False
    initial: bool | None = None  # whether a watch begins with the present state


def check_dry_run(values: list[str], causes: Causes) -> None:
    if any(value != "All" for value in values):
        causes.unsupported("dryRun", GoValue(go_strings(values)), ("All",))


def check_propagation(value: dict[str, Any], causes: Causes) -> None:
    """Check the propagation policy in the body of a delete."""
    propagation = value.get("propagationPolicy")
    if propagation is None:
        return
    if value.get("orphanDependents") is not None:
        causes.invalid(
            "propagationPolicy",
            propagation,
            "orphanDependents and deletionPropagation cannot be both set",
        )
    elif propagation not in PROPAGATION_POLICIES:
        causes.unsupported("propagationPolicy", propagation, (*PROPAGATION_POLICIES, "nil"))


def check_preconditions(
    options: DeleteOptions, ref: ResourceRef, kind: str, metadata: dict[str, Any]
) -> StatusError | None:
    """The Conflict if the uid or resourceVersion precondition of a delete does not match, else
    None."""
    for name, label, expected in (
        ("uid", "UID", options.uid),
        ("resourceVersion", "ResourceVersion", options.revision),
    ):
        actual = metadata.get(name, "")
        if expected and expected != actual:
            message = (
                f"the {label} in the precondition ({expected}) does not match the {label} in record"
                f" ({actual}). The object might have been"
                + (" deleted and then recreated" if name == "uid" else " modified")
            )
            return conflict(ResourceRef(ref.group, kind, ref.name), message)
    return None
