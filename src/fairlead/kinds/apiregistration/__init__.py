"""Kinds of the apiregistration group."""

from fairlead.kinds.apiregistration.api_services import APIServiceBehaviour
from fairlead.kinds.behaviour import Behaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "apiregistration/v1/apiservices": APIServiceBehaviour,
}
