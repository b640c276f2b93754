"""Rules of Jobs and StatefulSets in release 1.36."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import Kind, Object, changed, invalid, required

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_36
from fairlead.resources.batch.indexes import IndexesError, overlap, parse_intervals

JOBS = Kind("batch/v1/jobs", KUBERNETES, V1_36)
POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}


def job(**spec: Any) -> Object:
    return {"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"spec": POD}, **spec}}


INDEXED = {"completionMode": "Indexed", "completions": 5}


def test_a_limit_for_each_index_needs_indexes() -> None:
    detail = "requires indexed completion mode"
    assert JOBS.wrong(job(backoffLimitPerIndex=1)) == [
        invalid("spec.backoffLimitPerIndex", "1", detail)
    ]
    assert JOBS.wrong(job(maxFailedIndexes=1, **INDEXED)) == [
        required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    ]


def test_labels_with_a_prefix_select_the_pods() -> None:
    created = JOBS.existing(job())
    assert created["spec"]["selector"] == {
        "matchLabels": {"batch.kubernetes.io/controller-uid": "u"}
    }
    assert created["spec"]["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u",
        "job-name": "j",
    }


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("0,2-4", ""),
        ("1-1", "non-increasing order, previous: 1, current: 1"),
        ("3,1", "non-increasing order, previous: 3, current: 1"),
        ("1-2-3", "the fragment"),
        ("9" * 5000, "too large index"),
        ("1,,2", "cannot convert string to integer"),
        ("7", "too large index"),
        ("0-99999999999999999999", "cannot convert string to integer"),
    ],
)
def test_lists_of_indexes_are_checked(text: str, error: str) -> None:
    if not error:
        assert parse_intervals(text, 5) == [(0, 0), (2, 4)]
        return
    rule = {"rules": [{"succeededIndexes": text}]}
    assert len(JOBS.wrong(job(successPolicy=rule, **INDEXED))) == 1
    with pytest.raises(IndexesError):
        parse_intervals(text, 5)


def test_the_first_common_index_of_two_lists_is_found() -> None:
    assert overlap("0-2,5-9", "3,7", 10) == 7
    assert overlap("0,2", "1,3", 10) is None


def test_a_suspended_job_may_change_the_resources_of_its_template() -> None:
    old = JOBS.existing(job(suspend=True))
    value = changed(old, {"spec.template.spec.containers[0].resources": {"requests": {"cpu": "1"}}})
    assert JOBS.update(old, value)[1] == []
    old["spec"]["suspend"] = False
    assert [cause[0] for cause in JOBS.update(old, changed(value, {"spec.suspend": False}))[1]] == [
        "spec.template"
    ]


def test_a_finished_job_stays_finished() -> None:
    old = JOBS.existing(job())
    done = [{"type": kind, "status": "True"} for kind in ("SuccessCriteriaMet", "Complete")]
    times = {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:01Z"}
    value = {**old, "status": {"conditions": done, "succeeded": 1, **times}}
    finished, causes = JOBS.update(old, value, "status")
    assert causes == []
    causes = JOBS.update(finished, {**finished, "status": {}}, "status")[1]
    details = [text.removeprefix("Invalid value: ") for _, _, text in causes]
    assert "cannot disable the terminal Complete=True condition" in details


def test_a_stateful_set_may_start_at_another_ordinal() -> None:
    sets = Kind("apps/v1/statefulsets", KUBERNETES, V1_36)
    labels = {"a": "b"}
    value: Object = {
        "spec": {
            "serviceName": "s",
            "ordinals": {"start": 3},
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        }
    }
    old = sets.existing(value)
    assert sets.update(old, changed(old, {"spec.ordinals": {"start": 0}}))[1] == []
    assert sets.wrong(changed(value, {"spec.ordinals": {"start": -1}})) == [
        invalid("spec.ordinals.start", "-1", "must be greater than or equal to 0")
    ]


def test_what_must_not_change_is_shown_with_all_its_fields() -> None:
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]
    value = job(podFailurePolicy={"rules": rules})
    old = JOBS.existing(value)
    changes = {"spec.podFailurePolicy.rules.0.onExitCodes.values": [2], "spec.template.spec": OTHER}
    found = JOBS.update(old, changed(old, changes))[1]
    assert [field for field, _, _ in found] == ["spec.template", "spec.podFailurePolicy"]
    template, policy = (message for _, _, message in found)
    labels = '"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j"'
    assert template.startswith(f'Invalid value: {{"labels":{{{labels}')
    assert '"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"d"' in template
    shown = '{"ContainerName":null,"Operator":"In","Values":[2]}'
    rule = f'{{"Action":"FailJob","OnExitCodes":{shown},"OnPodConditions":null}}'
    assert policy == f'Invalid value: {{"Rules":[{rule}]}}: field is immutable'


OTHER = {**POD, "containers": [{"name": "d", "image": "i"}]}
