"""NodeMetrics and PodMetrics of simulated nodes: not stored; computed for each request."""

from __future__ import annotations

from fairlead.api.answers import Answer
from fairlead.api.list import objects_answer
from fairlead.api.parameters import selection_of
from fairlead.api.representation import object_answer
from fairlead.api.request import Request
from fairlead.base.errors import ResourceRef, not_found
from fairlead.operations.api import Api, Object, ResourceMetrics
from fairlead.operations.operation import Operation
from fairlead.operations.views import typed
from fairlead.storage.reads import prepare_index, select
from fairlead.storage.version import Version

_NODES, _PODS = "core/v1/nodes", "core/v1/pods"


def _metrics(api: Api) -> ResourceMetrics:
    assert api.simulated is not None
    return api.simulated.metrics


async def get_node_metrics(api: Api, request: Request, operation: Operation) -> Answer:
    node = _found(api, _NODES, "", operation.name)
    values = await _metrics(api).of_nodes([node])
    return _one(api, request, operation, values[0] if values else None, operation.name)


async def get_pod_metrics(api: Api, request: Request, operation: Operation) -> Answer:
    pod = _found(api, _PODS, operation.namespace, operation.name)
    name = f"{operation.namespace}/{operation.name}"
    return _one(api, request, operation, _metrics(api).of_pod(pod), name)


def _found(api: Api, key: str, namespace: str, name: str) -> Version:
    resource = api.resources.named(key)
    version = api.collection(resource).get(resource.storage_key(namespace, name))
    if version is None:
        raise not_found(ResourceRef("", resource.name, name))
    return version


def _one(
    api: Api, request: Request, operation: Operation, value: Object | None, name: str
) -> Answer:
    resource = operation.resource
    if value is None:
        raise not_found(ResourceRef(resource.group, resource.kind.lower(), name))
    return object_answer(api.resources, request, resource, typed(resource, value))


async def list_node_metrics(api: Api, request: Request, operation: Operation) -> Answer:
    resource = operation.resource
    values = await _metrics(api).of_nodes(await _selected(api, request, operation, _NODES))
    return await objects_answer(
        api, request, resource, (typed(resource, value) for value in values), {}
    )


async def list_pod_metrics(api: Api, request: Request, operation: Operation) -> Answer:
    resource, metrics = operation.resource, _metrics(api)
    pods = await _selected(api, request, operation, _PODS)
    values = (typed(resource, value) for pod in pods if (value := metrics.of_pod(pod)) is not None)
    return await objects_answer(api, request, resource, values, {})


async def _selected(api: Api, request: Request, operation: Operation, key: str) -> list[Version]:
    """The stored objects whose metrics are listed."""
    selection = selection_of(request, operation.resource)
    collection = api.collection(api.resources.named(key))
    await prepare_index(collection, operation.namespace, selection)
    return await select(collection, operation.namespace, selection)
