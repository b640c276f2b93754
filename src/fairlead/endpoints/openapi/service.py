"""The paths below /openapi."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from fairlead import errors
from fairlead.endpoints.answers import Answer, text_answer
from fairlead.endpoints.negotiation import _clauses as clauses
from fairlead.endpoints.openapi import identity
from fairlead.endpoints.openapi.answers import (
    BINARY,
    TEXT,
    Document,
    document_answer,
    moved_answer,
    not_acceptable_answer,
    pack,
)
from fairlead.endpoints.openapi.custom import CustomSchema
from fairlead.endpoints.openapi.documents import Builder
from fairlead.endpoints.openapi.operations import base_path
from fairlead.endpoints.request import Request
from fairlead.kinds.resources import GroupVersion, Resource, Resources

JSON = "application/json"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

Build = Callable[[], dict[str, Any]]


class OpenApi:
    """Answers with documents, each made when it is first asked for and kept, compressed, until
    what it describes changes.

    Who serves custom resources sets `find_custom`; it is asked for every resource.
    """

    def __init__(self, resources: Resources) -> None:
        self.find_custom: Callable[[Resource], CustomSchema | None] = lambda resource: None
        self._resources = resources
        self._builder = Builder(resources, lambda resource: self.find_custom(resource))
        self._documents: dict[str, Document] = {}
        self._making = asyncio.Lock()

    async def answer(self, request: Request) -> Answer:
        parts = request.target.path.strip("/").split("/")
        if parts[:2] not in (["openapi", "v2"], ["openapi", "v3"]) or (
            parts[2:] and parts[1] == "v2"
        ):
            return text_answer(404, "404 page not found\n")
        if request.method not in ("GET", "HEAD"):
            raise errors.method_not_allowed()
        if parts[1] == "v2":
            return await self._swagger(request)
        if len(parts) == 2:
            return self._index(request)
        return await self._v3(request, "/".join(parts[2:]))

    def _index(self, request: Request) -> Answer:
        paths = {name: {"serverRelativeURL": _url(name, tag)} for name, tag in self._tags().items()}
        body = orjson.dumps({"paths": paths})
        return document_answer(request, pack(identity.of_all([body.decode()]), body, JSON))

    async def _v3(self, request: Request, name: str) -> Answer:
        tag = self._tags().get(name)
        if tag is None:
            self._documents.pop(name, None)
            return text_answer(404, "404 page not found\n")
        if _chosen(request, (JSON,)) is None:
            return not_acceptable_answer()
        wanted = request.parameter("hash")
        if wanted and wanted != tag:
            return moved_answer(_url(name, tag))
        async with self._making:
            found = self._documents.get(name)
            if found is None or found.identity != tag:
                value = self._build(name)()
                found = await asyncio.to_thread(_pack_json, tag, value)
                self._documents[name] = found
        return document_answer(request, found, for_good=bool(wanted))

    async def _swagger(self, request: Request) -> Answer:
        chosen = _chosen(request, (JSON, PROTOBUF))
        if chosen is None:
            return not_acceptable_answer()
        tag = identity.of_all([chosen, *self._tags().values()])
        async with self._making:
            found = self._documents.get(chosen)
            if found is None or found.identity != tag:
                encode = _pack_json if chosen == JSON else _pack_protobuf
                found = await asyncio.to_thread(encode, tag, await self._swagger_value())
                self._documents[chosen] = found
        return document_answer(request, found)

    async def _swagger_value(self) -> dict[str, Any]:
        """Everything, with room for other requests between the parts."""
        swagger = self._builder.swagger()
        for found in list(self._resources.group_versions()):
            swagger.add(found)
            await asyncio.sleep(0)
        return swagger.value()

    def _tags(self) -> dict[str, str]:
        """The documents of version 3 by name, with the identity of each."""
        dialect = self._resources.dialect
        found = {name: identity.of_name(dialect, name) for name in ("api", "apis", "version")}
        for group, versions in self._resources.groups.items():
            if group and versions:
                found[f"apis/{group}"] = identity.of_name(dialect, group)
            for one in versions.values():
                tag = identity.of_version(dialect, one, self.find_custom)
                found[_document_name(one)] = tag
        return dict(sorted(found.items()))

    def _build(self, name: str) -> Build:
        builder = self._builder
        match name.split("/"):
            case ["version"]:
                return builder.release
            case ["apis"]:
                return builder.groups
            case ["api"]:
                return lambda: builder.group("")
            case ["apis", group]:
                return lambda: builder.group(group)
            case ["api", version]:
                return lambda: builder.version(self._resources.groups[""][version])
            case [_, group, version]:
                return lambda: builder.version(self._resources.groups[group][version])
        raise KeyError(name)


def _document_name(found: GroupVersion) -> str:
    return base_path(found)[1:]


def _url(name: str, tag: str) -> str:
    return f"/openapi/v3/{name}?hash={tag}"


def _chosen(request: Request, offered: tuple[str, ...]) -> str | None:
    """The media type to answer in: the first that the client takes."""
    for clause in clauses(request.header(b"accept") or "*/*"):
        kind, _, detail = clause.media_type.partition("/")
        for media_type in offered:
            own_kind, _, own_detail = media_type.partition("/")
            if kind in (own_kind, "*") and detail in (own_detail, "*"):
                return media_type
    return None


def _pack_json(tag: str, value: dict[str, Any]) -> Document:
    """Clients know the type from what they asked for; it is sent as the plain text it is."""
    return pack(tag, orjson.dumps(value), TEXT)


def _pack_protobuf(tag: str, value: dict[str, Any]) -> Document:
    from fairlead.serialization.gnostic import encode_document

    return pack(tag, encode_document(value), BINARY)
