"""Show what containers print."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from math import ceil
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.durations import seconds
from fairlead.cli.errors import CommandFailed, Mistake
from fairlead.cli.invocation import Invocation
from fairlead.cli.pod_logs import DEFAULT, Stream, pods_of, streams_of
from fairlead.cli.refusals import worded
from fairlead.cli.screen import printable
from fairlead.client import ApiError, Unreachable
from fairlead.schema.ages import moment

_USAGE = (
    "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\n"
    "POD or TYPE/NAME is a required argument for the logs command"
)
_HINT = "\nSee 'fairlead logs -h' for help and examples"
_SELECTED_TAIL = 10  # lines of each where labels say which pods
_SWITCHES = {
    ("--all-containers",): "all containers of the pods",
    ("-f", "--follow"): "go on as more is printed",
    ("--ignore-errors",): "go on with others when the logs of one cannot be had",
    ("-p", "--previous"): "of the container that ran before it was started again",
    ("--prefix",): "show in front of each line which container it is of",
    ("--timestamps",): "show the time of each line",
}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="POD | KIND/NAME [CONTAINER]", nargs="*")
    parser.add_argument("-c", "--container", metavar="NAME", default="", help="container")
    parser.add_argument("-l", "--selector", metavar="LABELS", default="", help="pods with labels")
    for names, text in _SWITCHES.items():
        parser.add_switch(*names, help=text)
    parser.add_argument("--since", metavar="DURATION", type=seconds, default=0.0, help="not older")
    parser.add_argument("--since-time", metavar="TIME", default="", help="not older than this")
    parser.add_argument("--tail", metavar="NUMBER", type=int, help="only so many last lines")
    parser.add_argument("--limit-bytes", metavar="NUMBER", type=int, default=0, help="at most")
    parser.add_argument(
        "--max-log-requests", metavar="NUMBER", type=int, default=5, help="followed at once"
    )
    parser.add_argument(
        "--pod-running-timeout",
        metavar="DURATION",
        type=seconds,
        default=20.0,
        help="how long to wait for a pod of KIND/NAME",
    )


async def run(at: Invocation) -> int:
    options = at.options
    container = _container(at)
    _check(at, container)
    pods = await at.client.resource("pods")
    found = await _pods(at)
    if not found:
        at.screen.warn(f"No resources found in {at.namespace} namespace.")
        return 0
    annotation = (await at.client.discovery.dialect()).label(DEFAULT)
    streams = [
        stream
        for pod in found
        for stream in streams_of(at, pods, pod, container, options.all_containers, annotation)
    ]
    if options.follow and len(streams) > options.max_log_requests:
        raise Mistake(
            f"you are attempting to follow {len(streams)} log streams, but maximum allowed"
            f" concurrency is {options.max_log_requests}, use --max-log-requests to increase the"
            " limit"
        )
    await _show(at, streams)
    return 0


def _container(at: Invocation) -> str:
    """Raises Mistake for words that do not go together."""
    words, named = at.options.words, str(at.options.container)
    if at.options.selector:
        if len(words) > 0:
            raise Mistake(f"only a selector (-l) or a POD name is allowed{_HINT}")
        return named
    if len(words) not in (1, 2):
        raise Mistake(f"{_USAGE}{_HINT}")
    if len(words) == 1:
        return named
    if named:
        raise Mistake("only one of -c or an inline [CONTAINER] arg is allowed")
    return str(words[1])


def _check(at: Invocation, container: str) -> None:
    options = at.options
    wrong = ""
    if options.all_containers and container:
        wrong = f"--all-containers=true should not be specified with container name {container}"
    elif options.tail is not None and options.tail < -1:
        wrong = "--tail must be greater than or equal to -1"
    elif options.limit_bytes < 0:
        wrong = "--limit-bytes must be greater than 0"
    elif options.since < 0:
        wrong = "--since must be greater than 0"
    elif options.since and options.since_time:
        wrong = "at most one of `sinceTime` or `sinceSeconds` may be specified"
    elif options.since_time and moment(options.since_time) is None:
        wrong = f'parsing time "{options.since_time}": it is no time such as 2006-01-02T15:04:05Z'
    if wrong:
        raise Mistake(wrong)


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
                    _write(at, piece)
                    continue
                *whole, begun = (begun + piece).split(b"\n")
                _write(at, b"".join(prefix + line + b"\n" for line in whole))
        if begun:
            _write(at, prefix + begun)
    except (ApiError, Unreachable) as error:
        said = f"error: {error}" if has_come else worded(error)
        if not at.options.ignore_errors:
            raise CommandFailed(said) from None
        at.screen.warn(printable(said))


def _write(at: Invocation, content: bytes) -> None:
    """As it is: what programs print is theirs."""
    raw = getattr(at.screen.out, "buffer", None)
    if raw is None:
        at.screen.out.write(content.decode(errors="replace"))
    else:
        at.screen.flush()
        raw.write(content)
    at.screen.flush()
