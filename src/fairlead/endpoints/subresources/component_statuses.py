"""ComponentStatus: nothing of it is stored, every answer is made from what is known now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api
from fairlead.endpoints.list import objects_answer
from fairlead.endpoints.representing import object_answer, typed
from fairlead.endpoints.request import Request
from fairlead.kinds.core.component_statuses import Probe, component_statuses, find_component


def _probes(api: Api) -> Mapping[str, Probe]:
    """The parts of this one process: its controllers, and its store."""

    def controllers() -> str:
        return ""

    def store() -> str:
        return "" if api.store.healthy else "the last write to the store failed"

    return {"controller-manager": controllers, "etcd-0": store}


async def get_component(api: Api, request: Request) -> Answer:
    resource = request.target.resource
    assert resource is not None
    value = find_component(request.target.name, _probes(api))
    return object_answer(api.resources, request, resource, typed(resource, value))


async def list_components(api: Api, request: Request) -> Answer:
    resource = request.target.resource
    assert resource is not None
    values = [typed(resource, value) for value in component_statuses(_probes(api))]
    return objects_answer(api, request, resource, values, {})


HANDLERS: dict[tuple[str, str], Callable[[Api, Request], Awaitable[Answer]]] = {
    ("core/v1/componentstatuses", "get"): get_component,
    ("core/v1/componentstatuses", "list"): list_components,
}
