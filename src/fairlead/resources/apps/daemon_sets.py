"""The behaviour of DaemonSet: a pod on every matching node. An annotation counts the changes of its
template.
"""

from __future__ import annotations

from fairlead.base.errors import bad_request
from fairlead.resources.apps.shared import (
    TEMPLATE_GENERATION,
    StatusCounts,
    check_at_most_hundred_percent,
    check_collision_count,
    check_int_or_percent,
    check_selector_kept,
    int_or_percent,
    int_or_string_shown,
    selector_shown,
    strategy_shown,
)
from fairlead.resources.apps.templates import (
    TEMPLATE,
    TemplateBehaviour,
    check_long_running,
    check_shared_disks,
    check_template_labels,
    selector_is_sound,
)
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, quote
from fairlead.resources.context import Context
from fairlead.resources.core.pods.spec import check_pod_template
from fairlead.resources.rules import (
    checks_selector_values,
    label_selector,
    non_negative,
    selector_is_empty,
)

STRATEGIES = ["RollingUpdate", "OnDelete"]
STATUS = StatusCounts(
    (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
)


class DaemonSetBehaviour(TemplateBehaviour):
    checks_twice = True

    def fill_defaults(self, value: Object, context: Context) -> None:
        super().fill_defaults(value, context)
        strategy = value["spec"]["updateStrategy"]
        if strategy.get("type") == "RollingUpdate":
            steps = strategy.setdefault("rollingUpdate", {})
            steps.setdefault("maxUnavailable", 1)
            steps.setdefault("maxSurge", 0)
        elif strategy.get("rollingUpdate") is not None:
            for name in ("maxUnavailable", "maxSurge"):
                strategy["rollingUpdate"].setdefault(name, 0)
        _set_template_generation(value, _template_generation(value))

    def prepare_create(self, value: Object, context: Context) -> None:
        super().prepare_create(value, context)
        _set_template_generation(value, max(1, _template_generation(value)))

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        super().prepare_update(value, old, context)
        changed = value["spec"]["template"] != old["spec"]["template"]
        _set_template_generation(value, _template_generation(old) + changed)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        _set_template_generation(value, _template_generation(old))

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        selector, template = spec.get("selector"), spec["template"]
        check_values = checks_selector_values(context.gates)
        label_selector(selector, "spec.selector", causes, check_values=check_values)
        if selector_is_sound(selector):
            check_template_labels(selector, template, causes)
        if selector is not None and selector_is_empty(selector):
            detail = "empty selector is invalid for daemonset"
            causes.invalid("spec.selector", selector_shown(selector), detail)
        check_pod_template(template, TEMPLATE, causes, context)
        check_shared_disks(template, causes, context)
        check_long_running(template, "DaemonSet", causes)
        non_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", causes)
        check_strategy(spec["updateStrategy"], causes)
        non_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit", causes)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        if not context.gates["CheckedOnce"]:
            super().check_update(value, old, causes, context)
            return
        self.check_metadata_change(value, old, causes)
        self.check_change(value, old, causes, context)
        self.check(value, causes, context)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_selector_kept(value, old, causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        super().check_subresource_update(subresource, value, old, causes, context)
        STATUS.check(value["status"], causes)
        check_collision_count(value["status"], old["status"], causes)


def _template_generation(value: Object) -> int:
    text = (value["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0")
    try:
        return int(text)
    except ValueError:
        raise bad_request(
            'DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing'
            f" {quote(text)}: invalid syntax"
        ) from None


def _set_template_generation(value: Object, count: int) -> None:
    annotations = value["metadata"].get("annotations") or {}
    value["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(count)}


def check_strategy(strategy: Object, causes: Causes) -> None:
    path, steps = "spec.updateStrategy", strategy.get("rollingUpdate")
    kind = strategy.get("type", "")
    if kind == "RollingUpdate":
        _check_steps(steps or {}, f"{path}.rollingUpdate", causes)
    elif kind != "OnDelete":
        steps = steps and {"maxUnavailable": 0, "maxSurge": 0, **steps}
        shown = strategy_shown("DaemonSetUpdateStrategy", kind, "RollingUpdateDaemonSet", steps)
        causes.unsupported(path, shown, STRATEGIES)


def _check_steps(steps: Object, path: str, causes: Causes) -> None:
    unavailable, surge = steps.get("maxUnavailable", 0), steps.get("maxSurge", 0)
    pairs = ((unavailable, f"{path}.maxUnavailable"), (surge, f"{path}.maxSurge"))
    for check in (check_int_or_percent, check_at_most_hundred_percent):
        for value, place in pairs:
            check(value, place, causes)
    if int_or_percent(unavailable) and int_or_percent(surge):
        detail = "may not be set when maxUnavailable is non-zero"
        causes.invalid(f"{path}.maxSurge", int_or_string_shown(surge), detail)
    elif not int_or_percent(unavailable) and not int_or_percent(surge):
        causes.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
