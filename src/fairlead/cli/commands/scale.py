"""`scale`: sets the number of replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any

from fairlead.cli.arguments import ArgumentReader, seconds
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import add_selection_flags, check_choice, select_objects
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.client.errors import Conflict

_SCALE = "scale"
_MAX_TRIES = 10
_POLL_INTERVAL = 0.1
_MAX_POLL_INTERVAL = 1.0


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND [NAME...] | KIND/NAME...", nargs="*")
    add_selection_flags(parser, "scale")
    parser.add_argument("--replicas", type=int, metavar="N", help="new number of replicas")
    parser.add_argument(
        "--current-replicas",
        type=int,
        metavar="N",
        help="only if this is the current number of replicas",
    )
    parser.add_argument(
        "--resource-version",
        metavar="VERSION",
        default="",
        help="only if the object still has this resource version",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=0.0,
        metavar="DURATION",
        help="how long to wait for the new number; 0 does not wait",
    )
    add_dry_run_flag(parser)
    add_output_flag(parser)


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.replicas is None:
        raise CommandError("say how many: --replicas N")
    if options.replicas < 0:
        raise CommandError("--replicas must be 0 or more")
    check_output(invocation)
    check_choice(invocation, options.words)
    query = write_query(options)
    failures = Failures()
    objects = [resolved async for resolved in select_objects(invocation, options.words, failures)]
    if options.resource_version and len(objects) > 1:
        raise CommandError("--resource-version needs a single object, but several are selected")
    if not objects and not failures:
        raise CommandError("no objects passed to scale")
    for selected in objects:
        try:
            value = await _scaled(invocation, selected, query)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
        else:
            show_result(invocation, selected.resource.type, value, "scaled", note(options))
    return failures.finish()


async def _scaled(
    invocation: Invocation, resolved: ResolvedObject, query: Mapping[str, str]
) -> Mapping[str, Any]:
    """Scale one object and return it; it is read again only if -o needs its new state."""
    if dry_run(invocation.options) == "client":
        return resolved.value
    await _write(invocation, resolved, query)
    if note(invocation.options):
        return resolved.value
    if invocation.options.timeout:
        await _wait(invocation, resolved)
    if invocation.options.output not in ("json", "yaml"):
        return resolved.value
    return await resolved.resource.get(resolved.name, resolved.namespace)


async def _write(
    invocation: Invocation, resolved: ResolvedObject, query: Mapping[str, str]
) -> None:
    """Set the replicas. With preconditions, replace the scale that was read, so that its
    resourceVersion guarantees they still hold; retry on conflicts up to 10 times."""
    options, resource = invocation.options, resolved.resource
    if options.current_replicas is None and not options.resource_version:
        await resource.patch(
            resolved.name,
            {"spec": {"replicas": options.replicas}},
            resolved.namespace,
            subresource=_SCALE,
            **query,
        )
        return
    for attempt in range(_MAX_TRIES):
        scale = await resource.get(resolved.name, resolved.namespace, subresource=_SCALE)
        now = scale.get("spec", {}).get("replicas", 0)
        if options.current_replicas is not None and now != options.current_replicas:
            _unexpected("replicas", options.current_replicas, now)
        version = scale["metadata"]["resourceVersion"]
        if options.resource_version and version != options.resource_version:
            _unexpected("resource version", options.resource_version, version)
        scale.setdefault("spec", {})["replicas"] = options.replicas
        try:
            await resource.replace(scale, resolved.namespace, subresource=_SCALE, **query)
            return
        except Conflict:  # for example, the controller updated the status
            if attempt + 1 == _MAX_TRIES:
                raise


def _unexpected(what: str, expected: object, actual: object) -> None:
    raise CommandError(f"not scaled: {what} is {actual}, not {expected}")


async def _wait(invocation: Invocation, resolved: ResolvedObject) -> None:
    """Poll the scale until it has the replicas, because a scale subresource cannot be watched. The
    interval doubles from 0.1 to 1 second."""
    ends = monotonic() + invocation.options.timeout
    replicas, pause = invocation.options.replicas, _POLL_INTERVAL
    while True:
        scale = await resolved.resource.get(resolved.name, resolved.namespace, subresource=_SCALE)
        planned = scale.get("spec", {}).get("replicas", 0)
        if planned == replicas == scale.get("status", {}).get("replicas", 0):
            return
        if monotonic() + pause > ends:
            raise CommandError(f"{resolved.name} did not reach that number within --timeout")
        await asyncio.sleep(pause)
        pause = min(2 * pause, _MAX_POLL_INTERVAL)
