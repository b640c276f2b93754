"""Kinds of the networking group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.networking.ingress_classes import IngressClassBehaviour
from fairlead.kinds.networking.ingresses import IngressBehaviour
from fairlead.kinds.networking.network_policies import NetworkPolicyBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "networking/v1/ingressclasses": IngressClassBehaviour,
    "networking/v1/ingresses": IngressBehaviour,
    "networking/v1/networkpolicies": NetworkPolicyBehaviour,
}
