"""Values out of range are refused with a 4xx, or clamped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.namespaces import Space

DIGITS = "9" * 5000
FAR = ("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00")
JSON_PATCH = "application/json-patch+json"


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("moment", FAR)
def test_a_time_out_of_range_is_refused(kubernetes: Space, moment: str) -> None:
    body = {
        "metadata": {"name": "a"},
        "involvedObject": {"namespace": kubernetes.name},
        "firstTimestamp": moment,
    }
    answer = kubernetes.client.post(kubernetes.collection("events").path, body)
    assert (answer.status, "out of range" in answer.message) == (400, True)


def test_an_early_year_has_four_digits(kubernetes: Space) -> None:
    event = kubernetes.collection("events").create(
        "a",
        involvedObject={"namespace": kubernetes.name},
        firstTimestamp="0800-01-01T00:00:00.5Z",
    )
    assert event["firstTimestamp"] == "0800-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("amount", "kept"),
    [("1e1500000", "9223372036854775807"), ("1e99999999999", "9223372036854775807")],
)
def test_a_quantity_beyond_the_largest_is_the_largest(
    kubernetes: Space, amount: str, kept: str
) -> None:
    quota = kubernetes.collection("resourcequotas").create("a", spec={"hard": {"pods": amount}})
    assert quota["spec"]["hard"]["pods"] == kept


@pytest.mark.parametrize("levels", [236, 245, 249, 250, 251, 252, 253, 254, 300, 1100])
def test_nesting_is_answered_in_every_form(kubernetes: Space, levels: int) -> None:
    path = f"/apis/apps/v1/namespaces/{kubernetes.name}/controllerrevisions"
    body = '{"metadata":{"name":"a"},"revision":1,"data":%s}' % (
        '{"a":' * levels + "1" + "}" * levels
    )
    for kind in ("application/json", "application/yaml"):
        answer = kubernetes.client.post(path, body, headers={"Content-Type": kind})
        assert answer.status == (400 if levels > 239 else 201), answer.text[:300]
        kubernetes.client.delete(f"{path}/a")


def test_what_is_accepted_deep_down_can_be_read_in_every_form(kubernetes: Space) -> None:
    path = f"/apis/apps/v1/namespaces/{kubernetes.name}/controllerrevisions"
    body = {"metadata": {"name": "a"}, "revision": 1, "data": nested(238)}
    assert kubernetes.client.post(path, body).status == 201
    forms = (
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;pretty=1",
    )
    for accept in forms:
        for query in ({}, {"includeObject": "Object"}):
            answer = kubernetes.client.get(path, headers={"Accept": accept}, **query)
            assert answer.status == 200, (accept, answer.raw[:200])


def test_a_patch_cannot_nest_deeper_than_a_body(kubernetes: Space) -> None:
    path = f"/apis/apps/v1/namespaces/{kubernetes.name}/controllerrevisions"
    body = {"metadata": {"name": "a"}, "revision": 1, "data": nested(200)}
    assert kubernetes.client.post(path, body).status == 201
    place = "/data" + "/a" * 200
    patch = [{"op": "replace", "path": place, "value": nested(200)}]
    answer = kubernetes.client.request(
        "PATCH", f"{path}/a", json.dumps(patch), headers={"Content-Type": JSON_PATCH}
    )
    assert answer.status == 422, answer.text[:300]


@pytest.mark.parametrize("place", [f"/data/{DIGITS}", f"/metadata/finalizers/{DIGITS}"])
def test_an_index_of_many_digits_is_refused(kubernetes: Space, place: str) -> None:
    kubernetes.config_maps.create("a", metadata={"finalizers": ["x.io/a"]})
    patch = [{"op": "remove", "path": place}]
    answer = kubernetes.client.request(
        "PATCH",
        kubernetes.config_maps.item("a"),
        json.dumps(patch),
        headers={"Content-Type": JSON_PATCH},
    )
    assert answer.status == 422, answer.text[:300]


def test_a_patch_that_is_no_text_is_answered(kubernetes: Space) -> None:
    kubernetes.config_maps.create("a")
    raw = b'[{"op":"add","path":"/data","value":{"a":"\xff"}},{"op":"test","path":"/x","value":1}]'
    answer = kubernetes.client.request(
        "PATCH", kubernetes.config_maps.item("a"), raw, headers={"Content-Type": JSON_PATCH}
    )
    assert answer.status == 422, answer.text[:300]


def test_a_version_of_many_digits_is_refused(kubernetes: Space) -> None:
    assert kubernetes.config_maps.list(resourceVersion=DIGITS).status == 400
    assert kubernetes.config_maps.list(limit=DIGITS).status == 400


@pytest.mark.parametrize("value", [f"{DIGITS}%", DIGITS])
def test_a_percentage_of_many_digits_is_refused(kubernetes: Space, value: str) -> None:
    path = f"/apis/policy/v1/namespaces/{kubernetes.name}/poddisruptionbudgets"
    spec = {"minAvailable": value, "selector": {"matchLabels": {"a": "b"}}}
    answer = kubernetes.client.post(path, {"metadata": {"name": "a"}, "spec": spec})
    assert answer.status == 422, answer.text[:300]


@pytest.mark.parametrize(
    "value", ["!!bool x", "!!timestamp x", "!!int x", "9" * 30, "0x" + "f" * 20]
)
def test_a_scalar_that_is_not_what_it_says_is_answered(kubernetes: Space, value: str) -> None:
    text = f"metadata: {{name: a, generation: {value}}}\n"
    answer = kubernetes.client.post(
        kubernetes.config_maps.path, text, headers={"Content-Type": "application/yaml"}
    )
    assert answer.status == 400, answer.text[:300]


def test_the_causes_of_a_refusal_are_bounded(kubernetes: Space) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"scopes": [f"scope-{n}" for n in range(20_000)]}}
    answer = kubernetes.client.post(kubernetes.collection("resourcequotas").path, body)
    assert answer.status == 422
    assert len(answer.raw) < 1_000_000


def test_a_space_before_a_colon_hides_no_repeated_key(kubernetes: Space) -> None:
    body = '{"metadata":{"name":"a"},"data":{"a":"b","a" :"c"}}'
    answer = kubernetes.client.post(kubernetes.config_maps.path, body, fieldValidation="Strict")
    assert (answer.status, 'duplicate field "data.a"' in answer.message) == (400, True)
