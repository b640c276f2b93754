"""Resources that are added and removed while the API is served."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.api import OPTIONS, TESTER, on_api
from support.widgets import make, widgets
from support.writes import create

from fairlead.base.errors import StatusError
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.model import Field, Scalar, Struct
from fairlead.operations.api import Api
from fairlead.operations.list import find
from fairlead.operations.operation import Operation
from fairlead.operations.options import ListOptions
from fairlead.operations.watch import open_watch
from fairlead.storage.selection import EVERYTHING


def test_an_added_resource_is_served_with_its_own_types_and_behaviour(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        resource = widgets(api)
        api.resources.add(resource)
        assert api.resources.find("example.com", "v1", "configmaps") is resource
        wanted = Operation(TESTER, "create", resource, "work")
        await create(api, wanted, make(api, resource, "a", "small"), OPTIONS)
        with pytest.raises(StatusError) as refused:
            await create(api, wanted, make(api, resource, "b", "huge"), OPTIONS)
        assert refused.value.code == 422
        listing = Operation(TESTER, "list", resource, "work")
        result = await find(api, listing, ListOptions(), EVERYTHING)
        assert [version.name for version in result.versions] == ["a"]

    on_api(tmp_path, work)


def test_resources_with_equal_plurals_of_two_groups_are_kept_apart(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        resource = widgets(api)
        api.resources.add(resource)
        core = api.resources.named("core/v1/configmaps")
        await create(
            api,
            Operation(TESTER, "create", resource, "work"),
            make(api, resource, "a", "small"),
            OPTIONS,
        )
        listing = Operation(TESTER, "list", core, "work")
        assert (await find(api, listing, ListOptions(), EVERYTHING)).versions == []

    on_api(tmp_path, work)


def test_a_withdrawn_resource_is_gone_with_its_group_and_ends_its_watches(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        resource = widgets(api)
        api.resources.add(resource)
        watching = Operation(TESTER, "watch", resource, "work")
        opened = await open_watch(api, watching, ListOptions(), EVERYTHING)
        api.withdraw(resource)
        assert opened.watcher.closed
        assert "example.com" not in api.resources.groups

    on_api(tmp_path, work)


def test_a_resource_that_comes_back_changed_uses_its_new_types(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        first = widgets(api)
        api.resources.add(first)
        await create(
            api,
            Operation(TESTER, "create", first, "work"),
            make(api, first, "a", "small"),
            OPTIONS,
        )
        api.withdraw(first)
        second = widgets(api, size="weight")
        api.resources.add(second)
        value = {"metadata": {"name": "b"}, "weight": "9"}
        decoded = decoder(second.struct)(value, [])
        wanted = Operation(TESTER, "create", second, "work")
        created = await create(api, wanted, decoded, OPTIONS)
        assert created.object()["weight"] == "9"
        listing = Operation(TESTER, "list", second, "work")
        result = await find(api, listing, ListOptions(), EVERYTHING)
        assert [version.name for version in result.versions] == ["a", "b"]

    on_api(tmp_path, work)


def test_compiled_walkers_of_a_type_are_freed_with_it() -> None:
    struct = Struct("Thing", fields={"a": Field("a", Scalar("string"))})
    decoded = decoder(struct)
    assert decoder(struct) is decoded
    assert list(struct.walkers) == ["decode"]
