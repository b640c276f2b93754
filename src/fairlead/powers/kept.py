"""Objects that live in the memory of the server and are served like others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from fairlead.endpoints.answers import Answer, Verb
from fairlead.endpoints.decoding import read_object
from fairlead.endpoints.list import objects_answer
from fairlead.endpoints.parameters import write_options
from fairlead.endpoints.representing import object_answer
from fairlead.endpoints.request import Request
from fairlead.errors import StatusError, already_exists, bad_request, not_found, success
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.operations.preparing import generate_name, set_system_fields
from fairlead.operations.views import typed

Handlers = dict[tuple[str, str], Verb]
# From what was sent to what is answered.
Act = Callable[[Operation, Object], Awaitable[Object]]


class Shown(Protocol):
    """Something that can be shown as an object, without kind and apiVersion."""

    def shown(self) -> Object: ...


Kept = TypeVar("Kept", bound=Shown)


class Shelf(Generic[Kept]):
    """Things of one resource by name. `make` makes one of what was sent; raises StatusError."""

    def __init__(self, make: Callable[[Object], Kept] | None = None, most: int = 1000) -> None:
        self._make = make
        self._most = most
        self.things: dict[str, Kept] = {}

    def handlers(self, key: str) -> Handlers:
        """What answers the verbs of a resource, by our name for it."""
        found: Handlers = {(key, "get"): self._get, (key, "list"): self._list}
        if self._make is not None:
            found |= {
                (key, "create"): acting(self._create),
                (key, "delete"): self._delete,
                (key, "deletecollection"): self._delete_all,
            }
        return found

    def find(self, operation: Operation) -> Kept:
        """The one that is named; raises StatusError."""
        found = self.things.get(operation.name)
        if found is None:
            raise not_found(operation.ref)
        return found

    async def _get(self, api: Api, request: Request, operation: Operation) -> Answer:
        resource = operation.resource
        value = typed(resource, self.find(operation).shown())
        return object_answer(api.resources, request, resource, value)

    async def _list(self, api: Api, request: Request, operation: Operation) -> Answer:
        return await listed(api, request, operation, (one.shown() for one in self.things.values()))

    async def _create(self, operation: Operation, value: Object) -> Object:
        assert self._make is not None
        metadata = value["metadata"]
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = generate_name(metadata["generateName"])
        name = metadata.get("name", "")
        if not name:
            raise bad_request("name or generateName is required")
        if name in self.things:
            raise already_exists(operation.resource.ref(name))
        if len(self.things) >= self._most:
            raise StatusError(403, "Forbidden", f"there are {self._most} of them already")
        set_system_fields(metadata)
        made = self.things[name] = self._make(value)
        return made.shown()

    async def _delete(self, api: Api, request: Request, operation: Operation) -> Answer:
        uid = self.find(operation).shown()["metadata"]["uid"]
        del self.things[operation.name]
        return object_answer(
            api.resources, request, operation.resource, success(operation.ref, uid)
        )

    async def _delete_all(self, api: Api, request: Request, operation: Operation) -> Answer:
        self.things.clear()
        return object_answer(api.resources, request, operation.resource, success(operation.ref, ""))


def acting(act: Act) -> Verb:
    """A POST whose answer is what comes of it."""

    async def create(api: Api, request: Request, operation: Operation) -> Answer:
        resource = operation.resource
        options = write_options(api.dialect, request, "CreateOptions")
        value = await read_object(api, request, operation, options.validation)
        value.setdefault("metadata", {})
        shown = typed(resource, await act(operation, value))
        return object_answer(api.resources, request, resource, shown, 201)

    return create


async def listed(
    api: Api, request: Request, operation: Operation, values: Iterable[Mapping[str, object]]
) -> Answer:
    resource = operation.resource
    shown = [typed(resource, {**value}) for value in values]
    return await objects_answer(api, request, resource, shown, {})
