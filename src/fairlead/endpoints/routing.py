"""The one path grammar: what a method and a path are about."""

from __future__ import annotations

from fairlead.kinds.resources import Resource, Resources

_METHOD_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
PAST = "history"  # below it lie the paths of the API once more, for how things were


class Target:
    """What a request is about, as authorization sees it. `resource` is None where the path names
    a group, version or resource that is not served here; `remote` where another server has it.
    `past` asks for how things were: of a resource whatever the method, for it can only be read."""

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
        """Whether a watch of it can be answered here."""
        return self.is_resource or self.past

    @property
    def full_resource_name(self) -> str:
        if self.subresource:
            return f"{self.resource_name}/{self.subresource}"
        return self.resource_name


def route(resources: Resources, method: str, path: str) -> Target:
    """Read a path. The verb is refined later by the query (`watch`)."""
    verb = _METHOD_VERBS.get(method, "")
    parts = path.split("/")
    if len(parts) > 3 and parts[1] == "api" and parts[2]:
        target = Target(path, verb, True, "", parts[2])
        _read_rest(resources, target, parts[3:])
    elif len(parts) > 4 and parts[1] == "apis" and parts[2] and parts[3]:
        target = Target(path, verb, True, parts[2], parts[3])
        _read_rest(resources, target, parts[4:])
    elif parts[1:2] == [PAST]:
        return _route_past(resources, method, path, parts[2:])
    else:
        target = Target(path, method.lower())
    if not target.resource_name:
        target.is_resource = False
        target.verb = method.lower()
    return target


def _route_past(resources: Resources, method: str, path: str, parts: list[str]) -> Target:
    if parts and parts[0] in ("api", "apis"):
        target = route(resources, "GET", "/" + "/".join(parts))
        target.path, target.past = path, True
        if target.is_resource:
            return target
    return Target(path, method.lower(), past=True)


def _read_rest(resources: Resources, target: Target, parts: list[str]) -> None:
    if parts and not parts[-1]:
        parts = parts[:-1]
    if parts and parts[0] == "watch" and len(parts) > 1:
        target.watch_prefix = True
        parts = parts[1:]
    if len(parts) > 1 and parts[0] == "namespaces":
        target.namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    if parts:
        target.resource_name = parts[0]
        target.name = parts[1] if len(parts) > 1 else ""
        target.subresource = parts[2] if len(parts) > 2 else ""
        target.rest = "/".join(parts[3:])
    _refine_verb(target)
    found = resources.find(target.group, target.version, target.resource_name)
    if found is not None and target.subresource:
        found = found.subresources.get(target.subresource)
    if found is not None and scope_fits(found, target):
        target.resource = found


def _refine_verb(target: Target) -> None:
    if target.watch_prefix:
        target.verb = "watch" if target.verb == "get" else target.verb
    elif not target.name:
        if target.verb == "get":
            target.verb = "list"
        elif target.verb == "delete":
            target.verb = "deletecollection"


def scope_fits(resource: Resource, target: Target) -> bool:
    """Items of namespaced types need a namespace, cluster-scoped types have none."""
    if resource.namespaced:
        return bool(target.namespace) or not target.name
    return not target.namespace or (
        target.resource_name == "namespaces" and target.namespace == target.name
    )
