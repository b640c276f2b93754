"""Builders of namespaces, quotas, priority classes and disruption budgets."""

from __future__ import annotations

from fairlead.cli.create.form import Flag, Form, Making, Object, pairs
from fairlead.cli.errors import CommandError
from fairlead.cli.selection import as_object


async def _namespace(at: Making) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": at.name}}


async def _quota(at: Making) -> Object:
    spec: Object = {}
    hard = [part for part in at.text("hard").split(",") if part]
    if hard:
        spec["hard"] = pairs(hard, "Invalid argument syntax {}, expected <resource>=<value>")
    scopes = [part for part in at.text("scopes").split(",") if part]
    if scopes:
        spec["scopes"] = scopes
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": at.name},
        "spec": spec,
    }


async def _priority_class(at: Making) -> Object:
    made: Object = {
        "apiVersion": at.dialect.group_name("scheduling.@/v1"),
        "kind": "PriorityClass",
        "metadata": {"name": at.name},
        "value": at.number("value"),
        "preemptionPolicy": at.text("preemption_policy"),
    }
    if at.options.global_default:
        made["globalDefault"] = True
    if at.text("description"):
        made["description"] = at.text("description")
    return made


async def _disruption_budget(at: Making) -> Object:
    least, most = at.text("min_available"), at.text("max_unavailable")
    selector = at.text("selector")
    if not least and not most:
        raise CommandError("give --min-available or --max-unavailable")
    if least and most:
        raise CommandError(
            "--min-available and --max-unavailable contradict each other: give one of them"
        )
    if not selector:
        raise CommandError("a selector must be specified")
    spec: Object = {"selector": as_object(selector)}
    spec["minAvailable" if least else "maxUnavailable"] = _number_or_text(least or most)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": at.name},
        "spec": spec,
    }


def _number_or_text(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


FORMS = {
    "namespace": Form("a namespace", _namespace),
    "quota": Form(
        "a quota",
        _quota,
        (
            Flag("hard", "resource limits", "RESOURCE=AMOUNT,..."),
            Flag("scopes", "scopes that the quota applies to", "SCOPE,..."),
        ),
        "failed to create quota: ",
    ),
    "priorityclass": Form(
        "a priority class",
        _priority_class,
        (
            Flag("value", "the priority", "N", default=0),
            Flag("global_default", "use the class for pods that name none", switch=True),
            Flag("description", "description of the class", "TEXT"),
            Flag(
                "preemption_policy",
                "PreemptLowerPriority or Never",
                "POLICY",
                default="PreemptLowerPriority",
            ),
        ),
        "failed to create priorityclass: ",
    ),
    "poddisruptionbudget": Form(
        "a disruption budget",
        _disruption_budget,
        (
            Flag("selector", "label selector of the pods", "LABELS"),
            Flag("min_available", "number or percentage of pods that must stay available", "N|N%"),
            Flag("max_unavailable", "number or percentage of pods that may be unavailable", "N|N%"),
        ),
        "failed to create poddisruptionbudgets: ",
    ),
}
