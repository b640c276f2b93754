"""Binding a pod to a node."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE
from fairlead.base.errors import StatusError, bad_request, conflict, invalid
from fairlead.base.waiting import result_of
from fairlead.codec.types.times import now
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import put, write_over
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.resources.causes import absent, new_causes
from fairlead.resources.registry import Resource
from fairlead.storage.version import Version


async def bind(api: Api, operation: Operation, binding: Object, options: WriteOptions) -> None:
    """Assign the pod that a Binding names to its target node."""
    write_pipeline.set_namespace(operation, binding["metadata"])
    context = api.context(operation, options.dry_run)
    name = binding["metadata"].get("name", "")
    attributes = write_pipeline.attributes(operation, CREATE, binding, None, context, name, options)
    await result_of(api.admission.admit(attributes))
    name = binding["metadata"].get("name", "")
    if operation.name and name != operation.name:
        raise bad_request("name in URL does not match name in Binding object")
    _check(api, operation.resource, binding)
    await result_of(api.admission.validate(attributes))
    await _bind(api, operation, binding, options.dry_run)


def _check(api: Api, resource: Resource, binding: Object) -> None:
    causes = new_causes(api.gates)
    target = binding["target"]
    if target.get("kind") not in (None, "", "Node"):
        causes.unsupported("target.kind", target["kind"], ("Node", "<empty>"))
    if not target.get("name"):
        causes.required("target.name")
    if causes:
        raise invalid(resource.kind_ref(binding["metadata"].get("name", "")), causes)


async def _bind(api: Api, operation: Operation, binding: Object, dry_run: bool) -> None:
    pods = api.resources.named("core/v1/pods")
    collection = api.collection(pods)
    name = binding["metadata"].get("name", "")
    if not name:
        raise absent(pods.ref())
    key = pods.storage_key(operation.namespace, name)

    async def write(current: Version) -> Version:
        pod = current.object()
        _check_pod(pods, pod, binding["metadata"], dry_run)
        _assign(api, pod, binding)
        if dry_run:
            return current
        stored = write_pipeline.ordered(pod)
        return await put(api, operation, collection, key, stored, current)

    await write_over(api, collection, key, pods.ref(name), write)


def _check_pod(pods: Resource, pod: Object, expected: Object, dry_run: bool) -> None:
    """Raise Conflict if uid or resourceVersion differ, or the pod is in deletion or already
    bound."""
    metadata = pod["metadata"]
    name, root = metadata["name"], write_pipeline.key_prefix(dry_run)
    for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if expected.get(field) and expected[field] != metadata[field]:
            text = (
                f"StorageError: invalid object, Code: 4, Key: {root}/pods/{metadata['namespace']}/"
                f"{name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {label} in"
                f" precondition: {expected[field]}, {label} in object meta: {metadata[field]}"
            )
            raise conflict(pods.ref(name), text)
    if metadata.get("deletionTimestamp"):
        raise _refusal(pods, name, f"pod {name} is being deleted, cannot be assigned to a host")
    node = pod["spec"].get("nodeName")
    if node:
        raise _refusal(pods, name, f'pod {name} is already assigned to node "{node}"')
    if pod["spec"].get("schedulingGates"):
        raise _refusal(pods, name, f"pod {name} has non-empty .spec.schedulingGates")


def _refusal(pods: Resource, name: str, message: str) -> StatusError:
    return conflict(pods.subresources["binding"].ref(name), message)


def _assign(api: Api, pod: Object, binding: Object) -> None:
    pod["spec"]["nodeName"] = binding["target"]["name"]
    metadata, status = pod["metadata"], pod["status"]
    names = ["annotations"]
    if api.gates["PodTopologyLabelsAdmission"]:
        names.append("labels")
    for name in names:
        if bound := binding["metadata"].get(name):
            metadata[name] = {**(metadata.get(name) or {}), **bound}
    if api.gates["ClearingNominatedNodeNameAfterBinding"]:
        status.pop("nominatedNodeName", None)
    conditions = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now(),
    }
    status["conditions"] = [*conditions, scheduled]
