"""What is exchanged with plugins of key management services, and the envelopes on disk."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.codec.protobuf_wire import BYTES, VARINT, WireError, fields, key, varint


class Api(NamedTuple):
    """A version of the plugin's API: its service, what plugins call it, and the numbers of two
    fields of an envelope: the encrypted source of keys, and the annotations."""

    service: str
    names: tuple[str, ...]
    source: int = 0
    annotations: int = 0


V1 = Api("v1beta1.KeyManagementService", ("v1beta1",))
V2_ALPHA = Api("v2alpha1.KeyManagementService", ("v2alpha1",), 4, 5)
V2 = Api("v2.KeyManagementService", ("v2", "v2beta1"), 3, 4)


class Plugin(NamedTuple):
    """An element of the configuration. `derives`: the source of keys is a seed."""

    name: str
    path: str  # of the socket
    api: Api
    timeout: float = 3.0
    cache_size: int = 1000
    derives: bool = True


_PLUGIN_NAME = 3  # a field of envelopes of V2_ALPHA
_SOURCE_TYPE = 5  # a field of envelopes of V2
SEED = 1  # the type of a source that is a seed, from which the key of each value is derived


def field(number: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return b"%b%b%b" % (key(number, BYTES), varint(len(raw)), raw) if raw else b""


def number_field(number: int, value: int) -> bytes:
    return b"%b%b" % (key(number, VARINT), varint(value)) if value else b""


def map_field(number: int, values: dict[str, bytes]) -> bytes:
    return b"".join(
        field(number, field(1, name) + field(2, value)) for name, value in sorted(values.items())
    )


class Message:
    """The fields of a message by number. Raises WireError if the bytes are not one."""

    def __init__(self, raw: bytes) -> None:
        self._fields: dict[int, Any] = {}
        self._repeated: list[tuple[int, Any]] = []
        for number, _, value in fields(raw):
            self._fields[number] = value
            self._repeated.append((number, value))

    def content(self, number: int) -> bytes:
        value = self._fields.get(number, b"")
        if not isinstance(value, bytes):
            raise WireError(f"field {number} has another type")
        return value

    def text(self, number: int) -> str:
        return self.content(number).decode()

    def number(self, number: int) -> int:
        value = self._fields.get(number, 0)
        if not isinstance(value, int):
            raise WireError(f"field {number} has another type")
        return value

    def entries(self, number: int) -> dict[str, bytes]:
        found = (Message(value) for listed, value in self._repeated if listed == number)
        return {entry.text(1): entry.content(2) for entry in found}


class Source(NamedTuple):
    """A key, or a seed of keys, as the service encrypted it; version 2 has `key_id` and
    `annotations`."""

    encrypted: bytes
    key_id: str = ""
    annotations: tuple[tuple[str, bytes], ...] = ()
    kind: int = 0


class Envelope(NamedTuple):
    """A stored value: the source of its key, and what is encrypted with that."""

    source: Source
    data: bytes


def encode_v1(envelope: Envelope) -> bytes:
    encrypted = envelope.source.encrypted
    return b"%b%b%b" % (len(encrypted).to_bytes(2, "big"), encrypted, envelope.data)


def decode_v1(stored: bytes) -> Envelope:
    """Raises ValueError."""
    end = 2 + int.from_bytes(stored[:2], "big")
    if len(stored) < 2 or len(stored) < end:
        raise ValueError("the value is cut off")
    return Envelope(Source(stored[2:end]), stored[end:])


def encode_v2(api: Api, plugin: str, envelope: Envelope) -> bytes:
    source = envelope.source
    parts = {
        1: field(1, envelope.data),
        2: field(2, source.key_id),
        api.source: field(api.source, source.encrypted),
        api.annotations: map_field(api.annotations, dict(source.annotations)),
    }
    if api is V2_ALPHA:
        parts[_PLUGIN_NAME] = field(_PLUGIN_NAME, plugin)
    else:
        parts[_SOURCE_TYPE] = number_field(_SOURCE_TYPE, source.kind)
    return b"".join(parts[number] for number in sorted(parts))


def decode_v2(api: Api, stored: bytes) -> Envelope:
    """Raises ValueError."""
    try:
        message = Message(stored)
        kind = message.number(_SOURCE_TYPE) if api is V2 else 0
        annotations = tuple(sorted(message.entries(api.annotations).items()))
        source = Source(message.content(api.source), message.text(2), annotations, kind)
        return Envelope(source, message.content(1))
    except WireError as error:
        raise ValueError(str(error)) from None
