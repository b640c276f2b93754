"""Serves the paths below /openapi."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import orjson

from fairlead.api.answers import Answer, no_such_page
from fairlead.api.negotiation import clauses as clauses
from fairlead.api.openapi import documents as openapi_documents
from fairlead.api.openapi import identity, overview, tables
from fairlead.api.openapi.answers import (
    BINARY,
    TEXT,
    Document,
    document_answer,
    moved_answer,
    not_acceptable_answer,
    not_found_answer,
    pack,
)
from fairlead.api.openapi.knowledge import FindCustom
from fairlead.api.request import Request
from fairlead.api.streamed_answers import STEP_SECONDS
from fairlead.codec import gnostic, gnostic_v3
from fairlead.resources.registry import Resources

JSON = "application/json"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTOBUF_V3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"


class OpenApi:
    """Serves documents. Each is built on its first request and cached, compressed, until the
    resources it describes change.

    `find_custom` returns what a custom resource publishes; `find_others` returns the contributions
    of aggregated servers.
    """

    def __init__(self, resources: Resources, advertised: str = "") -> None:
        self.find_custom: FindCustom = lambda resource: resource.custom
        self.find_others: Callable[[], Others] = lambda: NO_OTHERS
        self._resources = resources
        self._advertised = advertised or resources.release.advertised
        self._builtin = tuple(
            (group_version.group, group_version.version)
            for group_version in resources.group_versions()
            if any(resource.custom is None for resource in group_version.resources.values())
        )
        # Later releases send documents under their media type, earlier ones as text or bytes:
        # clients know the type from their request.
        self._names_types = resources.release.minor >= 30
        self._documents: dict[str, Document] = {}
        self._build_lock = asyncio.Lock()
        self._has_read = False
        self._known_tags: tuple[int, dict[str, str]] = (-1, {})

    @cached_property
    def _builder(self) -> openapi_documents.Builder:
        return openapi_documents.Builder(
            self._resources,
            self._builtin,
            lambda resource: self.find_custom(resource),
            self._advertised,
        )

    async def answer(self, request: Request) -> Answer:
        """The document at a path, for any method."""
        match request.target.path.strip("/").split("/"):
            case ["openapi", "v2"]:
                answer = self._swagger
            case ["openapi", "v3", *_]:
                answer = self._v3
            case _:
                return no_such_page()
        if not self._has_read:
            await asyncio.to_thread(self._read)
        return await answer(request)

    def _read(self) -> None:
        """Read files in advance, in a thread, so that the event loop does not block on them."""
        identity.sources(self._resources.dialect, self._advertised)
        self._builder.read_texts()
        self._has_read = True

    async def _index(self, request: Request) -> Answer:
        urls = {name: _url(name, tag) for name, tag in self._tags().items()}
        urls |= {name: remote.address for name, remote in self.find_others().documents.items()}
        tag = identity.of_all([*urls, *urls.values()])
        document = self._documents.get("")
        if document is None or document.identity != tag:
            paths = {name: {"serverRelativeURL": url} for name, url in sorted(urls.items())}
            document = self._documents[""] = pack(tag, orjson.dumps({"paths": paths}), TEXT)
        return await document_answer(request, document)

    async def _v3(self, request: Request) -> Answer:
        name = "/".join(request.target.path.strip("/").split("/")[2:])
        if not name:
            return await self._index(request)
        remote = self.find_others().documents.get(name)
        if remote is not None:
            return await remote.answer(request)
        async with self._build_lock:
            tag = self._tags().get(name)
            if tag is None:
                for other_type in (JSON, PROTOBUF_V3):
                    self._documents.pop(_cache_key(name, other_type), None)
                return not_found_answer()
            media_type = _accepted_type(request, (JSON, PROTOBUF_V3), self._names_types)
            if media_type is None:
                return not_acceptable_answer()
            requested_tag = request.parameter("hash")
            if requested_tag and requested_tag != tag:
                return moved_answer(_url(name, tag))
            key = _cache_key(name, media_type)
            document = self._documents.get(key)
            is_current = True
            if document is None or document.identity != tag:
                encode = orjson.dumps if media_type == JSON else gnostic_v3.encode_document
                value = await _built(self._steps(name))
                document = await asyncio.to_thread(self._pack, tag, encode, value, media_type)
                is_current = self._tags().get(name) == tag
                if is_current:
                    self._documents[key] = document
        for_good = bool(requested_tag) and is_current
        return await document_answer(request, document, for_good=for_good)

    async def _swagger(self, request: Request) -> Answer:
        media_type = _accepted_type(request, (JSON, PROTOBUF), self._names_types)
        if media_type is None:
            return not_acceptable_answer()
        async with self._build_lock:
            tag = self._swagger_tag(media_type)
            document = self._documents.get(media_type)
            if document is None or document.identity != tag:
                encode = orjson.dumps if media_type == JSON else gnostic.encode_document
                merge = self.find_others().merge
                value = await _built(self._builder.swagger())
                if merge is not None:
                    value = await asyncio.to_thread(merge, value)
                document = await asyncio.to_thread(self._pack, tag, encode, value, media_type)
                if self._swagger_tag(media_type) == tag:
                    self._documents[media_type] = document
        return await document_answer(request, document)

    def _pack(
        self,
        tag: str,
        encode: Callable[[dict[str, Any]], bytes],
        value: dict[str, Any],
        media_type: str,
    ) -> Document:
        shown = TEXT if media_type == JSON else BINARY
        if self._names_types:
            shown = media_type.replace("@", ".")
        return pack(tag, encode(value), shown)

    def _swagger_tag(self, media_type: str) -> str:
        return identity.of_all([media_type, *self._tags().values(), self.find_others().tag])

    def _tags(self) -> dict[str, str]:
        """The OpenAPI 3 documents by name, with their digests."""
        generation, tags = self._known_tags
        if generation != self._resources.generation:
            tags = self._find_tags()
            self._known_tags = (self._resources.generation, tags)
        return tags

    def _find_tags(self) -> dict[str, str]:
        base = identity.sources(self._resources.dialect, self._advertised)
        tags = {name: identity.of_name(base, name) for name in ("api", "apis", "version")}
        for group, versions in self._resources.groups.items():
            if group and versions and overview.describes_group(self._resources, group):
                tags[f"apis/{group}"] = identity.of_name(base, group)
            for version, group_version in versions.items():
                name = f"apis/{group}/{version}" if group else f"api/{version}"
                tags[name] = identity.of_version(base, group_version, self.find_custom)
        if tables.is_exact(self._resources.release):
            tags |= {path: identity.of_name(base, path) for path in overview.ISSUER_PATHS}
        return dict(sorted(tags.items()))

    def _steps(self, name: str) -> openapi_documents.Steps:
        builder, groups = self._builder, self._resources.groups
        if name in overview.ISSUER_PATHS:
            return builder.issuer(name)
        match name.split("/"):
            case ["version"]:
                return builder.release()
            case ["apis"]:
                return builder.groups()
            case ["api"]:
                return builder.group("")
            case ["apis", group]:
                return builder.group(group)
            case ["api", version]:
                return builder.version(groups[""][version])
            case [_, group, version]:
                return builder.version(groups[group][version])
        raise KeyError(name)


async def _built(steps: openapi_documents.Steps) -> dict[str, Any]:
    """Build a document. The event loop serves others meanwhile."""
    end = perf_counter() + STEP_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            value: dict[str, Any] = stop.value
            return value
        if perf_counter() >= end:
            await asyncio.sleep(0)
            end = perf_counter() + STEP_SECONDS


def _cache_key(name: str, media_type: str) -> str:
    """The cache key of an OpenAPI 3 document."""
    return name if media_type == JSON else f"{name} {media_type}"


def _url(name: str, tag: str) -> str:
    return f"/openapi/v3/{name}?hash={tag}"


def _accepted_type(request: Request, offered: tuple[str, ...], with_dots: bool) -> str | None:
    """The media type of the response: the first that the client accepts. `with_dots`: clients may
    write media types of protobuf without an `@`."""
    for clause in clauses(request.header(b"accept") or "*/*"):
        kind, _, detail = clause.media_type.partition("/")
        for media_type in offered:
            own_kind, _, own_detail = media_type.partition("/")
            dotted = own_detail.replace("@", ".") if with_dots else own_detail
            if kind in (own_kind, "*") and detail in (own_detail, dotted, "*"):
                return media_type
    return None


# Documents that aggregated servers contribute.


class Remote(NamedTuple):
    """An OpenAPI 3 document of another server: its URL in the index and its handler."""

    address: str
    answer: Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Others:
    """A snapshot of all contributions. `documents` are OpenAPI 3 documents by name. `merge` returns
    our OpenAPI 2 document with the other servers' parts; it runs in a thread and must not modify
    shared state. `tag` changes whenever the result of `merge` does."""

    documents: Mapping[str, Remote] = field(default_factory=dict)
    tag: str = ""
    merge: Callable[[dict[str, Any]], dict[str, Any]] | None = None


NO_OTHERS = Others()
