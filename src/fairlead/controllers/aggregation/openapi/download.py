"""Fetches the OpenAPI documents of an extension server."""

from __future__ import annotations

import asyncio
import re
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import orjson

from fairlead.api.openapi.answers import TEXT, Document, pack
from fairlead.base.meter import SizeLimitExceeded
from fairlead.codec.bodies import check_values
from fairlead.controllers.aggregation.calls import DESCRIBER, ExtensionCalls
from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.openapi import conversion, document
from fairlead.controllers.aggregation.openapi.json_slices import Unreadable
from fairlead.wire.outgoing.response import Response

OLD, NEW = "/openapi/v2", "/openapi/v3"
SECONDS = 60.0
MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
MAX_INDEX_BYTES = 1024 * 1024
_HASH = re.compile(r"[-.~\w]{1,128}", re.ASCII)


class FetchedDocuments(NamedTuple):
    """The documents of a server and their ETags. `address` is the URL of its own OpenAPI 3
    document. `is_old`: it has no OpenAPI 3; `converted` is then converted from its OpenAPI 2
    document."""

    part: document.Part | None = None
    address: str = ""
    is_old: bool = False
    converted: Document | None = None
    old_tag: str = ""
    new_tag: str = ""


def without_tags(fetched: FetchedDocuments) -> FetchedDocuments:
    """A copy without ETags, so that everything is fetched again."""
    return fetched._replace(old_tag="", new_tag="")


class DocumentFetcher:
    """`kind_mark` is the extension key with the group, version and kind of a definition."""

    def __init__(self, calls: ExtensionCalls, kind_mark: str) -> None:
        self._calls = calls
        self._kind_mark = kind_mark
        self._reading = asyncio.Semaphore(1)

    async def index(self, extension: Extension, fetched: FetchedDocuments) -> FetchedDocuments:
        """Fetch the list of OpenAPI 3 documents. Raises CallError, Unreadable."""
        reply = await self._fetch(extension, NEW, fetched.new_tag, MAX_INDEX_BYTES)
        if reply.status == 304:
            return fetched
        if reply.status == 404:
            return (
                fetched if fetched.is_old else fetched._replace(address="", is_old=True, old_tag="")
            )
        address = _address(reply.content, extension)
        tag = reply.header(b"etag")
        return fetched._replace(address=address, is_old=False, converted=None, new_tag=tag)

    async def fetch_document(
        self, extension: Extension, fetched: FetchedDocuments
    ) -> FetchedDocuments:
        """Fetch the OpenAPI 2 document. Raises CallError, Unreadable."""
        reply = await self._fetch(extension, OLD, fetched.old_tag, MAX_DOCUMENT_BYTES)
        if reply.status == 304:
            return fetched
        if reply.status == 404:
            return fetched._replace(part=None, converted=None, old_tag="")
        async with self._reading:  # one at a time: parsing takes time and memory
            part, converted_document = await asyncio.to_thread(
                self._read, reply.content, extension, convert=fetched.is_old
            )
        return fetched._replace(
            part=part, converted=converted_document, old_tag=reply.header(b"etag")
        )

    def _read(
        self, raw: bytes, extension: Extension, *, convert: bool
    ) -> tuple[document.Part, Document | None]:
        group, version = extension.group_version
        description = document.read_description(raw, group, version)
        converted_document: Document | None = None
        if convert:
            text = orjson.dumps(conversion.converted(description), option=orjson.OPT_SORT_KEYS)
            converted_document = pack(sha256(text).hexdigest().upper(), text, TEXT)
        return document.part_of(description, group, version, self._kind_mark), converted_document

    async def _fetch(self, extension: Extension, path: str, tag: str, maximum: int) -> Response:
        headers = (("accept", "application/json"), *((("if-none-match", tag),) if tag else ()))
        reply = await self._calls.fetch(
            extension, path, user=DESCRIBER, headers=headers, timeout=SECONDS, maximum=maximum
        )
        if reply.status not in (200, 304, 404) or (reply.status == 304 and not tag):
            raise Unreadable(f"{path} was answered with {reply.status}")
        if reply.header(b"content-encoding") not in ("", "identity"):
            raise Unreadable(f"{path} was answered in an encoding that was not asked for")
        return reply


def document_name(extension: Extension) -> str:
    """The name in the list of OpenAPI 3 documents."""
    return extension.path[1:]


def address_of(name: str, tag: str = "") -> str:
    return f"{NEW}/{name}?hash={tag}" if tag else f"{NEW}/{name}"


def _address(raw: bytes, extension: Extension) -> str:
    """The URL under which we list its document, or "". Only the hash is taken from the server."""
    name = document_name(extension)
    try:
        check_values(raw)
        entry = orjson.loads(raw)["paths"].get(name)
        url = entry["serverRelativeURL"] if entry is not None else None
        query = parse_qs(urlsplit(url).query) if url is not None else {}
    except (
        SizeLimitExceeded,
        orjson.JSONDecodeError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ):
        raise Unreadable(f"{NEW} is not a list of documents") from None
    if url is None:
        return ""
    [tag, *_] = query.get("hash", [""])
    return address_of(name, tag if _HASH.fullmatch(tag) else "")
