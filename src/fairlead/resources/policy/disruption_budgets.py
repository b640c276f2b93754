"""The behaviour of PodDisruptionBudget: how many of the selected pods may be unavailable. Its
metadata, with the name, is not checked.
"""

from __future__ import annotations

from fairlead.resources.apps.shared import check_at_most_hundred_percent, check_int_or_percent
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer
from fairlead.resources.columns.cell_text import field
from fairlead.resources.columns.model import AGE, NAME, Value, number, table, text
from fairlead.resources.context import Context
from fairlead.resources.rules import (
    check_conditions,
    checks_selector_values,
    label_selector,
    non_negative,
)

LIMITS = ("minAvailable", "maxUnavailable")
EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")  # of pods that are not healthy
COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class DisruptionBudgetBehaviour(Behaviour):
    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        self.check(value, causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        self._check(value, old["spec"].get("selector"), causes, context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self._check(value, None, causes, context)

    def _check(
        self, value: Object, old_selector: Object | None, causes: Causes, context: Context
    ) -> None:
        spec = value["spec"]
        if all(spec.get(name) is not None for name in LIMITS):
            causes.invalid(
                "spec", _format_spec(spec), "minAvailable and maxUnavailable cannot be both set"
            )
        for name in LIMITS:
            if spec.get(name) is not None:
                check_int_or_percent(spec[name], f"spec.{name}", causes)
                check_at_most_hundred_percent(spec[name], f"spec.{name}", causes)
        check_values = checks_selector_values(context.gates, old_selector)
        label_selector(spec.get("selector"), "spec.selector", causes, check_values=check_values)
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in EVICTION_POLICIES:
            causes.unsupported("spec.unhealthyPodEvictionPolicy", policy, EVICTION_POLICIES)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        status = value["status"]
        check_conditions(status.get("conditions"), "status.conditions", causes)
        for name in COUNTS:
            non_negative(status[name], f"status.{name}", causes)


def _format_spec(spec: Object) -> GoValue:
    amount = "intstr.IntOrString"
    parts = {
        "MinAvailable": go_pointer(amount, spec.get("minAvailable")),
        "Selector": go_pointer("v1.LabelSelector", spec.get("selector")),
        "MaxUnavailable": go_pointer(amount, spec.get("maxUnavailable")),
    }
    shown = go_composite("policy.PodDisruptionBudgetSpec", parts)
    data = {
        "MinAvailable": spec.get("minAvailable"),
        "Selector": spec.get("selector"),
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    }
    return GoValue(shown, data)


def _amount(path: str) -> Value:
    def cell(budget: Object) -> str:
        value = field(budget, path)
        return "N/A" if value is None else str(value)

    return cell


PRINTERS = {
    "policy/v1/poddisruptionbudgets": table(
        NAME,
        text("Min Available", _amount("spec.minAvailable"), "Pods that must stay"),
        text("Max Unavailable", _amount("spec.maxUnavailable"), "Pods that may be gone"),
        number("Allowed Disruptions", "status.disruptionsAllowed", "Pods that may go now"),
        AGE,
    ),
}
