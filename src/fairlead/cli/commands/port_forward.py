"""`port-forward`: forwards local ports to a pod."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.pods.attaching import add_patience_flag
from fairlead.cli.pods.choice import pod_of
from fairlead.client import ApiError, PortForward, Resource, Unreachable
from fairlead.client.errors import NotFound

Object = dict[str, Any]
_LOOPBACK = ("127.0.0.1", "::1")
_MAX_PORT = 65535


class _Ports(NamedTuple):
    """A local port, 0 for a free one, and the port of the pod."""

    local: int
    remote: int


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="POD | KIND/NAME [LOCAL:]PORT...", nargs="*")
    parser.add_argument(
        "--address",
        metavar="ADDRESS,...",
        default="localhost",
        help="local addresses to listen on",
    )
    add_patience_flag(parser)


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if len(words) < 2:
        raise UsageError("name a pod and its ports: fairlead port-forward POD [LOCAL:]PORT...")
    pod, service = await _pod(invocation, words[0])
    ports = [_ports(text, pod, service) for text in words[1:]]
    phase = (pod.get("status") or {}).get("phase")
    if phase != "Running":
        raise CommandError(f"the pod {pod['metadata']['name']} is not running: it is {phase}")
    metadata = pod["metadata"]
    opening = invocation.client.port_forward(
        metadata["name"], ports[0].remote, metadata["namespace"]
    )
    async with opening as forward:
        return await _forward(invocation, forward, pod, ports)


async def _pod(invocation: Invocation, word: str) -> tuple[Object, Object | None]:
    """The pod, and the service that it was found by."""
    patience = invocation.options.pod_running_timeout
    pod = await pod_of(invocation, word, invocation.namespace, patience)
    kind, slash, name = word.partition("/")
    if slash:
        resource = await invocation.client.resource(kind)
        if (resource.type.kind, resource.type.group) == ("Service", ""):
            return pod, await resource.get(name, invocation.namespace)
    return pod, None


# Ports


def _ports(text: str, pod: Object, service: Object | None) -> _Ports:
    """Parse `8080:80`, `80`, `:80` or `8080:http`; raises CommandError."""
    first, colon, second = text.partition(":")
    word = second if colon else first
    remote = _remote_port(word, pod, service)
    if not colon:
        return _Ports(_number(first, text) if first.isdigit() else remote, remote)
    return _Ports(_number(first, text) if first else 0, remote)


def _number(word: str, text: str) -> int:
    if not word.isascii() or not word.isdigit() or len(word) > 5 or int(word) > _MAX_PORT:
        raise CommandError(f"{text!r}: ports are [LOCAL:]PORT, numbers up to {_MAX_PORT}")
    return int(word)


def _remote_port(word: str, pod: Object, service: Object | None) -> int:
    if service is not None:
        return _service_port(word, pod, service)
    number = _number(word, word) if word.isdigit() else _named_port(word, pod)
    if not number:
        raise CommandError(f"{word!r}: a port of a pod is a number from 1, or a name")
    return number


def _service_port(word: str, pod: Object, service: Object) -> int:
    """The port of the pod behind a port of a service."""
    spec = service["spec"]
    for port in spec.get("ports") or ():
        if word in (str(port["port"]), port.get("name")) and word:
            target = port.get("targetPort") or port["port"]
            if spec.get("clusterIP") == "None":  # its clients reach the pods themselves
                return int(port["port"])
            return target if isinstance(target, int) else _named_port(str(target), pod)
    raise CommandError(f"the service {service['metadata']['name']} has no port {word}")


def _named_port(name: str, pod: Object) -> int:
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            if port.get("name") == name:
                return int(port["containerPort"])
    raise CommandError(f"the pod {pod['metadata']['name']} has no port named {name}")


# Forwarding


async def _forward(
    invocation: Invocation, forward: PortForward, pod: Object, ports: Sequence[_Ports]
) -> int:
    pods = await invocation.client.resource("pods")
    gone = asyncio.get_running_loop().create_future()
    names: dict[int, str] = {}
    forward.on_connection = partial(_tell_connection, invocation, names)
    forward.on_error = partial(_tell_error, invocation, pods, pod, gone)
    is_heard = [await _listen(invocation, forward, pair, names) for pair in ports]
    if not any(is_heard):
        raise CommandError("none of the local ports can be used")
    lost = asyncio.ensure_future(forward.lost())
    try:
        await asyncio.wait((lost, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        lost.cancel()
    name = pod["metadata"]["name"]
    raise CommandError(str(gone.result()) if gone.done() else f"lost the connection to pod {name}")


async def _listen(
    invocation: Invocation, forward: PortForward, ports: _Ports, names: dict[int, str]
) -> bool:
    """Listen on all addresses, and tell where. Of the two loopback addresses one suffices."""
    failures, number, heard = [], ports.local, False
    for address in _addresses(invocation.options.address):
        try:
            number = await forward.listen(ports.remote, number, address)
        except OSError as error:
            failures.append(f"{_shown(address)}:{number}: {_reason(error)}")
            continue
        heard = True
        names[ports.remote] = str(number)
        invocation.screen.print(f"Forwarding from {_shown(address)}:{number} -> {ports.remote}")
    invocation.screen.flush()
    is_loopback = invocation.options.address == "localhost"
    if failures and not (heard and is_loopback):
        for failure in failures:
            invocation.screen.warn(printable(f"not forwarded: {failure}"))
    return heard


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _addresses(text: str) -> list[str]:
    addresses = [address.strip() for address in text.split(",")]
    if not all(addresses):
        raise CommandError("--address takes addresses, separated by commas")
    return [
        number
        for address in addresses
        for number in (_LOOPBACK if address == "localhost" else (address,))
    ]


def _shown(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _tell_connection(invocation: Invocation, names: dict[int, str], port: int) -> None:
    invocation.screen.print(f"Handling connection for {names.get(port, port)}")
    invocation.screen.flush()


async def _tell_error(
    invocation: Invocation,
    pods: Resource,
    pod: Object,
    gone: asyncio.Future[str],
    port: int,
    text: str,
) -> None:
    """Tell what went wrong with a connection; if the pod has ended, so does the command."""
    invocation.screen.warn(printable(f"port {port}: {text}"))
    metadata = pod["metadata"]
    try:
        now: Object | None = await pods.get(metadata["name"], metadata["namespace"])
    except NotFound:
        now = None
    except (ApiError, Unreachable):
        return
    same = now is not None and now["metadata"].get("uid") == metadata.get("uid")
    phase = ((now or {}).get("status") or {}).get("phase")
    if (not same or phase in ("Succeeded", "Failed")) and not gone.done():
        gone.set_result(f"the pod {metadata['name']} is gone" if not same else f"it is {phase}")
