"""Queries the pods of a workload and counts them by phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Question, Subject
from fairlead.cli.describe.parts.metadata import controller_of
from fairlead.cli.describe.parts.selectors import selector_text
from fairlead.cli.describe.queries import PODS, Found, Queries

_PHASES = (
    ("Running", "Running"),
    ("Pending", "Waiting"),
    ("Succeeded", "Succeeded"),
    ("Failed", "Failed"),
)


def pods_by(selector: Callable[[Subject], str]) -> Question:
    """A query for the pods that the selector of a workload matches."""

    def ask(workload: Subject, asker: Queries) -> Awaitable[Found]:
        return asker.all(PODS, workload.namespace, labelSelector=selector(workload))

    return ask


def label_selector(workload: Fields) -> str:
    return selector_text(workload.part("spec.selector"))


def pods_status(workload: Subject) -> str:
    """The number of the workload's pods per phase, or the error of the query."""
    found = workload.found("pods")
    if found.error is not None:
        return f"error in fetching pods: {found.error.message}"
    phases = Counter(
        pod.text("status.phase")
        for pod in found.items
        if controller_of(pod).text("uid") == workload.uid
    )
    return " / ".join(f"{phases[phase]} {name}" for phase, name in _PHASES)
