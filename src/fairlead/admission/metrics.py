"""The metrics of admission, under the names of the reference."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY

_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
FIRST_BOUND = _BOUNDS[0]  # seconds

REFUSALS = REGISTRY.counter(
    "fairlead_admission_refusals",
    "Writes that a plugin refused, by plugin and operation.",
    ("plugin", "operation"),
)
STEPS = REGISTRY.histogram(
    "apiserver_admission_step_admission_duration_seconds",
    "Duration of all admission plugins together, by step and operation.",
    _BOUNDS,
    ("type", "operation", "rejected"),
)
CONTROLLERS = REGISTRY.histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "Duration of one admission plugin, by step and operation.",
    _BOUNDS,
    ("name", "type", "operation", "rejected"),
)
WEBHOOKS = REGISTRY.histogram(
    "apiserver_admission_webhook_admission_duration_seconds",
    "Duration of a call to a webhook, by step and operation.",
    _BOUNDS,
    ("name", "type", "operation", "rejected"),
)
WEBHOOK_REQUESTS = REGISTRY.counter(
    "apiserver_admission_webhook_request",
    "Calls to a webhook, by step, operation and HTTP code.",
    ("name", "type", "operation", "code", "rejected"),
)
WEBHOOK_REJECTIONS = REGISTRY.counter(
    "apiserver_admission_webhook_rejection_count",
    "Writes that a webhook refused, or that failed because the webhook failed.",
    ("name", "type", "operation", "error_type", "rejection_code"),
    bare=True,
)
WEBHOOK_FAIL_OPEN = REGISTRY.counter(
    "apiserver_admission_webhook_fail_open_count",
    "Calls to a webhook that failed and were ignored.",
    ("name", "type"),
    bare=True,
)
