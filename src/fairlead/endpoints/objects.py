"""The API from inside the process: what the server's own parts read and write goes the same way
as a client's request, as a user of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairlead.authentication.user import AUTHENTICATED, MASTERS, User
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.create import store_new
from fairlead.endpoints.delete import delete_one
from fairlead.endpoints.parameters import DeleteOptions, WriteOptions
from fairlead.endpoints.request import Request
from fairlead.endpoints.routing import Target
from fairlead.endpoints.update import Changed, store_changed
from fairlead.errors import StatusError
from fairlead.kinds.resources import Resource
from fairlead.storage.collection import Collection


def system_user(name: str) -> User:
    """A user for one of the server's own parts."""
    return User(f"system:{name}", groups=(MASTERS, AUTHENTICATED))


class Objects:
    """Reads and writes by our name for a resource (`core/v1/pods`). Values are in the stored
    version, without kind and apiVersion; what is read is a copy. Writes raise StatusError."""

    def __init__(self, api: Api, user: User) -> None:
        self._api = api
        self._user = user
        self._options = WriteOptions(False, user.name.rpartition(":")[2], "Ignore")

    def serves(self, key: str) -> bool:
        """Whether the resource is switched on."""
        return self._api.resources.serves(key)

    def collection(self, key: str) -> Collection:
        return self._api.collection(self._api.resources.named(key))

    def find(self, key: str, namespace: str, name: str) -> Object | None:
        return self._api.lookup(key, namespace, name)

    def list(self, key: str, namespace: str = "") -> Iterator[Object]:
        for entry in self.collection(key).current(namespace):
            yield entry.object()

    async def create(self, key: str, value: Object) -> Object:
        metadata = value["metadata"]
        request, resource = self._request("create", key, metadata.get("namespace", ""), "")
        entry = await store_new(self._api, request, resource, value, self._options)
        return entry.object()

    async def replace(self, key: str, value: Object) -> Object:
        """Write over the version that the value carries, or over the newest if it carries none."""
        metadata = value["metadata"]
        return await self.change(
            key, metadata.get("namespace", ""), metadata["name"], lambda _: value
        )

    async def change(
        self,
        key: str,
        namespace: str,
        name: str,
        change: Callable[[Object], Object],
        subresource: str = "",
    ) -> Object:
        """Change the newest version; `change` gets a copy and gives the wanted object."""
        request, resource = self._request("update", key, namespace, name, subresource)
        entry = await store_changed(
            self._api, request, resource, lambda old: Changed(change(old)), self._options
        )
        return entry.object()

    async def delete(
        self, key: str, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> None:
        """Delete an object; one that is gone already is no error."""
        request, resource = self._request("delete", key, namespace, name)
        storage_key = resource.storage_key(namespace, name)
        try:
            await delete_one(self._api, request, resource, storage_key, options or DeleteOptions())
        except StatusError as error:
            if error.code != 404:
                raise

    def _request(
        self, verb: str, key: str, namespace: str, name: str, subresource: str = ""
    ) -> tuple[Request, Resource]:
        resource = self._api.resources.named(key)
        if subresource:
            resource = resource.subresources[subresource]
        request = Request("INTERNAL")
        request.user = self._user
        request.target = Target(
            path="",
            verb=verb,
            is_resource=True,
            group=resource.group,
            version=resource.group_version.version,
            resource_name=(resource.parent or resource).name,
            subresource=subresource,
            namespace=namespace,
            name=name,
            resource=resource,
        )
        return request, resource
