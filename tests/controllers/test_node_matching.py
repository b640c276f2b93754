"""Which nodes a pod may run on."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.controllers.node_affinity import Node, Taint, Tolerations, selects

Object = dict[str, Any]
LABELS = {"disk": "fast", "cores": "8"}
NODE = Node({"metadata": {"name": "n", "labels": LABELS}, "spec": {}})


def required(*terms: Object) -> Object:
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": rule}}


def expression(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("key", "operator", "values", "met"),
    [
        ("disk", "In", ["slow", "fast"], True),
        ("disk", "In", ["slow"], False),
        ("none", "In", [""], False),
        ("disk", "NotIn", ["slow"], True),
        ("disk", "NotIn", ["fast"], False),
        ("none", "NotIn", ["fast"], True),
        ("disk", "Exists", [], True),
        ("none", "Exists", [], False),
        ("none", "DoesNotExist", [], True),
        ("disk", "DoesNotExist", [], False),
        ("cores", "Gt", ["7"], True),
        ("cores", "Gt", ["8"], False),
        ("cores", "Lt", ["16"], True),
        ("cores", "Lt", ["8"], False),
        ("disk", "Gt", ["1"], False),
        ("none", "Lt", ["1"], False),
        ("cores", "Lt", ["9" * 40], False),
    ],
)
def test_a_requirement(key: str, operator: str, values: list[str], met: bool) -> None:
    term = {"matchExpressions": [expression(key, operator, *values)]}
    assert selects(required(term), NODE) is met


def test_all_requirements_of_one_term_must_be_met() -> None:
    fits, fails = expression("disk", "Exists"), expression("none", "Exists")
    assert not selects(required({"matchExpressions": [fits, fails]}), NODE)
    assert selects(required({"matchExpressions": [fails]}, {"matchExpressions": [fits]}), NODE)
    here, there = (expression("metadata.name", "In", name) for name in ("n", "other"))
    assert selects(required({"matchFields": [here], "matchExpressions": [fits]}), NODE)
    assert not selects(required({"matchFields": [there], "matchExpressions": [fits]}), NODE)


def test_a_term_that_requires_nothing_is_met_by_nothing() -> None:
    assert not selects(required({}), NODE)
    assert not selects(required(), NODE)


def test_selector_and_affinity_must_both_allow_a_node() -> None:
    fits = required({"matchExpressions": [expression("disk", "Exists")]})
    assert selects({}, NODE)
    assert selects({"nodeSelector": {"disk": "fast"}, **fits}, NODE)
    assert not selects({"nodeSelector": {"disk": "slow"}, **fits}, NODE)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Equal", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "l", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_a_toleration(toleration: Object, tolerated: bool) -> None:
    assert Tolerations([toleration]).tolerate(Taint("k", "v", "NoSchedule")) is tolerated


def test_only_taints_of_the_effects_asked_for_count() -> None:
    taints = [Taint("k", "", "NoSchedule"), Taint("k", "", "PreferNoSchedule")]
    assert Tolerations([]).tolerate_all(taints, ("NoExecute",))
    assert not Tolerations([]).tolerate_all(taints, ("NoExecute", "NoSchedule"))
