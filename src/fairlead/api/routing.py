"""Parses a method and a path into a Target. The only place that knows the path grammar."""

from __future__ import annotations

from typing import Final

from fairlead.resources.registry import Resource, Resources

_METHOD_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_COLLECTION_VERBS: Final = {"get": "list", "delete": "deletecollection"}
_PATH_VERBS: Final[tuple[str, ...]] = (
    "watch",
    "proxy",
)  # in front of a resource they set the verb, whatever the method
_NAMESPACE_SUBRESOURCES: Final[tuple[str, ...]] = ("status", "finalize")
NOWHERE: Final[tuple[str, ...]] = ("//", "/apis//")  # paths with an empty segment: always 404
PAST: Final = "history"  # prefix of the API paths for past states


class Target:
    """The target of a request, with the attributes that authorization needs. `resource` is None if
    the path names a group, version or resource that this server does not have; `remote` is set if
    another server has it. `past` marks requests for past states, which are reads for any method."""

    __slots__ = (
        "group",
        "is_resource",
        "name",
        "namespace",
        "past",
        "path",
        "remote",
        "resource",
        "resource_name",
        "rest",
        "subresource",
        "verb",
        "version",
        "watch_prefix",
    )

    def __init__(
        self,
        path: str,
        verb: str,
        is_resource: bool = False,
        group: str = "",
        version: str = "",
        resource_name: str = "",
        subresource: str = "",
        namespace: str = "",
        name: str = "",
        past: bool = False,
    ) -> None:
        self.path = path
        self.verb = verb
        self.is_resource = is_resource
        self.group = group
        self.version = version
        self.resource_name = resource_name
        self.subresource = subresource
        self.namespace = namespace
        self.name = name
        self.watch_prefix = False
        self.resource: Resource | None = None
        self.rest = ""
        self.remote = False
        self.past = past

    @property
    def is_stream(self) -> bool:
        """Whether a watch of this target is served here."""
        return self.is_resource or self.past

    @property
    def full_resource_name(self) -> str:
        if self.subresource:
            return f"{self.resource_name}/{self.subresource}"
        return self.resource_name


def route(resources: Resources, method: str, path: str) -> Target:
    """Parse a path. The query may still turn the verb into `watch`."""
    verb = _METHOD_VERBS.get(method, "")
    parts = path.strip("/").split("/")
    if len(parts) > 2 and parts[0] == "api":
        target = Target(path, verb, True, "", parts[1])
        _read_rest(resources, target, parts[2:])
    elif len(parts) > 3 and parts[0] == "apis":
        target = Target(path, verb, True, parts[1], parts[2])
        _read_rest(resources, target, parts[3:])
    elif parts[0] == PAST and not path.startswith("//"):
        return _route_past(resources, method, path, parts[1:])
    else:
        return Target(path, method.lower())
    if path.startswith(NOWHERE):
        target.resource = None
    return target


def _route_past(resources: Resources, method: str, path: str, parts: list[str]) -> Target:
    if parts and parts[0] in ("api", "apis"):
        target = route(resources, "GET", "/" + "/".join(parts))
        target.path, target.past = path, True
        if target.is_resource:
            return target
    return Target(path, method.lower(), past=True)


def _read_rest(resources: Resources, target: Target, parts: list[str]) -> None:
    if len(parts) > 1 and parts[0] in _PATH_VERBS:
        target.verb = parts[0]
        target.watch_prefix = target.verb == "watch"
        parts = parts[1:]
    if len(parts) > 1 and parts[0] == "namespaces":
        target.namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    target.resource_name = parts[0]
    target.name = parts[1] if len(parts) > 1 else ""
    if target.verb != "proxy":
        target.subresource = parts[2] if len(parts) > 2 else ""
        target.rest = "/".join(parts[3:])
    if not target.name:
        target.verb = _COLLECTION_VERBS.get(target.verb, target.verb)
    resource = resources.find(target.group, target.version, target.resource_name)
    if resource is not None and target.subresource:
        resource = resource.subresources.get(target.subresource)
    if resource is not None and scope_fits(resource, target):
        target.resource = resource


def scope_fits(resource: Resource, target: Target) -> bool:
    """Whether an item of a namespaced type has a namespace and one of a cluster-scoped type has
    none."""
    if resource.namespaced:
        return bool(target.namespace) or not target.name
    return not target.namespace or (
        target.resource_name == "namespaces" and target.namespace == target.name
    )


_LONG_RUNNING: Final[tuple[str, ...]] = ("attach", "exec", "log", "portforward", "proxy")


def is_long_running(target: Target) -> bool:
    """Whether a request may last as long as its client likes, so that `timeout` does not apply."""
    return target.verb == "watch" or target.subresource in _LONG_RUNNING
