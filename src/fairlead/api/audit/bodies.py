"""Encodes objects of requests and responses as single-line JSON for events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import orjson

from fairlead.api.answers import Answer
from fairlead.api.audit.fragments import dumped
from fairlead.api.audit.redaction import status_of
from fairlead.api.negotiation import JSON, YAML
from fairlead.api.patch import APPLY
from fairlead.codec.bodies import BodyError, TooDeep, parse_json, parse_yaml
from fairlead.codec.protobuf import ProtobufError, envelope, from_message
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object
from fairlead.operations.operation import Operation
from fairlead.resources.behaviour import Behaviour
from fairlead.resources.catalogue import behaviour_of
from fairlead.resources.context import Context
from fairlead.resources.gates import Gates
from fairlead.resources.registry import Resource, Resources, from_stored, to_stored

MAX_COLLECTED = 10 * 1024 * 1024  # bytes of a streamed response
_DELETING = ("delete", "deletecollection")
_WRITING = ("create", "update")
_TYPE = ("kind", "apiVersion")


class Bodies:
    """Decodes the bodies of a server. `managed_fields` tells whether to include those fields."""

    def __init__(self, resources: Resources, gates: Gates) -> None:
        self._resources = resources
        self._context = Context(resources.dialect, gates, lambda *_: None)

    def request_object(
        self, operation: Operation, media_type: str, managed_fields: bool
    ) -> bytes | None:
        """The object or patch in a request; None if it cannot be decoded. Objects are shown as
        decoded, with kind, apiVersion and defaults."""
        value = parsed(self._resources, operation.sent, media_type)
        if operation.verb != "patch" and isinstance(value, dict):
            value = {**self._type_of(operation), **value}
            if operation.verb in _WRITING:
                value = self._with_defaults(operation.resource, value)
        return value_json(value, managed_fields)

    def _type_of(self, operation: Operation) -> dict[str, str]:
        if operation.verb in _DELETING:
            return {"kind": "DeleteOptions", "apiVersion": "v1"}
        resource, api_version = operation.resource, operation.resource.api_version
        if resource.body_version != resource.group_version.table_name:
            api_version = self._resources.api_version_of(resource.body_version)
        return {"kind": resource.kind, "apiVersion": api_version}

    def _with_defaults(self, resource: Resource, value: Object) -> Object | None:
        head = {name: value.pop(name) for name in _TYPE}
        try:
            decoded: Object = decoder(resource.struct)(value, [])
        except DecodeError:
            return None
        main = resource.main
        if resource.kind != main.kind:  # for example a Scale or a Binding
            fill_defaults(resource.struct, decoded)
            return head | decoded
        decoded = to_stored(main, decoded)
        fill_defaults(main.stored_struct, decoded)
        self._behaviour(main).fill_defaults(decoded, self._context)
        return head | from_stored(main, decoded)

    def _behaviour(self, main: Resource) -> Behaviour:
        stored = main
        if main.stored_version != main.group_version.table_name:
            stored = self._resources.named(f"{main.stored_version}/{main.name}")
        return behaviour_of(stored)

    def response_object(self, raw: bytes, media_type: str, managed_fields: bool) -> bytes | None:
        """The object in a response of this server, whose body may be single-line JSON already."""
        if managed_fields and media_type == JSON and raw[-2:] == b"}\n" and b"\n" not in raw[:-1]:
            return raw.rstrip()
        return value_json(parsed(self._resources, raw, media_type), managed_fields)

    def success(self, verb: str, answer: Answer) -> dict[str, Any] | None:
        """The Status in a successful response; None if the response is not a Status."""
        body = answer.body
        if not isinstance(body, bytes) or answer.code >= 300:
            return None
        if b'"Status"' not in body[:48] and (verb not in _DELETING or answer.media_type == JSON):
            return None
        value = parsed(self._resources, body, answer.media_type)
        if not isinstance(value, dict) or value.get("kind") != "Status":
            return None
        return status_of(value) | {"code": answer.code}


def value_json(value: Any, managed_fields: bool) -> bytes | None:
    if not managed_fields:
        value = _without_managed_fields(value)
    try:
        return dumped(value) if value is not None else None
    except (orjson.JSONEncodeError, TypeError):  # JSON numbers that orjson cannot encode
        return None


def parsed(resources: Resources, raw: bytes, media_type: str) -> Any:
    """The decoded body; None if it cannot be decoded."""
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
    """Without managedFields in an object, in the items of a list and in the rows of a Table."""
    if not isinstance(value, dict):
        return value
    result = dict(value)
    metadata = result.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        result["metadata"] = {n: field for n, field in metadata.items() if n != "managedFields"}
    if isinstance(result.get("items"), list):
        result["items"] = [_without_managed_fields(item) for item in result["items"]]
    if result.get("kind") == "Table" and isinstance(result.get("rows"), list):
        rows = [row for row in result["rows"] if isinstance(row, dict)]
        objects = [{**row, "object": _without_managed_fields(row.get("object"))} for row in rows]
        result["rows"] = objects
    return result


def media_type_of(header: str) -> str:
    return header.partition(";")[0].strip() or JSON


class Collected:
    """Collects the pieces of a response as they are sent; drops all of them beyond a limit."""

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type
        self.overflowed = False
        self._pieces: list[bytes] = []
        self._size = 0

    async def follow(self, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async with aclosing(pieces):
            async for piece in pieces:
                self._size += len(piece)
                if self._size <= MAX_COLLECTED:
                    self._pieces.append(piece)
                elif not self.overflowed:
                    self.overflowed = True
                    self._pieces.clear()
                yield piece

    def joined(self) -> bytes:
        return b"".join(self._pieces)
