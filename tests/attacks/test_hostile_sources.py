"""What the environment and the volumes of a simulated container come from: a pod that names the
same thing thousands of times, or doubles it, costs no more than one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.controllers.simulation.runtime.computing import ComputingTime
from fairlead.controllers.simulation.runtime.files import Entry, FileError, Files, LiveVolume, Mount
from fairlead.controllers.simulation.runtime.memory import MAX_HELD_OF_NAMESPACE, Memory
from fairlead.controllers.simulation.runtime.sources import MissingSource, Room, Sources, expand

MANY = 5_000
DOUBLED = [{"name": "X0", "value": "a" * 100}] + [
    {"name": f"X{number}", "value": f"$(X{number - 1})$(X{number - 1})"} for number in range(1, 60)
]


class _Store:
    """Counts what is read."""

    def __init__(self, size: int = 1_000_000) -> None:
        self.reads = self.tokens = 0
        self._object = {"data": {"k": "x" * size}}
        self._pod = {
            "metadata": {"namespace": "n", "name": "p"},
            "spec": {"containers": []},
            "status": {},
        }

    def sources(self) -> Sources:
        def read(value: Any) -> Callable[..., Any]:
            def counted(*_: str) -> Any:
                self.reads += 1
                return value

            return counted

        def token(pod: object, projection: object) -> str:
            self.tokens += 1
            return "t"

        find = read(self._object)
        return Sources(self._pod, find, lambda _: iter(()), token, dict, current=read(self._pod))


def environment(**container: Any) -> dict[str, str]:
    return _Store().sources().environment({"name": "c", **container})


def test_variables_that_double_each_other_are_too_long() -> None:
    with pytest.raises(MissingSource, match="argument list too long"):
        environment(env=DOUBLED)


def test_a_large_config_map_fills_an_environment_only_once() -> None:
    sources = [{"prefix": f"a{number}", "configMapRef": {"name": "m"}} for number in range(MANY)]
    with pytest.raises(MissingSource, match="argument list too long"):
        environment(envFrom=sources)
    assert len(environment(envFrom=sources[:1])["a0k"]) == 1_000_000


def test_arguments_together_are_no_longer_than_those_of_a_kernel() -> None:
    room, values = Room(), {"X": "x" * 1_000}
    for _ in range(2_000):
        expand("$(X)", values, room)
    with pytest.raises(MissingSource):
        expand("$(X)" * 1_000, values, room)
    assert expand("$$(X) $(Y)", values, Room()) == "$(X) $(Y)"


def test_a_pod_is_read_once_for_all_fields_of_a_volume() -> None:
    store = _Store()
    items = [
        {"path": f"p{number}", "fieldRef": {"fieldPath": "metadata.name"}} for number in range(MANY)
    ]
    files = store.sources().files({"name": "v", "downwardAPI": {"items": items}})
    assert files is not None
    assert len(files) == MANY
    assert store.reads == 1


def test_an_object_is_read_once_for_all_its_files() -> None:
    store = _Store()
    items = [{"key": "k", "path": f"p{number}"} for number in range(MANY)]
    projected = [{"configMap": {"name": "m", "items": [item]}} for item in items]
    files = store.sources().files({"name": "v", "projected": {"sources": projected}})
    assert files is not None
    assert len(files) == MANY
    assert store.reads == 1


def test_volumes_of_a_pod_show_a_bounded_number_of_bytes() -> None:
    sources = _Store().sources()
    for _ in range(20):  # the same one again and again is no more
        sources.check({"name": "v", "configMap": {"name": "m"}})
    for number in range(7):
        sources.check({"name": f"v{number}", "configMap": {"name": "m"}})
    with pytest.raises(MissingSource, match="too large"):
        sources.check({"name": "v7", "configMap": {"name": "m"}})


def test_thousands_of_tokens_are_not_signed() -> None:
    store = _Store()
    projected = [{"serviceAccountToken": {"path": f"p{number}"}} for number in range(MANY)]
    with pytest.raises(MissingSource, match="too large"):
        store.sources().files({"name": "v", "projected": {"sources": projected}})
    assert store.tokens < 100


def test_files_of_live_volumes_count_as_memory_of_their_namespace() -> None:
    memory = Memory()
    content = {"/f": Entry(b"x" * 10_000_000)}
    volumes = [LiveVolume(lambda: content, memory=memory) for _ in range(20)]
    refused = 0
    for volume in volumes:
        try:
            volume.refresh()
        except FileError:
            refused += 1
    assert memory.size <= MAX_HELD_OF_NAMESPACE
    assert refused > 0
    with pytest.raises(FileError):
        Files([Mount("/m", volumes[-1])]).read("/m/f")


def test_other_work_goes_on_between_the_containers_of_a_pod() -> None:
    """Also while the namespace has credit, or the machine is so busy that pauses pass by."""

    async def turns() -> int:
        computing, others = ComputingTime(), 0

        async def other_work() -> None:
            nonlocal others
            while True:
                others += 1
                await asyncio.sleep(0)

        working = asyncio.create_task(other_work())
        for _ in range(100):
            await computing.turn("n")
        working.cancel()
        return others

    assert asyncio.run(turns()) >= 99
