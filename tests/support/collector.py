"""A collector of OpenTelemetry: a gRPC server that takes spans by OTLP."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from struct import unpack

import grpc

from fairlead.codec.protobuf_wire import fields
from support.waiting import eventually

_SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
Attributes = dict[str, str | int]


@dataclass
class Span:
    trace: str
    id: str
    parent: str
    name: str
    kind: int
    start: int
    end: int
    attributes: Attributes
    links: list[str]  # span ids
    is_error: bool

    @property
    def header(self) -> str:
        return f"00-{self.trace}-{self.id}-01"


def _message(raw: bytes) -> dict[int, list[bytes]]:
    values: dict[int, list[bytes]] = {}
    for number, _, value in fields(raw):
        values.setdefault(number, []).append(value if isinstance(value, bytes) else b"%d" % value)
    return values


def _attributes(entries: list[bytes]) -> Attributes:
    found: Attributes = {}
    for entry in entries:
        pair = _message(entry)
        value = _message(pair[2][0])
        found[pair[1][0].decode()] = value[1][0].decode() if 1 in value else int(value[3][0])
    return found


def _span(raw: bytes) -> Span:
    message = _message(raw)
    status = _message(message[15][0]) if 15 in message else {}
    return Span(
        trace=message[1][0].hex(),
        id=message[2][0].hex(),
        parent=message.get(4, [b""])[0].hex(),
        name=message[5][0].decode(),
        kind=int(message[6][0]),
        start=unpack("<Q", message[7][0])[0],
        end=unpack("<Q", message[8][0])[0],
        attributes=_attributes(message.get(9, [])),
        links=[_message(link)[2][0].hex() for link in message.get(13, [])],
        is_error=status.get(3) == [b"2"],
    )


class Collector:
    """What a collector has received so far. `refuses` makes it fail every call."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.resource: Attributes = {}
        self.metadata: dict[str, str] = {}
        self.refuses = False

    def take(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        if self.refuses:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no\nspace")
        self.metadata = {name: str(value) for name, value in context.invocation_metadata()}
        for resource_spans in _message(request)[1]:
            parts = _message(resource_spans)
            self.resource = _attributes(_message(parts[1][0])[1])
            for scope in parts[2]:
                self.spans += map(_span, _message(scope)[2])
        return b""

    def root(self, attribute: str, value: str) -> Span:
        """Wait for the span of a request, by an attribute."""

        def matching() -> list[Span]:
            return [s for s in self.spans if s.kind == 2 and s.attributes.get(attribute) == value]

        eventually(lambda: bool(matching()), f"a span with {attribute} {value}")
        return matching()[-1]

    def below(self, span: Span) -> list[Span]:
        """The spans of a trace under a span, in the order of their start."""
        children = [s for s in self.spans if (s.trace, s.parent) == (span.trace, span.id)]
        return sorted(children, key=lambda child: child.start)


@contextmanager
def collecting(address: str = "127.0.0.1:0") -> Iterator[tuple[Collector, str]]:
    """Run a collector; yields it and its endpoint."""
    collector = Collector()
    handler = grpc.unary_unary_rpc_method_handler(collector.take)
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(_SERVICE, {"Export": handler}),)
    )
    port = server.add_insecure_port(address)
    server.start()
    try:
        yield collector, address if address.startswith("unix") else f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()
