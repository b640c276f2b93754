"""Aggregated discovery: all groups with all their resources in one document, at /api and /apis."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha512
from typing import Any

import orjson

from fairlead.api.answers import Answer, encode
from fairlead.api.discovery import Elsewhere, Groups, resource_list
from fairlead.api.negotiation import JSON, Representation, clauses, media_types
from fairlead.api.request import Request
from fairlead.base.deferred import Outcome
from fairlead.base.dialect import Dialect
from fairlead.codec.protobuf import to_message
from fairlead.resources.gates import Gates
from fairlead.resources.registry import Resources
from fairlead.wire.incoming.exchange import Header

KIND = "APIGroupDiscoveryList"
CURRENT, STALE = "Current", "Stale"
_MANY = 2000  # resources; documents with more are made in a thread
# A group, and the names, entries and freshness of its versions.
_Group = tuple[str, list[tuple[str, Sequence[Mapping[str, Any]], str]]]
_FOREVER: tuple[Header, ...] = ((b"vary", b"Accept"), (b"cache-control", b"public"))


def requested_form(dialect: Dialect, gates: Gates, accept: str) -> Representation | None:
    """The form of the aggregated document, if the client prefers that document to the plain one."""
    versions = ("v2",) if gates["AggregatedDiscoveryRemoveBetaType"] else ("v2", "v2beta1")
    for clause in clauses(accept):
        media_type = JSON if clause.media_type in ("*/*", "application/*") else clause.media_type
        if media_type not in media_types(dialect):
            continue
        kind, version = clause.parameters.get("as", ""), clause.parameters.get("v", "")
        group = clause.parameters.get("g", "")
        if kind == KIND and group == dialect.group_name("apidiscovery.@") and version in versions:
            return Representation(media_type, transform=KIND, version=version)
        if not kind and not group and not version:
            return None
    return None


class AggregatedDocument:
    """The document of /api or /apis: its bytes in each form, and its ETag."""

    def __init__(self, resources: Resources, items: list[dict[str, Any]]) -> None:
        self._resources = resources
        self._items = items
        self._tag = f'"{sha512(orjson.dumps(items)).hexdigest().upper()}"'
        self._encoded: dict[Representation, bytes] = {}

    def encode(self, form: Representation) -> None:
        """Prepare a form for `answer`."""
        if form not in self._encoded:
            self._encoded[form] = self._encode(form)

    def has(self, form: Representation) -> bool:
        return form in self._encoded

    def answer(self, request: Request, form: Representation) -> Answer:
        headers = ((b"etag", self._tag.encode()), *_FOREVER)
        if request.header(b"if-none-match") == self._tag:
            return Answer(304, b"", "", headers)
        self.encode(form)
        body = self._encoded[form]
        group = self._resources.dialect.group_name("apidiscovery.@")
        media_type = f"{form.media_type};g={group};v={form.version};as={KIND}"
        return Answer(200, body, media_type, headers)

    def _encode(self, form: Representation) -> bytes:
        dialect = self._resources.dialect
        api_version = dialect.group_name(f"apidiscovery.@/{form.version}")
        value = {"kind": KIND, "apiVersion": api_version, "metadata": {}, "items": self._items}
        if form.media_type == dialect.protobuf_media_type:
            return to_message(self._resources.types.struct(f"apidiscovery/v2.{KIND}"), value)
        return encode(value, form, self._resources)


class AggregatedDocuments:
    """The documents of /api and /apis, made when they are first requested. Extension servers may
    have any number of resources: with many of them, /apis is made in a thread."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._documents: dict[str, AggregatedDocument] = {}
        self._lock = asyncio.Lock()

    def answer(
        self, request: Request, name: str, groups: Groups, form: Representation
    ) -> Outcome[Answer]:
        document = self._documents.get(name)
        if document is None and name == "api":
            document = self._documents[name] = core_document(self._resources)
        if document is None or not document.has(form):
            items = _all_versions(self._resources, groups) if name != "api" else []
            if sum(len(entries) for _, versions in items for _, entries, _ in versions) > _MANY:
                return self._answer_later(request, name, items, form)
            if document is None:
                document = self._documents[name] = groups_document(self._resources, items)
        return document.answer(request, form)

    async def _answer_later(
        self, request: Request, name: str, items: Sequence[_Group], form: Representation
    ) -> Answer:
        documents = self._documents  # others if something changes meanwhile
        async with self._lock:
            document = documents.get(name)
            if document is None:
                document = await asyncio.to_thread(groups_document, self._resources, items)
                documents[name] = document
            if not document.has(form):
                await asyncio.to_thread(document.encode, form)
        return document.answer(request, form)


