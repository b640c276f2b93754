"""The controllers of endpoints."""

from __future__ import annotations

from fairlead.controllers.dependencies import Build, Surroundings
from fairlead.controllers.framework import Controller
from fairlead.controllers.service_endpoints.endpoints import EndpointsController
from fairlead.controllers.service_endpoints.mirror import MirroringController
from fairlead.controllers.service_endpoints.slices import SlicesController


def _endpoints(given: Surroundings) -> Controller:
    client = given.client("endpoint-controller")
    recorder = given.recorder(client, "endpoint-controller")
    return EndpointsController(given.api, client, given.service_pods, recorder)


def _slices(given: Surroundings) -> Controller:
    client = given.client("endpointslice-controller")
    recorder = given.recorder(client, "endpoint-slice-controller")
    return SlicesController(given.api, client, given.service_pods, recorder)


def _mirroring(given: Surroundings) -> Controller:
    client = given.client("endpointslicemirroring-controller")
    recorder = given.recorder(client, "endpoint-slice-mirroring-controller")
    return MirroringController(given.api, client, recorder)


BUILDERS: dict[str, Build] = {
    "endpoint": _endpoints,
    "endpointslice": _slices,
    "endpointslicemirroring": _mirroring,
}
