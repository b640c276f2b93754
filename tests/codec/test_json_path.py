"""Paths of printer columns. Templates of the command line are in `cli/test_cli_jsonpath.py`."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.codec.json_path import JsonPathError, compile_path

MAX_VALUES = 1000  # values that a path may visit

POD = {
    "spec": {
        "items": [{"name": "a", "size": 1}, {"name": "b", "size": 2.5}, {"name": "c", "on": True}],
        "dotted.name": "x",
        "empty": None,
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old"}]},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.items[0].name", ["a"]),
        (".spec.items[].name", ["a"]),
        (".spec.items[-1].name", ["c"]),
        (".spec.items[7].name", []),
        (".spec.items[*].name", ["a", "b", "c"]),
        (".spec.items[1:].name", ["b", "c"]),
        (".spec.items[0:3:2].name", ["a", "c"]),
        (".spec.items[0,2].name", ["a", "c"]),
        (".spec['items'][0]['name']", ["a"]),
        (r".spec.dotted\.name", ["x"]),
        (r".spec['dotted\.name']", ["x"]),
        (".spec['dotted.name']", []),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Missing')].status", []),
        (".spec.items[?(@.size>1)].name", ["b"]),
        (".spec.items[?(@.size>=1)].name", ["a", "b"]),
        (".spec.items[?(@.size<2)].name", ["a"]),
        (".spec.items[?(@.name!='a')].name", ["b", "c"]),
        (".spec.items[?(@.on)].name", ["c"]),
        (".spec.items[?(@.on==true)].name", ["c"]),
        ("..type", ["Ready", "Old"]),
        (".spec.empty", [None]),
        (".spec.nothing.at.all", []),
        (".spec.items.name", []),
        (".spec[0]", []),
        (".spec.items[::0]", []),
        (".spec[?(@.a)]", []),
    ],
)
def test_a_path_leads_to(path: str, expected: list[Any]) -> None:
    assert compile_path(path, MAX_VALUES)(POD) == expected


@pytest.mark.parametrize(
    "path", ["spec", ".spec[", ".spec.items[?(@.a==)]", ".a b", ".a}b", ".a['b", "." * 5000]
)
def test_nonsense_is_no_path(path: str) -> None:
    with pytest.raises(JsonPathError):
        compile_path(path, MAX_VALUES)


@pytest.mark.parametrize(
    "path", ["..a" * 3, "[*]" * 3, ".a" + "['b','b','b','b','b','b','b','b','b','b']" * 20, "..[*]"]
)
def test_a_hostile_path_leads_to_no_more_values_than_it_may(path: str) -> None:
    deep: Any = {"b": {}}
    for _ in range(200):
        deep = {"a": deep, "b": {"b": deep}} if len(str(deep)) < 50_000 else {"a": deep}
    assert len(compile_path(path, MAX_VALUES)(deep)) <= MAX_VALUES


@pytest.mark.parametrize(
    ("path", "visited"), [("[*]", 1000), ("..a", 200), ("[?(@.a)].a", 100), ("[0:1000].a", 1000)]
)
def test_a_path_visits_fewer_values_where_each_costs_more(path: str, visited: int) -> None:
    items = [{"a": number} for number in range(2 * MAX_VALUES)]
    result = compile_path(path, MAX_VALUES)(items)
    assert visited // 2 <= len(result) <= visited
