"""What an envelope says about its content: in which form it is, and whether it is encoded."""

from __future__ import annotations

from fairlead.codec.protobuf import MAGIC, ProtobufError, usual_envelope
from fairlead.codec.protobuf_wire import WireError, fields

_ENCODING, _TYPE = 3, 4


def content_type(raw: bytes) -> str:
    """The media type of an envelope's content; empty for a message. Raises ProtobufError for
    content that is encoded."""
    if usual_envelope(raw):
        return ""
    found: dict[int, bytes] = {}
    try:
        for number, _, value in fields(raw[len(MAGIC) :]):
            if number in (_ENCODING, _TYPE) and isinstance(value, bytes):
                found[number] = value
    except WireError as error:
        raise ProtobufError(str(error)) from None
    encoding = found.get(_ENCODING, b"").decode(errors="replace")
    if encoding:
        raise ProtobufError(f'the content encoding "{encoding}" is not known')
    return found.get(_TYPE, b"").decode(errors="replace")
