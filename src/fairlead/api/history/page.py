"""The paths below `/history`. Reading the past needs the same rights as reading the present."""

from __future__ import annotations

from collections import Counter
from functools import partial

from fairlead.api.answers import Answer, value_answer
from fairlead.api.chain import Handler
from fairlead.api.history import API_VERSION, KIND
from fairlead.api.history.denied import Denied
from fairlead.api.history.feed import BOOKMARK_EVERY, Feed, Lines
from fairlead.api.history.handler import ALL, DENIED
from fairlead.api.history.items import HistoryItems
from fairlead.api.history.past import ObjectsPast, history_options
from fairlead.api.history.rights import NEVER, Namespaces, Rights, Served
from fairlead.api.methods import check_reading
from fairlead.api.negotiation import NOTHING, negotiate
from fairlead.api.parameters import flag, list_options
from fairlead.api.representation import item_answer
from fairlead.api.request import Request
from fairlead.api.routing import Target
from fairlead.api.watch import send_initial, send_pending
from fairlead.api.watch_stream import ErrorStream, WatchStream
from fairlead.base import budget
from fairlead.base.errors import (
    StatusError,
    bad_request,
    expired,
    no_such_path,
    not_found,
    too_large_resource_version,
    too_many_requests,
)
from fairlead.base.waiting import result_of
from fairlead.operations.api import Object
from fairlead.operations.operation import Operation
from fairlead.operations.options import revision_of
from fairlead.operations.stored_versions import to_requested
from fairlead.operations.watch import too_old
from fairlead.resources.registry import Resource
from fairlead.storage.backend import Compacted

_NAMESPACES = "core/v1/namespaces"
_BYTES_AN_ITEM = 500  # estimated
_MAX_FEEDS = 100
_MAX_OF_A_USER = 40


