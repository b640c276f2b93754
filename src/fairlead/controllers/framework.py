"""The framework of controllers: events of the watch cache become keys, workers make each key
right."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.base.logs import shortened
from fairlead.controllers.events import EventWriter
from fairlead.controllers.metrics import SECONDS
from fairlead.controllers.pace import Backlog, Pace
from fairlead.controllers.queue import WorkQueue
from fairlead.controllers.replay import Replay
from fairlead.operations.api import Api, Object
from fairlead.storage.backend import StorageError
from fairlead.storage.change import Change, existing
from fairlead.storage.collection import Collection

logger = logging.getLogger("fairlead.controllers")

# The keys that an event gives work to; called for every commit, so it must be quick. If many events
# come at once, or many keys, the rest of them is taken in later rounds of the event loop. A None is
# no key, but a place where it may be interrupted.
Keys = Callable[[Change], Iterable[str | None]]


class Syncing(Protocol):
    """Work by keys. `sync` compares what is with what should be, whatever happened before; it
    raises if that failed, and gives the seconds after which the key needs another look, if any."""

    workers: int

    def follows(self) -> Mapping[str, Keys]:
        """The resources (our names) whose events give work."""

    async def sync(self, key: str) -> float | None: ...


class Controller(Syncing, Protocol):
    """The same with the name of its queue, under which its work is counted."""

    name: str


# Ends what `Follow` began.
Unfollow = Callable[[], None]


class Follow(Protocol):
    """Follows a resource (our name for it) from now on. What exists is told at once, unless the
    caller says that it has just looked."""

    def __call__(self, resource: str, keys: Keys, *, replay: bool = True) -> Unfollow: ...


@runtime_checkable
class Growing(Protocol):
    """A controller that learns while it works what else gives it work."""

    def grow_by(self, follow: Follow) -> None:
        """Called once, before it works."""


@runtime_checkable
class Adding(Protocol):
    """A controller whose work on one key can give work to others."""

    def add_by(self, add: Callable[[str], None]) -> None:
        """Called once, before it works."""


@runtime_checkable
class Steady(Protocol):
    """A controller whose pauses are lengths of time: that the machine's clock is set does not make
    them longer or shorter, as it does for those that wait for a moment."""

    is_steady: bool


def controller_user(dialect: Dialect, name: str, *, privileged: bool = False) -> User:
    """The user that a controller acts as: a service account of the system namespace, with the
    rights of its bootstrap role. Where roles decide nothing it has to be `privileged`."""
    namespace = dialect.system_namespace
    groups = account_groups(namespace)
    if privileged:
        groups = (*groups, MASTERS)
    return with_authenticated_group(User(account_user_name(namespace, name), "", groups))


def manager_user(dialect: Dialect, *, privileged: bool = False) -> User:
    """The user of what controllers have in common, and of those that have no role of their own."""
    groups = (MASTERS,) if privileged else ()
    name = f"system:{dialect.system_prefix}-controller-manager"
    return with_authenticated_group(User(name, "", groups))


class Asleep(NamedTuple):
    """A controller that has nothing to do, and is not even made, before there is an object of the
    resources (our names) that wake it. It must be one that takes up what it finds; it has its name
    from here."""

    name: str
    woken_by: Sequence[str]
    wake: Callable[[], Syncing]


_LOOK_AGAIN_PAUSE = 1.0  # seconds until one that could not take in a change looks at everything
_WAKING = ""  # instead of a key, in the queue of who is asleep


class Controllers:
    """Runs controllers on the watch cache of a server, once: whoever wants to go on after the end
    builds them anew, as they are full of what they knew. `at_end` forgets what they share."""

    def __init__(
        self,
        api: Api,
        controllers: Sequence[Controller | Asleep],
        events: EventWriter | None = None,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._api = api
        self._events = events or EventWriter()
        self._at_end = at_end
        self._queues: list[tuple[Syncing | Asleep, WorkQueue[str]]] = []
        self._followed: dict[Callable[[Change], None], Unfollow] = {}
        self._pace = Pace()
        self._untold = Backlog()  # changes that controllers were not told of yet
        self._beginning = asyncio.Lock()  # held by who takes in what exists
        self._replays: list[Replay] = []  # of what is followed meanwhile
        for controller in controllers:
            self.add(controller)

    def add(self, controller: Controller | Asleep) -> None:
        """Have another one run, before they start."""
        is_steady = isinstance(controller, Steady) and controller.is_steady
        queue = WorkQueue[str](controller.name, is_steady=is_steady)
        self._queues.append((controller, queue))
        self._api.work[controller.name] = queue

    async def _start(self) -> None:
        """Take in what exists and follow what changes: one controller after the other, since a
        large store takes a while and the server serves already. What one finds it is told at once,
        and nobody works before all of them know."""
        async with self._beginning:
            for n, (controller, queue) in enumerate(self._queues):
                if isinstance(controller, Asleep):
                    if not self._has_work(controller):
                        continue
                    controller = controller.wake()
                    self._queues[n] = controller, queue
                await self._begin(controller, queue)

    async def _begin(self, controller: Syncing, queue: WorkQueue[str]) -> None:
        if isinstance(controller, Adding):
            controller.add_by(queue.add)
        if isinstance(controller, Growing):
            controller.grow_by(partial(self._follow, queue))
        for resource, keys in controller.follows().items():
            self._follow(queue, resource, keys)
        await asyncio.sleep(0)
        while self._replays:
            await self._replays.pop(0).run(self._pace)
        await self._untold.done()

    def _has_work(self, asleep: Asleep) -> bool:
        return any(len(collection) for collection in self._waking(asleep))

    def _waking(self, asleep: Asleep) -> list[Collection]:
        resources = self._api.resources
        return [
            self._api.collection(resources.named(name))
            for name in asleep.woken_by
            if resources.serves(name)
        ]

    async def _sleep(self, asleep: Asleep, queue: WorkQueue[str], group: asyncio.TaskGroup) -> None:
        """Until there is something to do. Whoever asks sees that the queue is not empty from then
        on until the controller works."""

        def look() -> None:
            if self._has_work(asleep):
                queue.add(_WAKING)

        ends = [
            self._until(
                lambda: None,
                partial(self._api.store.follow, resync=look, replay=False),
                collection,
                lambda change: queue.add(_WAKING),
            )
            for collection in self._waking(asleep)
        ]
        look()
        await queue.get()
        await self._pace.keep()
        async with self._beginning:
            for end in ends:
                end()
            controller = asleep.wake()
            await self._begin(controller, queue)
        queue.done(_WAKING)
        self._employ(controller, queue, group)

    def _employ(self, controller: Syncing, queue: WorkQueue[str], group: asyncio.TaskGroup) -> None:
        for _ in range(controller.workers):
            group.create_task(_work(controller, queue, self._pace))

    def _follow(
        self, queue: WorkQueue[str], resource: str, keys: Keys, *, replay: bool = True
    ) -> Unfollow:
        resources, store = self._api.resources, self._api.store
        if not resources.serves(resource):
            return lambda: None
        collection = self._api.collection(resources.named(resource))

        def tell(change: Change) -> None:
            queue.untold += 1
            self._untold.add(_told(queue, keys, change, look_again))

        def look_again() -> None:
            for version in collection.current(""):
                tell(existing(collection.resource, version))

        if replay and self._beginning.locked():
            told = Replay(collection, tell)
            self._replays.append(told)
            follow = partial(store.follow, resync=told.begin_again, replay=False)
            return self._until(told.end, follow, collection, told.listen)
        follow = partial(store.follow, resync=look_again, replay=replay)
        return self._until(lambda: None, follow, collection, tell)

    def _until(
        self,
        ended: Callable[[], None],
        follow: Callable[..., None],
        collection: Collection,
        listen: Callable[[Change], None],
    ) -> Unfollow:
        """Follow a collection until what is given is called."""
        follow(collection, listen, essential=False)
        unfollow = partial(self._api.store.unfollow, collection, listen)
        self._followed[listen] = unfollow

        def end() -> None:
            ended()
            self._followed.pop(listen, None)
            unfollow()

        return end

    async def run(self) -> None:
        """Work until cancelled; afterwards nothing is followed and no key waits."""
        try:
            await self._start()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._events.run())
                for controller, queue in self._queues:
                    if isinstance(controller, Asleep):
                        group.create_task(self._sleep(controller, queue, group))
                    else:
                        self._employ(controller, queue, group)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the store."""
        for unfollow in self._followed.values():
            unfollow()
        self._followed.clear()
        self._untold.clear()
        for _, queue in self._queues:
            queue.close()
        self._at_end()


