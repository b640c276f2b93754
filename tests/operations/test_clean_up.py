"""Clean-up after a write that is refused, cancelled or lost: reservations are released, and nobody
sees an uncommitted version."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from support.api import (
    CONFIG_MAPS,
    OPTIONS,
    TESTER,
    Object,
    config_map,
    on_api,
    operation,
    system,
)
from support.compiled import plain_only
from support.waiting import comes_true
from support.writes import create, update

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.base.errors import StatusError, forbidden
from fairlead.operations.api import Api
from fairlead.operations.binding import bind
from fairlead.operations.delete import delete, delete_collection
from fairlead.operations.eviction import BUDGETS, evict
from fairlead.operations.operation import Operation
from fairlead.operations.options import DeleteOptions, ListOptions, WriteOptions
from fairlead.operations.write_pipeline import set_fence
from fairlead.resources.core.services.allocation import ServiceAllocators
from fairlead.storage.backend import Fault, Outcome, StorageError, Write
from fairlead.storage.collection import Collection
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.version import Change

SERVICES, PODS = "core/v1/services", "core/v1/pods"
DRY = WriteOptions(True, "tester", "Strict")
LOST = StorageError("the disk is full", Fault.PASSING)
Work = Callable[[Api], Awaitable[None]]


class Disk:
    """The file under an API: commits wait while it is held, and fail while it has a failure."""

    def __init__(self, api: Api) -> None:
        assert isinstance(api.store.log, EmbeddedLog)
        self.backend = api.store.log._backend
        self._append = self.backend.append
        self.backend.append = self.append  # type: ignore[method-assign]  # to hold and fail commits
        self.free = threading.Event()
        self.free.set()
        self.failure: StorageError | None = None

    def append(self, writes: Sequence[Write]) -> list[Outcome]:
        self.free.wait(20)
        if self.failure is not None:
            raise self.failure
        outcomes: list[Outcome] = self._append(writes)
        return outcomes

    def hold(self) -> None:
        self.free.clear()

    def let_go(self, failure: StorageError | None = None) -> None:
        self.failure = failure
        self.free.set()


class Doorkeeper(PluginBase):
    """Refuses objects with the label `refused`, and never returns for those with the label
    `wait`."""

    name = "Doorkeeper"

    async def validate(self, attributes: Attributes) -> None:
        value = attributes.value if attributes.value is not None else attributes.old
        labels = (value or {"metadata": {}})["metadata"].get("labels") or {}
        if "refused" in labels:
            raise forbidden(attributes.resource.ref(attributes.name), "no")
        if "wait" in labels:
            await asyncio.Event().wait()


def on_services(directory: Path, work: Work) -> None:
    """Run `work` on an API that has a single node port to give."""

    async def run(api: Api) -> None:
        allocators = ServiceAllocators([ip_network("10.0.0.0/24")], (30000, 30000))
        api.allocators = allocators

        def observe(change: Change) -> None:
            old = change.before.object() if change.before is not None else None
            allocators.observe(old, change.after.object() if change.after is not None else None)

        collection = api.collection(api.resources.named(SERVICES))
        api.store.follow(collection, observe, essential=True)
        await asyncio.wait_for(work(api), 30)

    on_api(directory, run, [Doorkeeper()])


def service(name: str, kind: str = "NodePort", **labels: str) -> Object:
    ports = [{"port": 80, "protocol": "TCP"}]
    return {
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "spec": {"type": kind, "ports": ports},
    }


def creating(api: Api, value: Object, options: WriteOptions = OPTIONS) -> Awaitable[Any]:
    return create(api, operation(api, "create", key=SERVICES), value, options)


async def is_free(api: Api) -> bool:
    """Whether the only port can be had: another service gets it, and gives it back."""
    value = service("probe")
    value["spec"]["ports"][0]["nodePort"] = 30000
    try:
        await creating(api, value)
    except StatusError:
        return False
    await delete(api, operation(api, "delete", "probe", SERVICES), DeleteOptions())
    return True


async def refused(work: Awaitable[Any]) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await work
    return caught.value


def test_reservations_of_a_refused_create_are_given_back(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        assert (await refused(creating(api, service("a", refused="1")))).code == 403
        assert await is_free(api)
        await creating(api, service("a", "ClusterIP"))
        assert (await refused(creating(api, service("a")))).code == 409
        assert await is_free(api)
        await creating(api, service("b"))
        assert not await is_free(api)

    on_services(tmp_path, work)


def test_reservations_of_a_dry_run_are_given_back(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        await creating(api, service("a"), DRY)
        await creating(api, service("a", "ClusterIP"))
        change = operation(api, "update", "a", SERVICES)
        await update(api, change, lambda: service("a"), DRY)
        assert await is_free(api)
        await creating(api, service("b"))

    on_services(tmp_path, work)


def test_reservations_of_a_create_cancelled_before_its_commit_are_given_back(
    tmp_path: Path,
) -> None:
    async def work(api: Api) -> None:
        waiting = asyncio.ensure_future(creating(api, service("a", wait="1")))
        await asyncio.sleep(0)
        assert not await is_free(api)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert await is_free(api)

    on_services(tmp_path, work)


@pytest.mark.parametrize("failure", [None, LOST])
def test_reservations_of_a_cancelled_write_are_held_until_its_commit_is_known(
    tmp_path: Path, failure: StorageError | None
) -> None:
    async def work(api: Api) -> None:
        disk = Disk(api)
        disk.hold()
        making = asyncio.ensure_future(creating(api, service("a")))
        await asyncio.sleep(0.01)
        making.cancel()
        await asyncio.wait([making])
        assert making.cancelled()
        assert not await is_free(api)
        disk.let_go(failure)
        await api.store.wait_all_committed()
        await asyncio.sleep(0)
        disk.failure = None
        collection = api.collection(api.resources.named(SERVICES))
        assert (collection.get("work/a") is not None) == (failure is None)
        assert await is_free(api) == (failure is not None)

    on_services(tmp_path, work)


def test_reservations_of_a_lost_write_are_given_back(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        await creating(api, service("a", "ClusterIP"))
        disk = Disk(api)
        disk.failure = LOST
        with pytest.raises(StorageError):
            await creating(api, service("b"))
        change = operation(api, "update", "a", SERVICES)
        with pytest.raises(StorageError):
            await update(api, change, lambda: service("a"), OPTIONS)
        disk.failure = None
        assert await is_free(api)

    on_services(tmp_path, work)


def test_reservations_of_a_refused_or_cancelled_update_are_given_back(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        await creating(api, service("a", "ClusterIP"))
        change = operation(api, "update", "a", SERVICES)
        status_error = await refused(
            update(api, change, lambda: service("a", refused="1"), OPTIONS)
        )
        assert status_error.code == 403
        assert await is_free(api)
        waiting = asyncio.ensure_future(
            update(api, change, lambda: service("a", wait="1"), OPTIONS)
        )
        await asyncio.sleep(0)
        assert not await is_free(api)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert await is_free(api)

    on_services(tmp_path, work)


def test_delete_collection_answers_with_one_refusal_of_many_deletes(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        for name, labels in (("a", {}), ("b", {"refused": "1"}), ("c", {})):
            value = {"metadata": {"name": name, "namespace": "work", "labels": labels}}
            collection = api.collection(api.resources.named(CONFIG_MAPS))
            value["metadata"]["uid"] = name
            await api.store.put(collection, f"work/{name}", value, None)
        wanted = operation(api, "deletecollection")
        status_error = await refused(
            delete_collection(api, wanted, DeleteOptions(), ListOptions(), EVERYTHING)
        )
        assert (status_error.code, status_error.reason) == (403, "Forbidden")
        assert [item.name for item in collection.current("work")] == ["b"]

    on_api(tmp_path, work, [Doorkeeper()])


async def _same(api: Api) -> None:
    await update(api, operation(api, "update", "a"), lambda: config_map("a", x="2"), OPTIONS)


async def _same_dry(api: Api) -> None:
    await update(api, operation(api, "update", "a"), lambda: config_map("a", x="3"), DRY)


async def _delete_dry(api: Api) -> None:
    held = DeleteOptions(dry_run=True, propagation="Foreground")
    await delete(api, operation(api, "delete", "a"), held)


@pytest.mark.parametrize("second", [_same, _same_dry, _delete_dry])
@pytest.mark.parametrize("failure", [None, LOST])
def test_unchanged_write_is_answered_when_the_pending_version_is_on_disk(
    tmp_path: Path, second: Work, failure: StorageError | None
) -> None:
    async def work(api: Api) -> None:
        await create(api, operation(api, "create"), config_map("a", x="1"), OPTIONS)
        disk = Disk(api)
        disk.hold()
        first = asyncio.ensure_future(_same(api))
        await asyncio.sleep(0)
        waiting = asyncio.ensure_future(second(api))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        disk.let_go(failure)
        done = await asyncio.gather(first, waiting, return_exceptions=True)
        assert [type(item) for item in done] == [type(failure)] * 2

    on_api(tmp_path, work)


async def _create_taken(api: Api) -> None:
    await create(api, operation(api, "create"), config_map("new"), OPTIONS)


async def _update_stale(api: Api) -> None:
    def sent() -> Object:
        return {"metadata": {"name": "a", "resourceVersion": version}, "data": {"x": "5"}}

    version = api.collection(api.resources.named(CONFIG_MAPS)).heads["work/a"].object()
    version = version["metadata"]["resourceVersion"]
    await update(api, operation(api, "update", "a"), sent, OPTIONS)


async def _delete_stale(api: Api) -> None:
    head = api.collection(api.resources.named(CONFIG_MAPS)).heads["work/a"]
    options = DeleteOptions(revision=str(head.revision))
    await delete(api, operation(api, "delete", "a"), options)


async def _delete(api: Api) -> None:
    await delete(api, operation(api, "delete", "a"), DeleteOptions())


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (_create_taken, _create_taken, 409),
        (_same, _update_stale, 409),
        (_same, _delete_stale, 409),
        (_delete, _delete, 404),
        (_delete, _same, 404),
    ],
)
@pytest.mark.parametrize("failure", [None, LOST])
def test_conflict_with_a_pending_write_that_is_lost_is_no_refusal(
    tmp_path: Path, first: Work, second: Work, code: int, failure: StorageError | None
) -> None:
    """The disk works again when the second write is retried."""

    async def work(api: Api) -> None:
        await create(api, operation(api, "create"), config_map("a", x="1"), OPTIONS)
        disk = Disk(api)
        disk.hold()
        item = asyncio.ensure_future(first(api))
        await asyncio.sleep(0)
        other = asyncio.ensure_future(second(api))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not other.done()
        once = disk.append

        def fail_once(writes: Sequence[Write]) -> list[Outcome]:
            try:
                return once(writes)
            finally:
                disk.failure = None

        disk.backend.append = fail_once  # type: ignore[method-assign]  # the next commit alone
        disk.let_go(failure)
        done = await asyncio.gather(item, other, return_exceptions=True)
        if failure is None:
            assert done[0] is None
            assert isinstance(done[1], StatusError)
            assert done[1].code == code
        else:
            assert isinstance(done[0], StorageError)
            assert done[1] is None or isinstance(done[1], StorageError), done

    on_api(tmp_path, work)


async def _pod(api: Api, **status: Any) -> None:
    value = {
        "metadata": {"name": "p", "namespace": "work", "uid": "p", "labels": {"app": "x"}},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i", "resources": {}}]},
        "status": {"phase": "Running", **status},
    }
    await api.store.put(api.collection(api.resources.named(PODS)), "work/p", value, None)


def _part(api: Api, subresource: str) -> Operation:
    resource = api.resources.named(PODS).subresources[subresource]
    return Operation(TESTER, "create", resource, "work", "p")


def test_binding_of_a_pod_is_refused_only_for_a_binding_that_is_on_disk(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        def binding(node: str) -> Awaitable[None]:
            value = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}
            return bind(api, _part(api, "binding"), value, OPTIONS)

        await _pod(api)
        pods = api.collection(api.resources.named(PODS))
        pod = pods.heads["work/p"]
        free = pod.object()
        del free["metadata"]["resourceVersion"], free["spec"]["nodeName"]
        await api.store.put(pods, "work/p", free, pod)
        disk = Disk(api)
        disk.hold()
        first = asyncio.ensure_future(binding("one"))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(binding("two"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not second.done()
        disk.let_go()
        done = await asyncio.gather(first, second, return_exceptions=True)
        assert done[0] is None
        assert isinstance(done[1], StatusError)
        assert 'already assigned to node "one"' in done[1].message

    on_api(tmp_path, work)


def test_writes_behind_a_fence_that_fell_are_refused(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        await create(api, operation(api, "create"), config_map("a"), OPTIONS)
        set_fence(lambda: False)
        assert (await refused(_create_taken(api))).code == 503
        assert (await refused(_same(api))).code == 503
        assert (await refused(_delete(api))).code == 503
        set_fence(lambda: True)
        await _delete(api)

    on_api(tmp_path, work)


def _budget(allowed: int, healthy: int, desired: int) -> Object:
    return {
        "metadata": {"name": "b", "namespace": "work", "uid": "b"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": 1,
        },
    }


class Changing:
    """The store as an eviction finds it: whenever it looks for a key, that has just moved."""

    def __init__(self, api: Api, resource: str, key: str) -> None:
        self.looks = 0
        self._api = api
        self._collection = api.collection(api.resources.named(resource))
        self._key = key
        self._put = api.store.writes.put
        # The store's method is replaced on purpose; the last arguments are passed on unseen.
        api.store.writes.put = self.put  # type: ignore[method-assign, assignment]

    def put(self, collection: Any, key: str, value: Object, over: Any, *more: Any) -> Any:
        if collection is self._collection and key == self._key:
            self.looks += 1
            newest = collection.latest(key)
            assert newest is not None
            moved = newest.object()
            moved["metadata"].pop("resourceVersion")
            moved["metadata"]["annotations"] = {"moved": str(self.looks)}
            self._put(collection, key, moved, newest, (), ())
        return self._put(collection, key, value, over, *more)


@plain_only
def test_an_eviction_whose_budget_never_holds_still_is_a_timeout_and_the_pod_stays(
    tmp_path: Path,
) -> None:
    async def work(api: Api) -> None:
        await _pod(api, conditions=[{"type": "Ready", "status": "True"}])
        budgets = api.collection(api.resources.named(BUDGETS))
        await api.store.put(budgets, "work/b", _budget(1, 2, 1), None)
        changing = Changing(api, BUDGETS, "work/b")
        eviction = {"metadata": {"name": "p"}}
        status_error = await refused(
            asyncio.wait_for(evict(api, _part(api, "eviction"), eviction, OPTIONS), 20)
        )
        assert (status_error.code, status_error.reason) == (504, "Timeout")
        assert changing.looks <= 50
        assert api.lookup(PODS, "work", "p") is not None

    on_api(tmp_path, work)


@plain_only
def test_a_pod_that_became_ready_meanwhile_is_not_evicted_as_an_unready_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(api: Api) -> None:
        await _pod(api)
        pods, budgets = (api.collection(api.resources.named(key)) for key in (PODS, BUDGETS))
        await api.store.put(budgets, "work/b", _budget(0, 1, 1), None)
        latest = Collection.latest
        unready = latest(pods, "work/p")
        assert unready is not None
        ready = unready.object()
        ready["metadata"].pop("resourceVersion")
        ready["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        await api.store.put(pods, "work/p", ready, unready)
        looks: list[object] = []

        def late(collection: Collection, key: str) -> Any:
            if collection is pods:
                looks.append(key)
                if len(looks) == 1:
                    return unready
            return latest(collection, key)

        monkeypatch.setattr(Collection, "latest", late)
        eviction = {"metadata": {"name": "p"}}
        status_error = await refused(evict(api, _part(api, "eviction"), eviction, OPTIONS))
        assert (status_error.code, status_error.reason) == (429, "TooManyRequests")
        assert pods.get("work/p") is not None

    on_api(tmp_path, work)


def test_owner_references_that_share_only_their_uid_are_kept(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        first = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": "u"}
        other = {**first, "name": "other"}
        value = config_map("a")
        value["metadata"]["ownerReferences"] = [first, other, first, other, first]
        wanted = operation(api, "create")
        created = await create(api, wanted, value, OPTIONS)
        assert created.object()["metadata"]["ownerReferences"] == [first, other]
        [warning] = wanted.warnings
        assert warning.endswith("duplicate UID(s) observed: u, u, u")

    on_api(tmp_path, work)


def test_delete_collection_skips_objects_that_went_meanwhile(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        client = system(api)
        for name in "ab":
            await client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "work"}})

        async def whole() -> None:
            wanted = operation(api, "deletecollection")
            await delete_collection(api, wanted, DeleteOptions(), ListOptions(), EVERYTHING)

        await asyncio.gather(whole(), whole())
        collection = api.collection(api.resources.named(CONFIG_MAPS))
        await comes_true(lambda: not collection.current("work"), "all are gone")

    on_api(tmp_path, work)


def test_a_second_delete_brings_the_end_of_a_pod_nearer_and_never_puts_it_off(
    tmp_path: Path,
) -> None:
    async def work(api: Api) -> None:
        await _pod(api)
        wanted = operation(api, "delete", "p", PODS)

        async def left(seconds: int | None) -> int | None:
            done = await delete(api, wanted, DeleteOptions(grace_period=seconds))
            assert not done.is_removed
            assert done.value["metadata"]["deletionTimestamp"]
            deletion_grace_period_seconds: int | None = done.value["metadata"][
                "deletionGracePeriodSeconds"
            ]
            return deletion_grace_period_seconds

        assert await left(10**15) == 10**15
        assert await left(30) == 30
        assert await left(60) == 30
        assert await left(None) == 30
        assert await left(-1) == 1
        assert (await delete(api, wanted, DeleteOptions(grace_period=0))).is_removed

    on_api(tmp_path, work)
