"""Kinds of the admissionregistration group."""

_WEBHOOKS = "webhook_configurations.WebhookConfigurationBehaviour"

BEHAVIOURS: dict[str, str] = {
    "admissionregistration/v1/mutatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration/v1/validatingwebhookconfigurations": _WEBHOOKS,
}
