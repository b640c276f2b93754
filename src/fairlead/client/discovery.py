"""Discovers the resources of a server, requesting only as much as needed.

Later releases answer /apis with the resources of all groups (aggregated discovery). Other servers
list the groups alone, so that each group version takes a request of its own.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.client.errors import ApiError
from fairlead.client.session import JSON, Request, Session

_MAX_CONCURRENT = 8  # concurrent requests for resource lists
_AGGREGATED = "APIGroupDiscoveryList"
_ACCEPT = ",".join(
    (
        *(
            f"{JSON};g={dialect.group_name('apidiscovery.@')};v=v2;as={_AGGREGATED}"
            for dialect in (KUBERNETES, CLUSTER)
        ),
        JSON,
    )
)


class ResourceType(NamedTuple):
    """A resource from a discovery document."""

    group: str
    version: str
    name: str  # the plural, as in paths
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
        """The name with its group, as in messages: deployments.apps."""
        return f"{self.name}.{self.group}" if self.group else self.name

    @property
    def prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def answers_to(self, word: str) -> bool:
        """Whether a user may mean this resource by a word in lower case."""
        return word in (self.name, self.singular, self.kind.lower(), *self.short_names)


class Group(NamedTuple):
    """An API group; its preferred version comes first."""

    name: str
    versions: tuple[str, ...]


class UnknownResource(Exception):
    """The server has no resource of this name."""

    def __init__(self, word: str) -> None:
        super().__init__(f'the server does not serve "{word}"')
        self.wanted = word


class Discovery:
    """Caches discovery documents; `forget` clears the cache to find new resources."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._groups: tuple[Group, ...] | None = None
        self._resources: dict[tuple[str, str], tuple[ResourceType, ...]] = {}

    def forget(self) -> None:
        self._groups = None
        self._resources.clear()

    async def groups(self) -> tuple[Group, ...]:
        """All groups in the server's order, core group first. A short name refers to the first
        group that has it."""
        if self._groups is None:
            answer = await self._session.object(Request("GET", "/apis", accept=_ACCEPT))
            if answer.get("kind") == _AGGREGATED:
                groups = [self._remember(item) for item in answer.get("items") or ()]
            else:
                groups = [_group(item) for item in answer.get("groups") or ()]
            self._groups = (Group("", ("v1",)), *groups)
        return self._groups

    def _remember(self, listed: Mapping[str, Any]) -> Group:
        """Keep the resources of a group of an aggregated document. Those of an extension server
        that is unavailable may be outdated: they are requested when they are needed."""
        name = str(listed["metadata"]["name"])
        versions = listed.get("versions") or ()
        for item in versions:
            if item.get("freshness") != "Stale":
                version = str(item["version"])
                resources = tuple(_aggregated(item.get("resources") or (), name, version))
                self._resources[name, version] = resources
        return Group(name, tuple(str(item["version"]) for item in versions))

    async def dialect(self) -> Dialect:
        """The dialect of the server."""
        for group in await self.groups():
            if group.name.endswith(f".{CLUSTER.group_domain}"):
                return CLUSTER
        return KUBERNETES

    async def resources(self, group: str, version: str) -> tuple[ResourceType, ...]:
        """The resources of a group version; empty if it is not served or currently unavailable."""
        cached = self._resources.get((group, version))
        if cached is None:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                answer = await self._session.object(Request("GET", path))
            except ApiError as error:
                if error.code not in (404, 503):
                    raise
                answer = {}
            cached = _resources(answer.get("resources") or (), group, version)
            self._resources[group, version] = cached
        return cached

    async def all_resources(self, preferred_only: bool = True) -> list[ResourceType]:
        """The resources of all groups, in the server's order."""
        group_versions = [
            (group.name, version)
            for group in await self.groups()
            for version in (group.versions[:1] if preferred_only else group.versions)
        ]
        limit = asyncio.Semaphore(_MAX_CONCURRENT)

        async def ask(group: str, version: str) -> tuple[ResourceType, ...]:
            async with limit:
                return await self.resources(group, version)

        lists = await asyncio.gather(*(ask(*group_version) for group_version in group_versions))
        return [resource for listed in lists for resource in listed]

    async def find(self, word: str) -> ResourceType:
        """The resource for `pods`, `po`, `Pod`, `deployments.apps` or `deployments.v1.apps`; raises
        UnknownResource. The core group comes first, then the first group that matches."""
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
        """The group versions that the suffix of a resource name may mean."""
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
        """The resource of a kind; raises UnknownKind."""
        group, _, version = api_version.rpartition("/")
        for resource in await self.resources(group, version):
            if resource.kind == kind:
                return resource
        raise UnknownKind(api_version, kind)


class UnknownKind(Exception):
    """The server does not serve objects of this kind."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f'the server does not serve the kind "{kind}" in "{api_version}"')


def _group(listed: Mapping[str, Any]) -> Group:
    versions = [str(item["version"]) for item in listed["versions"]]
    preferred = (listed.get("preferredVersion") or {}).get("version")
    versions.sort(key=lambda version: version != preferred)
    return Group(str(listed["name"]), tuple(versions))


def _aggregated(
    listed: Sequence[Mapping[str, Any]], group: str, version: str
) -> Iterator[ResourceType]:
    for item in listed:
        kind = (item.get("responseKind") or {}).get("kind")
        if kind:  # absent if only subresources are served
            yield ResourceType(
                group,
                version,
                item["resource"],
                kind,
                item.get("scope") == "Namespaced",
                item.get("singularResource") or kind.lower(),
                tuple(item.get("verbs") or ()),
                tuple(item.get("shortNames") or ()),
                tuple(item.get("categories") or ()),
                tuple(below["subresource"] for below in item.get("subresources") or ()),
            )


def _resources(
    listed: Sequence[Mapping[str, Any]], group: str, version: str
) -> tuple[ResourceType, ...]:
    below: dict[str, list[str]] = {}
    for item in listed:
        name, slash, sub = item["name"].partition("/")
        if slash:
            below.setdefault(name, []).append(sub)
    return tuple(_described(listed, group, version, below))


def _described(
    listed: Sequence[Mapping[str, Any]], group: str, version: str, below: Mapping[str, list[str]]
) -> Iterator[ResourceType]:
    for item in listed:
        name = item["name"]
        if "/" not in name:
            yield ResourceType(
                group,
                version,
                name,
                item["kind"],
                bool(item["namespaced"]),
                item.get("singularName") or item["kind"].lower(),
                tuple(item.get("verbs") or ()),
                tuple(item.get("shortNames") or ()),
                tuple(item.get("categories") or ()),
                tuple(below.get(name, ())),
            )
