"""Waits for a container and attaches this terminal to it, for `run`, `attach` and `debug`."""

from __future__ import annotations

from typing import Any

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader, seconds
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.pods.choice import status_of
from fairlead.cli.pods.logs import LogStream
from fairlead.cli.pods.terminal import converse, streams_of
from fairlead.client import Resource
from fairlead.client.errors import NotFound
from fairlead.client.processes import Streams

Object = dict[str, Any]
_ENDED = ("Succeeded", "Failed")


def add_stream_flags(parser: ArgumentReader) -> None:
    parser.add_switch("-i", "--stdin", help="pass on standard input")
    parser.add_switch("-t", "--tty", help="with -i: pass on this terminal, its keys and its size")
    parser.add_switch("-q", "--quiet", help="print only what the container prints")


def add_object_file_flag(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        default=[],
        help="file or URL with the object, in place of its name; - is the standard input",
    )


def add_patience_flag(parser: ArgumentReader) -> None:
    parser.add_argument(
        "--pod-running-timeout",
        metavar="DURATION",
        type=seconds,
        default=60.0,
        help="how long to wait until the container runs",
    )


def check_running(pod: Object) -> None:
    """Raises CommandError for a pod that has ended."""
    phase = (pod.get("status") or {}).get("phase")
    if phase in _ENDED:
        name = pod["metadata"]["name"]
        raise CommandError(f"the pod {name} has ended ({phase}): nothing runs in it any more")


async def await_container(
    invocation: Invocation, pods: Resource, pod: Object, container: str, patience: float | None
) -> Object:
    """The pod when its container runs or has ended; raises CommandError after `patience`
    seconds."""
    metadata = pod["metadata"]
    told = ""

    def holds(value: Object | None) -> bool:
        nonlocal told
        status = status_of(value, container) if value is not None else None
        state = (status or {}).get("state") or {}
        problem = str((state.get("waiting") or {}).get("message") or "")
        if problem and problem != told and not invocation.options.quiet:
            told = problem
            invocation.screen.warn(printable(f"The container {container} waits: {problem}"))
        return value is None or "running" in state or "terminated" in state

    invocation.screen.flush()
    try:
        found = await pods.wait(metadata["name"], holds, metadata["namespace"], timeout=patience)
    except TimeoutError:
        raise CommandError(
            f"the container {container} of the pod {metadata['name']} does not run in time"
        ) from None
    if found is None:
        raise CommandError(f"the pod {metadata['name']} was deleted")
    return found


async def attach(
    invocation: Invocation, pods: Resource, pod: Object, container: str, streams: Streams
) -> int:
    """Attach to a running container; the log of one that has ended is printed. Returns the exit
    code."""
    metadata = pod["metadata"]
    if _end(pod, container) is not None:
        return await _print_log(invocation, pods, pod, container)
    if streams.stdin and not invocation.options.quiet:
        invocation.screen.warn("Attached; a program that waits for input may show nothing yet.")
    opening = invocation.client.attach(
        metadata["name"], metadata["namespace"], container=container, streams=streams
    )
    try:
        async with opening as process:
            return await converse(invocation, process, streams)
    except NotFound:  # it may have ended meanwhile
        found = await pods.get(metadata["name"], metadata["namespace"])
        if _end(found, container) is None:
            raise
        return await _print_log(invocation, pods, found, container)


def _end(pod: Object, container: str) -> Object | None:
    """How a container has ended; None if it has not."""
    state = (status_of(pod, container) or {}).get("state") or {}
    end: Object | None = state.get("terminated")
    return end


async def _print_log(invocation: Invocation, pods: Resource, pod: Object, container: str) -> int:
    """Print the log of a container that has ended; returns its exit code."""
    metadata = pod["metadata"]
    await LogStream(pods, metadata["namespace"], metadata["name"], container).print(invocation)
    return int((_end(pod, container) or {}).get("exitCode") or 0)


def terminal_streams(invocation: Invocation, pod: Object, container: str) -> Streams:
    """The streams by the flags; a terminal only if the container has one."""
    streams = streams_of(invocation)
    has_terminal = any(
        entry.get("tty")
        for part in ("containers", "initContainers", "ephemeralContainers")
        for entry in pod["spec"].get(part) or ()
        if entry["name"] == container
    )
    if streams.tty and not has_terminal:
        if not invocation.options.quiet:
            invocation.screen.warn(
                printable(f"-t does nothing here: the container {container} has no terminal")
            )
        return streams._replace(tty=False, stderr=True)
    if has_terminal:
        return streams._replace(stderr=False)
    return streams
