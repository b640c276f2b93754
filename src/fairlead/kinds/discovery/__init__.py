"""Kinds of the discovery group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.discovery.endpoint_slices import EndpointSliceBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "discovery/v1/endpointslices": EndpointSliceBehaviour,
}
