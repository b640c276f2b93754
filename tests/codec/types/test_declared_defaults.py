"""Defaults that the tables declare are set wherever a value is missing."""

from __future__ import annotations

from copy import deepcopy
from importlib.resources import files
from typing import Any

import pytest

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.codec.types.model import Struct
from fairlead.codec.types.notation import parse

TYPES = BuiltinTypes(KUBERNETES)
TABLES = sorted(
    path.name.removesuffix(".types").replace("-", "/", 1)
    for path in files("fairlead.codec.types.builtin").iterdir()
    if path.name.endswith(".types")
)


def decoded(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    struct = TYPES.struct(kind)
    item: dict[str, Any] = decoder(struct)(value, [])
    fill_defaults(struct, item)
    return item


def read(text: str) -> Struct:
    return parse("test/v1", text, lambda name: TYPES.group_version(name))["Thing"]


@pytest.mark.parametrize(
    ("kind", "value", "path", "expected"),
    [
        ("core/v1.ContainerPort", {"containerPort": 80}, "protocol", "TCP"),
        ("core/v1.Secret", {}, "type", "Opaque"),
        ("core/v1.PodSpec", {}, "restartPolicy", "Always"),
        ("core/v1.PodSpec", {}, "dnsPolicy", "ClusterFirst"),
        ("core/v1.PodSpec", {}, "terminationGracePeriodSeconds", 30),
        ("core/v1.ContainerPort", {"protocol": "UDP"}, "protocol", "UDP"),
        ("core/v1.PodSpec", {"restartPolicy": "Never"}, "restartPolicy", "Never"),
        ("core/v1.ServicePort", {"port": 80}, "protocol", "TCP"),
        ("core/v1.AzureDiskVolumeSource", {}, "cachingMode", "ReadWrite"),
        ("core/v1.AzureDiskVolumeSource", {"readOnly": False}, "readOnly", False),
    ],
)  # fmt: skip
def test_a_declared_default(kind: str, value: dict[str, Any], path: str, expected: object) -> None:
    assert decoded(kind, value)[path] == expected


def test_defaults_reach_into_lists_and_maps() -> None:
    spec = decoded("core/v1.PodSpec", {"containers": [{"ports": [{"containerPort": 1}]}]})
    assert spec["containers"][0]["ports"][0]["protocol"] == "TCP"


def test_a_zero_that_is_told_apart_is_kept() -> None:
    struct = read("Thing\n  a  int32?  1  default=5\n  b  int32  2  default=5\n")
    value = decoder(struct)({"a": 0, "b": 0}, [])
    fill_defaults(struct, value)
    assert value == {"a": 0, "b": 5}


def test_a_default_that_is_an_object_is_a_fresh_one_each_time() -> None:
    struct = read('Thing\n  a  {string}  1  default={"x":"y"}\n')
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    fill_defaults(struct, first)
    fill_defaults(struct, second)
    first["a"]["x"] = "changed"
    assert second == {"a": {"x": "y"}}


def test_types_that_contain_themselves_are_no_trap() -> None:
    struct = TYPES.struct("apiextensions/v1.JSONSchemaProps")
    value = decoder(struct)({"properties": {"a": {"properties": {"b": {}}}}}, [])
    fill_defaults(struct, value)


@pytest.mark.parametrize("table", TABLES)
def test_filling_twice_is_filling_once(table: str) -> None:
    for struct in TYPES.group_version(table).values():
        value = decoder(struct)({}, [])
        fill_defaults(struct, value)
        again = deepcopy(value)
        fill_defaults(struct, again)
        assert again == value


@pytest.mark.parametrize("table", TABLES)
def test_defaults_are_values_of_their_types(table: str) -> None:
    for struct in TYPES.group_version(table).values():
        for field in struct.fields.values():
            if field.default is not None:
                holder = Struct("Holder", "test/v1", {field.name: field})
                value = {field.name: deepcopy(field.default)}
                unknown: list[str] = []
                decoded_value = decoder(holder)(deepcopy(value), unknown)
                assert unknown == [], (struct, field.name)
                if field.default:
                    assert decoded_value == value, (struct, field.name)
