"""Layout of pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.containers import draw_containers, draw_security_profile
from fairlead.cli.describe.parts.metadata import (
    draw_controller,
    draw_labels,
    draw_labels_and_annotations,
)
from fairlead.cli.describe.parts.pods import draw_spreading, draw_tolerations
from fairlead.cli.describe.parts.quantities import draw_limits_and_requests, quality_of_service
from fairlead.cli.describe.parts.values import NONE, age, in_full
from fairlead.cli.describe.parts.volume_sources import draw_volumes

_MIRROR = "@/config.mirror"
_ENDED = ("Failed", "Succeeded")
_CONTAINERS = (
    ("Init Containers", "spec.initContainers", "status.initContainerStatuses"),
    ("Containers", "spec.containers", "status.containerStatuses"),
    ("Ephemeral Containers", "spec.ephemeralContainers", "status.ephemeralContainerStatuses"),
)


def _draw(page: Page, pod: Subject) -> None:
    _draw_place(page, pod)
    draw_labels_and_annotations(page, pod)
    _draw_state(page, pod)
    for name, path, statuses in _CONTAINERS:
        if pod.items(path) or name == "Containers":
            draw_containers(page, name, pod.items(path), pod.items(statuses), pod)
    _draw_conditions(page, pod)
    draw_volumes(page, pod, pod.items("spec.volumes"))
    page.pair("QoS Class", pod.text("status.qosClass") or quality_of_service(pod))
    draw_labels(page, "Node-Selectors", pod.map("spec.nodeSelector"))
    draw_tolerations(page, "Tolerations", pod.items("spec.tolerations"))
    draw_spreading(page, pod.items("spec.topologySpreadConstraints"), 0)


def _draw_place(page: Page, pod: Subject) -> None:
    page.pairs(("Name", pod.name), ("Namespace", pod.namespace))
    page.pairs_if(
        ("Priority", pod.at("spec.priority")),
        ("Priority Class Name", pod.text("spec.priorityClassName")),
        ("Runtime Class Name", pod.text("spec.runtimeClassName")),
        ("Service Account", pod.text("spec.serviceAccountName")),
    )
    node = pod.text("spec.nodeName")
    page.pair("Node", f"{node}/{pod.text('status.hostIP')}" if node else NONE)
    if pod.has("status.startTime"):
        page.pair("Start Time", in_full(pod.at("status.startTime")))


def _draw_state(page: Page, pod: Subject) -> None:
    if pod.is_terminating and pod.text("status.phase") not in _ENDED:
        lasts = age(pod.at("metadata.deletionTimestamp"))
        page.pair("Status", f"Terminating (lasts {lasts})")
        seconds = pod.number("metadata.deletionGracePeriodSeconds")
        page.pair("Termination Grace Period", f"{seconds}s")
    else:
        page.pair("Status", pod.text("status.phase"))
    page.pairs_if(("Reason", pod.text("status.reason")), ("Message", pod.text("status.message")))
    draw_security_profile(page, pod.part("spec"), 0, 0)
    page.pair("IP", pod.text("status.podIP"))
    addresses = pod.items("status.podIPs")
    page.write("IPs:" if addresses else f"IPs:\t{NONE}")
    for address in addresses:
        page.pair("IP", address.text("ip"), 1)
    draw_controller(page, pod)
    page.pairs_if(
        ("NominatedNodeName", pod.text("status.nominatedNodeName")),
        ("Hostname Override", pod.text("spec.hostnameOverride")),
        ("Scheduling Gates", ", ".join(_names(pod, "spec.schedulingGates"))),
        ("Resource Claims", ", ".join(_names(pod, "spec.resourceClaims"))),
    )
    if pod.has("spec.resources"):
        page.write("Resources:")
        draw_limits_and_requests(page, pod.part("spec.resources"), 1)


def _names(pod: Subject, path: str) -> list[str]:
    return [item.text("name") for item in pod.items(path)]


def _draw_conditions(page: Page, pod: Subject) -> None:
    conditions = pod.items("status.conditions")
    states = {
        condition.text("type"): condition.text("status") for condition in reversed(conditions)
    }
    gates = [gate.text("conditionType") for gate in pod.items("spec.readinessGates")]
    if gates:
        _draw_states(page, "Readiness Gates", [(gate, states.get(gate, NONE)) for gate in gates])
    if conditions:
        rows = [(condition.text("type"), condition.text("status")) for condition in conditions]
        _draw_states(page, "Conditions", rows)


def _draw_states(page: Page, name: str, states: Sequence[tuple[str, str]]) -> None:
    page.write(f"{name}:")
    page.row("Type", "Status")
    for kind, status in states:
        page.row(f"{kind} ", f"{status} ")


def _events(pod: Subject) -> Sequence[Mapping[str, str]]:
    """The event selector. Events of a static pod have the uid in its mirror annotation."""
    uid = pod.annotations.get(pod.dialect.label(_MIRROR)) or pod.uid
    return [{"name": pod.name, "namespace": pod.namespace, "uid": uid}]


POD = Layout(_draw, events=_events)
