"""The controllers of endpoints."""

from __future__ import annotations

from fairlead.controllers.dependencies import Build, Dependencies
from fairlead.controllers.framework import Controller
from fairlead.controllers.service_endpoints.endpoints import EndpointsController
from fairlead.controllers.service_endpoints.mirror import MirroringController
from fairlead.controllers.service_endpoints.slices import SlicesController


def _endpoints(dependencies: Dependencies) -> Controller:
    client = dependencies.client("endpoint-controller")
    recorder = dependencies.recorder(client, "endpoint-controller")
    return EndpointsController(dependencies.api, client, dependencies.service_pods, recorder)


def _slices(dependencies: Dependencies) -> Controller:
    client = dependencies.client("endpointslice-controller")
    recorder = dependencies.recorder(client, "endpoint-slice-controller")
    return SlicesController(dependencies.api, client, dependencies.service_pods, recorder)


def _mirroring(dependencies: Dependencies) -> Controller:
    client = dependencies.client("endpointslicemirroring-controller")
    recorder = dependencies.recorder(client, "endpoint-slice-mirroring-controller")
    return MirroringController(dependencies.api, client, recorder)


BUILDERS: dict[str, Build] = {
    "endpoint": _endpoints,
    "endpointslice": _slices,
    "endpointslicemirroring": _mirroring,
}
