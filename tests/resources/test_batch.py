"""Rules of the batch group."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    DROP,
    Found,
    Kind,
    changed,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
    unsupported,
)

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.names import label_value
from fairlead.resources.rules import NON_NEGATIVE

Object = dict[str, Any]
Changes = dict[str, Any]

TRACKING = "batch.kubernetes.io/job-tracking"
IMMUTABLE = "field is immutable"
RESTART = "spec.template.spec.restartPolicy"
LABELS = "spec.template.metadata.labels"
MISMATCH = "`selector` does not match template `labels`"
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
JOB: Object = {"metadata": {"name": "a", "uid": "u"}, "spec": {"template": POD}}
GENERATED = {"controller-uid": "u", "job-name": "a"}


def selector(labels: str) -> str:
    return (
        f"v1.LabelSelector{{MatchLabels:map[string]string{labels},"
        " MatchExpressions:[]v1.LabelSelectorRequirement(nil)}"
    )


def jobs(**gates: bool) -> Kind:
    return Kind("batch/v1/jobs", KUBERNETES, **gates)


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        ({}, {"completions": 1, "parallelism": 1}),
        ({"parallelism": 3}, {"parallelism": 3}),
        ({"completions": 3}, {"completions": 3, "parallelism": 1}),
    ],
)
def test_job_defaults(given: Object, filled: Object) -> None:
    spec = jobs().existing({**JOB, "spec": {**JOB["spec"], **given}})["spec"]
    assert {name: spec[name] for name in ("completions", "parallelism") if name in spec} == filled
    assert (spec["backoffLimit"], spec["completionMode"], spec["suspend"]) == (
        6,
        "NonIndexed",
        False,
    )


def test_job_finds_its_pods_by_generated_labels() -> None:
    kind = jobs()
    value = kind.existing(JOB)
    assert value["spec"]["selector"] == {"matchLabels": {"controller-uid": "u"}}
    assert value["spec"]["template"]["metadata"]["labels"] == GENERATED
    assert value["metadata"]["annotations"] == {TRACKING: ""}
    kind.behaviour.normalize(value, False)
    assert value["metadata"]["labels"] == GENERATED


@pytest.mark.parametrize(
    ("own", "labels"),
    [(None, {"x": "1", **GENERATED}), ({"y": "2"}, {"y": "2"}), ({"x": "1"}, {"x": "1"})],
)
def test_job_without_labels_takes_those_of_its_template(own: Any, labels: Object) -> None:
    value = changed(JOB, {"spec.template.metadata": {"labels": {"x": "1"}}})
    if own:
        value["metadata"]["labels"] = own
    assert jobs().existing(value)["metadata"]["labels"] == labels


LONG = "x" * 64


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        (
            {RESTART: DROP},
            [required(RESTART, 'valid values: "OnFailure", "Never"')],
        ),
        (
            {"spec.parallelism": -1, "spec.completions": -1, "spec.activeDeadlineSeconds": -1},
            [
                invalid("spec.parallelism", "-1", NON_NEGATIVE),
                invalid("spec.completions", "-1", NON_NEGATIVE),
                invalid("spec.activeDeadlineSeconds", "-1", NON_NEGATIVE),
            ],
        ),
        (
            {"spec.backoffLimit": -1, "spec.ttlSecondsAfterFinished": -1},
            [
                invalid("spec.backoffLimit", "-1", NON_NEGATIVE),
                invalid("spec.ttlSecondsAfterFinished", "-1", NON_NEGATIVE),
            ],
        ),
        (
            {"spec.completionMode": "Random"},
            [unsupported("spec.completionMode", '"Random"', "NonIndexed", "Indexed")],
        ),
        (
            {"spec.completionMode": "Indexed", "spec.parallelism": 100001},
            [
                required("spec.completions", "when completion mode is Indexed"),
                invalid(
                    "spec.parallelism",
                    "100001",
                    "must be less than or equal to 100000 when completion mode is Indexed",
                ),
            ],
        ),
        (
            {"metadata.name": "a.b", "spec.completionMode": "Indexed", "spec.completions": 5},
            [
                invalid(
                    "metadata.name",
                    '"a.b"',
                    "will not able to create pod with invalid DNS label: a.b-4",
                )
            ],
        ),
        (
            {"metadata.name": LONG},
            [invalid("spec.template.labels", f'"{LONG}"', label_value(LONG)[0])],
        ),
        (
            {"spec.selector": {"matchLabels": {"a": "b"}}},
            [
                invalid(
                    "spec.selector",
                    selector('{"a":"b", "controller-uid":"u"}'),
                    "`selector` not auto-generated",
                ),
                invalid(
                    LABELS, 'map[string]string{"controller-uid":"u", "job-name":"a"}', MISMATCH
                ),
            ],
        ),
        (
            {"spec.template.metadata": {"labels": {"job-name": "other"}}},
            [
                invalid(
                    f"{LABELS}[job-name]",
                    'map[string]string{"controller-uid":"u", "job-name":"other"}',
                    "must be 'a'",
                )
            ],
        ),
        (
            {"spec.manualSelector": True},
            [required("spec.selector"), invalid(LABELS, "map[string]string(nil)", MISMATCH)],
        ),
        ({"spec.manualSelector": True, "spec.selector": {}}, []),
    ],
)
def test_job(changes: Changes, causes: Found) -> None:
    assert jobs().wrong(changed(JOB, changes)) == causes


SUSPENDED = changed(JOB, {"spec.suspend": True})
NODE_AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]
        }
    }
}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"spec.parallelism": 5}, []),
        ({"spec.suspend": False}, []),
        ({"spec.ttlSecondsAfterFinished": 5}, []),
        ({"spec.completions": 5}, ["spec.completions"]),
        ({"spec.completionMode": "Indexed"}, ["spec.completionMode"]),
        ({"spec.template.spec.nodeSelector": {"a": "b"}}, []),
        ({"spec.template.spec.tolerations": [{"key": "k", "operator": "Exists"}]}, []),
        ({"spec.template.spec.affinity": NODE_AFFINITY}, []),
        ({"spec.template.metadata.annotations": {"a": "b"}}, []),
        ({"spec.template.spec.containers[0].image": "j"}, ["spec.template"]),
    ],
)
def test_suspended_job_change(changes: Changes, fields: list[str]) -> None:
    kind = jobs()
    old = kind.existing(SUSPENDED)
    _, causes = kind.update(old, changed(old, changes))
    assert [field for field, _, _ in causes] == fields


def test_a_refused_template_is_printed_with_its_ephemeral_containers() -> None:
    kind = jobs()
    old = kind.existing(JOB)
    added = [{"name": "e", "image": "i", "targetContainerName": "c"}]
    _, causes = kind.update(old, changed(old, {"spec.template.spec.ephemeralContainers": added}))
    message = next(message for field, _, message in causes if field == "spec.template")
    assert (
        "EphemeralContainers:[]core.EphemeralContainer{core.EphemeralContainer{"
        'EphemeralContainerCommon:core.EphemeralContainerCommon{Name:"e", Image:"i",'
    ) in message
    assert 'TTY:false}, TargetContainerName:"c"}}, RestartPolicy:' in message


def test_a_changed_template_is_printed_whole() -> None:
    kind = jobs()
    old = kind.existing(JOB)
    changes: Changes = {
        "spec.template.spec.containers[0].image": "j",
        "spec.template.spec.containers[0].command": ["a"],
        "spec.template.spec.containers[0].resources": {"limits": {"cpu": "1"}},
        "spec.template.spec.volumes": [{"name": "v", "emptyDir": {}}],
    }
    ((_, _, message),) = kind.update(old, changed(old, changes))[1]
    assert message.startswith(
        'Invalid value: core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:"", GenerateName:"",'
        ' Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0,'
        " CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC),"
        " DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil),"
        " Labels:map[string]string{"
    )
    assert (
        "OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil),"
        " ManagedFields:[]v1.ManagedFieldsEntry(nil)}, Spec:core.PodSpec{Volumes:[]core.Volume{"
        'core.Volume{Name:"v", VolumeSource:core.VolumeSource{'
        "HostPath:(*core.HostPathVolumeSource)(nil),"
        " EmptyDir:(*core.EmptyDirVolumeSource)(0xc000000000),"
    ) in message
    assert (
        'Image:"j", Command:[]string{"a"}, Args:[]string(nil), WorkingDir:"",'
        " Ports:[]core.ContainerPort(nil), EnvFrom:[]core.EnvFromSource(nil),"
        " Env:[]core.EnvVar(nil), Resources:core.ResourceRequirements{"
        'Limits:core.ResourceList{"cpu":resource.Quantity{'
    ) in message
    assert message.endswith(
        "TopologySpreadConstraints:[]core.TopologySpreadConstraint(nil), OS:(*core.PodOS)(nil)}}"
        ": field is immutable"
    )


@pytest.mark.parametrize("started", [True, False])
def test_running_job_stays_where_it_is(started: bool) -> None:
    kind = jobs()
    old = kind.existing(SUSPENDED if started else JOB)
    if started:
        old["status"]["startTime"] = "2024-01-01T00:00:00Z"
    _, causes = kind.update(old, changed(old, {"spec.template.spec.nodeSelector": {"a": "b"}}))
    assert [field for field, _, _ in causes] == ["spec.template"]


def test_tracking_cannot_be_added_later() -> None:
    kind = jobs(JobTrackingWithFinalizers=False)
    old = kind.existing(JOB)
    assert not old["metadata"].get("annotations")
    kind = jobs()
    value = changed(old, {"metadata.annotations": {TRACKING: ""}})
    assert kind.update(old, value)[1] == [
        forbidden(f"metadata.annotations[{TRACKING}]", "cannot add this annotation")
    ]


def test_pod_failure_policy_is_dropped_when_off() -> None:
    value = changed(JOB, {"spec.podFailurePolicy": {"rules": [{"action": "X"}]}})
    assert "podFailurePolicy" not in jobs().existing(value)["spec"]


RULE = "spec.podFailurePolicy.rules[0]"
CODES = f"{RULE}.onExitCodes"


def _rule(**parts: Any) -> Object:
    return {"action": "FailJob", **parts}


@pytest.mark.parametrize(
    ("rules", "causes"),
    [
        ([_rule(onExitCodes={"operator": "In", "values": [1, 2]})], []),
        ([_rule(onPodConditions=[{"type": "T"}])], []),
        (
            [_rule(action="", onPodConditions=[{"type": "T", "status": "Maybe"}])],
            [
                required(f"{RULE}.action", 'valid values: ["Count" "FailJob" "Ignore"]'),
                unsupported(
                    f"{RULE}.onPodConditions[0].status", '"Maybe"', "False", "True", "Unknown"
                ),
            ],
        ),
        (
            [_rule(action="X")],
            [
                unsupported(f"{RULE}.action", '"X"', "Count", "FailJob", "Ignore"),
                (
                    RULE,
                    "Invalid",
                    "Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
                ),
            ],
        ),
        (
            [_rule(onExitCodes={"operator": "In", "values": [0, 2, 1, 1]})],
            [
                invalid(f"{CODES}.values[0]", "0", "must not be 0 for the In operator"),
                duplicate(f"{CODES}.values[3]", "1"),
                invalid(f"{CODES}.values", "[]int32{0, 2, 1, 1}", "must be ordered"),
            ],
        ),
        (
            [_rule(onExitCodes={"operator": "", "containerName": "z", "values": []})],
            [
                required(f"{CODES}.operator", 'valid values: ["In" "NotIn"]'),
                invalid(
                    f"{CODES}.containerName",
                    '"z"',
                    "must be one of the container or initContainer names in the pod template",
                ),
                invalid(f"{CODES}.values", "[]int32{}", "at least one value is required"),
            ],
        ),
        (
            [_rule(onPodConditions=[{"type": "T"}])] * 21,
            [too_many("spec.podFailurePolicy.rules", 21, 20)],
        ),
    ],
)
def test_pod_failure_policy(rules: list[Object], causes: Found) -> None:
    value = changed(JOB, {"spec.podFailurePolicy": {"rules": rules}})
    assert jobs(JobPodFailurePolicy=True).wrong(value) == causes


def test_pod_failure_policy_needs_pods_that_do_not_restart() -> None:
    rules = [_rule(onPodConditions=[{"type": "T"}])]
    value = changed(JOB, {RESTART: "OnFailure", "spec.podFailurePolicy": {"rules": rules}})
    assert jobs(JobPodFailurePolicy=True).wrong(value) == [
        invalid(
            RESTART, '"OnFailure"', 'only "Never" is supported when podFailurePolicy is specified'
        )
    ]


UNCOUNTED = "status.uncountedTerminatedPods"


@pytest.mark.parametrize(
    ("status", "causes"),
    [
        ({"active": 1, "conditions": [{"type": "Complete", "status": "True"}]}, []),
        (
            {"ready": -1, "failed": -1, "active": -1, "succeeded": -1},
            [
                invalid(f"status.{name}", "-1", NON_NEGATIVE)
                for name in ("active", "succeeded", "failed", "ready")
            ],
        ),
        (
            {"uncountedTerminatedPods": {"succeeded": ["x", "x", ""], "failed": ["x"]}},
            [
                duplicate(f"{UNCOUNTED}.succeeded[1]", '"x"'),
                invalid(f"{UNCOUNTED}.succeeded[2]", '""', "must not be empty"),
                duplicate(f"{UNCOUNTED}.failed[0]", '"x"'),
            ],
        ),
    ],
)
def test_job_status(status: Object, causes: Found) -> None:
    kind = jobs()
    assert kind.update(kind.existing(JOB), {**JOB, "status": status}, "status")[1] == causes


def test_deleting_a_job_orphans_its_pods() -> None:
    kind = jobs()
    assert kind.behaviour.default_propagation(kind.existing(JOB), kind.context) == "Orphan"


CRON: Object = {
    "metadata": {"name": "a"},
    "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": POD}}},
}
WORK = "spec.jobTemplate.spec"
ZONE = "spec.timeZone"


def crons(**gates: bool) -> Kind:
    return Kind("batch/v1/cronjobs", KUBERNETES, **gates)


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"spec.schedule": ""}, [required("spec.schedule")]),
        (
            {"spec.schedule": "* * *"},
            [invalid("spec.schedule", '"* * *"', "expected exactly 5 fields, found 3: [* * *]")],
        ),
        (
            {"spec.schedule": "TZ=UTC 0 0 * * *", ZONE: "UTC"},
            [
                invalid(
                    "spec.schedule",
                    '"TZ=UTC 0 0 * * *"',
                    "cannot use both timeZone field and TZ or CRON_TZ in schedule",
                )
            ],
        ),
        ({ZONE: "Europe/Zurich"}, []),
        ({ZONE: ""}, [invalid(ZONE, '""', "timeZone must be nil or non-empty string")]),
        ({ZONE: "Mars/X"}, [invalid(ZONE, '"Mars/X"', "unknown time zone Mars/X")]),
        ({ZONE: "a/../b"}, [invalid(ZONE, '"a/../b"', "time: invalid location name")]),
        (
            {ZONE: "Local"},
            [
                invalid(
                    ZONE,
                    '"Local"',
                    "timeZone must be an explicit time zone as defined in"
                    " https://www.iana.org/time-zones",
                )
            ],
        ),
        (
            {"spec.concurrencyPolicy": "Maybe"},
            [unsupported("spec.concurrencyPolicy", '"Maybe"', "Allow", "Forbid", "Replace")],
        ),
        (
            {
                "spec.startingDeadlineSeconds": -1,
                "spec.successfulJobsHistoryLimit": -1,
                "spec.failedJobsHistoryLimit": -1,
            },
            [
                invalid(f"spec.{name}", "-1", NON_NEGATIVE)
                for name in (
                    "startingDeadlineSeconds",
                    "successfulJobsHistoryLimit",
                    "failedJobsHistoryLimit",
                )
            ],
        ),
        (
            {"metadata.name": "x" * 53},
            [invalid("metadata.name", f'"{"x" * 53}"', "must be no more than 52 characters")],
        ),
        (
            {f"{WORK}.manualSelector": True, f"{WORK}.selector": {"matchLabels": {"a": "b"}}},
            [
                invalid(
                    f"{WORK}.selector", selector('{"a":"b"}'), "`selector` will be auto-generated"
                ),
                unsupported(f"{WORK}.manualSelector", "true", "nil", "false"),
            ],
        ),
        (
            {f"{WORK}.template.spec.restartPolicy": "Always"},
            [required(f"{WORK}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')],
        ),
    ],
)
def test_cron_job(changes: Changes, causes: Found) -> None:
    assert crons().wrong(changed(CRON, changes)) == causes


def test_unchanged_time_zone_is_not_checked_again() -> None:
    kind = crons()
    old = changed(kind.existing(CRON), {ZONE: "Gone/Zone"})
    assert kind.update(old, changed(CRON, {ZONE: "Gone/Zone"}))[1] == []


def test_time_zone_is_dropped_when_off() -> None:
    value = crons(CronJobTimeZone=False).existing(changed(CRON, {ZONE: "Mars/X"}))
    assert "timeZone" not in value["spec"]


def test_zone_in_a_schedule_is_warned_of() -> None:
    kind = crons()
    value = kind.existing(changed(CRON, {"spec.schedule": "TZ=UTC 0 0 * * *"}))
    kind.behaviour.warnings(value, None, kind.context)
    assert "CRON_TZ or TZ used in spec.spec.schedule" in kind.context.warnings[0]


def test_pod_failure_policy_of_a_cron_job_is_checked_though_it_is_off() -> None:
    work = "spec.jobTemplate.spec"
    conditions = [{"type": "T", "status": "True"}]
    rules = [{"action": "X", "onPodConditions": conditions}]
    policy = {f"{work}.podFailurePolicy": {"rules": rules}}
    value = changed(CRON, {**policy, f"{work}.template.spec.restartPolicy": "Never"})
    assert [field for field, _, _ in crons().wrong(value)] == [
        f"{work}.podFailurePolicy.rules[0].action"
    ]


def test_a_condition_of_a_cron_jobs_policy_has_no_default() -> None:
    work = "spec.jobTemplate.spec"
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "T"}]}]
    policy = {f"{work}.podFailurePolicy": {"rules": rules}}
    value = changed(CRON, {**policy, f"{work}.template.spec.restartPolicy": "Never"})
    assert crons().wrong(value) == [
        required(
            f"{work}.podFailurePolicy.rules[0].onPodConditions[0].status",
            'valid values: ["False" "True" "Unknown"]',
        )
    ]


@pytest.mark.parametrize(
    ("codes", "expected"), [({}, "[]int32(nil)"), ({"values": []}, "[]int32{}")]
)
def test_a_rule_without_exit_codes_is_shown_as_it_was_sent(codes: Object, expected: str) -> None:
    rules = [{"action": "Ignore", "onExitCodes": {"operator": "In", **codes}}]
    value = changed(JOB, {"spec.podFailurePolicy": {"rules": rules}})
    assert jobs(JobPodFailurePolicy=True).wrong(value) == [
        invalid(f"{RULE}.onExitCodes.values", expected, "at least one value is required")
    ]
