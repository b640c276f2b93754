"""`exec`: runs a command in a container."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import named_by_file
from fairlead.cli.pods.attaching import (
    add_object_file_flag,
    add_patience_flag,
    add_stream_flags,
    check_running,
)
from fairlead.cli.pods.choice import container_of, pod_of
from fairlead.cli.pods.terminal import converse, streams_of


def add_flags(parser: ArgumentReader) -> None:
    parser.keeps_behind = True
    parser.add_argument("words", metavar="POD | KIND/NAME", nargs="*")
    parser.add_argument(
        "-c", "--container", metavar="NAME", default="", help="container to run the command in"
    )
    add_object_file_flag(parser)
    add_stream_flags(parser)
    add_patience_flag(parser)


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.filename:
        options.words.insert(0, named_by_file(options.filename))
    if len(options.words) != 1:
        raise UsageError("name one pod, and the command behind --: fairlead exec POD -- COMMAND")
    if not options.behind:
        raise UsageError("the command is missing: fairlead exec POD -- COMMAND")
    pod = await pod_of(
        invocation, options.words[0], invocation.namespace, options.pod_running_timeout
    )
    check_running(pod)
    container = await container_of(invocation, pod, options.container)
    streams = streams_of(invocation)
    running = invocation.client.exec(
        pod["metadata"]["name"],
        options.behind,
        pod["metadata"]["namespace"],
        container=container,
        streams=streams,
    )
    async with running as process:
        code = await converse(invocation, process, streams)
    if code and not options.quiet:
        invocation.screen.warn(f"the command ended with exit code {code}")
    return code
