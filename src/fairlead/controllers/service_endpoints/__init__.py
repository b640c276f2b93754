"""Endpoints and EndpointSlices: the addresses of the pods that services select."""
