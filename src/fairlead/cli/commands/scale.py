"""Set how many replicas there shall be."""

from __future__ import annotations

import argparse
import asyncio
from time import monotonic

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.chosen import Choice, Chosen, add_choosing_flags, chosen
from fairlead.cli.dry_runs import DryRun, add_dry_run_flag
from fairlead.cli.durations import seconds
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, show_result
from fairlead.client import ApiError, Unreachable

_SCALE = "scale"
_BETWEEN_LOOKS = 0.1
_LONGEST_BETWEEN_LOOKS = 1.0


def add_flags(parser: ArgumentReader) -> None:
    add_choosing_flags(parser, "scale")
    parser.add_switch("--all", help="all objects of the kind in the namespace")
    parser.add_argument("--replicas", type=_count, metavar="N", help="how many there shall be")
    parser.add_argument(
        "--current-replicas", type=_count, metavar="N", help="only if there are so many now"
    )
    parser.add_argument(
        "--resource-version", metavar="VERSION", default="", help="only if it has not changed since"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=0.0,
        metavar="DURATION",
        help="how long to wait until there are so many; 0 does not wait",
    )
    add_dry_run_flag(parser)
    add_output_flag(parser)


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'invalid argument "{text}": strconv.ParseInt: parsing "{text}": invalid syntax'
        ) from None


async def run(at: Invocation) -> int:
    options = at.options
    if options.replicas is None or options.replicas < 0:
        raise UsageError(
            "The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0"
        )
    dry_run = DryRun(options)
    choice = await chosen(at, all_unless_named=options.all)
    if options.resource_version and len(choice.found) > 1:
        raise CommandFailed("error: cannot use --resource-version with multiple resources")
    if not choice.found and not choice.errors:
        raise CommandFailed("error: no objects passed to scale")
    for one in choice.found:
        await _scale(at, one, choice, dry_run)
    return choice.end(at)


async def _scale(at: Invocation, one: Chosen, choice: Choice, dry_run: DryRun) -> None:
    try:
        if not dry_run.on_client:
            await _write(at, one, dry_run)
        if at.options.timeout and not dry_run.note:
            await _wait(at, one)
        value = one.value
        if at.options.output in ("json", "yaml") and not dry_run.note:
            value = await one.resource.get(one.name, one.namespace)
    except (ApiError, Unreachable) as error:
        choice.failed(error)
    except CommandFailed as error:
        choice.errors.append(str(error))
    else:
        show_result(at, one.resource.type, value, "scaled", dry_run.note)


async def _write(at: Invocation, one: Chosen, dry_run: DryRun) -> None:
    """With conditions what was read is what is written back, so that they still hold then."""
    options, resource = at.options, one.resource
    if options.current_replicas is None and not options.resource_version:
        await resource.patch(
            one.name,
            {"spec": {"replicas": options.replicas}},
            one.namespace,
            subresource=_SCALE,
            **dry_run.query,
        )
        return
    scale = await resource.get(one.name, one.namespace, subresource=_SCALE)
    now = scale.get("spec", {}).get("replicas", 0)
    if options.current_replicas is not None and now != options.current_replicas:
        _unexpected("replicas", options.current_replicas, now)
    version = scale["metadata"]["resourceVersion"]
    if options.resource_version and version != options.resource_version:
        _unexpected("resource version", options.resource_version, version)
    scale.setdefault("spec", {})["replicas"] = options.replicas
    await resource.replace(scale, one.namespace, subresource=_SCALE, **dry_run.query)


def _unexpected(what: str, wanted: object, found: object) -> None:
    raise CommandFailed(f"error: Expected {what} to be {wanted}, was {found}")


async def _wait(at: Invocation, one: Chosen) -> None:
    """The scale of a kind cannot be watched, so it is looked at again and again."""
    ends = monotonic() + at.options.timeout
    wanted, pause = at.options.replicas, _BETWEEN_LOOKS
    while True:
        scale = await one.resource.get(one.name, one.namespace, subresource=_SCALE)
        planned = scale.get("spec", {}).get("replicas", 0)
        if planned == wanted == scale.get("status", {}).get("replicas", 0):
            return
        if monotonic() + pause > ends:
            raise CommandFailed(f'error: timed out waiting for "{one.name}" to be synced')
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_BETWEEN_LOOKS)