def _told(
    queue: WorkQueue[str], keys: Keys, change: Change, look_again: Callable[[], None]
) -> Iterator[None]:
    """Tell a controller of a change: each step adds a key to its queue. One that fails looks at
    everything again."""
    try:
        for key in keys(change):
            if key is not None:
                queue.add(key)
            yield
    except Exception:
        logger.exception("%s: cannot take in %s %s", queue.name, change.resource, change.key)
        asyncio.get_running_loop().call_later(_LOOK_AGAIN_PAUSE, look_again)
    finally:
        queue.untold -= 1


async def _work(controller: Syncing, queue: WorkQueue[str], pace: Pace) -> None:
    while True:
        key = await queue.get()
        await pace.keep()
        started, ahead = perf_counter(), clock.ahead()
        try:
            later = await controller.sync(key)
        except Exception as error:
            pause = queue.failed(key)
            _report(queue.name, key, error, pause)
        else:
            queue.done(key)
            if later is not None:  # since it began, for who looked at a clock that moved then
                queue.add_later(key, later - (clock.ahead() - ahead))
        finally:
            SECONDS.observe(perf_counter() - started, of=(queue.name,))


def _report(name: str, key: str, error: Exception, pause: float) -> None:
    if isinstance(error, (StatusError, StorageError)):
        level = logging.DEBUG if pause < 1 else logging.WARNING
        logger.log(level, "%s: %s: %s; again in %.3gs", name, key, shortened(error), pause)
    else:
        logger.error("%s: %s; again in %.3gs", name, key, pause, exc_info=error)


# Changes that controllers make to objects.


def with_fewer(value: Object, field: str, stays: Callable[[Any], bool]) -> Object:
    """A copy with less in one of its lists, and without the list if nothing stays."""
    left = [item for item in value.get(field) or () if stays(item)]
    rest = {name: item for name, item in value.items() if name != field}
    return {**rest, field: left} if left else rest
