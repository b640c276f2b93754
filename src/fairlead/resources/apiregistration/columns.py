"""Columns of API services."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import field, items
from fairlead.resources.columns.model import AGE, NAME, Object, table, text


def _service(api_service: Object) -> str:
    service = field(api_service, "spec.service")
    if service is None:
        return "Local"
    return f"{service.get('namespace') or ''}/{service.get('name') or ''}"


def _available(api_service: Object) -> str:
    """The status of the condition, and its reason if it is not True."""
    conditions = items(api_service, "status.conditions")
    found = next((one for one in conditions if one.get("type") == "Available"), None)
    if found is None:
        return "Unknown"
    state, reason = found.get("status") or "", found.get("reason")
    return f"{state} ({reason})" if reason and state != "True" else state


PRINTERS = {
    "apiregistration/v1/apiservices": table(
        NAME,
        text("Service", _service, "Who serves the group version"),
        text("Available", _available, "Whether it can be reached"),
        AGE,
    ),
}
