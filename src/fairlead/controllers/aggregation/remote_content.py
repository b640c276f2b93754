"""Deletes the content of a namespace on extension servers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from fairlead.auth.authentication.user import User
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.base.meter import SizeLimitExceeded
from fairlead.base.reasons import REASONS
from fairlead.codec.bodies import check_values
from fairlead.codec.types.names import path_segment
from fairlead.controllers.aggregation.calls import ExtensionCalls
from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.local import RegisteredGroups
from fairlead.controllers.aggregation.registry import Extensions
from fairlead.controllers.namespace_remains import Remains
from fairlead.wire.outgoing.response import WORDS, CallError, check_success

Object = dict[str, Any]

_TIMEOUT = 30.0
_PAGE = 500
_MAX_CONCURRENT = 10
_NOT_THERE = (404, 405)  # the resource or the verb does not exist
_DELETE = orjson.dumps(
    {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
)


class _Resource(NamedTuple):
    """A namespaced resource that supports delete."""

    extension: Extension
    name: str
    verbs: frozenset[str]

    def path(self, namespace: str, name: str = "") -> str:
        steps = ("namespaces", namespace, self.name, name)
        return "/".join((self.extension.path, *(quote(step, safe="") for step in steps if step)))


class RemoteContent:
    """`groups` has the preferred version of each group."""

    def __init__(
        self,
        extensions: Extensions,
        groups: RegisteredGroups,
        calls: ExtensionCalls,
        dialect: Dialect,
    ) -> None:
        self._extensions = extensions
        self._groups = groups
        self._calls = calls
        form = f"application/json;as=PartialObjectMetadataList;g={dialect.meta_group};v=v1"
        self._list_headers = (("accept", f"{form},application/json"),)

    def serves(self, group: str, version: str) -> bool:
        return self._extensions.serving(group, version) is not None

    async def empty(self, user: User, namespace: str, remains: Remains) -> None:
        if not self._extensions:
            return
        room = asyncio.Semaphore(_MAX_CONCURRENT)
        resources = await self._discover(user, remains, room)

        async def empty_one(resource: _Resource) -> None:
            async with room:
                await self._delete_content(user, resource, namespace, remains)

        await asyncio.gather(*map(empty_one, resources))

    async def _discover(
        self, user: User, remains: Remains, room: asyncio.Semaphore
    ) -> list[_Resource]:
        """The resources of extension servers, each in the preferred version of its group. Records
        failed discovery in `remains`."""
        calls = []
        for preferred in self._preferred():
            if preferred.available:
                calls.append(preferred)
            else:
                remains.undiscovered["/".join(preferred.group_version)] = WORDS[503]

        async def list_resources(extension: Extension) -> list[_Resource]:
            async with room:
                return await self._list_resources(user, extension, remains.undiscovered)

        answers = await asyncio.gather(*map(list_resources, calls))
        resources: dict[tuple[str, str], _Resource] = {}
        for resource in (listed for answer in answers for listed in answer):
            resources.setdefault((resource.extension.group, resource.name), resource)
        return list(resources.values())

    def _preferred(self) -> Iterator[Extension]:
        for group, versions in self._groups.versions().items():
            for version in versions:
                extension = self._extensions.serving(group, version)
                if extension is not None:
                    yield extension

    async def _list_resources(
        self, user: User, extension: Extension, undiscovered: dict[str, str]
    ) -> list[_Resource]:
        group, version = extension.group_version
        try:
            listing = await self._call(user, extension, "GET", extension.path)
            return list(_namespaced(extension, listing))
        except CallError as error:
            undiscovered[f"{group}/{version}"] = str(error)
            return []

    async def _delete_content(
        self, user: User, resource: _Resource, namespace: str, remains: Remains
    ) -> None:
        """List, delete, and list again to record what remains."""
        try:
            items, _ = await self._list(user, resource, namespace)
            if items or "list" not in resource.verbs:
                await self._delete(user, resource, namespace, items)
                items, more = await self._list(user, resource, namespace)
                if items:
                    _note(resource, items, more, remains)
        except CallError as error:
            reason = REASONS.get(error.code, "InternalError")
            remains.failures.append(StatusError(error.code or 503, reason, str(error)))

    async def _list(
        self, user: User, resource: _Resource, namespace: str
    ) -> tuple[list[Object], int]:
        """Metadata of the first page, and the number of further objects."""
        if "list" not in resource.verbs:
            return [], 0
        path = f"{resource.path(namespace)}?limit={_PAGE}"
        try:
            page = await self._call(
                user, resource.extension, "GET", path, headers=self._list_headers
            )
        except CallError as error:
            if error.code in _NOT_THERE:
                return [], 0
            raise
        listed = _objects(item.get("metadata") for item in _objects(page.get("items")))
        more = next(_objects([page.get("metadata")]), {}).get("remainingItemCount")
        return list(listed), more if isinstance(more, int) else 0

    async def _delete(
        self, user: User, resource: _Resource, namespace: str, items: list[Object]
    ) -> None:
        """Delete the collection if supported, else one by one."""
        if "deletecollection" in resource.verbs and await self._send_delete(
            user, resource, resource.path(namespace)
        ):
            return
        for name in _names(items):
            await self._send_delete(user, resource, resource.path(namespace, name))

    async def _send_delete(self, user: User, resource: _Resource, path: str) -> bool:
        """Send a DELETE; False if the resource or verb does not exist."""
        try:
            await self._call(user, resource.extension, "DELETE", path, body=_DELETE)
        except CallError as error:
            if error.code in _NOT_THERE:
                return False
            raise
        return True

    async def _call(
        self,
        user: User,
        extension: Extension,
        method: str,
        path: str,
        headers: tuple[tuple[str, str], ...] = (),
        body: bytes = b"",
    ) -> Object:
        """The object of a successful response. Raises CallError with the message that clients of
        the reference print."""
        if body:
            headers = (*headers, ("content-type", "application/json"))
        try:
            answer = await self._calls.fetch(
                extension,
                path,
                user=user,
                method=method,
                headers=headers,
                body=body,
                timeout=_TIMEOUT,
            )
        except CallError:
            raise CallError(WORDS[503], 503, retryable=True) from None
        check_success(answer)
        try:
            check_values(answer.content)  # limit the size first: parsing blocks the event loop
            content = orjson.loads(answer.content)
        except SizeLimitExceeded as error:
            raise CallError(f"the answer is too large: {error}") from None
        except orjson.JSONDecodeError as error:
            raise CallError(f"the answer is not JSON: {error}") from None
        if not isinstance(content, dict):
            raise CallError("the answer is not an object")
        return content


def _namespaced(extension: Extension, listing: Object) -> Iterator[_Resource]:
    """The namespaced resources with delete in a discovery response."""
    for entry in _objects(listing.get("resources")):
        verbs = frozenset(_texts(entry.get("verbs")))
        if entry.get("namespaced") is True and "delete" in verbs:
            for name in _names([entry]):  # names of subresources contain a slash and are skipped
                yield _Resource(extension, name, verbs)


def _note(resource: _Resource, items: list[Object], more: int, remains: Remains) -> None:
    count = len(items) + more
    remains.elsewhere += count
    remains.objects[f"{resource.name}.{resource.extension.group}"] = count
    finalizers = (name for item in items for name in _texts(item.get("finalizers")))
    remains.finalizers.update(Counter(finalizers))


# Tolerant accessors: a server may respond with anything, and malformed parts are skipped.


def _objects(listed: object) -> Iterator[Object]:
    return (entry for entry in _items(listed) if isinstance(entry, dict))


def _texts(listed: object) -> Iterator[str]:
    return (entry for entry in _items(listed) if isinstance(entry, str))


def _items(listed: object) -> Iterable[object]:
    return listed if isinstance(listed, Iterable) and not isinstance(listed, str | dict) else ()


def _names(values: Iterable[Object]) -> Iterator[str]:
    for name in _texts(value.get("name") for value in values):
        if name and not path_segment(name):
            yield name
