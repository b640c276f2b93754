"""Columns of claims, classes and slices of devices."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import field, items
from fairlead.resources.columns.model import AGE, NAME, Object, table, text


def claim_state(claim: Object) -> str:
    states = []
    if field(claim, "metadata.deletionTimestamp") is not None:
        states.append("deleted")
    if field(claim, "status.allocation") is None:
        if "deleted" not in states:
            states.append("pending")
    else:
        states.append("allocated")
        if items(claim, "status.reservedFor"):
            states.append("reserved")
    return ",".join(states)


PRINTERS = {
    "resource/v1/deviceclasses": table(NAME, AGE),
    "resource/v1/resourceclaims": table(
        NAME, text("State", claim_state, "Whether devices are allocated and reserved"), AGE
    ),
    "resource/v1/resourceclaimtemplates": table(NAME, AGE),
    "resource/v1/resourceslices": table(
        NAME,
        text("Node", "spec.nodeName", "Node that has the devices"),
        text("Driver", "spec.driver", "Driver of the devices"),
        text("Pool", "spec.pool.name", "Pool that the devices belong to"),
        AGE,
    ),
}
