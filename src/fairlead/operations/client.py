"""The API from inside the process, for controllers and other parts of the server.

Reads come from the watch cache. Writes take the same path as a client's: authorized as the
component's own user, admitted, and reported to the observers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import TypeVar

from fairlead.auth.authentication.user import AUTHENTICATED, MASTERS, User
from fairlead.auth.authorization.attributes import refusal
from fairlead.base.deferred import Outcome
from fairlead.base.errors import StatusError
from fairlead.base.waiting import result_of
from fairlead.fields.values import copied
from fairlead.operations.api import Api, Object
from fairlead.operations.apply import apply
from fairlead.operations.binding import bind
from fairlead.operations.create import create
from fairlead.operations.delete import Deleted, delete, delete_collection
from fairlead.operations.get import get
from fairlead.operations.list import Listing
from fairlead.operations.operation import Operation
from fairlead.operations.options import DeleteOptions, ListOptions, WriteOptions
from fairlead.operations.patch import Patch
from fairlead.operations.update import Changed, patch, store_changed
from fairlead.operations.views import view_of
from fairlead.resources.registry import Resource
from fairlead.storage.collection import Collection
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.version import Version

Result = TypeVar("Result")

_DROPPED_IF_EMPTY = ("labels", "annotations", "finalizers", "ownerReferences")  # dropped when empty


def system_user(name: str) -> User:
    """A privileged user for a component of the server."""
    return User(f"system:{name}", groups=(MASTERS, AUTHENTICATED))


def _without_empty_metadata(value: Object) -> Object:
    """Drop empty metadata that a client would not send."""
    metadata = value["metadata"]
    if all(metadata.get(name, True) for name in _DROPPED_IF_EMPTY):
        return value
    remaining = {
        name: part for name, part in metadata.items() if part or name not in _DROPPED_IF_EMPTY
    }
    return {**value, "metadata": remaining}


def own_client(api: Api, manager: str = "") -> Client:
    """A client with the server's own user; its field manager is the server's name by default."""
    own_name = f"{api.dialect.system_prefix}-apiserver"
    return Client(api, system_user("apiserver"), manager or own_name)


class Client:
    """Reads and writes objects by the internal name of their resource (`core/v1/pods`). Values are
    in the stored version, without kind and apiVersion. Reads return copies, and written values are
    copied. Writes raise StatusError."""

    def __init__(self, api: Api, user: User, manager: str = "") -> None:
        """`manager` is the field manager of its writes, by default the last part of the user's
        name."""
        self._api = api
        self._user = user
        self._options = WriteOptions(False, manager or user.name.rpartition(":")[2], "Ignore")

    @property
    def manager(self) -> str:
        """The field manager of its writes."""
        return self._options.manager

    def serves(self, key: str) -> bool:
        """Whether the resource is enabled."""
        return self._api.resources.serves(key)

    def resource(self, key: str) -> Resource:
        return self._api.resources.named(key)

    def collection(self, key: str) -> Collection:
        return self._api.collection(self.resource(key))

    def find(self, key: str, namespace: str, name: str) -> Object | None:
        return self._api.lookup(key, namespace, name)

    def list(self, key: str, namespace: str = "") -> Iterator[Object]:
        for version in self.collection(key).current(namespace):
            yield version.object()

    async def get(self, key: str, namespace: str, name: str, subresource: str = "") -> Object:
        """Read as a client does: in the version of the resource, with kind and apiVersion. Also
        reads subresources such as `scale`."""
        operation = self._operation("get", key, namespace, name, subresource)
        work: Callable[[], Outcome[Version]] = partial(get, self._api, operation)
        version = await self._perform(operation, work)
        return view_of(self._api, operation.resource).read(version.object())

    async def create(self, key: str, value: Object) -> Object:
        operation = self._operation("create", key, value["metadata"].get("namespace", ""), "")
        work = partial(
            create, self._api, operation, copied(_without_empty_metadata(value)), self._options
        )
        return (await self._perform(operation, work, value)).object()

    async def replace(self, key: str, value: Object) -> Object:
        """Replace the version that the value carries, or the newest if it carries none."""
        metadata = value["metadata"]
        return await self.change(
            key, metadata.get("namespace", ""), metadata["name"], lambda _: copied(value)
        )

    async def scale(self, key: str, namespace: str, name: str, replicas: int) -> Object:
        """Set the replicas of an object through its scale."""
        view = view_of(self._api, self._api.resources.named(key).subresources["scale"])
        scale = {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": replicas},
        }
        return await self.change(
            key, namespace, name, lambda current: view.write(current, scale), "scale"
        )

    async def change(
        self,
        key: str,
        namespace: str,
        name: str,
        change: Callable[[Object], Object],
        subresource: str = "",
        verb: str = "update",
    ) -> Object:
        """Change the newest version. `change` gets the object, which it must not modify, and
        returns the desired one, or the same object for no change. `verb` is authorized: `update` or
        `patch`."""
        operation = self._operation(verb, key, namespace, name, subresource)

        def changed(old: Object) -> Changed:
            new = change(old)
            return Changed(_without_empty_metadata(copied(old) if new is old else new))

        work = partial(store_changed, self._api, operation, changed, self._options)
        return (await self._perform(operation, work)).object()

    async def patch(
        self, key: str, namespace: str, name: str, read: Patch, subresource: str = ""
    ) -> Object:
        """Apply a patch to the newest version."""
        operation = self._operation("patch", key, namespace, name, subresource)
        work = partial(patch, self._api, operation, read, self._options)
        return (await self._perform(operation, work)).object()

    async def apply(self, key: str, value: Object, subresource: str = "") -> Object:
        """Apply a value with force, taking its fields from other managers. Fields of our last apply
        that the value leaves out are removed."""
        metadata = value["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        operation = self._operation("patch", key, namespace, name, subresource)
        resource = operation.resource
        config = {"apiVersion": resource.api_version, "kind": resource.kind, **copied(value)}
        options = WriteOptions(False, self.manager, "Ignore", force=True)
        work = partial(apply, self._api, operation, config, options)
        return (await self._perform(operation, work)).object()

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Assign a pod to a node."""
        operation = self._operation("create", "core/v1/pods", namespace, name, "binding")
        binding = {
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "target": {"kind": "Node", "name": node},
        }
        work: Callable[[], Outcome[None]] = partial(
            bind, self._api, operation, binding, self._options
        )
        await self._perform(operation, work)

    async def delete(
        self, key: str, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> None:
        """Delete an object; succeeds if it does not exist."""
        operation = self._operation("delete", key, namespace, name)
        work: Callable[[], Outcome[Deleted]] = partial(
            delete, self._api, operation, options or DeleteOptions()
        )
        try:
            await self._perform(operation, work)
        except StatusError as error:
            if error.code != 404:
                raise

    async def delete_collection(self, key: str, namespace: str, options: DeleteOptions) -> None:
        """Delete all objects of a resource in a namespace."""
        operation = self._operation("deletecollection", key, namespace, "")
        work: Callable[[], Outcome[Listing]] = partial(
            delete_collection, self._api, operation, options, ListOptions(), EVERYTHING
        )
        await self._perform(operation, work)

    def _operation(
        self, verb: str, key: str, namespace: str, name: str, subresource: str = ""
    ) -> Operation:
        resource = self._api.resources.named(key)
        if subresource:
            resource = resource.subresources[subresource]
        operation = Operation(self._user, verb, resource, namespace, name)
        operation.manager = self.manager
        return operation

    async def _perform(
        self,
        operation: Operation,
        work: Callable[[], Outcome[Result]],
        value: Object | None = None,
    ) -> Result:
        auditor = self._api.auditor
        if auditor is None:
            return await self._observed(operation, work)
        audit = await auditor.begin(operation, value)
        try:
            result = await self._observed(operation, work)
        except BaseException as error:
            await audit.end(error)
            raise
        await audit.end(None)
        return result

    async def _observed(self, operation: Operation, work: Callable[[], Outcome[Result]]) -> Result:
        started, code = perf_counter(), 200
        try:
            attributes = operation.attributes()
            decision = operation.decision = await self._api.authorizer.authorize(attributes)
            if not decision.allowed:
                raise refusal(attributes, decision)
            return await result_of(work())
        except StatusError as error:
            code = error.code
            raise
        finally:
            for observe in self._api.observers:
                observe(operation, code, perf_counter() - started)
