"""Columns of priority classes."""

from __future__ import annotations

from fairlead.resources.columns.model import AGE, NAME, flag, number, table

PRINTERS = {
    "scheduling/v1/priorityclasses": table(
        NAME,
        number("Value", "value", "Higher goes first"),
        flag("Global-Default", "globalDefault", "Whether pods without a class get this one"),
        AGE,
    ),
}
