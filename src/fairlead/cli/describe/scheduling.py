"""Layouts of priority classes and disruption budgets."""

from __future__ import annotations

from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import one_line
from fairlead.cli.describe.parts.selectors import selector_or_none
from fairlead.cli.describe.parts.words import UNSET, shown

_COUNTS = (
    ("Allowed disruptions", "disruptionsAllowed"),
    ("Current", "currentHealthy"),
    ("Desired", "desiredHealthy"),
    ("Total", "expectedPods"),
)


def _draw_budget(page: Page, budget: Subject) -> None:
    page.pairs(("Name", budget.name), ("Namespace", budget.namespace))
    if budget.has("spec.minAvailable"):
        page.pair("Min available", budget.text("spec.minAvailable"))
    elif budget.has("spec.maxUnavailable"):
        page.pair("Max unavailable", budget.text("spec.maxUnavailable"))
    selector = budget.part("spec.selector")
    page.pair("Selector", selector_or_none(selector) if selector.has() else UNSET)
    page.write("Status:")
    for name, path in _COUNTS:
        page.pair(name, budget.number(f"status.{path}"), 2)


def _draw_priority(page: Page, priority: Subject) -> None:
    page.pairs(
        ("Name", priority.name),
        ("Value", priority.number("value")),
        ("GlobalDefault", shown(priority.flag("globalDefault"))),
        ("PreemptionPolicy", priority.text("preemptionPolicy")),
        ("Description", priority.text("description")),
        ("Annotations", one_line(priority.annotations)),
    )


POD_DISRUPTION_BUDGET = Layout(_draw_budget)
PRIORITY_CLASS = Layout(_draw_priority)
