"""`logs`: shows logs of containers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from math import ceil
from typing import Any

from fairlead.base.terminal import printable, write_bytes
from fairlead.cli.arguments import ArgumentReader, seconds
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.pods.choice import LOGS, container_of, named_containers, pod_of, pods_of
from fairlead.cli.pods.logs import LogStream
from fairlead.client import ApiError, Resource, Unreachable
from fairlead.codec.types.times import moment

_USAGE = (
    "name a pod, such as fairlead logs POD, fairlead logs deployment/web or fairlead logs -l"
    " app=web"
)
_HINT = "\nSee 'fairlead logs -h' for help and examples"
_SELECTED_TAIL = 10  # default number of lines per container with a selector
_SWITCHES = {
    ("--all-containers",): "all containers of the pods",
    ("--all-pods",): "all pods of KIND/NAME, with --prefix",
    ("-f", "--follow"): "print new lines as they are written",
    ("--ignore-errors",): "continue if the logs of one container cannot be read",
    ("-p", "--previous"): "logs of the previous run of the container",
    ("--prefix",): "print the container in front of each line",
    ("--timestamps",): "print the time of each line",
    ("--insecure-skip-tls-verify-backend",): "do not check the certificate of the kubelet",
}
Object = dict[str, Any]


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


async def run(invocation: Invocation) -> int:
    options = invocation.options
    options.prefix = options.prefix or options.all_pods
    container = _container(invocation)
    _check(invocation, container)
    pods = await invocation.client.resource("pods")
    selected = await _pods(invocation)
    if not selected:
        invocation.screen.warn(f"No pods found in namespace {invocation.namespace}.")
        return 0
    streams = [
        stream
        for pod in selected
        for stream in await streams_of(invocation, pods, pod, container, options.all_containers)
    ]
    if options.follow and len(streams) > options.max_log_requests:
        raise CommandError(
            f"{len(streams)} logs cannot be followed at once, only {options.max_log_requests};"
            " --max-log-requests allows more"
        )
    await _show(invocation, streams)
    return 0


def _container(invocation: Invocation) -> str:
    """The container from -c or the second word; raises CommandError for words that contradict each
    other."""
    words, named = invocation.options.words, str(invocation.options.container)
    if invocation.options.selector:
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


def _check(invocation: Invocation, container: str) -> None:
    options = invocation.options
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


async def _pods(invocation: Invocation) -> list[dict[str, Any]]:
    options = invocation.options
    if not options.selector:
        patience = options.pod_running_timeout
        word, namespace = options.words[0], invocation.namespace
        if options.all_pods:
            return await pods_of(invocation, word, namespace, LOGS)
        return [await pod_of(invocation, word, namespace, patience, LOGS)]
    pods = await invocation.client.resource("pods")
    listed = await pods.list(invocation.namespace, labelSelector=options.selector)
    return list(listed["items"])


def _query(invocation: Invocation) -> dict[str, Any]:
    options = invocation.options
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
        "insecureSkipTLSVerifyBackend": True if options.insecure_skip_tls_verify_backend else None,
    }


async def _show(invocation: Invocation, streams: Sequence[LogStream]) -> None:
    if invocation.options.follow and len(streams) > 1:
        tasks = [
            asyncio.create_task(_show_one(invocation, stream, by_lines=True)) for stream in streams
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return
    for stream in streams:
        await _show_one(invocation, stream, by_lines=invocation.options.prefix)


async def _show_one(invocation: Invocation, stream: LogStream, by_lines: bool) -> None:
    prefix = f"[{printable(stream.title)}] ".encode() if invocation.options.prefix else b""
    begun, has_come = b"", False
    try:
        async with aclosing(stream.pieces(_query(invocation))) as pieces:
            async for piece in pieces:
                has_come = True
                if not by_lines:
                    write_bytes(invocation.screen.out, piece)
                    continue
                *lines, begun = (begun + piece).split(b"\n")
                write_bytes(
                    invocation.screen.out, b"".join(prefix + line + b"\n" for line in lines)
                )
        if begun:
            write_bytes(invocation.screen.out, prefix + begun)
    except (ApiError, Unreachable) as error:
        message = f"error: {error}" if has_come else error_text(error)
        if not invocation.options.ignore_errors:
            raise CommandFailed(message) from None
        invocation.screen.warn(printable(message))


async def streams_of(
    invocation: Invocation, pods: Resource, pod: Object, container: str, all_containers: bool
) -> list[LogStream]:
    """The requested containers of a pod; raises CommandError."""
    metadata = pod["metadata"]
    if all_containers:
        names = [name for name, _ in named_containers(pod)]
    else:
        names = [await container_of(invocation, pod, container, LOGS)]
    return [
        LogStream(pods, metadata.get("namespace") or "", metadata["name"], name) for name in names
    ]
