"""Random definitions and objects: refused or accepted, never a 500."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.definitions import Kind
from support.namespaces import Space

SHAPES = [
    yaml.safe_load(path.read_text())
    for path in sorted((Path(__file__).parent / "shapes").glob("*.yaml"))
]
JUNK: list[Any] = [
    *(None, True, 0, -1, 2**63, 2**70, 1.5, 1e308, "", "x", "x" * 300, "\0", "ü", [], [None], {}),
    *({"a": None}, {"": ""}, [{}], ["a", "a"], "self.x == 1", "[", "(a+)+$", "[?(@.a==", "Webhook"),
]
WORDS = ("default", "items", "properties", "enum", "not", "format", "nullable", "multipleOf")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inner = enumerate(value)
    for key, part in inner:
        yield from places(part, (*path, key))


def spoiled(chance: random.Random, value: Any) -> Any:
    value = json.loads(json.dumps(value))
    for _ in range(chance.choice((1, 1, 2, 3))):
        *way, last = chance.choice(list(places(value)))
        place = value
        for step in way:
            place = place[step]
        junk = copy.deepcopy(chance.choice(JUNK))
        if isinstance(place, dict) and chance.random() < 0.3:
            last = chance.choice(WORDS)
        place[last] = junk
    return value


@pytest.mark.parametrize("seed", range(4))
def test_nonsense_never_makes_us_fail(kubernetes: Space, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(60):
        shape = chance.choice(SHAPES)
        spec = copy.deepcopy(shape["spec"])
        group = f"n{number}.{kubernetes.name}.example.com"
        names = spec.pop("names")
        plural, versions = names["plural"], spec.pop("versions")
        kind = Kind(kubernetes, *versions, plural=plural, group=group, names=names, **spec)
        kind.body["spec"] = spoiled(chance, kind.body["spec"])
        answer = kind.post()
        assert answer.status < 500, (kind.body, answer.text)
        if answer.status != 201:
            continue
        path = kind.collection(answer.body["spec"]["versions"][0]["name"]).path
        for good in shape["good"]:
            value = spoiled(chance, kind.value("a", spec=good["spec"]))
            assert kind.client.post(path, value).status < 500, (kind.body, value)
        assert kind.client.get(path).status < 500
        kind.remove()
