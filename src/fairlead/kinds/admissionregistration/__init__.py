"""Kinds of the admissionregistration group."""

from fairlead.kinds.admissionregistration.webhook_configurations import (
    WebhookConfigurationBehaviour,
)
from fairlead.kinds.behaviour import Behaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "admissionregistration/v1/mutatingwebhookconfigurations": WebhookConfigurationBehaviour,
    "admissionregistration/v1/validatingwebhookconfigurations": WebhookConfigurationBehaviour,
}
