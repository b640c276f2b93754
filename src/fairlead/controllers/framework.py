"""The controller framework: events of the watch cache become keys in a queue, workers reconcile
each key.

Everything runs on the event loop. Long work (initial replay, large fan-outs) is split into steps so
that one iteration of the loop does a few milliseconds of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fairlead.auth.authentication.user import (
    MASTERS,
    User,
    account_groups,
    account_user_name,
    with_authenticated_group,
)
from fairlead.base import clock
from fairlead.base.backlog import Backlog
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.base.slices import TimeSlices
from fairlead.controllers.events import EventWriter
from fairlead.controllers.metrics import SECONDS
from fairlead.controllers.queue import WorkQueue
from fairlead.controllers.subscription import Keys as Keys
from fairlead.controllers.subscription import Replay, Subscription
from fairlead.operations.api import Api, Object
from fairlead.storage.backend import StorageError
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change

logger = Logger("fairlead.controllers")
_FAILED = "a key could not be reconciled"


class Reconciler(Protocol):
    """A reconciler of keys.

    `sync` compares actual with desired state and does not depend on earlier events. It raises if it
    failed, which causes a retry with back-off, and returns the seconds after which the key is to be
    queued again, or None.
    """

    workers: int

    def follows(self) -> Mapping[str, Keys]:
        """Resources (internal names) whose events queue keys, each with its mapping."""

    async def sync(self, key: str) -> float | None: ...


class Controller(Reconciler, Protocol):
    """A reconciler with a name for its queue and metrics."""

    name: str


# Ends the subscription that `Follow` made.
Unfollow = Callable[[], None]


class Follow(Protocol):
    """Subscribes to a resource (internal name). With `replay`, existing objects are delivered
    first; without it the caller has already read them."""

    def __call__(self, resource: str, keys: Keys, *, replay: bool = True) -> Unfollow: ...


@runtime_checkable
class DynamicSubscriber(Protocol):
    """A controller that subscribes to more resources while it runs."""

    def grow_by(self, follow: Follow) -> None:
        """Called once, before the first `sync`."""


@runtime_checkable
class SelfQueueing(Protocol):
    """A controller that queues keys by itself."""

    def add_by(self, add: Callable[[str], None]) -> None:
        """Called once, before the first `sync`."""


@runtime_checkable
class MonotonicDelays(Protocol):
    """A controller whose delays are durations, measured by the monotonic clock. The delays of other
    controllers lead to a point in time and follow changes of the wall clock."""

    is_steady: bool


def controller_user(dialect: Dialect, name: str, *, privileged: bool = False) -> User:
    """The user that a controller acts as: a service account in the system namespace with the rights
    of its bootstrap role. `privileged` adds the masters group, for servers whose authorizer ignores
    roles."""
    namespace = dialect.system_namespace
    groups = account_groups(namespace)
    if privileged:
        groups = (*groups, MASTERS)
    return with_authenticated_group(User(account_user_name(namespace, name), "", groups))


def manager_user(dialect: Dialect, *, privileged: bool = False) -> User:
    """The user of shared work and of controllers without a role of their own."""
    groups = (MASTERS,) if privileged else ()
    name = f"system:{dialect.system_prefix}-controller-manager"
    return with_authenticated_group(User(name, "", groups))


class LazyController(NamedTuple):
    """A controller that is not built until an object of one of the `woken_by` resources (internal
    names) exists. It must reconcile existing objects when it starts. Its queue has this name."""

    name: str
    woken_by: Sequence[str]
    wake: Callable[[], Reconciler]


_WAKING = ""  # placeholder key in the queue of a controller that is not built yet


class Controllers:
    """Runs controllers on the watch cache of a server.

    An instance runs once: controllers keep state, so a restart must build new ones. `at_end`
    releases the state that they share.
    """

    def __init__(
        self,
        api: Api,
        controllers: Sequence[Controller | LazyController],
        events: EventWriter | None = None,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._api = api
        self._events = events or EventWriter()
        self._at_end = at_end
        self._queues: list[tuple[Reconciler | LazyController, WorkQueue[str]]] = []
        self._followed: dict[Callable[[Change], None], Unfollow] = {}
        self._slices = TimeSlices()
        self._backlog = Backlog()  # changes not yet mapped to keys
        self._beginning = asyncio.Lock()  # held while existing objects are replayed
        self._replays: list[Replay] = []  # replays to run before the lock is released
        for controller in controllers:
            self.add(controller)

    def add(self, controller: Controller | LazyController) -> None:
        """Register a controller; only before `run`."""
        is_steady = isinstance(controller, MonotonicDelays) and controller.is_steady
        queue = WorkQueue[str](controller.name, is_steady=is_steady)
        self._queues.append((controller, queue))
        self._api.work[controller.name] = queue

    async def _start(self) -> None:
        """Replay existing objects and subscribe to changes, one controller after the other: a large
        store takes a while and the server already serves requests. Workers start after all
        controllers have replayed."""
        async with self._beginning:
            for index, (controller, queue) in enumerate(self._queues):
                if isinstance(controller, LazyController):
                    if not self._has_work(controller):
                        continue
                    controller = controller.wake()
                    self._queues[index] = controller, queue
                await self._begin(controller, queue)

    async def _begin(self, controller: Reconciler, queue: WorkQueue[str]) -> None:
        if isinstance(controller, SelfQueueing):
            controller.add_by(queue.add)
        if isinstance(controller, DynamicSubscriber):
            controller.grow_by(partial(self._follow, queue))
        for resource, keys in controller.follows().items():
            self._follow(queue, resource, keys)
        await asyncio.sleep(0)
        while self._replays:
            for _ in self._replays.pop(0).steps():
                await self._slices.pause()
        while self._backlog:  # noqa: ASYNC110 - it shrinks with every iteration of the loop
            await asyncio.sleep(0)

    def _has_work(self, asleep: LazyController) -> bool:
        return any(len(collection) for collection in self._waking(asleep))

    def _waking(self, asleep: LazyController) -> list[Collection]:
        resources = self._api.resources
        return [
            self._api.collection(resources.named(name))
            for name in asleep.woken_by
            if resources.serves(name)
        ]

    async def _sleep(
        self, asleep: LazyController, queue: WorkQueue[str], group: asyncio.TaskGroup
    ) -> None:
        """Wait for the first object, then build the controller and start its workers. From the
        first object until then the queue holds a placeholder key, so that it does not look idle."""

        def look() -> None:
            if self._has_work(asleep):
                queue.add(_WAKING)

        ends = [
            self._until(
                lambda: None,
                partial(self._api.store_of(collection.resource).follow, resync=look, replay=False),
                collection,
                lambda change: queue.add(_WAKING),
            )
            for collection in self._waking(asleep)
        ]
        look()
        await queue.get()
        await self._slices.pause()
        async with self._beginning:
            for end in ends:
                end()
            controller = asleep.wake()
            await self._begin(controller, queue)
        queue.done(_WAKING)
        self._start_workers(controller, queue, group)

    def _start_workers(
        self, controller: Reconciler, queue: WorkQueue[str], group: asyncio.TaskGroup
    ) -> None:
        for _ in range(controller.workers):
            group.create_task(_work(controller, queue, self._slices))

    def _follow(
        self, queue: WorkQueue[str], resource: str, keys: Keys, *, replay: bool = True
    ) -> Unfollow:
        resources = self._api.resources
        if not resources.serves(resource):
            return lambda: None
        collection = self._api.collection(resources.named(resource))
        store = self._api.store_of(collection.resource)

        subscription = Subscription(collection, keys, queue, self._backlog)
        deliver = subscription.deliver
        if replay and self._beginning.locked():
            replayed = Replay(collection, deliver)
            self._replays.append(replayed)
            follow = partial(store.follow, resync=replayed.restart, replay=False)
            return self._until(replayed.end, follow, collection, replayed.listen)
        follow = partial(store.follow, resync=subscription.deliver_all, replay=replay)
        return self._until(lambda: None, follow, collection, deliver)

    def _until(
        self,
        ended: Callable[[], None],
        follow: Callable[..., None],
        collection: Collection,
        listen: Callable[[Change], None],
    ) -> Unfollow:
        """Subscribe to a collection; the returned function unsubscribes and calls `ended`."""
        follow(collection, listen, essential=False)
        store = self._api.store_of(collection.resource)
        unfollow = partial(store.unfollow, collection, listen)
        self._followed[listen] = unfollow

        def end() -> None:
            ended()
            self._followed.pop(listen, None)
            unfollow()

        return end

    async def run(self) -> None:
        """Run until cancelled; then unsubscribe everything and close the queues."""
        try:
            await self._start()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._events.run())
                for controller, queue in self._queues:
                    if isinstance(controller, LazyController):
                        group.create_task(self._sleep(controller, queue, group))
                    else:
                        self._start_workers(controller, queue, group)
        finally:
            self.close()

    def close(self) -> None:
        """Unsubscribe from the store and close the queues."""
        for unfollow in self._followed.values():
            unfollow()
        self._followed.clear()
        self._backlog.clear()
        for _, queue in self._queues:
            queue.close()
        self._at_end()


async def _work(controller: Reconciler, queue: WorkQueue[str], slices: TimeSlices) -> None:
    while True:
        key = await queue.get()
        await slices.pause()
        started, ahead = perf_counter(), clock.ahead()
        try:
            later = await controller.sync(key)
        except Exception as error:
            pause = queue.failed(key)
            _report(queue.name, key, error, pause)
        else:
            queue.done(key)
            # Counted from the start of `sync`, which may have read a wall clock that was set since.
            if later is not None:
                queue.add_later(key, later - (clock.ahead() - ahead))
        finally:
            SECONDS.observe(perf_counter() - started, of=(queue.name,))


def _report(name: str, key: str, error: Exception, pause: float) -> None:
    if isinstance(error, (StatusError, StorageError)):
        level = logging.DEBUG if pause < 1 else logging.WARNING
        logger.log(level, _FAILED, controller=name, key=key, err=error, retry_seconds=pause)
    else:
        level = logging.ERROR
        logger.log(level, _FAILED, trace=error, controller=name, key=key, retry_seconds=pause)


# Helpers for changes to objects.


def with_fewer(value: Object, field: str, stays: Callable[[Any], bool]) -> Object:
    """A copy whose list `field` keeps only matching items; the field is removed if none match."""
    left = [item for item in value.get(field) or () if stays(item)]
    rest = {name: item for name, item in value.items() if name != field}
    return {**rest, field: left} if left else rest
