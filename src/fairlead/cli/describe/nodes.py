"""Layout of nodes, with the pods on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import (
    draw_conditions_with_times,
    draw_labels_and_annotations,
)
from fairlead.cli.describe.parts.pods import draw_taints
from fairlead.cli.describe.parts.quantities import (
    NOTHING,
    Amounts,
    amount_of,
    draw_resources,
    of_pod,
    of_pods,
)
from fairlead.cli.describe.parts.values import NONE, UNSET, age, in_full, shown
from fairlead.cli.describe.queries import PODS, Queries, QueryResult
from fairlead.client import ResourceType
from fairlead.codec.types.quantity import Amount

_ROLE_PREFIX = "node-role.@/"
_ROLE = "@/role"
_SYSTEM = (
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
    ("Kube-Proxy Version", "kubeProxyVersion"),
)
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_SHARES = ("CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits")
_POD_HEAD = ("Namespace", "Name", "", *_SHARES, "Age")


async def _lease(node: Subject, queries: Queries) -> QueryResult:
    type = ResourceType(queries.dialect.group_name("coordination.@"), "v1", "leases", "Lease", True)
    return await queries.get(type, node.name, queries.dialect.node_lease_namespace)


async def _pods(node: Subject, queries: Queries) -> QueryResult:
    """The node's pods that have not terminated."""
    fields = f"spec.nodeName={node.name},status.phase!=Succeeded,status.phase!=Failed"
    return await queries.list(PODS, "", fieldSelector=fields)


def _draw(page: Page, node: Subject) -> None:
    page.pairs(("Name", node.name), ("Roles", ",".join(_roles(node)) or NONE))
    draw_labels_and_annotations(page, node)
    page.pair("CreationTimestamp", in_full(node.at("metadata.creationTimestamp")))
    draw_taints(page, node.items("spec.taints"))
    page.pair("Unschedulable", shown(node.flag("spec.unschedulable")))
    _draw_lease(page, node.found("lease"))
    draw_conditions_with_times(page, node, "LastHeartbeatTime")
    page.write("Addresses:")
    for address in node.items("status.addresses"):
        page.pair(address.text("type"), address.text("address"), 1)
    for name, path in (("Capacity", "status.capacity"), ("Allocatable", "status.allocatable")):
        if node.map(path):
            page.write(f"{name}:")
            draw_resources(page, node.part(path), 1)
    page.write("System Info:")
    for name, path in _SYSTEM:
        page.pair(name, node.text(f"status.nodeInfo.{path}"), 1)
    page.pairs_if(
        ("PodCIDR", node.text("spec.podCIDR")),
        ("PodCIDRs", ",".join(node.texts("spec.podCIDRs"))),
        ("ProviderID", node.text("spec.providerID")),
    )
    _draw_pods(page, node)


def _roles(node: Subject) -> list[str]:
    prefix = node.dialect.label(_ROLE_PREFIX)
    roles = {label.removeprefix(prefix) for label in node.labels if label.startswith(prefix)}
    roles.add(node.labels.get(node.dialect.label(_ROLE), ""))
    return sorted(roles - {""})


def _draw_lease(page: Page, result: QueryResult) -> None:
    if result.error is not None:
        page.pair("Lease", f"Failed to get lease: {result.error.message}")
        return
    lease = result.first
    page.write("Lease:")
    page.pair("HolderIdentity", lease.text("spec.holderIdentity", UNSET), 1)
    for name, path in (("AcquireTime", "spec.acquireTime"), ("RenewTime", "spec.renewTime")):
        page.pair(name, in_full(lease.at(path)) if lease.has(path) else UNSET, 1)


def _draw_pods(page: Page, node: Subject) -> None:
    result = node.found("pods")
    if result.error is not None:
        page.pair("Pods", "not authorized")
        return
    path = "status.allocatable" if node.map("status.allocatable") else "status.capacity"
    room = {name: amount_of(value) for name, value in node.parts(path)}
    page.pair("Non-terminated Pods", f"({len(result.items)} in total)")
    page.table(_POD_HEAD, (_pod_row(pod, room) for pod in result.items))
    page.write("Allocated resources:")
    page.write("(Limits can add up to more than the node has.)", 1)
    page.table(("Resource", "Requests", "Limits"), _totals(result.items, room))


def _pod_row(pod: Fields, room: Amounts) -> list[str]:
    requests, limits = of_pod(pod, "requests"), of_pod(pod, "limits")
    shares = [
        _share(amounts.get(name, NOTHING), room.get(name, NOTHING))
        for name in ("cpu", "memory")
        for amounts in (requests, limits)
    ]
    name, namespace = pod.text("metadata.name"), pod.text("metadata.namespace")
    return [namespace, name, "", *shares, age(pod.at("metadata.creationTimestamp"))]


def _totals(pods: Sequence[Fields], room: Amounts) -> Iterable[list[str]]:
    """Totals of all pods: standard resources, huge pages, all others."""
    requests, limits = of_pods(pods, "requests"), of_pods(pods, "limits")
    huge = sorted(name for name in room if name.startswith(_HUGE_PAGES))
    for name in (*_STANDARD, *huge):
        of = room.get(name, NOTHING)
        yield [name, *(_share(amounts.get(name, NOTHING), of) for amounts in (requests, limits))]
    for name in sorted(room.keys() - {*_STANDARD, *huge, "pods"}):
        yield [name, *(str(amounts.get(name, NOTHING)) for amounts in (requests, limits))]


def _share(part: Amount, total: Amount) -> str:
    percent = int(part.value / total.value * Decimal(100)) if total.value else 0
    return f"{part} ({percent}%)"


def _events(node: Subject) -> Sequence[Mapping[str, str]]:
    """Select events by uid and also by name as uid: the kubelet uses the node's name as its uid."""
    about = {"name": node.name, "namespace": "", "kind": "Node"}
    return [{**about, "uid": uid} for uid in (node.uid, node.name)]


NODE = Layout(_draw, {"lease": _lease, "pods": _pods}, _events)
