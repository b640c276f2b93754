"""ComponentStatus: not stored; computed for each request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fairlead.api.answers import Answer
from fairlead.api.list import objects_answer
from fairlead.api.parameters import selection_of
from fairlead.api.representation import object_answer
from fairlead.api.request import Request
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.operations.views import typed
from fairlead.resources.behaviour import Object
from fairlead.resources.core.component_statuses import Probe, component_statuses, find_component
from fairlead.storage.selection import Selection
from fairlead.storage.store import Store


def _probes(api: Api) -> Mapping[str, Probe]:
    """The components of this process: its scheduler, which it has if it simulates nodes, its
    controllers and its store."""

    def running() -> str:
        return ""

    def answers(store: Store) -> str:
        return "" if store.healthy else "the last write to the store failed"

    def scheduler() -> str:
        schedules = api.simulated is not None and api.simulated.has_scheduler
        return "" if schedules else "this server has no scheduler of its own"

    stores = {f"etcd-{n}": partial(answers, store) for n, store in enumerate(api.stores)}
    return {"scheduler": scheduler, "controller-manager": running, **stores}


async def get_component(api: Api, request: Request, operation: Operation) -> Answer:
    resource = operation.resource
    value = find_component(operation.name, _probes(api), api.gates)
    return object_answer(api.resources, request, resource, typed(resource, value))


def _is_selected(metadata: Object, selection: Selection) -> bool:
    """Whether a selection matches; components have no labels and no namespace."""
    facts = {"metadata.name": metadata["name"], "metadata.namespace": ""}
    return all(rule.matches({}) for rule in selection.labels) and all(
        rule.matches(facts) for rule in selection.fields
    )


async def list_components(api: Api, request: Request, operation: Operation) -> Answer:
    resource = operation.resource
    selection = selection_of(request, resource)
    values = [
        typed(resource, value)
        for value in component_statuses(_probes(api), api.gates)
        if _is_selected(value["metadata"], selection)
    ]
    return await objects_answer(api, request, resource, values, {})
