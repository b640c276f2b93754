"""Copies ConfigMaps that are labelled `example.com/sharing=source` into every namespace that is
labelled `example.com/team`, and keeps the copies up to date.

It is level-triggered: after any event it compares the desired copies with the existing ones.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from typing import Any

from lightkube import ALL_NS, ApiError, AsyncClient
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace

LOG = logging.getLogger("config-copier")

TEAM = "example.com/team"
SHARING = "example.com/sharing"
SOURCE, COPY = "source", "copy"
ORIGIN = "example.com/copied-from"  # an annotation of copies

SECONDS_TO_NEXT_TRY = 0.5
SECONDS_TO_NEXT_LOOK = 60.0  # for changes without an event, such as a name that became free
CONFLICT, NOT_FOUND = 409, 404

Key = tuple[str, str]  # namespace and name


class Followed:
    """The objects of one kind, kept current by a list and a watch."""

    def __init__(self, client: AsyncClient, kind: Any, labels: Mapping[str, Any]) -> None:
        self.objects: dict[Key, Any] = {}
        self.is_complete = False
        self._client = client
        self._query: dict[str, Any] = {"res": kind, "labels": dict(labels)}
        if kind is not Namespace:
            self._query["namespace"] = ALL_NS

    async def run(self, changed: Callable[[], None]) -> None:
        """Start again with a list after any error, such as a watch whose version is too old: only a
        list shows which objects were deleted meanwhile."""
        while True:
            try:
                await self._follow(changed)
            except Exception as error:
                LOG.warning("cannot follow %s: %s", self._query["res"].__name__, error)
            await asyncio.sleep(SECONDS_TO_NEXT_TRY)

    async def _follow(self, changed: Callable[[], None]) -> None:
        listed = self._client.list(**self._query)
        self.objects = {key_of(item): item async for item in listed}
        self.is_complete = True
        changed()
        watched = self._client.watch(**self._query, resource_version=listed.resourceVersion)
        async for event, value in watched:
            if event == "DELETED":
                self.objects.pop(key_of(value), None)
            else:
                self.objects[key_of(value)] = value
            changed()


class Copier:
    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._teams = Followed(client, Namespace, {TEAM: None})
        self._shared = Followed(client, ConfigMap, {SHARING: (SOURCE, COPY)})
        self._woken = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._teams.run(self._woken.set))
            tasks.create_task(self._shared.run(self._woken.set))
            tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS_TO_NEXT_LOOK):
                    await self._woken.wait()
            self._woken.clear()
            if self._teams.is_complete and self._shared.is_complete:
                await self._reconcile()

    async def _reconcile(self) -> None:
        """Failed writes are retried, and do not block others."""
        failures = 0
        for write in self._writes():
            try:
                await write
            except Exception as error:
                LOG.warning("trying again: %s", error)
                failures += 1
        if failures:
            await asyncio.sleep(SECONDS_TO_NEXT_TRY)
            self._woken.set()

    def _writes(self) -> Iterator[Coroutine[Any, Any, None]]:
        """Yield the writes that make the copies right."""
        shared = dict(self._shared.objects)
        copies = {key: item for key, item in shared.items() if role_of(item) == COPY}
        sources = [item for item in shared.values() if role_of(item) == SOURCE]
        teams = [item for item in self._teams.objects.values() if not is_going(item)]
        wanted = wanted_copies(sources, [key_of(team)[1] for team in teams])
        for key in copies.keys() - wanted.keys():
            yield self._delete(key)
        for key, copy in wanted.items():
            if key not in copies:
                yield self._create(copy)
            elif not is_same(copies[key], copy):
                yield self._replace(copies[key], copy)

    async def _create(self, copy: ConfigMap) -> None:
        try:
            await self._client.create(copy)
        except ApiError as error:
            if error.status.code != CONFLICT:
                raise
            # Another user created it, or the watch has not delivered our copy yet.
            LOG.info("%s is there already", full_name(copy))

    async def _replace(self, existing: ConfigMap, copy: ConfigMap) -> None:
        assert copy.metadata is not None
        assert existing.metadata is not None
        copy.metadata.resourceVersion = existing.metadata.resourceVersion
        await self._client.replace(copy)

    async def _delete(self, key: Key) -> None:
        namespace, name = key
        try:
            await self._client.delete(ConfigMap, name, namespace=namespace)
        except ApiError as error:
            if error.status.code != NOT_FOUND:
                raise


def wanted_copies(sources: list[ConfigMap], teams: list[str]) -> dict[Key, ConfigMap]:
    """Of sources with the same name the first is used, by namespace."""
    wanted: dict[Key, ConfigMap] = {}
    taken = {key_of(source) for source in sources}
    for source in sorted(sources, key=key_of):
        for team in teams:
            copy = copy_of(source, team)
            if key_of(copy) not in taken:
                wanted.setdefault(key_of(copy), copy)
    return wanted


def copy_of(source: ConfigMap, namespace: str) -> ConfigMap:
    metadata = ObjectMeta(
        name=key_of(source)[1],
        namespace=namespace,
        labels={SHARING: COPY},
        annotations={ORIGIN: full_name(source)},
    )
    return ConfigMap(metadata=metadata, data=source.data, binaryData=source.binaryData)


def is_same(existing: ConfigMap, wanted: ConfigMap) -> bool:
    return all(
        (getattr(existing, name) or {}) == (getattr(wanted, name) or {})
        for name in ("data", "binaryData")
    )


def is_going(value: Namespace) -> bool:
    assert value.metadata is not None
    return value.metadata.deletionTimestamp is not None


def role_of(value: ConfigMap) -> str:
    assert value.metadata is not None
    return str((value.metadata.labels or {}).get(SHARING, ""))


def key_of(value: ConfigMap | Namespace) -> Key:
    assert value.metadata is not None
    return value.metadata.namespace or "", value.metadata.name or ""


def full_name(value: ConfigMap) -> str:
    return "/".join(key_of(value))


async def main() -> None:
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    LOG.setLevel(logging.INFO)
    await Copier(AsyncClient(field_manager="config-copier")).run()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
