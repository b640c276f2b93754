"""Parses the object words of a command: `pods`, `pods web db`, `pods,services`, `pod/web`,
`all`."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.client import Client, Resource, UnknownResource, resources


class Target(NamedTuple):
    """The named objects of one resource, or all its objects if there are no names."""

    resource: Resource
    names: tuple[str, ...] = ()


async def targets_of(client: Client, words: Sequence[str]) -> list[Target]:
    """Raises UsageError, CommandFailed and UnknownResource."""
    if not words:
        raise UsageError(
            "name an object, such as configmap settings or configmap/settings, or a file (-f)"
        )
    if any("/" in word for word in words):
        return [await _pair(client, word) for word in words]
    kinds, names = words[0].split(","), tuple(map(checked_name, words[1:]))
    targets = [
        Target(resource, names)
        for kind in kinds
        if kind
        async for resource in _resources(client, kind)
    ]
    if not targets:
        raise UnknownResource(words[0])
    if names and len(targets) > 1 == len(kinds):
        raise CommandFailed("error: give one object")
    return _distinct(targets)


async def _pair(client: Client, word: str) -> Target:
    kind, slash, name = word.partition("/")
    if not slash:
        raise CommandFailed(
            "error: KIND/NAME names the kind already: write pod/web, not pods pod/web"
        )
    if "/" in name:
        raise CommandFailed("error: KIND/NAME has one slash")
    if not kind or not name or "," in kind:
        raise CommandFailed("error: KIND/NAME needs one kind and one name")
    return Target(await client.resource(kind), (checked_name(name),))


async def _resources(client: Client, word: str) -> AsyncIterator[Resource]:
    """The resource of a kind, or all resources of a category such as `all`."""
    try:
        yield await client.resource(word)
    except UnknownResource:
        members = [
            type for type in await client.discovery.all_resources() if word in type.categories
        ]
        if not members:
            raise
        for type in members:
            yield client.of(type)


def _distinct(targets: Sequence[Target]) -> list[Target]:
    """Each resource once, even if it is named and also in a category."""
    by_type: dict[tuple[str, str], Target] = {}
    for target in targets:
        by_type.setdefault((target.resource.type.group, target.resource.type.name), target)
    return list(by_type.values())


def checked_name(name: str, what: str = "resource name") -> str:
    """Return the name if it is valid in a URL path; raises CommandFailed otherwise."""
    try:
        return resources.checked_name(name, what)
    except resources.InvalidName as error:
        raise CommandFailed(f"error: {error}") from None


class ObjectReference(NamedTuple):
    """The single object of a command, given as `KIND NAME` or `KIND/NAME`."""

    resource: Resource
    name: str
    namespace: str  # empty if cluster-scoped

    @property
    def title(self) -> str:
        """For headings: Deployment default/web."""
        prefix = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.type.kind} {prefix}{self.name}"

    def document(self) -> dict[str, Any]:
        """The identifying fields at the head of JSON and YAML output."""
        metadata = {"name": self.name}
        if self.namespace:
            metadata["namespace"] = self.namespace
        type = self.resource.type
        return {"apiVersion": type.api_version, "kind": type.kind, "metadata": metadata}


async def parse_object_reference(invocation: Invocation, words: Sequence[str]) -> ObjectReference:
    """Raises UsageError and UnknownResource."""
    targets = await targets_of(invocation.client, words)
    if len(targets) != 1 or len(targets[0].names) != 1:
        raise UsageError("exactly one object must be named, as KIND NAME or KIND/NAME")
    resource, (name,) = targets[0]
    return ObjectReference(resource, name, invocation.namespace if resource.type.namespaced else "")
