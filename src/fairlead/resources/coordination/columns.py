"""Columns of leases."""

from __future__ import annotations

from fairlead.resources.columns.model import AGE, NAME, table, text

PRINTERS = {
    "coordination/v1/leases": table(
        NAME,
        text("Holder", "spec.holderIdentity", "Who holds the lease"),
        AGE,
    ),
}
