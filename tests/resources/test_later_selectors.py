"""Selectors and templates of workloads in release 1.36, beside those of 1.25."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import Kind, Object, changed, invalid, required

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_25, V1_36

POD = {"containers": [{"name": "c", "image": "i"}]}
SELECTOR = {"matchLabels": {"a": "b"}}
NO_VALUE = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["é"]}]}
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
UNMATCHED = "`selector` does not match template `labels`"


def workload(selector: Object | None, **spec: Any) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
    return {"metadata": {"name": "x"}, "spec": {"selector": selector, "template": template, **spec}}


def test_values_of_selectors_are_checked() -> None:
    wrong = invalid("spec.selector.matchExpressions[0].values[0]", '"é"', LABEL_VALUE)
    budgets = Kind("policy/v1/poddisruptionbudgets", KUBERNETES, V1_36)
    budget: Object = {"metadata": {"name": "x"}, "spec": {"selector": NO_VALUE, "minAvailable": 1}}
    assert budgets.wrong(budget) == [wrong]
    earlier = Kind("policy/v1/poddisruptionbudgets", KUBERNETES, V1_25)
    assert earlier.wrong(budget) == []
    _, found = budgets.update(earlier.existing(budget), changed(budget, {"spec.minAvailable": 2}))
    assert found == []  # what was invalid before may stay so


@pytest.mark.parametrize("kind", ["daemonsets", "replicasets"])
def test_an_update_of_a_workload_is_checked_once(kind: str) -> None:
    sets = Kind(f"apps/v1/{kind}", KUBERNETES, V1_36)
    old = workload(SELECTOR)
    new = workload({"matchLabels": {"a": "c"}})
    kept = invalid("spec.selector", '{"matchLabels":{"a":"c"}}', "field is immutable")
    unmatched = invalid("spec.template.metadata.labels", '{"a":"b"}', UNMATCHED)
    expected = [kept, unmatched] if kind == "daemonsets" else [unmatched, kept]
    assert sets.update(sets.existing(old), new)[1] == expected


def test_an_empty_selector_is_shown_without_its_parts() -> None:
    deployments = Kind("apps/v1/deployments", KUBERNETES, V1_36)
    detail = "empty selector is invalid for deployment"
    assert deployments.wrong(workload({"matchLabels": {}})) == [
        invalid("spec.selector", "{}", detail)
    ]


def test_a_replication_controller_without_a_template_is_refused_once() -> None:
    controllers = Kind("core/v1/replicationcontrollers", KUBERNETES, V1_36)
    old = workload({"a": "b"})
    new = {**old, "spec": {"selector": {"a": "b"}}}
    assert controllers.update(controllers.existing(old), new)[1] == [required("spec.template")]


def test_a_node_label_that_is_no_longer_set_is_warned_of() -> None:
    deployments = Kind("apps/v1/deployments", KUBERNETES, V1_36)
    pod = {**POD, "nodeSelector": {"node-role.kubernetes.io/master": ""}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    path = "spec.template.spec.nodeSelector[node-role.kubernetes.io/master]"
    created = deployments.existing(workload(SELECTOR, template=template))
    deployments.behaviour.warnings(created, None, deployments.context)
    assert deployments.context.warnings == [
        f'{path}: use "node-role.kubernetes.io/control-plane" instead'
    ]
