"""`rollout status`: waits until a rollout is complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fairlead.cli.arguments import ArgumentReader, seconds
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.rollouts.state import check_revision, progress_of
from fairlead.cli.rollouts.workloads import add_workload_flags, workloads
from fairlead.cli.write_options import Failures
from fairlead.client import Resource
from fairlead.client.resources import Object
from fairlead.client.watch import DELETED


def add_flags(parser: ArgumentReader) -> None:
    add_workload_flags(parser, "look at")
    parser.add_switch(
        "-w", "--watch", default=True, help="wait until the rollout is complete; =false checks once"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=0.0,
        metavar="DURATION",
        help="how long to wait; 0 waits for ever",
    )
    parser.add_argument(
        "--revision", type=int, default=0, metavar="N", help="fail unless this revision is running"
    )


async def run(invocation: Invocation) -> int:
    failures = Failures()
    resolved_objects = [resolved async for resolved in workloads(invocation, failures)]
    failures.finish()
    if len(resolved_objects) != 1:
        raise CommandError(f"rollout status follows one workload, not {len(resolved_objects)}")
    try:
        async with asyncio.timeout(invocation.options.timeout or None):
            await _follow(invocation, resolved_objects[0])
    except TimeoutError:
        raise CommandError("not rolled out within --timeout") from None
    return 0


async def _follow(invocation: Invocation, resolved: ResolvedObject) -> None:
    last_line = ""
    async for value in versions(resolved.resource, resolved.name, resolved.namespace):
        if value is None:
            raise CommandError("object has been deleted")
        if invocation.options.revision > 0 and resolved.resource.type.kind == "Deployment":
            check_revision(
                value, await invocation.client.discovery.dialect(), invocation.options.revision
            )
        progress = progress_of(resolved.resource.type, value)
        if progress.text != last_line:
            invocation.screen.print(progress.text)
            invocation.screen.flush()
            last_line = progress.text
        if progress.is_done or not invocation.options.watch:
            return


async def versions(resource: Resource, name: str, namespace: str) -> AsyncIterator[Object | None]:
    """Yield the object now and after each change; None when it is deleted, then end. Raises
    ApiError and Unreachable."""
    value = await resource.get(name, namespace)
    yield value
    snapshot = {"metadata": value["metadata"], "items": [value]}
    async for kind, changed in resource.watch(namespace, name=name, since=snapshot):
        yield changed if kind != DELETED else None
        if kind == DELETED:
            return
