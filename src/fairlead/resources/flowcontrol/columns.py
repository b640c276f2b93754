"""Columns of flow schemas and priority levels."""

from __future__ import annotations

from typing import Any

from fairlead.resources.columns.cell_text import NONE, field, items
from fairlead.resources.columns.model import AGE, NAME, Object, Printer, Value, table, text


def _dangling(schema: Object) -> str:
    conditions = items(schema, "status.conditions")
    matching = (condition for condition in conditions if condition.get("type") == "Dangling")
    return next((condition.get("status") or "" for condition in matching), "?")


def _precedence(schema: Object) -> tuple[int, str]:
    return (
        field(schema, "spec.matchingPrecedence") or 0,
        field(schema, "metadata.name") or "",
    )


def _amount(part: str, key: str) -> Value:
    """A number in an optional part of a level."""

    def cell(level: Object) -> Any:
        value = field(level, part)
        return NONE if value is None else value.get(key) or 0

    return cell


_LIMITED = "spec.limited"
_QUEUING = "spec.limited.limitResponse.queuing"

_SCHEMAS = table(
    NAME,
    text("PriorityLevel", "spec.priorityLevelConfiguration.name", "Level of matching requests"),
    text("MatchingPrecedence", "spec.matchingPrecedence", "Lower is tried first", missing=0),
    text("DistinguisherMethod", "spec.distinguisherMethod.type", "How flows part", missing=NONE),
    AGE,
    text("MissingPL", _dangling, "Whether the level does not exist"),
    order=_precedence,
)


def _levels(shares: str) -> Printer:
    return table(
        NAME,
        text("Type", "spec.type", "Limited or Exempt"),
        text(shares[:1].upper() + shares[1:], _amount(_LIMITED, shares), "Its share"),
        text("Queues", _amount(_QUEUING, "queues"), "Number of queues"),
        text("HandSize", _amount(_QUEUING, "handSize"), "Queues a flow may choose from"),
        text("QueueLengthLimit", _amount(_QUEUING, "queueLengthLimit"), "Longest queue"),
        AGE,
    )


_ASSURED, _NOMINAL = _levels("assuredConcurrencyShares"), _levels("nominalConcurrencyShares")

PRINTERS = {
    f"flowcontrol/{version}/{resource}": printer
    for version, levels in (("v1beta1", _ASSURED), ("v1beta2", _ASSURED), ("v1", _NOMINAL))
    for resource, printer in (("flowschemas", _SCHEMAS), ("prioritylevelconfigurations", levels))
}
