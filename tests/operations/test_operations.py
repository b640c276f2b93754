"""The verbs, called like the server's own parts call them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from support.api import (
    CONFIG_MAPS,
    NAMESPACES,
    OPTIONS,
    TESTER,
    config_map,
    on_api,
    operation,
    system,
)
from support.client import PATIENCE
from support.listening import next_events
from support.writes import apply, create, update

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.base import clock
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import parse_time
from fairlead.operations.api import Api
from fairlead.operations.client import Client
from fairlead.operations.delete import delete, delete_collection
from fairlead.operations.get import get
from fairlead.operations.list import find
from fairlead.operations.operation import Operation
from fairlead.operations.options import DeleteOptions, ListOptions, WriteOptions
from fairlead.operations.watch import open_watch
from fairlead.storage.backend import Outcome, Write
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.writes import Pending

_PODS = "core/v1/pods"


def test_an_object_is_created_read_replaced_and_deleted_by_plain_calls(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        stored = await create(api, operation(api, "create"), config_map("a", x="1"), OPTIONS)
        assert (await get(api, operation(api, "get", "a"))) is stored
        wanted = operation(api, "update", "a")
        changed = await update(api, wanted, lambda: config_map("a", x="2"), OPTIONS)
        assert not wanted.creates
        assert changed.object()["data"] == {"x": "2"}
        gone = await delete(api, operation(api, "delete", "a"), DeleteOptions())
        assert gone.is_removed
        with pytest.raises(StatusError) as refused:
            await get(api, operation(api, "get", "a"))
        assert refused.value.code == 404

    on_api(tmp_path, work)


def test_apply_creates_and_then_changes(tmp_path: Path) -> None:
    def configuration(x: str) -> dict[str, object]:
        return {"kind": "ConfigMap", "apiVersion": "v1", **config_map("a", x=x)}

    async def work(api: Api) -> None:
        first, second = operation(api, "patch", "a"), operation(api, "patch", "a")
        await apply(api, first, configuration("1"), OPTIONS)
        changed = await apply(api, second, configuration("2"), OPTIONS)
        assert (first.creates, second.creates) == (True, False)
        assert changed.object()["data"] == {"x": "2"}

    on_api(tmp_path, work)


def test_watch_gives_existing_objects_and_then_changes(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        await create(api, operation(api, "create"), config_map("a"), OPTIONS)
        opened = await open_watch(api, operation(api, "watch"), ListOptions(), EVERYTHING)
        past = [(kind, change.name) async for part in opened.past for kind, change in part]
        await create(api, operation(api, "create"), config_map("b"), OPTIONS)
        new = [(kind, change.name) for kind, change in await next_events(opened.watcher)]
        opened.close()
        assert (past, new) == ([("ADDED", "a")], [("ADDED", "b")])

    on_api(tmp_path, work)


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        dry = WriteOptions(True, "tester", "Strict")
        await create(api, operation(api, "create"), config_map("a"), dry)
        result = await find(api, operation(api, "list"), ListOptions(), EVERYTHING)
        assert result.versions == []
        created = await create(api, operation(api, "create"), config_map("b", x="1"), OPTIONS)
        await update(api, operation(api, "update", "b"), lambda: config_map("b", x="2"), dry)
        await delete(api, operation(api, "delete", "b"), DeleteOptions(dry_run=True))
        held = DeleteOptions(dry_run=True, propagation="Foreground")
        await delete(api, operation(api, "delete", "b"), held)
        result = await find(api, operation(api, "list"), ListOptions(), EVERYTHING)
        assert result.versions == [created]

    on_api(tmp_path, work)


def test_a_shorter_grace_period_counts_from_the_first_deletion(tmp_path: Path) -> None:
    container = {"name": "c", "image": "i", "resources": {}}
    spec = {"nodeName": "n", "containers": [container]}
    pod = {"metadata": {"name": "a", "namespace": "work"}, "spec": spec, "status": {}}

    async def work(api: Api) -> None:
        await create(api, operation(api, "create", key=_PODS), pod, OPTIONS)
        ends = []
        try:
            for grace in (100, 40):
                wanted = operation(api, "delete", "a", key=_PODS)
                gone = await delete(api, wanted, DeleteOptions(grace_period=grace))
                ends.append(parse_time(gone.value["metadata"]["deletionTimestamp"]))
                clock.advance(30)
        finally:
            clock.reset()
        assert ends[0] - ends[1] == timedelta(seconds=60)

    on_api(tmp_path, work)


def test_deletes_of_a_collection_share_their_commits(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        client = system(api)
        for number in range(40):
            await client.create(
                CONFIG_MAPS, {"metadata": {"name": f"c{number}", "namespace": "work"}}
            )
        batches: list[int] = []
        sent: list[Pending] = []
        all_sent = Event()
        log = api.store.log
        assert isinstance(log, EmbeddedLog)
        backend = log._backend
        write, append = log.write, backend.append

        def noted(pending: Pending) -> None:
            write(pending)
            sent.append(pending)
            if len(sent) == 40:
                all_sent.set()

        def held(writes: Sequence[Write]) -> list[Outcome]:
            assert all_sent.wait(PATIENCE), "the deletes wait for each other"
            batches.append(len(writes))
            return append(writes)

        log.write = noted  # type: ignore[method-assign]  # replaced to see the deletes that wait
        backend.append = held  # type: ignore[method-assign]  # replaced to hold the first commit
        wanted = operation(api, "deletecollection")
        await delete_collection(api, wanted, DeleteOptions(), ListOptions(), EVERYTHING)
        assert sum(batches) == 40
        assert len(batches) == 2  # the deletes of the first turn, and those that came meanwhile

    on_api(tmp_path, work)


def test_the_servers_own_parts_are_authorized_as_their_user(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        client = Client(api, TESTER)
        value = {"metadata": {"name": "a", "namespace": "work"}}
        with pytest.raises(StatusError) as refused:
            await client.create(CONFIG_MAPS, value)
        assert refused.value.code == 403
        assert "cannot create resource" in str(refused.value)
        assert client.find(CONFIG_MAPS, "work", "a") is None

    on_api(tmp_path, work, allowing=False)


def test_observers_see_what_the_servers_own_parts_do(tmp_path: Path) -> None:
    seen: list[tuple[str, str, int]] = []

    def observe(done: Operation, code: int, seconds: float) -> None:
        seen.append((done.user.name, done.verb, code))

    async def work(api: Api) -> None:
        api.observers.append(observe)
        client = Client(api, TESTER)
        value = {"metadata": {"name": "a", "namespace": "work"}}
        await client.create(CONFIG_MAPS, value)
        with pytest.raises(StatusError):
            await client.create(CONFIG_MAPS, value)

    on_api(tmp_path, work)
    assert seen == [("tester", "create", 200), ("tester", "create", 409)]


class _DeletesTheNamespace(PluginBase):
    """Deletes the namespace during the admission of a create."""

    name = "DeletesTheNamespace"

    def __init__(self) -> None:
        self.api: Api | None = None

    async def validate(self, attributes: Attributes) -> None:
        if self.api is not None and attributes.resource.key == CONFIG_MAPS:
            api, self.api = self.api, None
            await system(api).delete(NAMESPACES, "", "work")


def test_nothing_is_created_in_a_namespace_that_went_away_meanwhile(tmp_path: Path) -> None:
    plugin = _DeletesTheNamespace()

    async def work(api: Api) -> None:
        plugin.api = api
        with pytest.raises(StatusError) as refused:
            await create(api, operation(api, "create"), config_map("a"), OPTIONS)
        assert refused.value.code == 403
        assert "because it is being terminated" in str(refused.value)
        assert api.newest(CONFIG_MAPS, "work", "a") is None

    on_api(tmp_path, work, [plugin])


class _LabelsTheNamespace(_DeletesTheNamespace):
    async def validate(self, attributes: Attributes) -> None:
        if self.api is not None and attributes.resource.key == CONFIG_MAPS:
            api, self.api = self.api, None

            def labelled(old: dict[str, Any]) -> dict[str, Any]:
                return {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}

            await system(api).change(NAMESPACES, "", "work", labelled)


def test_a_namespace_that_only_changed_meanwhile_is_judged_again(tmp_path: Path) -> None:
    plugin = _LabelsTheNamespace()

    async def work(api: Api) -> None:
        plugin.api = api
        await create(api, operation(api, "create"), config_map("a"), OPTIONS)
        assert plugin.api is None
        assert api.newest(CONFIG_MAPS, "work", "a") is not None

    on_api(tmp_path, work, [plugin])


def test_client_change_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        client = system(api)
        created = await client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "work"}})
        assert await client.change(CONFIG_MAPS, "work", "a", lambda old: old) == created

    on_api(tmp_path, work)
