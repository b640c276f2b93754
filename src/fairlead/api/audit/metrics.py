"""Metrics of the audit log, under the names of the reference."""

from __future__ import annotations

from fairlead.api.audit.policy import LEVELS as LEVEL_NAMES
from fairlead.base.metrics import REGISTRY

EVENTS = REGISTRY.counter("apiserver_audit_event", "Audit events created.")
ERRORS = REGISTRY.counter("apiserver_audit_error", "Audit events lost, by backend.", ("plugin",))
LEVELS = REGISTRY.counter("apiserver_audit_level", "Requests by their audit level.", ("level",))
REJECTED = REGISTRY.counter(
    "apiserver_audit_requests_rejected",
    "Requests refused because their audit event could not be stored.",
)

# Every request is counted here, so initialize the values at import.
LEVEL_LABELS = tuple((level,) for level in LEVEL_NAMES)
level_counts, event_counts = LEVELS.values, EVENTS.values
level_counts.update(dict.fromkeys(LEVEL_LABELS, 0))
event_counts[()] = 0