class HistoryPage:
    """Answers history requests, which the chain has authorized."""

    def __init__(self, handler: Handler, denied: Denied) -> None:
        self._handler = handler
        self._api = handler.api
        self._served = Served(handler.api)
        self._items = HistoryItems(handler.api.actors)
        self._past = ObjectsPast(handler.api, self._served, self._items)
        self._namespaces = Namespaces(handler.api)
        self._denied = denied
        self._feeds: Counter[str] = Counter()  # number of feeds by user name

    async def answer(self, request: Request) -> Answer:
        check_reading(request)
        target = request.target
        if target.is_resource:
            try:
                return await self._of_resource(request, target)
            except Compacted as error:
                raise expired(f"The provided resourceVersion is too old: {error}") from None
        path = target.path.rstrip("/")
        if path == DENIED:
            only = request.user.name if flag(request, "mine") else None
            denied = {"items": self._denied.documents(only)}
            return await self._document(request, denied, "DeniedRequests")
        if path != ALL:
            raise no_such_path()
        if request.method == "GET" and flag(request, "watch"):
            return self._feed(request)
        _refuse_revision(request, "watch from it, or ask for what happened `since`")
        history = await self._past.everything(
            self._rights(request, "list"), history_options(request)
        )
        return await self._document(request, history)

    def _rights(self, request: Request, verb: str) -> Rights:
        return Rights(self._api.authorizer, self._namespaces, request.user, verb)

    def _feed(self, request: Request) -> Answer:
        api, past_options, name = self._api, history_options(request), request.user.name
        if self._feeds[name] >= _MAX_OF_A_USER or self._feeds.total() >= _MAX_FEEDS:
            raise too_many_requests("too many history streams are open")
        options = list_options(api, request, chunking=False)
        options.bookmarks = True
        lines = Lines()
        try:
            feed = Feed(
                api.store,
                self._served,
                self._items,
                self._rights(request, "watch"),
                lines,
                namespace=past_options.namespace,
                after=revision_of(options.revision),
                noisy=past_options.include_noisy,
                on_close=partial(self._feed_closed, name),
            )
        except Compacted as error:
            return ErrorStream(too_old(error, api.store.floor), lines)
        self._feeds[name] += 1
        request.target.verb = "watch"
        return WatchStream(api, feed, lines, options, BOOKMARK_EVERY, send_initial, send_pending)

    def _feed_closed(self, name: str) -> None:
        self._feeds[name] -= 1
        if not self._feeds[name]:
            del self._feeds[name]

    async def _of_resource(self, request: Request, target: Target) -> Answer:
        if self._is_remote(target):
            raise StatusError(
                404,
                "NotFound",
                "these objects and their history are stored by another server",
                details={},
            )
        resource = target.resource
        if resource is None or target.subresource or target.rest or target.watch_prefix:
            raise no_such_path()
        api = self._api
        if api.store_for(resource) is not api.store:
            raise StatusError(
                404,
                "NotFound",
                "there is no history of resources with --etcd-servers-overrides",
                details={},
            )
        if target.verb == "watch" or flag(request, "watch"):
            raise bad_request(f"watch: what happens can be watched at {ALL} only")
        if "get" not in resource.verbs or "list" not in resource.verbs:
            raise no_such_path()
        begins = await self._first_revision(request, resource)
        if not target.name:
            _refuse_revision(request, "use a list with resourceVersionMatch=Exact")
            options = history_options(request, begins)
            history = await self._past.of_collection(resource, target.namespace, options)
            return await self._document(request, history)
        if request.parameter("resourceVersion"):
            return await self._version_at(request, resource, begins)
        key = resource.storage_key(target.namespace, target.name)
        changes = await self._past.of_object(resource, key, history_options(request, begins))
        if changes is None:
            raise not_found(resource.ref(target.name))
        return await self._document(request, changes)

    async def _first_revision(self, request: Request, resource: Resource) -> int:
        """The first revision of an object's or collection's past that the user may read."""
        target = request.target
        is_namespace = resource.key == _NAMESPACES
        namespace = target.name if is_namespace else target.namespace
        if not namespace or not (resource.namespaced or is_namespace):
            return 0
        # A right to a namespace by name does not extend to former namespaces of that name.
        name = "" if is_namespace else target.name
        return await self._rights(request, target.verb).first_revision(resource, namespace, name)

    def _is_remote(self, target: Target) -> bool:
        """Whether another server has the API path."""
        probe = Request("GET", target.path[len(ALL) :])
        probe.target = target
        return self._handler.remote(probe) is not None

    async def _version_at(self, request: Request, resource: Resource, begins: int) -> Answer:
        """An object as it was at a revision."""
        target = request.target
        revision = revision_of(request.parameter("resourceVersion"))
        if not revision:
            raise bad_request("resourceVersion: the past begins at 1")
        self._handler.negotiate(request)
        store = self._api.store
        if revision > store.revision:
            await store.catch_up()
        if revision > store.revision:
            raise too_large_resource_version(revision, store.revision)
        if revision < begins < NEVER:
            raise expired(f"The provided resourceVersion is too old: {revision} ({begins})")
        key = resource.storage_key(target.namespace, target.name)
        version = (
            await self._past.version_at(resource, key, revision) if revision >= begins else None
        )
        if version is None:
            raise not_found(resource.ref(target.name))
        operation = Operation(request.user, "get", resource, target.namespace, target.name)
        version = await to_requested(resource, version)
        return await result_of(item_answer(self._api, request, operation, version))

    async def _document(self, request: Request, content: Object, kind: str = KIND) -> Answer:
        pretty = request.query.get("pretty")
        request.representation = negotiate(
            self._api.dialect,
            request.header(b"accept"),
            pretty[0] if pretty else None,
            request.user_agent,
            NOTHING,
            binary=False,
        )
        document = {"kind": kind, "apiVersion": API_VERSION, **content}
        size = _BYTES_AN_ITEM * len(content["items"])
        return await budget.run(size, value_answer, request, 200, document, self._api.resources)


def _refuse_revision(request: Request, instead: str) -> None:
    """400 if resourceVersion is set: the history of many objects has no single revision."""
    if request.parameter("resourceVersion"):
        raise bad_request(f"resourceVersion: only one object is shown as it was; {instead}")
