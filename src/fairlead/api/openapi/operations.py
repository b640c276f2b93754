"""Paths and operations of resources, independent of the OpenAPI version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fairlead.api.openapi.custom import publish, publish_list
from fairlead.api.openapi.knowledge import FindCustom
from fairlead.api.openapi.names import Names, capital
from fairlead.api.openapi.schemas import META, Schema, Schemas
from fairlead.resources.registry import GroupVersion, Resource

OK, CREATED, ACCEPTED = "200", "201", "202"
TEXT: Schema = {"type": "string"}

# The content of an operation's responses.
OBJECT, STREAM, ANYTHING = "object", "stream", "anything"

_METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_NAMES = {"get": "read", "create": "create", "update": "replace", "patch": "patch"}


@dataclass(slots=True)
class Operation:
    """`parameters` names a block of `parameters.table`; `answers` are schemas by status code."""

    method: str
    id: str
    tag: str
    answers: dict[str, Schema]
    action: str = ""
    kind: Schema | None = None
    parameters: str = ""
    body: Schema | None = None
    body_required: bool = True
    is_patch: bool = False
    is_custom: bool = False
    produces: str = OBJECT


@dataclass(slots=True)
class Path:
    """A path. `placed` are its path parameters; `parameters` names a block for all operations."""

    path: str
    operations: list[Operation] = field(default_factory=list)
    placed: tuple[str, ...] = ()
    parameters: str = ""
    pretty: bool = True


class Operations:
    """The paths of resources. Referenced schemas are added to `schemas`."""

    def __init__(
        self,
        names: Names,
        schemas: Schemas,
        served: dict[str, GroupVersion],
        find_custom: FindCustom,
    ) -> None:
        self._names = names
        self._schemas = schemas
        self._served = served
        self._find_custom = find_custom

    def paths(self, found: GroupVersion) -> Iterator[Path]:
        """All paths of a group-version that have an operation."""
        for resource in found.resources.values():
            yield from filter(_is_used, self._of_resource(resource))
            for subresource in resource.subresources.values():
                yield from filter(_is_used, self._of_subresource(subresource))

    def _of_resource(self, resource: Resource) -> Iterator[Path]:
        base = base_path(resource.group_version)
        path, placed = _place(resource)
        item = f"{path}/{{name}}"
        if resource.namespaced and "list" in resource.verbs:
            everywhere = f"{resource.kind}ForAllNamespaces"
            listing = self._list(resource, everywhere, parameters="")
            yield Path(f"{base}/{resource.name}", [listing], parameters="list")
        yield Path(path, self._on_collection(resource), placed)
        yield Path(item, self._on_item(resource), ("name", *placed))
        if "watch" in resource.verbs:
            yield from self._watches(resource)

    def _on_collection(self, resource: Resource) -> list[Operation]:
        made = []
        if "deletecollection" in resource.verbs:
            rest = f"Collection{_scoped(resource)}"
            gone = self._operation(resource, "delete", "delete", rest, "deletecollection")
            gone.parameters, gone.body_required = "deletecollection", False
            gone.body = self._schemas.of_type(META, "DeleteOptions")
            gone.answers = {OK: self._schemas.of_type(META, "Status")}
            made.append(gone)
        if "list" in resource.verbs:
            made.append(self._list(resource, _scoped(resource), parameters="list"))
        if "create" in resource.verbs:
            made.append(self._writing(resource, "create", _scoped(resource)))
        return made

    def _list(self, resource: Resource, rest: str, parameters: str) -> Operation:
        made = self._operation(resource, "get", "list", rest, "list")
        made.parameters, made.produces = parameters, STREAM
        made.answers = {OK: self._list_schema(resource)}
        return made

    def _on_item(self, resource: Resource) -> list[Operation]:
        made = []
        if "delete" in resource.verbs:
            made.append(self._deletion(resource))
        if "get" in resource.verbs:
            made.append(self._reading(resource, _scoped(resource)))
        for verb in ("patch", "update"):
            if verb in resource.verbs:
                made.append(self._writing(resource, verb, _scoped(resource)))
        return made

    def _deletion(self, resource: Resource) -> Operation:
        made = self._operation(resource, "delete", "delete", _scoped(resource), "delete")
        made.parameters, made.body_required = "delete", False
        made.body = self._schemas.of_type(META, "DeleteOptions")
        returns = resource.returns_deleted
        answer = self._schema(resource) if returns else self._schemas.of_type(META, "Status")
        made.answers = {OK: answer, ACCEPTED: answer}
        return made

    def _reading(self, resource: Resource, rest: str) -> Operation:
        made = self._operation(resource, "get", "read", rest, "get")
        made.answers = {OK: self._schema(resource)}
        return made

    def _writing(self, resource: Resource, verb: str, rest: str) -> Operation:
        method = _METHODS[verb]
        made = self._operation(resource, method, _NAMES[verb], rest, method)
        answer = self._schema(resource)
        made.answers = {OK: answer, CREATED: answer}
        if verb == "create":
            made.answers[ACCEPTED] = answer
        made.is_patch = verb == "patch"
        made.parameters = "patch" if made.is_patch else "write"
        made.body = self._schemas.shared("Patch") if made.is_patch else answer
        return made

    def _watches(self, resource: Resource) -> Iterator[Path]:
        """The legacy `/watch/` paths."""
        base = base_path(resource.group_version)
        path, placed = _place(resource)
        forms = [
            (path, f"{_scoped(resource)}List", placed, "watchlist"),
            (f"{path}/{{name}}", _scoped(resource), ("name", *placed), "watch"),
        ]
        if resource.namespaced:
            rest = f"{resource.kind}ListForAllNamespaces"
            forms.append((f"{base}/{resource.name}", rest, (), "watchlist"))
        for path, rest, placed, action in forms:
            made = self._operation(resource, "get", "watch", rest, action)
            made.answers = {OK: self._schemas.of_type(META, "WatchEvent")}
            made.produces = STREAM
            yield Path(f"{base}/watch{path[len(base) :]}", [made], placed, "list")

    def _of_subresource(self, resource: Resource) -> Iterator[Path]:
        parent = resource.parent
        assert parent is not None
        above, placed = _place(parent)
        path, placed = f"{above}/{{name}}/{resource.subresource}", ("name", *placed)
        rest = f"{_scoped(parent)}{capital(resource.subresource)}"
        if resource.kind.endswith("Options"):
            yield Path(path, self._connecting(resource, rest), placed, resource.kind, False)
            if resource.takes_path:
                onwards = self._connecting(resource, f"{rest}WithPath")
                placed = (*placed, "path")
                yield Path(f"{path}/{{path}}", onwards, placed, resource.kind, False)
            return
        operations = []
        if "get" in resource.verbs:
            operations.append(self._reading(resource, rest))
        for verb in ("create", "patch", "update"):
            if verb in resource.verbs:
                operations.append(self._writing(resource, verb, rest))
        if resource.subresource == "log":
            operations[0].produces, operations[0].answers = ANYTHING, {OK: TEXT}
        yield Path(path, operations, placed, resource.subresource)

    def _connecting(self, resource: Resource, rest: str) -> list[Operation]:
        made = []
        for verb in resource.verbs:
            method = _METHODS[verb]
            rest_of_name = f"{capital(method)}{rest}"
            one = self._operation(resource, method, "connect", rest_of_name, "connect")
            one.answers, one.produces = {OK: TEXT}, ANYTHING
            made.append(one)
        return made

    def _operation(
        self, resource: Resource, method: str, name: str, rest: str, action: str
    ) -> Operation:
        found = resource.group_version
        speaks = self._served.get(resource.body_version, found)
        return Operation(
            method=method,
            id=self._names.operation(name, found, rest),
            tag=self._names.tag(found),
            answers={},
            action=action,
            kind={"group": speaks.group, "kind": resource.kind, "version": speaks.version},
            is_custom=self._find_custom(resource.parent or resource) is not None,
        )

    def _schema(self, resource: Resource) -> Schema:
        custom = self._find_custom(resource.parent or resource)
        same_kind = resource.parent is None or resource.parent.kind == resource.kind
        if custom is not None and same_kind:
            return publish(self._schemas, resource, custom)
        return self._schemas.of_type(resource.body_version, resource.kind)

    def _list_schema(self, resource: Resource) -> Schema:
        custom = self._find_custom(resource)
        if custom is not None:
            return publish_list(self._schemas, resource, custom)
        return self._schemas.of_type(resource.body_version, f"{resource.kind}List")


def base_path(found: GroupVersion) -> str:
    return f"/apis/{found.group}/{found.version}" if found.group else f"/api/{found.version}"


def _place(resource: Resource) -> tuple[str, tuple[str, ...]]:
    """The path of a collection and its path parameters."""
    base = base_path(resource.group_version)
    if not resource.namespaced:
        return f"{base}/{resource.name}", ()
    return f"{base}/namespaces/{{namespace}}/{resource.name}", ("namespace",)


def _scoped(resource: Resource) -> str:
    """The kind as part of an operation ID."""
    return f"Namespaced{resource.kind}" if resource.namespaced else resource.kind


def _is_used(path: Path) -> bool:
    return bool(path.operations)