def core_document(resources: Resources) -> AggregatedDocument:
    versions = [
        _version(name, resource_list(resources, version)["resources"], CURRENT)
        for name, version in resources.groups.get("", {}).items()
    ]
    return AggregatedDocument(resources, [{"metadata": {}, "versions": versions}])


def groups_document(resources: Resources, items: Sequence[_Group]) -> AggregatedDocument:
    described = [
        {
            "metadata": {"name": group},
            "versions": [_version(name, entries, fresh) for name, entries, fresh in versions],
        }
        for group, versions in items
    ]
    return AggregatedDocument(resources, described)


def _all_versions(resources: Resources, groups: Groups) -> list[_Group]:
    """The entries and the freshness of all versions of all groups."""
    return [
        (group, [(name, *_entries_of(resources, groups, group, name)) for name in names])
        for group, names in groups.versions().items()
    ]


def _entries_of(
    resources: Resources, groups: Groups, group: str, name: str
) -> tuple[Sequence[Mapping[str, Any]], str]:
    own = resources.groups.get(group, {}).get(name)
    elsewhere: Elsewhere | None = groups.elsewhere(group, name)
    if elsewhere is not None:
        return elsewhere.resources, CURRENT if elsewhere.is_current else STALE
    if own is None:  # registered, and not served
        return (), STALE
    entries = resource_list(resources, own)["resources"]
    if resources.is_custom(group):
        entries = [{"group": group, "version": name, **entry} for entry in entries]
    return entries, CURRENT


def _version(name: str, entries: Sequence[Mapping[str, Any]], freshness: str) -> dict[str, Any]:
    """A version with the entries of its APIResourceList; those of subresources come into those of
    their resources."""
    listed: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if "/" not in entry["name"]:
            listed[entry["name"]] = _resource(entry)
    for entry in entries:
        resource, slash, subresource = entry["name"].partition("/")
        if slash:
            parent = listed.setdefault(resource, _parent(resource, entry))
            parent.setdefault("subresources", []).append(
                {
                    "subresource": subresource,
                    "responseKind": _kind(entry),
                    "verbs": list(entry.get("verbs") or ()),
                }
            )
    version: dict[str, Any] = {"version": name}
    if listed:
        version["resources"] = list(listed.values())
    return {**version, "freshness": freshness}


def _resource(entry: Mapping[str, Any]) -> dict[str, Any]:
    resource = {
        "resource": entry["name"],
        "responseKind": _kind(entry),
        "scope": _scope(entry),
        "singularResource": entry.get("singularName", ""),
        "verbs": list(entry.get("verbs") or ()),
    }
    for name in ("shortNames", "categories"):
        if entry.get(name):
            resource[name] = list(entry[name])
    return resource


def _parent(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a resource that has only subresources."""
    empty = {"group": "", "version": "", "kind": ""}
    return {
        "resource": name,
        "responseKind": empty,
        "scope": _scope(entry),
        "singularResource": "",
        "verbs": [],
    }


def _kind(entry: Mapping[str, Any]) -> dict[str, str]:
    """The kind of answers; its group and version are empty if they are those of the document."""
    return {name: str(entry.get(name) or "") for name in ("group", "version", "kind")}


def _scope(entry: Mapping[str, Any]) -> str:
    return "Namespaced" if entry.get("namespaced") else "Cluster"
