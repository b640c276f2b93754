"""The blocking client: the same methods as the asynchronous one.

with SyncClient.load() as client:
    for event in client.resource("pods").watch("default"):
        print(event.type, event.object["metadata"]["name"])
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import AsyncIterable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from fairlead.client.access.loader import load_access
from fairlead.client.access.model import Access
from fairlead.client.client import Client
from fairlead.client.discovery import Discovery, ResourceType, UnknownKind, UnknownResource
from fairlead.client.errors import Unreachable
from fairlead.client.port_forwarding import PortConnection, PortForward
from fairlead.client.processes import RemoteProcess, Streams
from fairlead.client.resources import Resource

_Inner = TypeVar("_Inner")
_Result = TypeVar("_Result")
_Parameters = ParamSpec("_Parameters")


class _Background:
    """An event loop in a background thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._is_open = True
        self._thread = threading.Thread(target=self._run, name="fairlead-client", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def call(self, what: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine and return its result. Callable from any thread but the loop's own;
        raises Unreachable if the client is closed meanwhile."""
        with self._lock:
            if not self._is_open or threading.current_thread() is self._thread:
                what.close()
                raise RuntimeError(
                    "the client is closed" if not self._is_open else "not inside of the client"
                )
            future = asyncio.run_coroutine_threadsafe(what, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Unreachable("the client was closed", sent=True) from None
        except BaseException:
            future.cancel()  # for example at Ctrl-C
            raise

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel all tasks, then run `last` and stop the loop."""
        with self._lock:
            if not self._is_open:
                return
            self._is_open = False
        asyncio.run_coroutine_threadsafe(self._end(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await last()
        await self._loop.shutdown_asyncgens()


class _Wrapper(Generic[_Inner]):
    """Base of blocking wrappers around an asynchronous object."""

    def __init__(self, background: _Background, inner: _Inner) -> None:
        self._background = background
        self._inner = inner


def _plain(
    method: Callable[Concatenate[_Inner, _Parameters], Coroutine[Any, Any, _Result]],
) -> Callable[Concatenate[_Wrapper[_Inner], _Parameters], _Result]:
    """A blocking version of a coroutine method."""

    @wraps(method)
    def call(
        self: _Wrapper[_Inner], /, *values: _Parameters.args, **named: _Parameters.kwargs
    ) -> _Result:
        return self._background.call(method(self._inner, *values, **named))

    return call


def _iterated(
    method: Callable[Concatenate[_Inner, _Parameters], AsyncIterable[_Result]],
) -> Callable[Concatenate[_Wrapper[_Inner], _Parameters], Iterator[_Result]]:
    """A blocking version of a method that returns an async iterable."""

    @wraps(method)
    def call(
        self: _Wrapper[_Inner], /, *values: _Parameters.args, **named: _Parameters.kwargs
    ) -> Iterator[_Result]:
        return _items(self._background, method(self._inner, *values, **named))

    return call


_END = object()


def _items(background: _Background, results: AsyncIterable[_Result]) -> Iterator[_Result]:
    items: Any = aiter(results)

    async def following() -> Any:
        return await anext(items, _END)

    try:
        while (item := background.call(following())) is not _END:
            yield item
    finally:
        with suppress(RuntimeError, Unreachable):  # the client is closed, which ended it
            background.call(items.aclose())


class SyncResource(_Wrapper[Resource]):
    """The blocking version of Resource."""

    @property
    def type(self) -> ResourceType:
        return self._inner.type

    get = _plain(Resource.get)
    page = _plain(Resource.page)
    pages = _iterated(Resource.pages)
    list = _plain(Resource.list)
    watch = _iterated(Resource.watch)
    wait = _plain(Resource.wait)
    create = _plain(Resource.create)
    replace = _plain(Resource.replace)
    patch = _plain(Resource.patch)
    apply = _plain(Resource.apply)
    delete = _plain(Resource.delete)
    delete_collection = _plain(Resource.delete_collection)


class SyncDiscovery(_Wrapper[Discovery]):
    """The blocking version of Discovery."""

    groups = _plain(Discovery.groups)
    dialect = _plain(Discovery.dialect)
    resources = _plain(Discovery.resources)
    all_resources = _plain(Discovery.all_resources)
    find = _plain(Discovery.find)
    of_kind = _plain(Discovery.of_kind)

    def forget(self) -> None:
        self._inner.forget()


class SyncProcess(_Wrapper[RemoteProcess]):
    """The blocking version of RemoteProcess. One thread may read while another one writes."""

    read = _plain(RemoteProcess.read)
    write = _plain(RemoteProcess.write)
    end_input = _plain(RemoteProcess.end_input)
    resize = _plain(RemoteProcess.resize)
    wait = _plain(RemoteProcess.wait)
    communicate = _plain(RemoteProcess.communicate)


class SyncConnection(_Wrapper[PortConnection]):
    """The blocking version of PortConnection."""

    def read(self) -> bytes:
        """What has arrived, b"" at the end; raises ForwardingError."""
        return self._background.call(self._inner.read())

    def write(self, data: bytes) -> None:
        """Raises ForwardingError."""
        self._background.call(self._inner.write(data))

    def end(self) -> None:
        """Send nothing more."""
        self._background.call(self._inner.end())

    def close(self) -> None:
        self._background.call(self._inner.close())


class SyncForward(_Wrapper[PortForward]):
    """The blocking version of PortForward."""

    listen = _plain(PortForward.listen)

    def connect(self, port: int) -> SyncConnection:
        """A connection to a port of the pod; raises ForwardingError."""
        return SyncConnection(self._background, self._background.call(self._inner.connect(port)))


class SyncClient(_Wrapper[Client]):
    """The blocking version of Client, for any number of threads. `close` ends the calls of all
    threads."""

    def __init__(self, access: Access, agent: str = "") -> None:
        client = Client(access, agent)
        super().__init__(_Background(), client)
        self.discovery = SyncDiscovery(self._background, client.discovery)

    @classmethod
    def load(cls, path: Path | str | None = None, **choices: Any) -> Self:
        """A client from configuration files; raises AccessError. `choices` are arguments of
        `load_access`."""
        return cls(load_access(path, **choices))

    @property
    def namespace(self) -> str:
        """The default namespace."""
        return self._inner.namespace

    def resource(self, word: str) -> SyncResource:
        """A resource by plural, singular, kind or short name; raises UnknownResource."""
        resource = self._background.call(self._find(lambda: self._inner.resource(word)))
        return SyncResource(self._background, resource)

    def resource_of(self, value: Mapping[str, Any]) -> SyncResource:
        """The resource of an object; raises UnknownKind."""
        resource = self._background.call(self._find(lambda: self._inner.resource_of(value)))
        return SyncResource(self._background, resource)

    async def _find(self, find: Callable[[], Coroutine[Any, Any, Resource]]) -> Resource:
        """Retry with fresh discovery if a resource is unknown: it may be newer than the cache."""
        try:
            return await find()
        except (UnknownResource, UnknownKind):
            self._inner.discovery.forget()
            return await find()

    def of(self, type: ResourceType) -> SyncResource:
        return SyncResource(self._background, self._inner.of(type))

    raw = _plain(Client.raw)
    execute = _plain(Client.execute)

    @contextmanager
    def exec(
        self,
        pod: str,
        command: Sequence[str],
        namespace: str | None = None,
        *,
        container: str = "",
        streams: Streams | None = None,
    ) -> Iterator[SyncProcess]:
        """As `Client.exec`, for `with`."""
        opening = self._inner.exec(pod, command, namespace, container=container, streams=streams)
        with self._entered(opening) as process:
            yield SyncProcess(self._background, process)

    @contextmanager
    def attach(
        self,
        pod: str,
        namespace: str | None = None,
        *,
        container: str = "",
        streams: Streams | None = None,
    ) -> Iterator[SyncProcess]:
        """As `Client.attach`, for `with`."""
        opening = self._inner.attach(pod, namespace, container=container, streams=streams)
        with self._entered(opening) as process:
            yield SyncProcess(self._background, process)

    @contextmanager
    def port_forward(
        self, pod: str, port: int, namespace: str | None = None
    ) -> Iterator[SyncForward]:
        """`Client.port_forward` as a context manager that does not need `async`."""
        with self._entered(self._inner.port_forward(pod, port, namespace)) as forward:
            yield SyncForward(self._background, forward)

    @contextmanager
    def _entered(self, manager: AbstractAsyncContextManager[_Result]) -> Iterator[_Result]:
        async def enter() -> _Result:
            return await manager.__aenter__()

        async def leave() -> None:
            await manager.__aexit__(None, None, None)

        value = self._background.call(enter())
        try:
            yield value
        finally:
            with suppress(RuntimeError, Unreachable):  # the client is closed, which ended it
                self._background.call(leave())

    def close(self) -> None:
        self._background.close(self._inner.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
