"""`attach`: connects with the command that a container runs."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.pods.attaching import (
    add_patience_flag,
    add_stream_flags,
    attach,
    await_container,
    check_running,
    terminal_streams,
)
from fairlead.cli.pods.choice import container_of, pod_of


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="POD | KIND/NAME", nargs="*")
    parser.add_argument(
        "-c", "--container", metavar="NAME", default="", help="container to attach to"
    )
    add_stream_flags(parser)
    add_patience_flag(parser)


async def run(invocation: Invocation) -> int:
    options, patience = invocation.options, invocation.options.pod_running_timeout
    if len(options.words) != 1:
        raise UsageError("name one pod: fairlead attach POD")
    pod = await pod_of(invocation, options.words[0], invocation.namespace, patience)
    check_running(pod)
    container = await container_of(invocation, pod, options.container)
    streams = terminal_streams(invocation, pod, container)
    pods = await invocation.client.resource("pods")
    pod = await await_container(invocation, pods, pod, container, patience)
    code = await attach(invocation, pods, pod, container, streams)
    restarts = pod["spec"].get("restartPolicy") == "Always"
    if streams.tty and restarts and not options.quiet:
        name = pod["metadata"]["name"]
        again = f"fairlead attach {name} -c {container} -it"
        invocation.screen.warn(printable(f"Detached. Once the pod runs: {again}"))
    return code
