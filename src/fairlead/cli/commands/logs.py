"""`logs`: shows logs of containers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from math import ceil
from typing import Any

from fairlead.base.terminal import printable, write_bytes
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.durations import seconds
from fairlead.cli.error_messages import worded
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.pod_logs import DEFAULT, Stream, pods_of, streams_of
from fairlead.client import ApiError, Unreachable
from fairlead.codec.types.times import moment

_USAGE = (
    "name a pod, such as fairlead logs POD, fairlead logs deployment/web or fairlead logs -l"
    " app=web"
)
_HINT = "\nSee 'fairlead logs -h' for help and examples"
_SELECTED_TAIL = 10  # default number of lines per container with a selector
_SWITCHES = {
    ("--all-containers",): "all containers of the pods",
    ("-f", "--follow"): "print new lines as they are written",
    ("--ignore-errors",): "continue if the logs of one container cannot be read",
    ("-p", "--previous"): "logs of the previous run of the container",
    ("--prefix",): "print the container in front of each line",
    ("--timestamps",): "print the time of each line",
}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="POD | KIND/NAME [CONTAINER]", nargs="*")
    parser.add_argument(
        "-c", "--container", metavar="NAME", default="", help="container to print the logs of"
    )
    parser.add_argument(
        "-l",
        "--selector",
        metavar="LABELS",
        default="",
        help="print the logs of all pods that match this label selector",
    )
    for names, text in _SWITCHES.items():
        parser.add_switch(*names, help=text)
    parser.add_argument(
        "--since",
        metavar="DURATION",
        type=seconds,
        default=0.0,
        help="only lines that are not older than this duration",
    )
    parser.add_argument(
        "--since-time", metavar="TIME", default="", help="only lines since this time"
    )
    parser.add_argument("--tail", metavar="NUMBER", type=int, help="only the last N lines")
    parser.add_argument(
        "--limit-bytes", metavar="NUMBER", type=int, default=0, help="maximum number of bytes"
    )
    parser.add_argument(
        "--max-log-requests",
        metavar="NUMBER",
        type=int,
        default=5,
        help="maximum number of logs to follow at once",
    )
    parser.add_argument(
        "--pod-running-timeout",
        metavar="DURATION",
        type=seconds,
        default=20.0,
        help="how long to wait until KIND/NAME has a pod",
    )


async def run(at: Invocation) -> int:
    options = at.options
    container = _container(at)
    _check(at, container)
    pods = await at.client.resource("pods")
    found = await _pods(at)
    if not found:
        at.screen.warn(f"No pods found in namespace {at.namespace}.")
        return 0
    annotation = (await at.client.discovery.dialect()).label(DEFAULT)
    streams = [
        stream
        for pod in found
        for stream in streams_of(at, pods, pod, container, options.all_containers, annotation)
    ]
    if options.follow and len(streams) > options.max_log_requests:
        raise CommandError(
            f"{len(streams)} logs cannot be followed at once, only {options.max_log_requests};"
            " --max-log-requests allows more"
        )
    await _show(at, streams)
    return 0


def _container(at: Invocation) -> str:
    """The container from -c or the second word; raises Mistake for words that contradict each
    other."""
    words, named = at.options.words, str(at.options.container)
    if at.options.selector:
        if len(words) > 0:
            raise CommandError(
                f"a pod and a selector (-l) contradict each other: give one of them{_HINT}"
            )
        return named
    if len(words) not in (1, 2):
        raise CommandError(f"{_USAGE}{_HINT}")
    if len(words) == 1:
        return named
    if named:
        raise CommandError("the container is named twice: leave out -c or the second word")
    return str(words[1])


def _check(at: Invocation, container: str) -> None:
    options = at.options
    wrong = ""
    if options.all_containers and container:
        wrong = f"--all-containers and the one container {container} contradict each other"
    elif options.tail is not None and options.tail < -1:
        wrong = "--tail takes a number of lines, or -1 for all"
    elif options.limit_bytes < 0:
        wrong = "--limit-bytes takes a number of bytes, at least 1"
    elif options.since < 0:
        wrong = "--since takes a time such as 5m"
    elif options.since and options.since_time:
        wrong = "--since and --since-time contradict each other: give one of them"
    elif options.since_time and moment(options.since_time) is None:
        wrong = f'parsing time "{options.since_time}": it is no time such as 2006-01-02T15:04:05Z'
    if wrong:
        raise CommandError(wrong)


async def _pods(at: Invocation) -> list[dict[str, Any]]:
    options = at.options
    if not options.selector:
        return await pods_of(at, options.words[0], at.namespace, options.pod_running_timeout)
    pods = await at.client.resource("pods")
    listed = await pods.list(at.namespace, labelSelector=options.selector)
    return list(listed["items"])


def _query(at: Invocation) -> dict[str, Any]:
    options = at.options
    tail = options.tail
    if tail is None:
        tail = _SELECTED_TAIL if options.selector else -1
    return {
        "follow": True if options.follow else None,
        "previous": True if options.previous else None,
        "timestamps": True if options.timestamps else None,
        "sinceSeconds": ceil(options.since) or None,
        "sinceTime": options.since_time or None,
        "tailLines": tail if tail >= 0 else None,
        "limitBytes": options.limit_bytes or None,
    }


async def _show(at: Invocation, streams: Sequence[Stream]) -> None:
    if at.options.follow and len(streams) > 1:
        tasks = [asyncio.create_task(_show_one(at, one, by_lines=True)) for one in streams]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return
    for stream in streams:
        await _show_one(at, stream, by_lines=at.options.prefix)


async def _show_one(at: Invocation, stream: Stream, by_lines: bool) -> None:
    prefix = f"[{printable(stream.title)}] ".encode() if at.options.prefix else b""
    begun, has_come = b"", False
    try:
        async with aclosing(stream.pieces(_query(at))) as pieces:
            async for piece in pieces:
                has_come = True
                if not by_lines:
                    write_bytes(at.screen.out, piece)
                    continue
                *whole, begun = (begun + piece).split(b"\n")
                write_bytes(at.screen.out, b"".join(prefix + line + b"\n" for line in whole))
        if begun:
            write_bytes(at.screen.out, prefix + begun)
    except (ApiError, Unreachable) as error:
        said = f"error: {error}" if has_come else worded(error)
        if not at.options.ignore_errors:
            raise CommandFailed(said) from None
        at.screen.warn(printable(said))
