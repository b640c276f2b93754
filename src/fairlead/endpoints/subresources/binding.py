"""Binding a pod to a node: POST to `pods/<name>/binding`, or to `bindings`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.admission.chain import CREATE
from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer, value_answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.decoding import body_format, read_object
from fairlead.endpoints.parameters import write_options
from fairlead.endpoints.request import Request
from fairlead.errors import STATUS_HEAD, StatusError, bad_request, conflict, invalid, not_found
from fairlead.kinds.causes import Causes
from fairlead.kinds.resources import Resource
from fairlead.schema.times import now
from fairlead.storage.entry import Entry
from fairlead.storage.store import Conflict

CREATED = {**STATUS_HEAD, "status": "Success", "code": 201}


async def create_binding(api: Api, request: Request) -> Answer:
    resource = request.target.resource
    assert resource is not None
    options = write_options(api.dialect, request, "CreateOptions")
    media_type = body_format(request, api.resources)
    raw = await request.body()
    binding = await read_object(
        request, api.resources, resource, raw, media_type, options.validation
    )
    writing.set_namespace(request, resource, binding["metadata"])
    context = api.context(request, options.dry_run)
    name = binding["metadata"].get("name", "")
    attributes = writing.attributes(api, request, CREATE, binding, None, context, name)
    await api.admission.admit(attributes)
    if request.target.name and name != request.target.name:
        raise bad_request("name in URL does not match name in Binding object")
    _check(resource, binding)
    await api.admission.validate(attributes)
    if not name:
        raise bad_request("Name parameter required.")
    await _bind(api, request.target.namespace, binding, options.dry_run)
    return value_answer(request, 201, CREATED, api.resources)


def _check(resource: Resource, binding: Object) -> None:
    causes = Causes()
    target = binding["target"]
    if target.get("kind") not in (None, "", "Node"):
        causes.unsupported("target.kind", target["kind"], ("Node", "<empty>"))
    if not target.get("name"):
        causes.required("target.name")
    if causes:
        raise invalid(resource.kind_ref(binding["metadata"].get("name", "")), causes)


async def _bind(api: Api, namespace: str, binding: Object, dry_run: bool) -> None:
    pods = api.resources.named("core/v1/pods")
    collection = api.collection(pods)
    name = binding["metadata"]["name"]
    key = pods.storage_key(namespace, name)
    while True:
        current = api.store.latest(collection, key)
        if current is None:
            raise not_found(pods.ref(name))
        pod = current.object()
        _check_pod(pods, pod, binding["metadata"])
        _assign(pod, binding)
        if dry_run:
            return
        try:
            await _put(api, pods, current, pod)
        except Conflict:
            continue
        return


async def _put(api: Api, pods: Resource, current: Entry, pod: Object) -> None:
    collection = api.collection(pods)
    await api.store.put(collection, current.key, writing.ordered(pod), current.revision)


def _check_pod(pods: Resource, pod: Object, wanted: Object) -> None:
    """A pod is bound once, and only the one that is meant."""
    metadata = pod["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(field) and wanted[field] != metadata[field]:
            text = (
                f"StorageError: invalid object, Code: 4, Key: /registry/pods/{namespace}/{name},"
                f" ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {label} in"
                f" precondition: {wanted[field]}, {label} in object meta: {metadata[field]}"
            )
            raise conflict(pods.ref(name), text)
    if metadata.get("deletionTimestamp"):
        raise _refused(pods, name, f"pod {name} is being deleted, cannot be assigned to a host")
    node = pod["spec"].get("nodeName")
    if node:
        raise _refused(pods, name, f'pod {name} is already assigned to node "{node}"')


def _refused(pods: Resource, name: str, why: str) -> StatusError:
    return conflict(pods.subresources["binding"].ref(name), why)


def _assign(pod: Object, binding: Object) -> None:
    pod["spec"]["nodeName"] = binding["target"]["name"]
    annotations = binding["metadata"].get("annotations")
    if annotations:
        metadata = pod["metadata"]
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    status = pod["status"]
    others = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now(),
    }
    status["conditions"] = [*others, scheduled]


HANDLERS: dict[tuple[str, str], Callable[[Api, Request], Awaitable[Answer]]] = {
    ("core/v1/bindings", "create"): create_binding,
    ("core/v1/pods/binding", "create"): create_binding,
}
