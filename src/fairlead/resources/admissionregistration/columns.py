"""Columns of webhook configurations."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import count
from fairlead.resources.columns.model import AGE, NAME, number, table

_WEBHOOKS = table(
    NAME,
    number("Webhooks", count("webhooks"), "Number of webhooks"),
    AGE,
)

PRINTERS = {
    "admissionregistration/v1/mutatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration/v1/validatingwebhookconfigurations": _WEBHOOKS,
}
