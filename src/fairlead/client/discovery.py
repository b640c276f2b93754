"""What a server serves, asked for only as far as somebody needs to know."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.records import dataclass
from fairlead.client.errors import ApiError
from fairlead.client.session import Request, Session

_AT_ONCE = 8  # requests for the resources of groups


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A resource as discovery tells of it."""

    group: str
    version: str
    name: str  # the plural, as paths have it
    kind: str
    namespaced: bool
    singular: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """With its group, as messages name it: deployments.apps."""
        return f"{self.name}.{self.group}" if self.group else self.name

    @property
    def prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def answers_to(self, word: str) -> bool:
        """Whether a person who types this word (in lower case) means it."""
        return word in (self.name, self.singular, self.kind.lower(), *self.short_names)


@dataclass(frozen=True, slots=True)
class Group:
    """An API group; its preferred version comes first."""

    name: str
    versions: tuple[str, ...]


class UnknownResource(Exception):
    """Nothing that is served has this name."""

    def __init__(self, wanted: str) -> None:
        super().__init__(f'the server does not serve "{wanted}"')
        self.wanted = wanted


class Discovery:
    """Remembers what it was told; `forget` when something new is to be found."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._groups: tuple[Group, ...] | None = None
        self._resources: dict[tuple[str, str], tuple[ResourceType, ...]] = {}

    def forget(self) -> None:
        self._groups = None
        self._resources.clear()

    async def groups(self) -> tuple[Group, ...]:
        """All groups in the server's order, which says whose resource a short name means. The
        first one is the core group."""
        if self._groups is None:
            answer = await self._session.object(Request("GET", "/apis"))
            listed = answer.get("groups") or ()
            self._groups = (Group("", ("v1",)), *(_group(one) for one in listed))
        return self._groups

    async def dialect(self) -> Dialect:
        """The names that the server goes by."""
        for group in await self.groups():
            if group.name.endswith(f".{CLUSTER.group_domain}"):
                return CLUSTER
        return KUBERNETES

    async def resources(self, group: str, version: str) -> tuple[ResourceType, ...]:
        """Empty for a group version that is not served, or cannot be at the moment."""
        known = self._resources.get((group, version))
        if known is None:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                answer = await self._session.object(Request("GET", path))
            except ApiError as error:
                if error.code not in (404, 503):
                    raise
                answer = {}
            known = _resources(answer.get("resources") or (), group, version)
            self._resources[group, version] = known
        return known

    async def all_resources(self, preferred_only: bool = True) -> list[ResourceType]:
        """Resources of all groups, in the server's order."""
        wanted = [
            (group.name, version)
            for group in await self.groups()
            for version in (group.versions[:1] if preferred_only else group.versions)
        ]
        limit = asyncio.Semaphore(_AT_ONCE)

        async def ask(group: str, version: str) -> tuple[ResourceType, ...]:
            async with limit:
                return await self.resources(group, version)

        found = await asyncio.gather(*(ask(*one) for one in wanted))
        return [resource for listed in found for resource in listed]

    async def find(self, word: str) -> ResourceType:
        """What a person means by `pods`, `po`, `Pod`, `deployments.apps` or
        `deployments.v1.apps`; raises UnknownResource. The first group that has it wins, and the
        core group is asked before all others."""
        word = word.lower()
        name, _, rest = word.partition(".")
        if not rest:
            for resource in await self.resources("", "v1"):
                if resource.answers_to(name):
                    return resource
            for resource in await self.all_resources():
                if resource.answers_to(name):
                    return resource
            for resource in await self.all_resources(preferred_only=False):
                if resource.answers_to(name):
                    return resource
            raise UnknownResource(word)
        for group, version in await self._qualified(rest):
            for resource in await self.resources(group, version):
                if resource.answers_to(name):
                    return resource
        raise UnknownResource(name)

    async def _qualified(self, rest: str) -> Sequence[tuple[str, str]]:
        """The group versions that the words behind a resource's name can mean."""
        version, _, named = rest.partition(".")
        groups = await self.groups()
        for group in groups:
            if group.name == named and version in group.versions:
                return [(group.name, version)]
        return [
            (group.name, version)
            for group in groups
            if group.name == rest or (group.name and group.name.startswith(rest))
            for version in group.versions
        ]

    async def of_kind(self, api_version: str, kind: str) -> ResourceType:
        """The resource of objects of a kind; raises UnknownKind."""
        group, _, version = api_version.rpartition("/")
        for resource in await self.resources(group, version):
            if resource.kind == kind:
                return resource
        raise UnknownKind(api_version, kind)


class UnknownKind(Exception):
    """Objects of this kind are not served."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f'the server does not serve the kind "{kind}" in "{api_version}"')


def _group(listed: Mapping[str, Any]) -> Group:
    versions = [str(one["version"]) for one in listed["versions"]]
    preferred = (listed.get("preferredVersion") or {}).get("version")
    versions.sort(key=lambda version: version != preferred)
    return Group(str(listed["name"]), tuple(versions))


def _resources(
    listed: Sequence[Mapping[str, Any]], group: str, version: str
) -> tuple[ResourceType, ...]:
    below: dict[str, list[str]] = {}
    for one in listed:
        name, slash, sub = one["name"].partition("/")
        if slash:
            below.setdefault(name, []).append(sub)
    return tuple(_described(listed, group, version, below))


def _described(
    listed: Sequence[Mapping[str, Any]], group: str, version: str, below: Mapping[str, list[str]]
) -> Iterator[ResourceType]:
    for one in listed:
        name = one["name"]
        if "/" not in name:
            yield ResourceType(
                group,
                version,
                name,
                one["kind"],
                bool(one["namespaced"]),
                one.get("singularName") or one["kind"].lower(),
                tuple(one.get("verbs") or ()),
                tuple(one.get("shortNames") or ()),
                tuple(one.get("categories") or ()),
                tuple(below.get(name, ())),
            )
