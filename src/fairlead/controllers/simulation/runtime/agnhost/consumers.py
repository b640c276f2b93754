"""Servers that use as much of a processor and of memory as they are asked to, and one that spreads
such requests over them."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs

from fairlead.base.digits import whole_number
from fairlead.controllers.simulation.runtime.agnhost.flags import FlagError, parse_flags
from fairlead.controllers.simulation.runtime.process import Process, Program, error
from fairlead.controllers.simulation.runtime.serving import serve
from fairlead.controllers.simulation.runtime.surroundings import (
    TCP,
    Answer,
    Listener,
    NetworkError,
    Request,
)

_MAX_LOADS, _MAX_CALLS = 1_000, 100
_MOST = 999_999_999  # of an argument
# The paths, the parameter that says how much, the one for the size of a request, and the resource
# with its unit.
_KINDS = {
    "/ConsumeCPU": ("millicores", "requestSizeMillicores", "cpu", 0.001),
    "/ConsumeMem": ("megabytes", "requestSizeMegabytes", "memory", 1024.0**2),
}
_OK = Answer(body=b"OK\n")


def consumer(process: Process) -> Program:
    """The image `resource-consumer`."""
    try:
        flags = parse_flags(process.arguments[1:], {"port": "8080"})
        port = flags.number("port")
    except FlagError as failed:
        yield error(f"{failed}\n")
        return 2
    loads: list[tuple[float, str, float]] = []  # until when, of what, how much
    shared = process.surroundings

    def used() -> dict[str, float]:
        now = shared.now()
        loads[:] = [load for load in loads if load[0] > now]
        total = {"cpu": 0.0, "memory": 0.0}
        for _, resource, amount in loads:
            total[resource] += amount
        return total

    def consume(kind: str, amount: int, seconds: int, size: int) -> Answer:
        _, _, resource, unit = _KINDS[kind]
        if len(loads) < _MAX_LOADS:
            loads.append((shared.now() + seconds, resource, amount * unit))
        return _OK

    shared.used = used
    return (yield from serve(process, {(TCP, port): Listener(http=_reader(consume))}))


def controller(process: Process, words: list[str]) -> Program:
    """`resource-consumer-controller`."""
    defaults = {"port": "8080", "consumer-port": "8080"}
    defaults |= {"consumer-service-name": "resource-consumer"}
    flags = parse_flags(words, {**defaults, "consumer-service-namespace": "default"})
    host = f"{flags.text('consumer-service-name')}.{flags.text('consumer-service-namespace')}"
    port = flags.number("consumer-port")

    def spread(kind: str, amount: int, seconds: int, size: int) -> Answer:
        name = _KINDS[kind][0]
        whole, rest = divmod(amount, size) if size else (0, amount)
        try:
            for part in [*[size] * min(whole, _MAX_CALLS), *([rest] if rest else ())]:
                target = f"{kind}?{name}={part}&durationSec={seconds}"
                network = process.surroundings.network
                network.get(host, port, Request("POST", target))
        except NetworkError as failed:
            return Answer(500, f"{failed}\n".encode())
        return _OK

    listener = Listener(http=_reader(spread))
    return (yield from serve(process, {(TCP, flags.number("port")): listener}))


def _reader(do: Callable[[str, int, int, int], Answer]) -> Callable[[Request], Answer]:
    """A server that reads how much of what is asked for, for how long, and in which pieces."""

    def answer(request: Request) -> Answer:
        path, _, text = request.target.partition("?")
        query = {name: values[0] for name, values in parse_qs(text).items()}
        if path not in _KINDS:
            return Answer(404, b"unknown function\n")
        if request.method != "POST":
            return Answer(400, b"Bad request. Not a POST request\n")
        names = (_KINDS[path][0], "durationSec", _KINDS[path][1])
        texts = [query.get(name, "0") for name in names]
        numbers = [number for text in texts if (number := whole_number(text)) is not None]
        if len(numbers) < len(texts) or max(numbers) > _MOST:
            return Answer(400, b"incorrect function argument\n")
        amount, seconds, size = numbers
        return do(path, amount, seconds, size)

    return answer
