"""Objects that are kept in memory and served like stored ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from fairlead.api.answers import Answer, Verb
from fairlead.api.list import objects_answer
from fairlead.api.parameters import write_options
from fairlead.api.representation import object_answer
from fairlead.api.request import Request
from fairlead.api.verbs import read_object
from fairlead.base.errors import already_exists, bad_request, forbidden, not_found, success
from fairlead.base.waiting import result_of
from fairlead.codec.types.model import Scalar, Struct, Type
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.views import typed
from fairlead.operations.write_pipeline import generate_name, set_system_fields
from fairlead.storage.selection import Requirement, SelectorError, parse_fields

Handlers = dict[tuple[str, str], Verb]
# Turns the object of a request into that of the response.
Act = Callable[[Operation, Object], Awaitable[Object]]
# Returns all objects of a resource by name, without kind and apiVersion.
ReadAll = Callable[[], Mapping[str, Object]]


class MemoryObject(Protocol):
    """An object in memory that is served without being stored; `document` is without kind and
    apiVersion."""

    def document(self) -> Object: ...


T = TypeVar("T", bound=MemoryObject)


class ObjectTable(Generic[T]):
    """The objects of a resource by name, at most `maximum`. `make` builds one from a request's
    object and may raise StatusError."""

    def __init__(self, make: Callable[[Object], T], maximum: int) -> None:
        self._make = make
        self._maximum = maximum
        self.objects: dict[str, T] = {}

    def handlers(self, key: str) -> Handlers:
        """The handlers of a resource, by its key."""
        return {
            **read_handlers(
                key, lambda: {name: item.document() for name, item in self.objects.items()}
            ),
            (key, "create"): create_handler(self._create),
            (key, "delete"): self._delete,
            (key, "deletecollection"): self._delete_all,
        }

    def find(self, operation: Operation) -> T:
        """The object that the operation names; raises 404."""
        item = self.objects.get(operation.name)
        if item is None:
            raise not_found(operation.resource.main.ref(operation.name))
        return item

    async def _create(self, operation: Operation, value: Object) -> Object:
        metadata = value["metadata"]
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = generate_name(metadata["generateName"])
        name = metadata.get("name") or ""
        ref = operation.resource.ref(name)
        if not name:
            raise bad_request("name or generateName is required")
        if name in self.objects:
            raise already_exists(ref)
        if len(self.objects) >= self._maximum:
            raise forbidden(ref, f"there are {self._maximum} already")
        set_system_fields(metadata)
        item = self.objects[name] = self._make(value)
        return item.document()

    async def _delete(self, api: Api, request: Request, operation: Operation) -> Answer:
        uid = self.find(operation).document()["metadata"]["uid"]
        del self.objects[operation.name]
        return succeeded(api, request, operation, uid)

    async def _delete_all(self, api: Api, request: Request, operation: Operation) -> Answer:
        self.objects.clear()
        return succeeded(api, request, operation)


def succeeded(api: Api, request: Request, operation: Operation, uid: str = "") -> Answer:
    """The answer to a delete."""
    status = success(operation.ref, uid)
    return object_answer(api.resources, request, operation.resource, status)


def create_handler(act: Act) -> Verb:
    """A create handler that returns the result of `act`."""

    async def create(api: Api, request: Request, operation: Operation) -> Answer:
        resource = operation.resource
        options = write_options(api, request, "CreateOptions")
        value = await result_of(read_object(api, request, operation, options.validation))
        value["metadata"] = value.get("metadata") or {}
        document = typed(resource, await act(operation, value))
        return object_answer(api.resources, request, resource, document, 201)

    return create


def read_handlers(key: str, read_all: ReadAll) -> Handlers:
    """Handlers of get and list. Field selectors may name any field."""

    async def get(api: Api, request: Request, operation: Operation) -> Answer:
        value = read_all().get(operation.name)
        if value is None:
            raise not_found(operation.ref)
        resource = operation.resource
        return object_answer(api.resources, request, resource, typed(resource, value))

    async def list_all(api: Api, request: Request, operation: Operation) -> Answer:
        resource = operation.resource
        rules = _rules(request, resource.struct)
        documents = [
            typed(resource, value) for value in read_all().values() if _matches(value, rules)
        ]
        return await objects_answer(api, request, resource, documents, {})

    return {(key, "get"): get, (key, "list"): list_all}


def _rules(request: Request, struct: Struct) -> tuple[Requirement, ...]:
    if request.parameter("labelSelector"):
        raise bad_request("these objects have no labels to select by")
    try:
        rules = parse_fields(request.parameter("fieldSelector"))
    except SelectorError as error:
        raise bad_request(str(error)) from None
    for rule in rules:
        if not _is_known(struct, rule.key):  # a typo would match nothing silently
            raise bad_request(f"field label not supported: {rule.key}")
    return rules


def _is_known(struct: Struct, path: str) -> bool:
    current: Type = struct
    for step in path.split("."):
        if isinstance(current, Scalar) and current.is_opaque:
            return True
        if not isinstance(current, Struct) or step not in current.fields:
            return False
        current = current.fields[step].type
    return True


def _matches(value: Object, rules: tuple[Requirement, ...]) -> bool:
    return all(
        (_field_text(value, rule.key) in rule.values) == (rule.operator == "in") for rule in rules
    )


def _field_text(value: Any, path: str) -> str:
    """The value of a field in the syntax of selectors; empty if it is not set."""
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""
