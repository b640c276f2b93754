"""Builders of namespaces, quotas, priority classes and disruption budgets."""

from __future__ import annotations

from fairlead.cli.create.form import Flag, Form, FormArguments, Object, pairs
from fairlead.cli.errors import CommandError
from fairlead.cli.selection import as_object


async def _namespace(arguments: FormArguments) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": arguments.name}}


async def _quota(arguments: FormArguments) -> Object:
    spec: Object = {}
    hard = [part for part in arguments.text("hard").split(",") if part]
    if hard:
        spec["hard"] = pairs(hard, "Invalid argument syntax {}, expected <resource>=<value>")
    scopes = [part for part in arguments.text("scopes").split(",") if part]
    if scopes:
        spec["scopes"] = scopes
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": arguments.name},
        "spec": spec,
    }


async def _priority_class(arguments: FormArguments) -> Object:
    priority_class: Object = {
        "apiVersion": arguments.dialect.group_name("scheduling.@/v1"),
        "kind": "PriorityClass",
        "metadata": {"name": arguments.name},
        "value": arguments.number("value"),
        "preemptionPolicy": arguments.text("preemption_policy"),
    }
    if arguments.options.global_default:
        priority_class["globalDefault"] = True
    if arguments.text("description"):
        priority_class["description"] = arguments.text("description")
    return priority_class


async def _disruption_budget(arguments: FormArguments) -> Object:
    minimum, maximum = arguments.text("min_available"), arguments.text("max_unavailable")
    selector = arguments.text("selector")
    if not minimum and not maximum:
        raise CommandError("give --min-available or --max-unavailable")
    if minimum and maximum:
        raise CommandError(
            "--min-available and --max-unavailable contradict each other: give one of them"
        )
    if not selector:
        raise CommandError("a selector must be specified")
    spec: Object = {"selector": as_object(selector)}
    spec["minAvailable" if minimum else "maxUnavailable"] = _number_or_text(minimum or maximum)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": arguments.name},
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
