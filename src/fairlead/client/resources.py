"""Operations on the objects of a resource. Objects are plain dictionaries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

import orjson

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.client import conditions
from fairlead.client import watch as client_watch
from fairlead.client.discovery import ResourceType
from fairlead.client.session import JSON, Request, Session

Object = dict[str, Any]

PAGE = 500  # objects per page of a list
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def _preferring(kind: str) -> str:
    """An Accept header for servers of either dialect; a server without that form returns plain
    objects."""
    forms = (f"{JSON};as={kind};v=v1;g={dialect.meta_group}" for dialect in (KUBERNETES, CLUSTER))
    return ",".join((*forms, JSON))


TABLE = _preferring("Table")
METADATA = _preferring("PartialObjectMetadata")
METADATA_LIST = _preferring("PartialObjectMetadataList")


class Resource:
    """The objects of a resource. `namespace` None means the default namespace, "" means all.
    Further keyword arguments become query parameters under the names of the API. Methods raise
    ApiError, Unreachable or AccessError."""

    def __init__(self, session: Session, type: ResourceType, default_namespace: str) -> None:
        self.type = type
        self.session = session
        self._default_namespace = default_namespace

    def path(self, name: str = "", namespace: str | None = None, subresource: str = "") -> str:
        """The path of an object, or of all objects in a namespace; namespace "" means all."""
        steps = [self.type.prefix]
        space = self.space(namespace)
        if space:
            steps += ["namespaces", quote(space, safe="")]
        steps.append(self.type.name)
        steps += [quote(step, safe="") for step in (name,) if step]
        steps += [subresource] if subresource else []
        return "/".join(steps)

    def _path_of(self, name: str, namespace: str | None, subresource: str = "") -> str:
        """The path of an object; raises InvalidName."""
        return self.path(checked_name(name), namespace, subresource)

    def space(self, namespace: str | None) -> str:
        """The effective namespace; empty for cluster-scoped resources."""
        if not self.type.namespaced:
            return ""
        return self._default_namespace if namespace is None else namespace

    async def get(
        self, /, name: str, namespace: str | None = None, *, subresource: str = "", **query: Any
    ) -> Object:
        return await self.session.object(
            Request("GET", self._path_of(name, namespace, subresource), query)
        )

    async def page(
        self, /, namespace: str | None = None, *, accept: str = JSON, **query: Any
    ) -> Object:
        """One page of a list; `metadata.continue` is set if there are more."""
        return await self.session.object(
            Request("GET", self.path("", namespace), query, accept=accept)
        )

    async def pages(
        self,
        /,
        namespace: str | None = None,
        *,
        limit: int = PAGE,
        accept: str = JSON,
        **query: Any,
    ) -> AsyncIterator[Object]:
        """Yield all pages of a list."""
        if limit:
            query["limit"] = limit
        while True:
            page = await self.page(namespace, accept=accept, **query)
            yield page
            following = (page.get("metadata") or {}).get("continue")
            if not following:
                return
            query["continue"] = following
            query.pop("resourceVersion", None)
            query.pop("resourceVersionMatch", None)

    async def list(
        self, /, namespace: str | None = None, *, limit: int = PAGE, **query: Any
    ) -> Object:
        """A whole list, joined from all pages; its metadata is that of the first."""
        combined: Object | None = None
        async for page in self.pages(namespace, limit=limit, **query):
            if combined is None:
                combined = page
                combined["items"] = combined.get("items") or []
            else:
                combined["items"] += page.get("items") or []
        assert combined is not None
        for name in ("continue", "remainingItemCount"):
            (combined.get("metadata") or {}).pop(name, None)
        return combined

    def watch(
        self,
        /,
        namespace: str | None = None,
        *,
        name: str = "",
        since: str | Mapping[str, Any] = "",
        accept: str = JSON,
        timeout: float | None = None,
        in_stream: bool = False,
        **query: Any,
    ) -> client_watch.Watch:
        """A watch, for `async for`. Begins with an ADDED event for each object, or with `since`,
        after that list or resource version. With `in_stream` it needs no request for the list if
        the server is of a later release."""
        return client_watch.Watch(
            self,
            namespace,
            name=name,
            since=since,
            accept=accept,
            timeout=timeout,
            in_stream=in_stream,
            query=query,
        )

    async def wait(
        self,
        /,
        name: str,
        holds: conditions.Holds,
        namespace: str | None = None,
        *,
        timeout: float | None = None,
    ) -> Object | None:
        """Wait until `holds` is true for the object (None if it does not exist), such as
        `has_condition("Ready")` of `fairlead.client.conditions`. Returns the object; raises
        TimeoutError."""
        return await conditions.wait_until(self, name, holds, namespace, timeout)

    async def create(
        self,
        /,
        value: Mapping[str, Any],
        namespace: str | None = None,
        *,
        name: str = "",
        subresource: str = "",
        **query: Any,
    ) -> Object:
        path = self.path(name, self._space_of(value, namespace), subresource)
        return await self._write("POST", path, value, query)

    async def replace(
        self,
        /,
        value: Mapping[str, Any],
        namespace: str | None = None,
        *,
        subresource: str = "",
        **query: Any,
    ) -> Object:
        name = value["metadata"]["name"]
        path = self._path_of(name, self._space_of(value, namespace), subresource)
        return await self._write("PUT", path, value, query)

    async def patch(
        self,
        /,
        name: str,
        patch: Any,
        namespace: str | None = None,
        *,
        type: str = MERGE_PATCH,
        subresource: str = "",
        **query: Any,
    ) -> Object:
        path = self._path_of(name, namespace, subresource)
        return await self._write("PATCH", path, patch, query, type)

    async def apply(
        self,
        /,
        value: Mapping[str, Any],
        namespace: str | None = None,
        *,
        manager: str,
        force: bool = False,
        subresource: str = "",
        **query: Any,
    ) -> Object:
        """Server-side apply; raises Conflict with the fields that other managers own."""
        query["fieldManager"] = manager
        if force:
            query["force"] = "true"
        name, space = value["metadata"]["name"], self._space_of(value, namespace)
        path = self._path_of(name, space, subresource)
        return await self._write("PATCH", path, value, query, APPLY_PATCH)

    async def delete(
        self,
        /,
        name: str,
        namespace: str | None = None,
        options: Mapping[str, Any] | None = None,
        **query: Any,
    ) -> Object:
        """Delete an object. Returns the object if finalizers still hold it, else a Status."""
        return await self._write("DELETE", self._path_of(name, namespace), options, query)

    async def delete_collection(
        self,
        /,
        namespace: str | None = None,
        options: Mapping[str, Any] | None = None,
        **query: Any,
    ) -> Object:
        return await self._write("DELETE", self.path("", namespace), options, query)

    def _space_of(self, value: Mapping[str, Any], namespace: str | None) -> str | None:
        """The namespace for a write: the argument, else that of the object."""
        if namespace is not None:
            return namespace
        return (value.get("metadata") or {}).get("namespace") or None

    async def _write(
        self, method: str, path: str, body: Any, query: Mapping[str, Any], type: str = JSON
    ) -> Object:
        content = orjson.dumps(body) if body is not None else b""
        return await self.session.object(Request(method, path, query, content, type))


class InvalidName(ValueError):
    """A name that would change the path; no request was sent."""


def checked_name(name: str, what: str = "resource name") -> str:
    """The name; raises InvalidName. An empty name is refused because it would address all
    objects."""
    if not name:
        raise InvalidName(f"the {what} is empty")
    if name in (".", ".."):
        raise InvalidName(f'"{name}" cannot be a {what}')
    for sign in "/%":
        if sign in name:
            raise InvalidName(f'"{name}" cannot be a {what}: it has a {sign} in it')
    return name
