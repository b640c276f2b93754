"""Kinds of the networking group."""

BEHAVIOURS: dict[str, str] = {
    "networking/v1/ingressclasses": "ingresses.IngressClassBehaviour",
    "networking/v1/ingresses": "ingresses.IngressBehaviour",
    "networking/v1/networkpolicies": "network_policies.NetworkPolicyBehaviour",
}
