"""An apply is answered from the cache only if its result depends on nothing but request and
object."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.api import CONFIG_MAPS, OPTIONS, config_map, on_api, operation
from support.writes import apply

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.auth.authentication.user import User
from fairlead.base.waiting import result_of
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions

RAW = b"the configuration, as it was sent"


class _Counting(PluginBase):
    name = "Counting"

    def __init__(
        self, *, looks_up: bool = False, depends_on_other_state: tuple[str, ...] = ()
    ) -> None:
        self.calls = 0
        self.api: Api | None = None
        self._looks_up = looks_up
        self.depends_on_other_state = depends_on_other_state

    async def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key == CONFIG_MAPS:
            self.calls += 1
            if self._looks_up and self.api is not None:
                self.api.newest(CONFIG_MAPS, "work", "another")


async def _apply(api: Api, wanted: Operation, options: WriteOptions = OPTIONS) -> bool:
    """Apply as a request would; whether it was answered from memory."""
    if await result_of(api.known_applies.find(api, wanted, RAW, options)) is not None:
        return True
    config = {"kind": "ConfigMap", "apiVersion": "v1", **config_map("a", x="1")}
    before = api.known_applies.before(api, wanted)
    await apply(api, wanted, config, options)
    api.known_applies.keep(api, wanted, RAW, options, before)
    return False


def _again(directory: Path, plugin: _Counting, user: User | None = None) -> list[bool]:
    """Whether the first, second, third and fourth of the same applies came from the cache; the last
    as another user if one is given."""

    async def work(api: Api) -> list[bool]:
        plugin.api = api
        results = [await _apply(api, operation(api, "patch", "a")) for _ in range(3)]
        last = operation(api, "patch", "a")
        if user is not None:
            last.user = user
        return [*results, await _apply(api, last)]

    return on_api(directory, work, [plugin])


def test_known_apply_is_the_third_that_changes_nothing(tmp_path: Path) -> None:
    plugin = _Counting()
    assert _again(tmp_path, plugin) == [False, False, True, True]
    assert plugin.calls == 2


def test_known_apply_is_not_known_for_another_user(tmp_path: Path) -> None:
    assert _again(tmp_path, _Counting(), User("somebody-else")) == [False, False, True, False]


@pytest.mark.parametrize(
    "plugin",
    [
        _Counting(looks_up=True),
        _Counting(depends_on_other_state=(CONFIG_MAPS,)),
        _Counting(depends_on_other_state=("*",)),
    ],
    ids=["looks something up", "judges the kind by more", "judges everything by more"],
)
def test_known_apply_still_asks_a_plugin_that_judges_by_more(
    tmp_path: Path, plugin: _Counting
) -> None:
    assert _again(tmp_path, plugin) == [False, False, False, False]
    assert plugin.calls == 4


def test_known_apply_is_forgotten_when_the_object_changes(tmp_path: Path) -> None:
    async def work(api: Api) -> list[bool]:
        results = [await _apply(api, operation(api, "patch", "a")) for _ in range(3)]
        other = {"kind": "ConfigMap", "apiVersion": "v1", **config_map("a", y="2")}
        manager = WriteOptions(False, "other", "Strict")
        await apply(api, operation(api, "patch", "a"), other, manager)
        return [*results, await _apply(api, operation(api, "patch", "a"))]

    assert on_api(tmp_path, work) == [False, False, True, False]


def test_known_apply_depends_on_field_validation(tmp_path: Path) -> None:
    async def work(api: Api) -> bool:
        for _ in range(3):
            await _apply(api, operation(api, "patch", "a"))
        ignoring = WriteOptions(False, "tester", "Ignore")
        return await _apply(api, operation(api, "patch", "a"), ignoring)

    assert on_api(tmp_path, work) is False
