"""From client-side to server-side apply: who may take over, and the annotation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.patching import CONFIG_MAP, Cluster, config_map, data

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.fields.conflicts import ApplyConflict

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def client_side(values: dict[str, str]) -> Any:
    text = json.dumps(config_map(values))
    return config_map(values, annotations={ANNOTATION: text})


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(CONFIG_MAP)
    cluster.put("kubectl-client-side-apply", client_side({"x": "1", "y": "1"}))
    return cluster


def test_the_command_line_takes_over_its_own_fields(cluster: Cluster) -> None:
    cluster.apply("kubectl", config_map({"x": "2", "y": "1"}))
    assert cluster.object["data"]["x"] == "2"
    assert cluster.owned_by("kubectl") == data("x", "y")


def test_last_applied_fields_conflict_for_another_manager(cluster: Cluster) -> None:
    with pytest.raises(ApplyConflict):
        cluster.apply("other", config_map({"x": "2"}))


def test_last_applied_fields_that_changed_since_conflict(cluster: Cluster) -> None:
    changed = {**cluster.object, "data": {"x": "5", "y": "1"}}
    cluster.put("other", changed)
    with pytest.raises(ApplyConflict) as conflict:
        cluster.apply("kubectl", config_map({"x": "2", "y": "2"}))
    assert [c.field for c in conflict.value.conflicts] == [".data.x"]


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        json.dumps({"apiVersion": "v2", "kind": "ConfigMap", "data": {"x": "1"}}),
        json.dumps({**config_map({"x": "1"}), "bogus": 1}),
        "",
    ],
)
def test_an_annotation_that_cannot_be_used_gives_nothing(text: str) -> None:
    cluster = Cluster(CONFIG_MAP)
    cluster.put("client", config_map({"x": "1"}, annotations={ANNOTATION: text}))
    with pytest.raises(ApplyConflict):
        cluster.apply("kubectl", config_map({"x": "2"}))


def test_the_annotation_is_kept_current(cluster: Cluster) -> None:
    cluster.apply("kubectl", config_map({"y": "<1>", "x": "1"}, name="a"))
    assert cluster.object["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"v1","data":{"x":"1","y":"\\u003c1\\u003e"},"kind":"ConfigMap",'
        '"metadata":{"name":"a"}}\n'
    )


def test_the_annotation_does_not_contain_itself(cluster: Cluster) -> None:
    config = config_map({"x": "1"}, annotations={ANNOTATION: "{}", "n": "o"})
    cluster.apply("kubectl", config, force=True)
    numbers = json.loads(cluster.object["metadata"]["annotations"][ANNOTATION])
    assert numbers["metadata"]["annotations"] == {"n": "o"}


def test_last_applied_annotation_is_not_added_where_there_is_none() -> None:
    cluster = Cluster(CONFIG_MAP)
    cluster.apply("kubectl", config_map({"x": "1"}))
    assert "annotations" not in cluster.object["metadata"]


def test_other_managers_leave_the_annotation_alone(cluster: Cluster) -> None:
    before = cluster.object["metadata"]["annotations"]
    cluster.apply("other", config_map({"z": "1"}))
    assert cluster.object["metadata"]["annotations"] == before


def test_an_annotation_that_grows_too_large_is_dropped(cluster: Cluster) -> None:
    cluster.apply("kubectl", config_map({"x": "1", "large": "x" * 300_000}))
    assert cluster.object["metadata"]["annotations"] == {}


def test_last_applied_is_unchanged_by_a_second_apply(cluster: Cluster) -> None:
    config = config_map({"x": "1", "y": "1"})
    cluster.apply("kubectl", config)
    before = cluster.object
    cluster.apply("kubectl", config)
    assert cluster.object == before


def test_the_annotation_has_the_domain_of_the_dialect() -> None:
    cluster = Cluster(CONFIG_MAP, dialect=CLUSTER)
    text = json.dumps(config_map({"x": "1"}))
    name = "kubectl.cluster.io/last-applied-configuration"
    cluster.put("client", config_map({"x": "1"}, annotations={name: text}))
    cluster.apply(KUBERNETES.client_manager, config_map({"x": "2"}))
    assert cluster.object["data"] == {"x": "2"}
