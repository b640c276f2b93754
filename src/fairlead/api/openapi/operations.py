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

# The content of an operation's responses; any other word is their media type.
OBJECT, STREAM, ANYTHING, PLAIN = "object", "stream", "anything", "plain"

_NAMESPACES = "core/v1/namespaces"
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
    is_overview: bool = False  # of discovery
    consumes: bool = True  # something
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

    def paths(self, group_version: GroupVersion) -> Iterator[Path]:
        """All paths of a group-version that have an operation."""
        for resource in list(group_version.resources.values()):
            yield from filter(_is_used, self._of_resource(resource))
            for subresource in resource.subresources.values():
                yield from filter(_is_used, self._of_subresource(subresource))

    def _of_resource(self, resource: Resource) -> Iterator[Path]:
        base = base_path(resource.group_version)
        path, placed = _collection_path(resource)
        item = f"{path}/{{name}}"
        if resource.namespaced and "list" in resource.verbs:
            everywhere = f"{resource.kind}ForAllNamespaces"
            listing = self._list(resource, everywhere, parameters="")
            yield Path(f"{base}/{resource.name}", [listing], parameters="list")
        yield Path(path, self._on_collection(resource), placed)
        yield Path(item, self._on_item(resource), ("name", *placed))
        if "watch" in resource.verbs and not self._is_brief(resource):
            yield from self._watches(resource)

    def _on_collection(self, resource: Resource) -> list[Operation]:
        operations = []
        if "deletecollection" in resource.verbs:
            suffix = f"Collection{_scoped(resource)}"
            deletion = self._operation(resource, "delete", "delete", suffix, "deletecollection")
            deletion.answers = {OK: self._schemas.of_type(META, "Status")}
            if self._is_brief(resource):
                deletion.parameters = "list"
            else:
                deletion.parameters, deletion.body_required = "deletecollection", False
                deletion.body = self._schemas.of_type(META, "DeleteOptions")
            operations.append(deletion)
        if "list" in resource.verbs:
            operations.append(self._list(resource, _scoped(resource), parameters="list"))
        if "create" in resource.verbs:
            operations.append(self._writing(resource, "create", _scoped(resource)))
        return operations

    def _list(self, resource: Resource, suffix: str, parameters: str) -> Operation:
        operation = self._operation(resource, "get", "list", suffix, "list")
        operation.parameters, operation.produces = parameters, STREAM
        operation.answers = {OK: self._list_schema(resource)}
        return operation

    def _on_item(self, resource: Resource) -> list[Operation]:
        operations = []
        if "delete" in resource.verbs:
            operations.append(self._deletion(resource))
        if "get" in resource.verbs:
            operations.append(self._reading(resource, _scoped(resource)))
        for verb in ("patch", "update"):
            if verb in resource.verbs:
                operations.append(self._writing(resource, verb, _scoped(resource)))
        return operations

    def _deletion(self, resource: Resource) -> Operation:
        operation = self._operation(resource, "delete", "delete", _scoped(resource), "delete")
        operation.parameters, operation.body_required = "delete", False
        operation.body = self._schemas.of_type(META, "DeleteOptions")
        returns = resource.returns_deleted and not self._tells_status(resource)
        answer = self._schema(resource) if returns else self._schemas.of_type(META, "Status")
        operation.answers = {OK: answer, ACCEPTED: answer}
        return operation

    def _tells_status(self, resource: Resource) -> bool:
        """Whether the documents say that a delete is answered with a Status although it is not
        always."""
        return self._schemas.is_exact and resource.key == _NAMESPACES

    def _reading(self, resource: Resource, suffix: str) -> Operation:
        operation = self._operation(resource, "get", "read", suffix, "get")
        operation.answers = {OK: self._schema(resource)}
        if self._is_brief(resource):
            operation.parameters = "get"
        return operation

    def _writing(self, resource: Resource, verb: str, suffix: str) -> Operation:
        method = _METHODS[verb]
        operation = self._operation(resource, method, _NAMES[verb], suffix, method)
        answer = self._schema(resource)
        operation.is_patch = verb == "patch"
        operation.answers = {OK: answer}
        if not (operation.is_patch and self._is_brief(resource)):
            operation.answers[CREATED] = answer
        if verb == "create":
            operation.answers[ACCEPTED] = answer
        operation.parameters = "patch" if operation.is_patch else "write"
        operation.body = self._schemas.shared("Patch") if operation.is_patch else answer
        return operation

    def _watches(self, resource: Resource) -> Iterator[Path]:
        """The legacy `/watch/` paths."""
        base = base_path(resource.group_version)
        path, placed = _collection_path(resource)
        forms = [
            (path, f"{_scoped(resource)}List", placed, "watchlist"),
            (f"{path}/{{name}}", _scoped(resource), ("name", *placed), "watch"),
        ]
        if resource.namespaced:
            suffix = f"{resource.kind}ListForAllNamespaces"
            forms.append((f"{base}/{resource.name}", suffix, (), "watchlist"))
        for path, suffix, placed, action in forms:
            operation = self._operation(resource, "get", "watch", suffix, action)
            operation.answers = {OK: self._schemas.of_type(META, "WatchEvent")}
            operation.produces = STREAM
            yield Path(f"{base}/watch{path[len(base) :]}", [operation], placed, "list")

    def _of_subresource(self, resource: Resource) -> Iterator[Path]:
        parent = resource.parent
        assert parent is not None
        above, placed = _collection_path(parent)
        path, placed = f"{above}/{{name}}/{resource.subresource}", ("name", *placed)
        suffix = f"{_scoped(parent)}{capital(resource.subresource)}"
        if resource.kind.endswith("Options"):
            yield Path(path, self._connecting(resource, suffix), placed, resource.kind, False)
            if resource.takes_path:
                onwards = self._connecting(resource, f"{suffix}WithPath")
                placed = (*placed, "path")
                yield Path(f"{path}/{{path}}", onwards, placed, resource.kind, False)
            return
        operations = []
        if "get" in resource.verbs:
            operations.append(self._reading(resource, suffix))
        for verb in ("create", "patch", "update"):
            if verb in resource.verbs:
                operations.append(self._writing(resource, verb, suffix))
        if resource.subresource == "log":
            produces = PLAIN if self._schemas.is_exact else ANYTHING
            operations[0].produces, operations[0].answers = produces, {OK: TEXT}
        yield Path(path, operations, placed, resource.subresource)

    def _connecting(self, resource: Resource, suffix: str) -> list[Operation]:
        operations = []
        methods = [_METHODS[verb] for verb in resource.verbs]
        if resource.takes_path and self._schemas.is_exact:
            methods += ["head", "options"]
        for method in methods:
            name = f"{capital(method)}{suffix}"
            operation = self._operation(resource, method, "connect", name, "connect")
            operation.answers, operation.produces = {OK: TEXT}, ANYTHING
            operations.append(operation)
        return operations

    def _operation(
        self, resource: Resource, method: str, name: str, suffix: str, action: str
    ) -> Operation:
        group_version = resource.group_version
        owner = resource.parent if resource.parent and self._is_brief(resource) else resource
        body_version = self._served.get(owner.body_version, group_version)
        return Operation(
            method=method,
            id=self._names.operation(name, group_version, suffix),
            tag=self._names.tag(group_version),
            answers={},
            action=action,
            kind={
                "group": body_version.group,
                "kind": owner.kind,
                "version": body_version.version,
            },
            is_custom=self._find_custom(resource.parent or resource) is not None,
        )

    def _is_brief(self, resource: Resource) -> bool:
        """Whether a resource is described as later releases describe custom ones: without paths of
        watches, with the parameters of a list for deletecollection, and with the kind of the
        object for its scale."""
        is_custom = self._find_custom(resource.parent or resource) is not None
        return is_custom and self._schemas.is_exact

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


def base_path(group_version: GroupVersion) -> str:
    return (
        f"/apis/{group_version.group}/{group_version.version}"
        if group_version.group
        else f"/api/{group_version.version}"
    )


def _collection_path(resource: Resource) -> tuple[str, tuple[str, ...]]:
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
