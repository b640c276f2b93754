"""Looks up pods, containers and nodes for subresources, and runs admission for connections."""

from __future__ import annotations

import re

from fairlead.admission.plugin import CONNECT
from fairlead.api.request import Request
from fairlead.auth.authorization.attributes import creation_refusal
from fairlead.base.errors import ResourceRef, StatusError, bad_request
from fairlead.base.waiting import result_of
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.resources.causes import absent
from fairlead.resources.core.pods.container_lists import all_containers
from fairlead.wire.outgoing.cluster import ClusterTarget

NODE_PORT = 10250
PORT = re.compile(r"\A[0-9]{1,5}\Z", re.ASCII)
ADDRESS_KINDS = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")


def no_common_protocol() -> StatusError:
    return bad_request("unable to upgrade: unable to negotiate protocol")


def pod_of(api: Api, request: Request, name: str = "") -> Object:
    name = name or request.target.name
    pod = api.lookup("core/v1/pods", request.target.namespace, name)
    if pod is None:
        raise absent(ResourceRef("", "pods", name))
    return pod


def pod_at(api: Api, namespace: str, endpoint: Object) -> Object | None:
    """The pod of the namespace that an entry of Endpoints is; a service must not lead to any other
    address."""
    reference = endpoint.get("targetRef") or {}
    if reference.get("kind") != "Pod" or reference.get("namespace") != namespace:
        return None
    pod = api.lookup("core/v1/pods", namespace, reference.get("name", ""))
    if pod is None:
        return None
    addresses = [pod_address.get("ip") for pod_address in pod["status"].get("podIPs") or ()]
    return pod if endpoint["ip"] in addresses else None


def container_of(pod: Object, requested: str) -> str:
    """The name of the requested container, or of the only one."""
    name, containers = pod["metadata"]["name"], pod["spec"]["containers"] or []
    every = [container["name"] for container in all_containers(pod["spec"])]
    if requested:
        if requested not in every:
            raise bad_request(f"container {requested} is not valid for pod {name}")
        return requested
    if len(containers) == 1:
        only: str = containers[0]["name"]
        return only
    missing = f"a container name must be specified for pod {name}"
    if not containers:
        raise bad_request(missing)
    raise bad_request(f"{missing}, choose one of: [{' '.join(every)}]")


def node_place(api: Api, name: str, *, checked: bool = True) -> ClusterTarget:
    """The address of a node's kubelet."""
    node = api.lookup("core/v1/nodes", "", name)
    if node is None:
        raise absent(ResourceRef("", "nodes", name))
    addresses = node["status"].get("addresses") or []
    for kind in ADDRESS_KINDS:
        for address in addresses:
            if address["type"] == kind:
                endpoint = node["status"].get("daemonEndpoints", {}).get("kubeletEndpoint", {})
                port = endpoint.get("Port") or NODE_PORT
                return ClusterTarget(address["address"], port, "https", agent=True, checked=checked)
    addresses_text = " ".join(
        f"{{{address['type']} {address['address']}}}" for address in addresses
    )
    raise StatusError(500, "", f"no preferred addresses found; known addresses: [{addresses_text}]")


async def admit(api: Api, operation: Operation, kind: str, options: Object) -> Object:
    """Run admission for a connection, with its options as the object. Returns the mutated
    options."""
    value: Object = {"kind": kind, "apiVersion": "v1", **options}
    context = api.context(operation)
    attributes = write_pipeline.attributes(operation, CONNECT, value, None, context)
    await result_of(api.admission.admit(attributes))
    await result_of(api.admission.validate(attributes))
    return value


async def demand_create(api: Api, operation: Operation) -> None:
    """Demand the right to create a connection also of WebSockets, which begin with a GET."""
    if operation.verb == "create" or not api.gates["AuthorizePodWebsocketUpgradeCreatePermission"]:
        return
    attributes = operation.attributes("create")
    decision = await api.authorizer.authorize(attributes)
    if not decision.allowed:
        raise creation_refusal(attributes, decision)


def refuse_dry_run(request: Request) -> None:
    if "dryRun" in request.query:
        raise bad_request("dryRun is not supported")
