"""Values in messages: in Go's notation, and as JSON in later releases."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space

from fairlead.codec.types.model import ListOf, Scalar
from fairlead.resources.causes import (
    Causes,
    GoValue,
    LaterCauses,
    go_composite,
    go_pointer,
    show,
    show_json,
)
from fairlead.resources.go_values import go_list, go_map, go_selector, go_time
from fairlead.resources.internal_types import json_difference


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (go_list("string", ["a", 'b"}']), '["a","b\\"}"]'),
        (go_list("string", None), "null"),
        (go_map({"a": "b:{c}"}), '{"a":"b:{c}"}'),
        (go_map(None), "null"),
        (go_time("2024-01-02T03:04:05Z"), '"2024-01-02T03:04:05Z"'),
        (go_selector({"matchLabels": {"a": "<"}}), '{"matchLabels":{"a":"\\u003c"}}'),
        (GoValue('core.A{B:"x", C:(*int32)(nil), D:1}'), '{"B":"x","C":null,"D":1}'),
        (go_composite("core.A", {"B": go_pointer("int32", 3)}), '{"B":3}'),
        (go_composite("core.A", {"B": go_pointer("core.C", {"aB": 1})}), '{"B":{"AB":1}}'),
        (GoValue('intstr.IntOrString{Type:1, IntVal:0, StrVal:"5%"}'), '"5%"'),
        (GoValue("[]byte{0x61}"), '"YQ=="'),
        (GoValue("no notation"), "no notation"),
        (GoValue("[]core.A{" * 3000), "[]core.A{" * 3000),
        (None, "null"),
        ("a", '"a"'),
        (True, "true"),
    ],
)
def test_values_are_json_in_later_releases(value: Any, json: str) -> None:
    assert show_json(value) == json


def test_the_value_behind_a_pointer_is_not_shown_in_go_notation() -> None:
    assert show(go_pointer("bool", True)) == "(*bool)(0xc000000000)"


def test_messages_have_the_words_of_their_release() -> None:
    early, late = Causes(), LaterCauses()
    for causes in (early, late):
        causes.too_long("a", 3)
        causes.invalid("a", None, "is wrong")
    assert [cause.message for cause in early] == [
        "Too long: must have at most 3 bytes",
        'Invalid value: "null": is wrong',
    ]
    assert [cause.message for cause in late] == [
        "Too long: may not be more than 3 bytes",
        "Invalid value: null: is wrong",
    ]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"a": "x" * 64}, "must be no more than 63 bytes"),
        ({"a/b/c": ""}, "a valid label key must consist of"),
    ],
)
def test_labels_of_release_1_36(space_1_36: Space, labels: dict[str, str], message: str) -> None:
    maps = space_1_36.config_maps
    refused = maps.client.post(maps.path, {"metadata": {"name": "a", "labels": labels}})
    assert refused.status == 422
    assert message in refused.message


def test_refused_changes_of_release_1_36_are_a_difference_of_internal_json(
    space_1_36: Space,
) -> None:
    pods = space_1_36.collection("pods")
    space_1_36.ready_for_pods()
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n", "hostIPC": True}
    created = pods.create("a", spec=spec)
    created["spec"]["hostIPC"] = False
    created["spec"]["dnsPolicy"] = "Default"
    refused = pods.put(created)
    assert refused.status == 422
    assert '-  "HostIPC": true,\n+  "HostIPC": false,\n   "ShareProcessNamespace": null' in (
        refused.message
    )
    assert '- "DNSPolicy": "ClusterFirst",\n+ "DNSPolicy": "Default",' in refused.message


def test_errors_of_types_name_embedded_structs_in_release_1_36(space_1_36: Space) -> None:
    pods = space_1_36.collection("pods")
    body = {"metadata": {"name": "b"}, "spec": {"volumes": [{"name": "v", "nfs": {"path": 1}}]}}
    refused = pods.client.post(pods.path, body)
    assert "field NFSVolumeSource.spec.volumes.VolumeSource.nfs.path of type" in refused.message


def test_long_differences_are_found_in_one_piece() -> None:
    old, new = [str(n) for n in range(3000)], ["x", *(str(n) for n in range(1, 2999)), "y"]
    lines = json_difference(ListOf(Scalar("string")), old, new).split("\n")
    assert lines[:4] == ["@@ -1,3002 +1,3002 @@", " [", '- "0",', '- "1",']
    assert lines[-3:] == ['+ "y"', " ]", ""]
