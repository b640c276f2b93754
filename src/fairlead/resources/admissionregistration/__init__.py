"""Kinds of the admissionregistration group.

- `webhook_configurations`: webhook configurations
- `client_config`: how webhooks are reached
- `policies`: admission policies and their bindings
- `match_resources`: matched resources, parameters, match conditions
- `expressions`: the variables and types of expressions in policies
- `columns`: columns of all of them
"""

_WEBHOOKS = "webhook_configurations.WebhookConfigurationBehaviour"

BEHAVIOURS: dict[str, str] = {
    "admissionregistration/v1/mutatingadmissionpolicies": (
        "policies.MutatingAdmissionPolicyBehaviour"
    ),
    "admissionregistration/v1/mutatingadmissionpolicybindings": (
        "policies.MutatingAdmissionPolicyBindingBehaviour"
    ),
    "admissionregistration/v1/mutatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration/v1/validatingadmissionpolicies": (
        "policies.ValidatingAdmissionPolicyBehaviour"
    ),
    "admissionregistration/v1/validatingadmissionpolicybindings": (
        "policies.ValidatingAdmissionPolicyBindingBehaviour"
    ),
    "admissionregistration/v1/validatingwebhookconfigurations": _WEBHOOKS,
}
