"""Endpoints and EndpointSlices: the addresses behind services, from the pods that they select."""
