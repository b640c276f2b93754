"""Encodes spans as OpenTelemetry's protocol (OTLP) has them in protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct

from fairlead.base.tracing import Span, Value
from fairlead.codec.protobuf_wire import BYTES, FIXED32, FIXED64, VARINT, delimited, key, varint

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_MAX_TEXT = 4096  # characters of a text
_SAMPLED = 0x01
_ERROR = 2  # code of a Status
_UINT64, _UINT32, _DOUBLE = Struct("<Q"), Struct("<I"), Struct("<d")


def _bytes(number: int, content: bytes) -> bytes:
    return delimited(key(number, BYTES), content)


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text[:_MAX_TEXT].encode(errors="replace"))


def _number(number: int, value: int) -> bytes:
    return key(number, VARINT) + varint(value)


def _fixed64(number: int, value: int) -> bytes:
    return key(number, FIXED64) + _UINT64.pack(value)


def _flags(number: int) -> bytes:
    return key(number, FIXED32) + _UINT32.pack(_SAMPLED)


def _value(value: Value) -> bytes:
    """An AnyValue."""
    if isinstance(value, bool):
        return _number(2, value)
    if isinstance(value, int):
        return _number(3, value)
    if isinstance(value, float):
        return key(4, FIXED64) + _DOUBLE.pack(value)
    return _text(1, value)


def _attributes(number: int, attributes: Mapping[str, Value]) -> bytes:
    """Repeated KeyValues."""
    return b"".join(
        _bytes(number, _text(1, name) + _bytes(2, _value(value)))
        for name, value in attributes.items()
    )


def _span(span: Span) -> bytes:
    parts = [
        _bytes(1, span.trace_id),
        _bytes(2, span.span_id),
        _bytes(4, span.parent_id) if span.parent_id else b"",
        _text(5, span.name),
        _number(6, span.kind),
        _fixed64(7, span.start),
        _fixed64(8, span.end),
        _attributes(9, span.attributes),
    ]
    if span.link is not None:
        parts.append(_bytes(13, _bytes(1, span.link.trace_id) + _bytes(2, span.link.span_id)))
    if span.error is not None:
        parts.append(_bytes(15, (_text(2, span.error) if span.error else b"") + _number(3, _ERROR)))
    parts.append(_flags(16))
    return b"".join(parts)


def encode_resource(attributes: Mapping[str, Value]) -> bytes:
    """Encode the description of this process: a Resource."""
    return _attributes(1, attributes)


def encode_request(resource: bytes, version: str, spans: Iterable[Span]) -> bytes:
    """Encode an ExportTraceServiceRequest. `version` is that of the program."""
    scope = _text(1, "fairlead") + _text(2, version)
    content = _bytes(1, scope) + b"".join(_bytes(2, _span(span)) for span in spans)
    return _bytes(1, _bytes(1, resource) + _bytes(2, content))
