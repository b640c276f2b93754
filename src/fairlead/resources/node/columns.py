"""Columns of runtime classes."""

from __future__ import annotations

from fairlead.resources.columns.model import AGE, NAME, table, text

PRINTERS = {
    "node/v1/runtimeclasses": table(
        NAME,
        text("Handler", "handler", "Handler that runs the pods"),
        AGE,
    ),
}
