"""What the audit log counts about itself, under the reference's names."""

from __future__ import annotations

from fairlead.metrics import REGISTRY

EVENTS = REGISTRY.counter("apiserver_audit_event", "Audit events made.")
ERRORS = REGISTRY.counter(
    "apiserver_audit_error", "Audit events lost, by who lost them.", ("plugin",)
)
LEVELS = REGISTRY.counter("apiserver_audit_level", "Requests by their audit level.", ("level",))
REJECTED = REGISTRY.counter(
    "apiserver_audit_requests_rejected", "Requests refused because their event could not be stored."
)
