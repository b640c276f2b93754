"""ReplicationController: one row a rule; the template's own rules are tested with pods."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import DROP, Found, Kind, Object, changed, forbidden, invalid, required

CONTROLLER: Object = {
    "spec": {
        "selector": {"a": "b"},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    }
}
DISK = {"name": "v", "gcePersistentDisk": {"pdName": "p"}}
ROWS: list[tuple[dict[str, Any], Found]] = [
    ({}, []),
    (
        {"minReadySeconds": -1, "replicas": -1},
        [
            invalid("spec.minReadySeconds", "-1", "must be greater than or equal to 0"),
            invalid("spec.replicas", "-1", "must be greater than or equal to 0"),
        ],
    ),
    ({"template": DROP}, [required("spec.template")]),
    (
        {"selector": {"a": "c"}},
        [
            invalid(
                "spec.template.metadata.labels",
                'map[string]string{"a":"b"}',
                "`selector` does not match template `labels`",
            )
        ],
    ),
    (
        {"template.spec.activeDeadlineSeconds": 5},
        [
            forbidden(
                "spec.template.spec.activeDeadlineSeconds",
                "activeDeadlineSeconds in ReplicationController is not Supported",
            )
        ],
    ),
    (
        {"replicas": 2, "template.spec.volumes": [DISK]},
        [
            invalid(
                "spec.template.spec.volumes[0].gcePersistentDisk.readOnly",
                "false",
                "must be true for replicated pods > 1; GCE PD can only be mounted on multiple"
                " machines if it is read-only",
            )
        ],
    ),
]


def spec_changed(changes: dict[str, Any]) -> Object:
    return changed(CONTROLLER, {f"spec.{path}": value for path, value in changes.items()})


@pytest.mark.parametrize(("changes", "expected"), ROWS)
def test_controller(changes: dict[str, Any], expected: Found) -> None:
    assert Kind("core/v1/replicationcontrollers").wrong(spec_changed(changes)) == expected


def test_labels_come_from_the_template() -> None:
    value = Kind("core/v1/replicationcontrollers").existing(spec_changed({"selector": DROP}))
    assert value["spec"]["selector"] == {"a": "b"}
    assert value["metadata"]["labels"] == {"a": "b"}
    assert value["spec"]["replicas"] == 1
    assert value["status"] == {"replicas": 0}
    assert value["metadata"]["generation"] == 1


def test_rules_of_the_spec_are_told_twice_on_update() -> None:
    kind = Kind("core/v1/replicationcontrollers")
    _, errors = kind.update(kind.existing(CONTROLLER), spec_changed({"replicas": -1}))
    assert [field for field, _, _ in errors] == ["spec.replicas", "spec.replicas"]


def test_status() -> None:
    kind = Kind("core/v1/replicationcontrollers")
    status = {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3, "observedGeneration": -1}
    value, errors = kind.update(
        kind.existing(CONTROLLER), {**CONTROLLER, "status": status}, "status"
    )
    assert value["status"] == status
    assert errors == [
        invalid("status.observedGeneration", "-1", "must be greater than or equal to 0"),
        invalid("status.readyReplicas", "2", "cannot be greater than status.replicas"),
        invalid("status.availableReplicas", "3", "cannot be greater than status.replicas"),
        invalid("status.availableReplicas", "3", "cannot be greater than readyReplicas"),
    ]


def test_counts_that_a_status_leaves_out_are_none() -> None:
    kind = Kind("core/v1/replicationcontrollers")
    value = {**CONTROLLER, "status": {"replicas": -1}}
    _, errors = kind.update(kind.existing(CONTROLLER), value, "status")
    assert errors == [
        invalid("status.replicas", "-1", "must be greater than or equal to 0"),
        invalid("status.fullyLabeledReplicas", "0", "cannot be greater than status.replicas"),
        invalid("status.readyReplicas", "0", "cannot be greater than status.replicas"),
        invalid("status.availableReplicas", "0", "cannot be greater than status.replicas"),
    ]
