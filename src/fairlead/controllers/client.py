"""The API as controllers use it: in the process, as users of their own, through admission."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from fairlead.authentication.account_names import account_groups, account_user_name
from fairlead.authentication.user import User, with_authenticated_group
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api
from fairlead.endpoints.create import create
from fairlead.endpoints.delete import delete
from fairlead.endpoints.request import Request
from fairlead.endpoints.routing import route
from fairlead.endpoints.update import update
from fairlead.errors import StatusError
from fairlead.kinds.resources import Resource
from fairlead.storage.entry import Entry

Object = dict[str, Any]
# Answers a request whose target and user are set.
Perform = Callable[[Api, Request], Awaitable[Answer]]

_VERBS: dict[str, Perform] = {"POST": create, "PUT": update, "DELETE": delete}


async def perform(api: Api, request: Request) -> Answer:
    """Answer a request that needs neither authentication nor authorization."""
    return await _VERBS[request.method](api, request)


class Client:
    """One controller's way to the API. Resources are named as our tables name them; objects carry
    no kind and apiVersion. Reads come from the store of this process and see its own writes."""

    def __init__(self, api: Api, name: str, perform: Perform = perform) -> None:
        namespace = api.dialect.system_namespace
        self._api = api
        self._perform = perform
        self._agent = name.encode()
        self.user = with_authenticated_group(
            User(account_user_name(namespace, name), "", account_groups(namespace))
        )

    def entries(self, key: str, namespace: str = "") -> list[Entry]:
        """The committed objects of a namespace, or of all."""
        return self._api.collection(self._api.resources.named(key)).current(namespace)

    def get(self, key: str, namespace: str, name: str) -> Object | None:
        return self._api.lookup(key, namespace, name)

    async def create(self, key: str, value: Object) -> Object:
        """Create an object in the namespace that its metadata names; raises StatusError."""
        namespace = value["metadata"].get("namespace", "")
        return await self._send("POST", key, namespace, "", value)

    async def update(self, key: str, value: Object) -> Object:
        """Replace an object, of the version it carries if it carries one; raises StatusError."""
        metadata = value["metadata"]
        return await self._send("PUT", key, metadata.get("namespace", ""), metadata["name"], value)

    async def delete(self, key: str, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object, of this uid if one is given; one that is gone already is no error."""
        options: Object = {"preconditions": {"uid": uid}} if uid else {}
        try:
            await self._send("DELETE", key, namespace, name, options)
        except StatusError as error:
            if error.code != 404:
                raise

    async def _send(self, method: str, key: str, namespace: str, name: str, body: Object) -> Object:
        api = self._api
        path = _path(api.resources.named(key), namespace, name)
        request = _request(method, path, orjson.dumps(body), self._agent)
        request.target = route(api.resources, method, path)
        request.user = self.user
        answer = await self._perform(api, request)
        assert isinstance(answer.body, bytes)
        parsed: Object = orjson.loads(answer.body)
        return parsed


def _path(resource: Resource, namespace: str, name: str) -> str:
    version = resource.group_version
    root = f"/apis/{version.api_version}" if version.group else f"/api/{version.version}"
    place = f"/namespaces/{namespace}" if resource.namespaced else ""
    return f"{root}{place}/{resource.name}" + (f"/{name}" if name else "")


def _request(method: str, path: str, body: bytes, agent: bytes) -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"user-agent", agent), (b"content-type", b"application/json")],
    }
    return Request(scope, receive)
