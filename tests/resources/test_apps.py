"""Rules of the apps group."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    DROP,
    Found,
    Kind,
    changed,
    forbidden,
    invalid,
    required,
    unsupported,
)

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.base.errors import StatusError
from fairlead.base.release import V1_36
from fairlead.resources.rules import NON_NEGATIVE, PERCENT_ERROR

Object = dict[str, Any]
Changes = dict[str, Any]

WORK: Object = {
    "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    }
}
IMMUTABLE = "field is immutable"
DISK = {"name": "v", "gcePersistentDisk": {"pdName": "d"}}
DISK_CAUSE = invalid(
    "spec.template.spec.volumes[0].gcePersistentDisk.readOnly",
    "false",
    "must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it"
    " is read-only",
)
LABELS = "spec.template.metadata.labels"


def selector(labels: str = "(nil)", rules: str = "(nil)") -> str:
    return (
        f"v1.LabelSelector{{MatchLabels:map[string]string{labels},"
        f" MatchExpressions:[]v1.LabelSelectorRequirement{rules}}}"
    )


def number(value: int | str) -> str:
    kind, count, text = (0, value, "") if isinstance(value, int) else (1, 0, value)
    return f'intstr.IntOrString{{Type:{kind}, IntVal:{count}, StrVal:"{text}"}}'


def mismatch(labels: str) -> tuple[str, str, str]:
    return invalid(
        LABELS, f"map[string]string{labels}", "`selector` does not match template `labels`"
    )


COMMON: list[tuple[Changes, Found]] = [
    ({}, []),
    ({"spec.selector": {"matchLabels": {"app": "b"}}}, [mismatch('{"app":"a"}')]),
    (
        {"spec.template.spec.restartPolicy": "Never"},
        [unsupported("spec.template.spec.restartPolicy", '"Never"', "Always")],
    ),
]
REPLICATED: list[tuple[Changes, Found]] = [
    *COMMON,
    ({"spec.replicas": -1}, [invalid("spec.replicas", "-1", NON_NEGATIVE)]),
    ({"spec.minReadySeconds": -1}, [invalid("spec.minReadySeconds", "-1", NON_NEGATIVE)]),
    ({"spec.selector": DROP}, [required("spec.selector"), mismatch('{"app":"a"}')]),
    ({LABELS: {}}, [mismatch("{}")]),
    (
        {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": []}]}},
        [
            required(
                "spec.selector.matchExpressions[0].values",
                "must be specified when `operator` is 'In' or 'NotIn'",
            ),
            invalid(
                "spec.selector",
                selector(
                    rules='{v1.LabelSelectorRequirement{Key:"app", Operator:"In",'
                    " Values:[]string{}}}"
                ),
                "invalid label selector",
            ),
        ],
    ),
    (
        {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
        [
            required(
                "spec.selector.matchExpressions[0].values",
                "must be specified when `operator` is 'In' or 'NotIn'",
            ),
            invalid(
                "spec.selector",
                selector(
                    rules='{v1.LabelSelectorRequirement{Key:"app", Operator:"In",'
                    " Values:[]string(nil)}}"
                ),
                "invalid label selector",
            ),
        ],
    ),
    ({"spec.replicas": 2, "spec.template.spec.volumes": [DISK]}, [DISK_CAUSE]),
    (
        {"spec.selector": {}},
        [invalid("spec.selector", selector(), "empty selector is invalid for deployment")],
    ),
    (
        {"spec.template.spec.activeDeadlineSeconds": 1},
        [
            forbidden(
                "spec.template.spec.activeDeadlineSeconds",
                "activeDeadlineSeconds in ReplicaSet is not Supported",
            )
        ],
    ),
]


@pytest.mark.parametrize(("changes", "causes"), REPLICATED)
@pytest.mark.parametrize("key", ["apps/v1/deployments", "apps/v1/replicasets"])
def test_replicated(key: str, changes: Changes, causes: Found) -> None:
    assert Kind(key).wrong(changed(WORK, changes)) == causes


STRATEGY = "spec.strategy"
ROLLING = f"{STRATEGY}.rollingUpdate"


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        (
            {STRATEGY: {"type": "Recreate", "rollingUpdate": {}}},
            [forbidden(ROLLING, "may not be specified when strategy `type` is 'Recreate'")],
        ),
        (
            {STRATEGY: {"type": "X"}},
            [
                unsupported(
                    STRATEGY,
                    'apps.DeploymentStrategy{Type:"X",'
                    " RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}",
                    "Recreate",
                    "RollingUpdate",
                )
            ],
        ),
        (
            {STRATEGY: {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "0%"}}},
            [invalid(f"{ROLLING}.maxUnavailable", number(0), "may not be 0 when `maxSurge` is 0")],
        ),
        (
            {STRATEGY: {"rollingUpdate": {"maxUnavailable": "101%", "maxSurge": "200%"}}},
            [invalid(f"{ROLLING}.maxUnavailable", number("101%"), "must not be greater than 100%")],
        ),
        (
            {STRATEGY: {"rollingUpdate": {"maxUnavailable": -1, "maxSurge": "x"}}},
            [
                invalid(f"{ROLLING}.maxUnavailable", "-1", NON_NEGATIVE),
                invalid(f"{ROLLING}.maxSurge", number("x"), PERCENT_ERROR),
            ],
        ),
        (
            {"spec.revisionHistoryLimit": -1, "spec.progressDeadlineSeconds": -1},
            [
                invalid("spec.revisionHistoryLimit", "-1", NON_NEGATIVE),
                invalid("spec.progressDeadlineSeconds", "-1", NON_NEGATIVE),
                invalid(
                    "spec.progressDeadlineSeconds", "-1", "must be greater than minReadySeconds"
                ),
            ],
        ),
    ],
)
def test_deployment(changes: Changes, causes: Found) -> None:
    assert Kind("apps/v1/deployments").wrong(changed(WORK, changes)) == causes


def test_deployment_defaults() -> None:
    value = Kind("apps/v1/deployments").existing(WORK)
    assert value["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert value["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("changes", "generation"),
    [
        ({}, 1),
        ({"metadata": {"labels": {"l": "1"}}}, 1),
        ({"metadata": {"annotations": {"a": "1"}}}, 2),
        ({"spec.paused": True}, 2),
    ],
)
def test_deployment_generation(changes: Changes, generation: int) -> None:
    kind = Kind("apps/v1/deployments")
    new, causes = kind.update(kind.existing(WORK), changed(WORK, changes))
    assert (new["metadata"]["generation"], causes) == (generation, [])


def test_deployment_status_update_keeps_labels_and_spec() -> None:
    kind = Kind("apps/v1/deployments")
    value = {**changed(WORK, {"spec.paused": True}), "metadata": {"labels": {"l": "1"}}}
    new, causes = kind.update(kind.existing(WORK), {**value, "status": {"replicas": 1}}, "status")
    assert causes == []
    assert new["status"] == {"replicas": 1}
    assert "labels" not in new["metadata"]
    assert "paused" not in new["spec"]


@pytest.mark.parametrize(
    "key", ["apps/v1/deployments", "apps/v1/replicasets", "apps/v1/daemonsets"]
)
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"matchLabels": {"app": "b"}}, selector('{"app":"b"}')),
        ({"matchLabels": {"z": "1", "b": "2"}}, selector('{"b":"2", "z":"1"}')),
    ],
)
def test_selector_is_immutable(key: str, wanted: Object, expected: str) -> None:
    kind = Kind(key)
    labels = wanted["matchLabels"]
    value = changed(WORK, {"spec.selector": wanted, LABELS: labels})
    assert kind.update(kind.existing(WORK), value)[1] == [
        invalid("spec.selector", expected, IMMUTABLE)
    ]


def test_removed_selector_is_a_change() -> None:
    kind = Kind("apps/v1/deployments")
    value = changed(WORK, {"spec.selector": DROP})
    assert kind.update(kind.existing(WORK), value)[1] == [
        required("spec.selector"),
        mismatch('{"app":"a"}'),
        invalid("spec.selector", '"null"', IMMUTABLE),
    ]


@pytest.mark.parametrize("key", ["apps/v1/replicasets", "apps/v1/daemonsets"])
def test_what_is_wrong_with_a_changed_set_is_said_twice(key: str) -> None:
    kind = Kind(key)
    _, causes = kind.update(kind.existing(WORK), changed(WORK, {"spec.minReadySeconds": -1}))
    assert causes == [invalid("spec.minReadySeconds", "-1", NON_NEGATIVE)] * 2


UPDATE = "spec.updateStrategy"
DAEMON_STEPS = f"{UPDATE}.rollingUpdate"


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        *COMMON,
        ({"spec.selector": DROP}, [mismatch('{"app":"a"}')]),
        (
            {"spec.selector": {}},
            [invalid("spec.selector", selector(), "empty selector is invalid for daemonset")],
        ),
        ({"spec.template.spec.volumes": [DISK]}, [DISK_CAUSE]),
        (
            {"spec.template.spec.activeDeadlineSeconds": 1},
            [
                forbidden(
                    "spec.template.spec.activeDeadlineSeconds",
                    "activeDeadlineSeconds in DaemonSet is not Supported",
                )
            ],
        ),
        (
            {"spec.minReadySeconds": -1, "spec.revisionHistoryLimit": -1},
            [
                invalid("spec.minReadySeconds", "-1", NON_NEGATIVE),
                invalid("spec.revisionHistoryLimit", "-1", NON_NEGATIVE),
            ],
        ),
        (
            {UPDATE: {"type": "Recreate"}},
            [
                unsupported(
                    UPDATE,
                    'apps.DaemonSetUpdateStrategy{Type:"Recreate",'
                    " RollingUpdate:(*apps.RollingUpdateDaemonSet)(nil)}",
                    "RollingUpdate",
                    "OnDelete",
                )
            ],
        ),
        (
            {UPDATE: {"rollingUpdate": {"maxUnavailable": 0}}},
            [required(f"{DAEMON_STEPS}.maxUnavailable", "cannot be 0 when maxSurge is 0")],
        ),
        (
            {UPDATE: {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}},
            [
                invalid(
                    f"{DAEMON_STEPS}.maxSurge",
                    number(1),
                    "may not be set when maxUnavailable is non-zero",
                )
            ],
        ),
        (
            {UPDATE: {"rollingUpdate": {"maxUnavailable": "x", "maxSurge": "150%"}}},
            [
                invalid(f"{DAEMON_STEPS}.maxUnavailable", number("x"), PERCENT_ERROR),
                invalid(
                    f"{DAEMON_STEPS}.maxSurge", number("150%"), "must not be greater than 100%"
                ),
            ],
        ),
    ],
)
def test_daemon_set(changes: Changes, causes: Found) -> None:
    assert Kind("apps/v1/daemonsets").wrong(changed(WORK, changes)) == causes


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _template_generation(value: Object) -> str:
    text: str = value["metadata"]["annotations"][TEMPLATE_GENERATION]
    return text


def test_daemon_set_counts_template_changes() -> None:
    kind = Kind("apps/v1/daemonsets")
    old = kind.existing(WORK)
    assert _template_generation(old) == "1"
    other = changed(WORK, {"spec.minReadySeconds": 3})
    old, _ = kind.update(old, other)
    assert (_template_generation(old), old["metadata"]["generation"]) == ("1", 2)
    other = changed(other, {"spec.template.spec.containers[0].image": "j"})
    other["metadata"] = {"annotations": {TEMPLATE_GENERATION: "77"}}
    old, _ = kind.update(old, other)
    assert (_template_generation(old), old["metadata"]["generation"]) == ("2", 3)
    old, _ = kind.update(old, {**WORK, "status": {}}, "status")
    assert _template_generation(old) == "2"


def test_daemon_set_with_an_unreadable_count() -> None:
    value = {**WORK, "metadata": {"annotations": {TEMPLATE_GENERATION: "x"}}}
    with pytest.raises(StatusError, match=r"strconv\.ParseInt"):
        Kind("apps/v1/daemonsets").create(value)


SET = changed(WORK, {"spec.serviceName": "svc"})
STEPS = f"{UPDATE}.rollingUpdate"


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        *COMMON,
        ({"spec.serviceName": DROP}, []),
        ({"spec.template.spec.containers": []}, []),
        ({"spec.selector": DROP}, [required("spec.selector"), mismatch('{"app":"a"}')]),
        ({LABELS: {}}, [mismatch("{}")]),
        (
            {"spec.selector": {}},
            [invalid("spec.selector", selector(), "empty selector is invalid for statefulset")],
        ),
        (
            {"spec.podManagementPolicy": "X"},
            [invalid("spec.podManagementPolicy", '"X"', "must be 'OrderedReady' or 'Parallel'")],
        ),
        (
            {UPDATE: {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            [
                invalid(
                    STEPS,
                    "apps.RollingUpdateStatefulSetStrategy{Partition:1,"
                    " MaxUnavailable:(*intstr.IntOrString)(nil)}",
                    "only allowed for updateStrategy 'RollingUpdate'",
                )
            ],
        ),
        (
            {UPDATE: {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}},
            [invalid(f"{STEPS}.partition", "-1", NON_NEGATIVE)],
        ),
        (
            {UPDATE: {"type": "Recreate"}, "spec.replicas": -1, "spec.minReadySeconds": -1},
            [
                invalid(
                    UPDATE,
                    'apps.StatefulSetUpdateStrategy{Type:"Recreate",'
                    " RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)(nil)}",
                    "must be 'RollingUpdate' or 'OnDelete'",
                ),
                invalid("spec.replicas", "-1", NON_NEGATIVE),
                invalid("spec.minReadySeconds", "-1", NON_NEGATIVE),
            ],
        ),
        (
            {"spec.template.spec.activeDeadlineSeconds": 1},
            [
                forbidden(
                    "spec.template.spec.activeDeadlineSeconds",
                    "activeDeadlineSeconds in StatefulSet is not Supported",
                )
            ],
        ),
    ],
)
def test_stateful_set(changes: Changes, causes: Found) -> None:
    assert Kind("apps/v1/statefulsets").wrong(changed(SET, changes)) == causes


def test_a_changed_stateful_set_is_checked_like_a_new_one() -> None:
    kind = Kind("apps/v1/statefulsets")
    old = kind.existing(SET)
    wrong = kind.update(old, changed(old, {"metadata.finalizers": ["x"]}))[1]
    assert [field for field, _, _ in wrong] == 2 * ["metadata.finalizers[0]"]


def test_stateful_set_needs_a_service_in_the_cluster_dialect() -> None:
    assert Kind("apps/v1/statefulsets", CLUSTER).wrong(WORK) == [required("spec.serviceName")]


@pytest.mark.parametrize(
    ("strategy", "filled"),
    [
        ({}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ({"type": "RollingUpdate"}, {"type": "RollingUpdate"}),
        (
            {"type": "RollingUpdate", "rollingUpdate": {}},
            {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        ),
        ({"type": "OnDelete"}, {"type": "OnDelete"}),
    ],
)
def test_stateful_set_strategy_defaults(strategy: Object, filled: Object) -> None:
    kind = Kind("apps/v1/statefulsets")
    value = kind.decode(SET)
    value["spec"]["updateStrategy"] = strategy
    kind.behaviour.fill_defaults(value, kind.context)
    assert value["spec"]["updateStrategy"] == filled


RETENTION = "persistentVolumeClaimRetentionPolicy"


def test_stateful_set_drops_what_is_off() -> None:
    value = changed(
        SET,
        {
            UPDATE: {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}},
            f"spec.{RETENTION}": {"whenDeleted": "Never"},
        },
    )
    spec = Kind("apps/v1/statefulsets").existing(value)["spec"]
    assert spec["updateStrategy"]["rollingUpdate"] == {"partition": 0}
    assert RETENTION not in spec


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        (
            {f"spec.{RETENTION}": {"whenDeleted": "Never"}},
            [unsupported(f"spec.{RETENTION}.whenDeleted", '"Never"', "Retain", "Delete")],
        ),
        (
            {UPDATE: {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}}},
            [invalid(f"{STEPS}.maxUnavailable", number(0), "cannot be 0")],
        ),
        (
            {UPDATE: {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "120%"}}},
            [invalid(f"{STEPS}.maxUnavailable", number("120%"), "must not be greater than 100%")],
        ),
    ],
)
def test_stateful_set_with_its_features_on(changes: Changes, causes: Found) -> None:
    gates = {"MaxUnavailableStatefulSet": True, "StatefulSetAutoDeletePVC": True}
    assert Kind("apps/v1/statefulsets", KUBERNETES, **gates).wrong(changed(SET, changes)) == causes


def test_claims_of_a_stateful_set() -> None:
    claim = {"metadata": {"name": "d"}, "spec": {"resources": {"requests": {"storage": "1500m"}}}}
    kind = Kind("apps/v1/statefulsets")
    value = kind.existing(changed(SET, {"spec.volumeClaimTemplates": [claim]}))
    kept = value["spec"]["volumeClaimTemplates"][0]
    assert (kept["apiVersion"], kept["kind"]) == ("v1", "PersistentVolumeClaim")
    assert kept["status"] == {"phase": "Pending"}
    kind.behaviour.warnings(value, None, kind.context)
    assert kind.context.warnings == []


def test_amounts_of_claims_are_rounded_up_to_thousandths() -> None:
    claim = {"metadata": {"name": "d"}, "spec": {"resources": {"requests": {"storage": "100u"}}}}
    value = Kind("apps/v1/statefulsets").existing(
        changed(SET, {"spec.volumeClaimTemplates": [claim]})
    )
    kept = value["spec"]["volumeClaimTemplates"][0]
    assert kept["spec"]["resources"]["requests"] == {"storage": "1m"}


FIXED = forbidden(
    "spec",
    "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy',"
    " 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
)


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({"spec.replicas": 3, "spec.minReadySeconds": 1, UPDATE: {"type": "OnDelete"}}, []),
        ({"spec.template.spec.containers[0].image": "j"}, []),
        ({"spec.serviceName": "other"}, [FIXED]),
        ({"spec.podManagementPolicy": "Parallel"}, [FIXED]),
        ({"spec.revisionHistoryLimit": 4}, [FIXED]),
        ({"spec.volumeClaimTemplates": [{"metadata": {"name": "d"}}]}, [FIXED]),
        (
            {"spec.serviceName": "other", "spec.replicas": -1},
            [invalid("spec.replicas", "-1", NON_NEGATIVE), FIXED],
        ),
    ],
)
def test_stateful_set_change(changes: Changes, causes: Found) -> None:
    kind = Kind("apps/v1/statefulsets")
    assert kind.update(kind.existing(SET), changed(SET, changes))[1] == causes


MORE = "cannot be greater than status.replicas"


def _negative(*names: str) -> Found:
    return [invalid(f"status.{name}", "-1", NON_NEGATIVE) for name in names]


@pytest.mark.parametrize(
    ("key", "status", "causes"),
    [
        (
            "deployments",
            {"replicas": 1, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 3},
            [
                invalid("status.updatedReplicas", "2", MORE),
                invalid("status.readyReplicas", "2", MORE),
                invalid("status.availableReplicas", "3", MORE),
                invalid("status.availableReplicas", "3", "cannot be greater than readyReplicas"),
            ],
        ),
        (
            "deployments",
            {"replicas": -1, "observedGeneration": -1, "unavailableReplicas": -1},
            [
                *_negative("observedGeneration", "replicas", "unavailableReplicas"),
                invalid("status.updatedReplicas", "0", MORE),
                invalid("status.readyReplicas", "0", MORE),
                invalid("status.availableReplicas", "0", MORE),
            ],
        ),
        (
            "replicasets",
            {"replicas": 1, "fullyLabeledReplicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            [
                invalid("status.fullyLabeledReplicas", "2", MORE),
                invalid("status.availableReplicas", "2", MORE),
                invalid("status.availableReplicas", "2", "cannot be greater than readyReplicas"),
            ],
        ),
        (
            "daemonsets",
            {"numberReady": -1, "currentNumberScheduled": -1, "collisionCount": -1},
            _negative("currentNumberScheduled", "numberReady", "collisionCount"),
        ),
        (
            "statefulsets",
            {"replicas": 1, "currentReplicas": 2, "updatedReplicas": 2, "availableReplicas": 1},
            [
                invalid("status.currentReplicas", "2", MORE),
                invalid("status.updatedReplicas", "2", MORE),
                invalid(
                    "status.availableReplicas", "1", "cannot be greater than status.readyReplicas"
                ),
            ],
        ),
    ],
)
def test_status(key: str, status: Object, causes: Found) -> None:
    kind = Kind(f"apps/v1/{key}")
    old = kind.existing(SET if key == "statefulsets" else WORK)
    assert kind.update(old, {**WORK, "status": status}, "status")[1] == causes


@pytest.mark.parametrize("key", ["deployments", "daemonsets", "statefulsets"])
@pytest.mark.parametrize(("count", "expected"), [(0, "0"), (None, "0"), (2, "")])
def test_collisions_only_grow(key: str, count: int | None, expected: str) -> None:
    kind = Kind(f"apps/v1/{key}")
    old, _ = kind.update(kind.existing(SET), {**SET, "status": {"collisionCount": 1}}, "status")
    _, causes = kind.update(old, {**SET, "status": {"collisionCount": count}}, "status")
    wanted = (
        [invalid("status.collisionCount", expected, "cannot be decremented")] if expected else []
    )
    assert causes == wanted


REVISION: Object = {"revision": 1, "data": {"x": 1}}


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"data": None}, [required("data", "data is mandatory")]),
        ({"revision": -1}, [invalid("revision", "-1", NON_NEGATIVE)]),
    ],
)
def test_controller_revision(changes: Changes, causes: Found) -> None:
    assert Kind("apps/v1/controllerrevisions").wrong(changed(REVISION, changes)) == causes


def test_controller_revision_change() -> None:
    kind = Kind("apps/v1/controllerrevisions")
    old = kind.existing(REVISION)
    assert kind.update(old, changed(REVISION, {"revision": 2}))[1] == []
    _, causes = kind.update(old, changed(REVISION, {"data": {"x": 2}}))
    message = (
        'runtime.Unknown{TypeMeta:runtime.TypeMeta{APIVersion:"", Kind:""},'
        " Raw:[]uint8{0x7b, 0x22, 0x78, 0x22, 0x3a, 0x32, 0x7d},"
        ' ContentEncoding:"", ContentType:"application/json"}'
    )
    assert causes == [invalid("data", message, IMMUTABLE)]


def test_data_of_a_controller_revision_tells_a_truth_from_a_number() -> None:
    kind = Kind("apps/v1/controllerrevisions")
    old = kind.existing(changed(REVISION, {"data": {"x": 1}}))
    _, causes = kind.update(old, changed(REVISION, {"data": {"x": True}}))
    assert len(causes) == 1


def test_keys_of_the_data_of_a_controller_revision_keep_their_order() -> None:
    kind = Kind("apps/v1/controllerrevisions")
    old = kind.existing(changed(REVISION, {"data": {"x": {"a": 1, "b": 2}}}))
    _, causes = kind.update(old, changed(REVISION, {"data": {"x": {"b": 2, "a": 1}}}))
    assert len(causes) == 1


def test_annotations_of_the_pods_of_a_stateful_set_are_looked_at() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/other"
    value = changed(WORK, {"spec.template.metadata.annotations": {key: "unconfined"}})
    assert Kind("apps/v1/statefulsets").wrong(value) == [
        invalid(f"spec.template.annotations[{key}]", '"other"', "container not found")
    ]


# Release 1.36


@pytest.mark.parametrize(
    ("resource", "causes"),
    [
        ("deployments", [LABELS, "spec.selector"]),
        ("replicasets", [LABELS, "spec.selector"]),
        ("daemonsets", ["spec.selector", LABELS]),
    ],
)
def test_an_update_is_checked_once_in_later_releases(resource: str, causes: list[str]) -> None:
    kind = Kind(f"apps/v1/{resource}", KUBERNETES, V1_36)
    value = changed(WORK, {"spec.selector.matchLabels.b": "c"})
    found = kind.update(kind.existing(WORK), value)[1]
    assert [field for field, _, _ in found] == causes


def test_steps_of_a_daemon_set_that_is_not_rolled_out_are_zero() -> None:
    strategy = {"type": "OnDelete", "rollingUpdate": {}}
    value = Kind("apps/v1/daemonsets").existing(changed(WORK, {"spec.updateStrategy": strategy}))
    steps = value["spec"]["updateStrategy"]["rollingUpdate"]
    assert steps == {"maxUnavailable": 0, "maxSurge": 0}


def test_a_claim_template_without_a_name() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    value = changed(WORK, {"spec.serviceName": "s", "spec.volumeClaimTemplates": [{"spec": spec}]})
    volume = "spec.template.spec.volumes[0]"
    assert Kind("apps/v1/statefulsets", KUBERNETES, V1_36).wrong(value) == [
        required(f"{volume}.persistentVolumeClaim.claimName"),
        required(f"{volume}.name"),
    ]
