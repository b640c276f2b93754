"""Objects that requests and answers carry, as JSON on one line."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import orjson

from fairlead.audit.fragments import dumped
from fairlead.audit.withholding import status_of
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.negotiation import JSON, YAML
from fairlead.endpoints.patch import APPLY
from fairlead.kinds.resources import Resources
from fairlead.serialization.bodies import BodyError, parse_json, parse_yaml
from fairlead.serialization.limits import TooDeep
from fairlead.serialization.protobuf import ProtobufError, envelope, from_message

MOST_COLLECTED = 10 * 1024 * 1024  # bytes of an answer that is made as it is read
_DELETING = ("delete", "deletecollection")


def object_json(
    resources: Resources, raw: bytes, media_type: str, managed_fields: bool
) -> bytes | None:
    """A body that was sent as JSON, an object or a patch; None if it is neither."""
    return value_json(parsed(resources, raw, media_type), managed_fields)


def answer_json(
    resources: Resources, raw: bytes, media_type: str, managed_fields: bool
) -> bytes | None:
    """The same for a body that this server has written: it may be JSON on one line already."""
    if managed_fields and media_type == JSON and raw[-2:] == b"}\n" and b"\n" not in raw[:-1]:
        return raw.rstrip()
    return object_json(resources, raw, media_type, managed_fields)


def value_json(value: Any, managed_fields: bool) -> bytes | None:
    if not managed_fields:
        value = _without_managed_fields(value)
    try:
        return dumped(value) if value is not None else None
    except (orjson.JSONEncodeError, TypeError):  # numbers that JSON has and we cannot write
        return None


def parsed(resources: Resources, raw: bytes, media_type: str) -> Any:
    """What a body says; None if it cannot be read."""
    try:
        if not raw:
            return None
        if media_type in (YAML, APPLY):
            return parse_yaml(raw)[0]
        if media_type != resources.dialect.protobuf_media_type:
            return parse_json(raw)
        api_version, kind, content = envelope(raw)
        struct = resources.struct_of(api_version, kind)
        if struct is None:
            return None
        return {"kind": kind, "apiVersion": api_version, **from_message(struct, content)}
    except (BodyError, TooDeep, ProtobufError):
        return None


def _without_managed_fields(value: Any) -> Any:
    """Of an object, of those in a list and of those in the rows of a Table."""
    if not isinstance(value, dict):
        return value
    found = dict(value)
    metadata = found.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        found["metadata"] = {n: one for n, one in metadata.items() if n != "managedFields"}
    if isinstance(found.get("items"), list):
        found["items"] = [_without_managed_fields(item) for item in found["items"]]
    if found.get("kind") == "Table" and isinstance(found.get("rows"), list):
        rows = [row for row in found["rows"] if isinstance(row, dict)]
        shown = [{**row, "object": _without_managed_fields(row.get("object"))} for row in rows]
        found["rows"] = shown
    return found


def success_of(resources: Resources, verb: str, answer: Answer) -> dict[str, Any] | None:
    """What is told of an answer that is a Status though nothing went wrong."""
    body = answer.body
    if not isinstance(body, bytes) or answer.code >= 300:
        return None
    if b'"Status"' not in body[:48] and (verb not in _DELETING or answer.media_type == JSON):
        return None
    value = parsed(resources, body, answer.media_type)
    if not isinstance(value, dict) or value.get("kind") != "Status":
        return None
    return status_of(value) | {"code": answer.code}


def media_type_of(header: str) -> str:
    return header.partition(";")[0].strip() or JSON


class Collected:
    """The pieces of an answer as they are sent, up to a limit beyond which none is kept."""

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type
        self.overflowed = False
        self._pieces: list[bytes] = []
        self._size = 0

    async def follow(self, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async with aclosing(pieces):
            async for piece in pieces:
                self._size += len(piece)
                if self._size <= MOST_COLLECTED:
                    self._pieces.append(piece)
                elif not self.overflowed:
                    self.overflowed = True
                    self._pieces.clear()
                yield piece

    def whole(self) -> bytes:
        return b"".join(self._pieces)
