"""Kinds of the networking group."""

BEHAVIOURS: dict[str, str] = {
    "networking/v1/ingressclasses": "ingresses.IngressClassBehaviour",
    "networking/v1/ingresses": "ingresses.IngressBehaviour",
    "networking/v1/ipaddresses": "service_ranges.IPAddressBehaviour",
    "networking/v1/networkpolicies": "network_policies.NetworkPolicyBehaviour",
    "networking/v1/servicecidrs": "service_ranges.ServiceCIDRBehaviour",
}
