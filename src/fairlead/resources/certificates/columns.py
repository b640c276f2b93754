"""Columns of certificate signing requests."""

from __future__ import annotations

from datetime import timedelta

from fairlead.resources.columns.cell_text import NONE, duration_text, field, items
from fairlead.resources.columns.model import AGE, NAME, Object, table, text


def _requested(request: Object) -> str:
    seconds = field(request, "spec.expirationSeconds")
    return NONE if seconds is None else duration_text(timedelta(seconds=seconds))


def _condition(request: Object) -> str:
    """The decision, whether signing failed, and whether a certificate was issued."""
    states = {one.get("type") for one in items(request, "status.conditions")}
    words = [next((word for word in ("Denied", "Approved") if word in states), "Pending")]
    if "Failed" in states:
        words.append("Failed")
    if field(request, "status.certificate"):
        words.append("Issued")
    return ",".join(words)


PRINTERS = {
    "certificates/v1/certificatesigningrequests": table(
        NAME,
        AGE,
        text("SignerName", "spec.signerName", "Signer that is asked", missing=NONE),
        text("Requestor", "spec.username", "User that asks"),
        text("RequestedDuration", _requested, "How long the certificate should be valid"),
        text("Condition", _condition, "What became of the request"),
    ),
}
