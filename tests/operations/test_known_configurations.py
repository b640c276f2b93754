"""What is remembered of a configuration: the part that was settled, as it was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from support.api import OPTIONS, Object, on_api, operation, system

from fairlead.operations import configuration_cache
from fairlead.operations.api import Api
from fairlead.operations.apply import apply
from fairlead.operations.configuration_cache import PartiallyParsed
from fairlead.storage.version import Version

TEMPLATES = "core/v1/podtemplates"
CONTAINERS = [
    {"name": f"c{n}", "image": f"registry.example/{n}", "resources": {"limits": {"cpu": "1"}}}
    for n in range(12)
]


def body(label: str, containers: list[Object] = CONTAINERS) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "a", "labels": {"app": label}},
        "template": {"spec": {"containers": containers}},
    }


async def applied(api: Api, config: Object, raw: bytes = b"") -> tuple[bool, Version]:
    """Apply as a request would; whether a part of it was known."""
    wanted = operation(api, "patch", "a", TEMPLATES)
    wanted.sent = raw or orjson.dumps(config)
    held = api.known_configurations.find(wanted, wanted.sent, OPTIONS.manager)
    outcome = await apply(api, wanted, config if held is None else held, OPTIONS)
    return held is not None, outcome.version


async def known(api: Api, *configs: Object) -> list[bool]:
    return [(await applied(api, config))[0] for config in configs]


def test_a_part_is_known_once_it_was_settled(tmp_path: Path) -> None:
    async def work(api: Api) -> list[bool]:
        return await known(api, *[body(label) for label in "abcd"])

    assert on_api(tmp_path, work) == [False, False, True, True]


def test_another_part_is_not_known(tmp_path: Path) -> None:
    async def work(api: Api) -> list[bool]:
        other = body("d", [*CONTAINERS, {"name": "more", "image": "x"}])
        return await known(api, body("a"), body("b"), other, body("d"), body("e"), other)

    assert on_api(tmp_path, work) == [False, False, False, True, True, False]


def test_it_is_found_before_and_behind_what_changes(tmp_path: Path) -> None:
    def turned(label: str) -> Object:
        return dict(reversed(body(label).items()))

    async def work(api: Api) -> list[bool]:
        return await known(api, turned("a"), turned("b"), turned("c-longer"), body("d"))

    assert on_api(tmp_path, work) == [False, False, True, False]


@pytest.mark.parametrize(
    "raw",
    [
        b' {"template":%b}',
        b'{"kind":{"template":%b}}',
        b'{"kind":{"x":1,"template":%b},"template":{}}',
        b'{"kind":"a","kind":"b","template":%b}',
        b'{"kind":"\\u003a","template":%b}}',
        b'{"not-template":%b}',
        b'{"\\"template":%b}',
        b'["template",%b]',
        b"template: %b",
    ],
)
def test_it_is_known_only_where_it_is_the_field_of_the_whole(tmp_path: Path, raw: bytes) -> None:
    async def work(api: Api) -> PartiallyParsed | None:
        await known(api, body("a"), body("b"))
        part = orjson.dumps(body("a")["template"])
        wanted = operation(api, "patch", "a", TEMPLATES)
        sent = orjson.dumps(body("c"))
        assert api.known_configurations.find(wanted, sent, OPTIONS.manager) is not None
        return api.known_configurations.find(wanted, raw % part, OPTIONS.manager)

    assert on_api(tmp_path, work) is None


def test_all_that_was_sent_is_at_hand_in_its_order(tmp_path: Path) -> None:
    async def work(api: Api) -> PartiallyParsed | None:
        await known(api, body("a"), body("b"))
        wanted = operation(api, "patch", "a", TEMPLATES)
        return api.known_configurations.find(wanted, orjson.dumps(body("c")), OPTIONS.manager)

    held = on_api(tmp_path, work)
    assert held is not None
    assert orjson.dumps(held.whole()) == orjson.dumps(body("c"))
    assert held.stated() == {n: item for n, item in body("c").items() if n != "template"}


def test_it_is_known_of_one_object_and_one_manager(tmp_path: Path) -> None:
    async def work(api: Api) -> list[Any]:
        await known(api, body("a"), body("b"))
        one, other = (operation(api, "patch", name, TEMPLATES) for name in "ab")
        raw, find = orjson.dumps(body("c")), api.known_configurations.find
        return [find(other, raw, OPTIONS.manager), find(one, raw, "somebody else")]

    assert on_api(tmp_path, work) == [None, None]


def test_what_somebody_else_wrote_meanwhile_is_seen(tmp_path: Path) -> None:
    async def work(api: Api) -> tuple[bool, Object]:
        await known(api, body("a"), body("b"), body("c"))
        value = api.lookup(TEMPLATES, "work", "a")
        assert value is not None
        value["template"]["spec"]["nodeName"] = "n"
        value["template"]["spec"]["containers"].append(
            {"name": "more", "image": "x", "resources": {}}
        )
        await system(api).replace(TEMPLATES, value)
        was_known, version = await applied(api, body("d"))
        return was_known, version.object()

    was_known, value = on_api(tmp_path, work)
    assert was_known
    assert value["metadata"]["labels"] == {"app": "d"}
    assert value["template"]["spec"]["nodeName"] == "n"
    assert [one["name"] for one in value["template"]["spec"]["containers"]][-1] == "more"


def test_short_and_long_parts_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration_cache, "SHORTEST", 10**6)

    async def work(api: Api) -> list[bool]:
        return await known(api, *[body(label) for label in "abc"])

    assert on_api(tmp_path, work) == [False, False, False]
