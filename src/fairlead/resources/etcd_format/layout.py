"""Where the reference keeps objects below its prefix.

Built-in resources have a word or two of their own (`/pods/NAMESPACE/NAME`, `/services/specs/…`, see
`path=` in `resources.table`), custom ones their group and plural. What it keeps beside objects has
no place here: the ranges of service addresses and ports (`/ranges/…`), which it works out again
from the services, and the leases of its own servers (`/masterleases/…`). What only our servers
keep lies below `/fairlead/`.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.resources.registry import Resource, Resources

# What servers of our own keep beside objects; the reference passes over it.
_OWN = "fairlead/"


def is_own(resource: str) -> bool:
    """Whether a resource is no part of the API: its values lie as they are."""
    return resource.startswith(_OWN)


def is_custom(resource: str) -> bool:
    """Whether a resource that no table names can be a custom one: their groups have a dot."""
    return "." in resource.partition("/")[0]


class Layout:
    """Between the store's names (`core/pods` and `NAMESPACE/NAME`) and paths."""

    def __init__(self, resources: Resources, builtin: Iterable[Resource]) -> None:
        self._prefixes: dict[str, str] = {}
        self._places: dict[str, tuple[str, int]] = {}  # the resource, and how many parts keys have
        for one in builtin:
            resource = resources.stored_as(one)
            self._prefixes[resource] = one.storage_prefix
            self._places[one.storage_prefix] = resource, 2 if one.namespaced else 1

    def path(self, resource: str, key: str) -> str:
        return f"/{self._prefixes.get(resource, resource)}/{key}"

    def place(self, path: str) -> tuple[str, str] | None:
        """The resource and key of a path; None if no object that is served can be there."""
        if not path.startswith("/"):
            return None
        top, _, key = path[1:].partition("/")
        found = self._places.get(top)
        if found is None:
            below, _, key = key.partition("/")
            top = f"{top}/{below}"
            found = self._places.get(top)
        if found is None:
            return self._other(top, key)
        resource, parts = found
        return (resource, key) if key.count("/") + 1 == parts and _is_whole(key) else None

    def _other(self, resource: str, key: str) -> tuple[str, str] | None:
        if is_own(resource):
            return (resource, key) if _is_whole(key) else None
        if not is_custom(resource) or resource in self._prefixes:
            return None
        whole = _is_whole(resource) and _is_whole(key)
        return (resource, key) if key.count("/") <= 1 and whole else None


def _is_whole(key: str) -> bool:
    return all(key.split("/"))
