"""Kinds of the discovery group."""

BEHAVIOURS: dict[str, str] = {
    "discovery/v1/endpointslices": "endpoint_slices.EndpointSliceBehaviour",
}
