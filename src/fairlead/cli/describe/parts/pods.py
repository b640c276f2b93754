"""Draws pod templates, taints and tolerations, and the number of pods per phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Question, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.containers import draw_containers
from fairlead.cli.describe.parts.metadata import (
    controller_of,
    draw_annotations,
    draw_labels,
    selector_or_none,
    selector_text,
)
from fairlead.cli.describe.parts.volume_sources import draw_volumes
from fairlead.cli.describe.queries import PODS, Queries, QueryResult

_NO_POD = Fields(None)
_PHASES = (
    ("Running", "Running"),
    ("Pending", "Waiting"),
    ("Succeeded", "Succeeded"),
    ("Failed", "Failed"),
)


def draw_template(page: Page, subject: Subject, path: str = "spec.template") -> None:
    page.write("Pod Template:")
    template = subject.part(path)
    if not template.has():
        page.write("<unset>", 1)
        return
    spec = template.part("spec")
    draw_labels(page, "  Labels", template.map("metadata.labels"))
    if template.map("metadata.annotations"):
        draw_annotations(page, "  Annotations", subject, f"{path}.metadata")
    page.pairs_if(("Service Account", spec.text("serviceAccountName")), level=1)
    if spec.items("initContainers"):
        draw_containers(page, "Init Containers", spec.items("initContainers"), [], _NO_POD)
    draw_containers(page, "Containers", spec.items("containers"), [], _NO_POD)
    draw_volumes(page, subject, spec.items("volumes"), level=1)
    draw_spreading(page, spec.items("topologySpreadConstraints"), 1)
    page.pairs_if(("Priority Class Name", spec.text("priorityClassName")), level=1)
    draw_labels(page, "  Node-Selectors", spec.map("nodeSelector"))
    draw_tolerations(page, "Tolerations", spec.items("tolerations"), 1)


# Draws taints, tolerations and topology spread constraints.


def draw_taints(page: Page, taints: list[Fields]) -> None:
    ordered = sorted(taints, key=lambda taint: f"{taint.text('effect')},{taint.text('key')}")
    page.entries("Taints", [_taint(taint) for taint in ordered])


def _taint(taint: Fields) -> str:
    key, value, effect = taint.text("key"), taint.text("value"), taint.text("effect")
    if not effect:
        return f"{key}={value}:" if value else key
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def draw_tolerations(page: Page, name: str, tolerations: list[Fields], level: int = 0) -> None:
    ordered = sorted(tolerations, key=lambda toleration: toleration.text("key"))
    page.entries(name, [_toleration(toleration) for toleration in ordered], level)


def _toleration(toleration: Fields) -> str:
    key, value = toleration.text("key"), toleration.text("value")
    effect = toleration.text("effect")
    text = key + (f"={value}" if value else "") + (f":{effect}" if effect else "")
    if toleration.text("operator") == "Exists" and not value:
        text += " op=Exists" if key or effect else "op=Exists"
    if toleration.has("tolerationSeconds"):
        text += f" for {toleration.number('tolerationSeconds')}s"
    return text


def draw_spreading(page: Page, constraints: list[Fields], level: int) -> None:
    if constraints:
        ordered = sorted(constraints, key=lambda constraint: constraint.text("topologyKey"))
        lines = [_constraint(constraint) for constraint in ordered]
        page.entries("Topology Spread Constraints", lines, level)


def _constraint(constraint: Fields) -> str:
    where = f"{constraint.text('topologyKey')}:{constraint.text('whenUnsatisfiable')}"
    text = f"{where} when max skew {constraint.number('maxSkew')} is exceeded"
    if constraint.has("labelSelector"):
        text += f" for selector {selector_or_none(constraint.part('labelSelector'))}"
    return text


# Queries the pods of a workload and counts them by phase.


def pods_by(selector: Callable[[Subject], str]) -> Question:
    """A query for the pods that the selector of a workload matches."""

    def ask(workload: Subject, queries: Queries) -> Awaitable[QueryResult]:
        return queries.list(PODS, workload.namespace, labelSelector=selector(workload))

    return ask


def label_selector(workload: Fields) -> str:
    return selector_text(workload.part("spec.selector"))


def pods_status(workload: Subject) -> str:
    """The number of the workload's pods per phase, or the error of the query."""
    result = workload.found("pods")
    if result.error is not None:
        return f"error in fetching pods: {result.error.message}"
    phases = Counter(
        pod.text("status.phase")
        for pod in result.items
        if controller_of(pod).text("uid") == workload.uid
    )
    return " / ".join(f"{phases[phase]} {name}" for phase, name in _PHASES)
