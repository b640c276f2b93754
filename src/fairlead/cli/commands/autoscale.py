"""`autoscale`: creates an autoscaler of a workload."""

from __future__ import annotations

from typing import Any

from fairlead.cli.apply.last_applied import annotation_of, recorded
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.create.creation import resolve_form
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import add_selection_flags, check_choice, select_objects
from fairlead.cli.targets import checked_name
from fairlead.cli.templates.patches import title
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.codec.types.quantity import QuantityError, quantity

_SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_USUAL_CPU = "80%"


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME...] | KIND/NAME...", nargs="*")
    add_selection_flags(parser, "scale")
    parser.add_argument("--min", type=int, metavar="N", default=-1, help="fewest pods")
    parser.add_argument("--max", type=int, metavar="N", help="most pods")
    parser.add_argument(
        "--cpu",
        metavar="N%|AMOUNT",
        default="",
        help="wanted use of each pod, such as 80%% or 500m",
    )
    parser.add_argument("--memory", metavar="N%|AMOUNT", default="", help="likewise of memory")
    parser.add_argument(
        "--cpu-percent", type=int, metavar="N", default=-1, help="the same as --cpu N%%"
    )
    parser.add_argument(
        "--name", metavar="NAME", default="", help="name of the autoscaler; that of the workload"
    )
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_manager_flag(parser, "fairlead-autoscale")
    parser.add_switch(
        "--save-config", help="save the configuration in an annotation, for apply --client-side"
    )


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.max is None:
        raise CommandError("--max is needed")
    if options.max < 1 or options.min > options.max:
        raise CommandError("--max must be 1 or more, and no less than --min")
    check_output(invocation)
    check_choice(invocation, options.words)
    metrics = _metrics(invocation)
    failures = Failures()
    objects = [resolved async for resolved in select_objects(invocation, options.words, failures)]
    if options.name and len(objects) > 1:
        raise CommandError("--name is for one workload, but several are selected")
    for resolved in objects:
        try:
            await _create(invocation, resolved, metrics)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


def _metrics(invocation: Invocation) -> list[dict[str, Any]]:
    options = invocation.options
    if options.cpu_percent >= 0 and options.cpu:
        raise CommandError("--cpu-percent and --cpu say the same: give one of them")
    cpu = f"{options.cpu_percent}%" if options.cpu_percent >= 0 else options.cpu
    given = {"cpu": cpu, "memory": options.memory}
    if not any(given.values()):
        given["cpu"] = _USUAL_CPU
    return [
        {"type": "Resource", "resource": {"name": name, "target": _target(text, name)}}
        for name, text in given.items()
        if text
    ]


def _target(text: str, name: str) -> dict[str, Any]:
    share = text.removesuffix("%")
    if share != text:
        if not share.isascii() or not share.isdigit() or int(share) == 0:
            raise CommandError(f"--{name}: {text} is no share of 1% or more")
        return {"type": "Utilization", "averageUtilization": int(share)}
    try:
        quantity(text)
    except QuantityError:
        raise CommandError(f"--{name}: {text} is neither a share (80%) nor an amount") from None
    return {"type": "AverageValue", "averageValue": text}


async def _create(
    invocation: Invocation, resolved: ResolvedObject, metrics: list[dict[str, Any]]
) -> None:
    options, type = invocation.options, resolved.resource.type
    if type.kind not in _SCALED:
        raise CommandError(f"{title(resolved)} cannot be scaled by an autoscaler")
    spec: dict[str, Any] = {
        "scaleTargetRef": {
            "apiVersion": type.api_version,
            "kind": type.kind,
            "name": resolved.name,
        },
        "maxReplicas": options.max,
        "metrics": metrics,
    }
    if options.min > 0:
        spec["minReplicas"] = options.min
    name = checked_name(options.name or resolved.name, "name")
    value = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": resolved.namespace},
        "spec": spec,
    }
    if options.save_config:
        value = recorded(value, annotation_of(await invocation.client.discovery.dialect()))
    made = await resolve_form(invocation, value)
    value = made.value
    if dry_run(options) != "client":
        value = await made.resource.create(value, resolved.namespace, **write_query(options))
    show_result(invocation, made.resource.type, value, "autoscaled", note(options))
