"""PersistentVolume and PersistentVolumeClaim: one row a rule."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    DROP,
    Found,
    Kind,
    Object,
    changed,
    forbidden,
    invalid,
    required,
    unsupported,
)

MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")
VOLUME: Object = {
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
    }
}
CSI = {"driver": "d.example.com", "volumeHandle": "h"}
TERMS: Object = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
VOLUMES: list[tuple[dict[str, Any], Found]] = [
    ({}, []),
    ({"accessModes": []}, [required("spec.accessModes")]),
    (
        {"accessModes": ["ReadWriteOncePod"]},
        [unsupported("spec.accessModes", '"ReadWriteOncePod"', *MODES)],
    ),
    (
        {"capacity": DROP},
        [
            required("spec.capacity"),
            unsupported("spec.capacity", "core.ResourceList(nil)", "storage"),
        ],
    ),
    (
        {"capacity": {}},
        [
            required("spec.capacity"),
            unsupported("spec.capacity", "core.ResourceList{}", "storage"),
        ],
    ),
    (
        {"capacity": {"cpu": "2"}},
        [
            unsupported(
                "spec.capacity",
                'core.ResourceList{"cpu":resource.Quantity{'
                "i:resource.int64Amount{value:2, scale:0},"
                ' d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"2", Format:"DecimalSI"}}',
                "storage",
            )
        ],
    ),
    (
        {"capacity": {"storage": "-1"}},
        [
            invalid("spec.capacity[storage]", "-1", "must be a valid resource quantity"),
            invalid("spec.capacity[storage]", '"-1"', "must be greater than zero"),
        ],
    ),
    (
        {"persistentVolumeReclaimPolicy": "Odd"},
        [unsupported("spec.persistentVolumeReclaimPolicy", '"Odd"', "Delete", "Recycle", "Retain")],
    ),
    (
        {"nodeAffinity": {}},
        [required("spec.nodeAffinity.required", "must specify required node constraints")],
    ),
    (
        {"nodeAffinity": {"required": {"nodeSelectorTerms": []}}},
        [
            required(
                "spec.nodeAffinity.required.nodeSelectorTerms",
                "must have at least one node selector term",
            )
        ],
    ),
    ({"hostPath": DROP}, [required("spec", "must specify a volume type")]),
    (
        {"nfs": {"server": "s", "path": "/p"}},
        [forbidden("spec.nfs", "may not specify more than 1 volume type")],
    ),
    (
        {"hostPath": DROP, "local": {"path": "/x"}},
        [required("spec.nodeAffinity", "Local volume requires node affinity")],
    ),
    ({"hostPath": DROP, "local": {"path": "/x"}, "nodeAffinity": {"required": TERMS}}, []),
    (
        {
            "hostPath": DROP,
            "local": {"path": "/x"},
            "csi": {"driver": "d.example.com", "volumeHandle": "h"},
        },
        [
            required("spec.nodeAffinity", "Local volume requires node affinity"),
            forbidden("spec.csi", "may not specify more than 1 volume type"),
        ],
    ),
    (
        {"hostPath.path": "/", "persistentVolumeReclaimPolicy": "Recycle"},
        [
            forbidden(
                "spec.persistentVolumeReclaimPolicy",
                "may not be 'recycle' for a hostPath mount of '/'",
            )
        ],
    ),
    ({"volumeMode": "Odd"}, [unsupported("spec.volumeMode", '"Odd"', "Block", "Filesystem")]),
]


def spec_changed(base: Object, changes: dict[str, Any]) -> Object:
    return changed(base, {f"spec.{path}": value for path, value in changes.items()})


@pytest.mark.parametrize(("changes", "expected"), VOLUMES)
def test_volume(changes: dict[str, Any], expected: Found) -> None:
    assert Kind("core/v1/persistentvolumes").wrong(spec_changed(VOLUME, changes)) == expected


def test_a_volume_starts_pending() -> None:
    value = Kind("core/v1/persistentvolumes").existing({**VOLUME, "status": {"phase": "Bound"}})
    assert value["status"] == {"phase": "Pending"}
    assert value["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


def test_gated_fields_of_volumes() -> None:
    value = spec_changed(
        VOLUME,
        {"hostPath": DROP, "csi": {**CSI, "nodeExpandSecretRef": {"name": "n", "namespace": "n"}}},
    )
    off, on = (
        Kind("core/v1/persistentvolumes", CSINodeExpandSecret=gate).existing(value)
        for gate in (False, True)
    )
    assert "nodeExpandSecretRef" not in off["spec"]["csi"]
    assert "nodeExpandSecretRef" in on["spec"]["csi"]
    both = spec_changed(VOLUME, {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]})
    assert Kind("core/v1/persistentvolumes", ReadWriteOncePod=True).wrong(both) == [
        forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")
    ]


VOLUME_CHANGES: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"capacity.storage": "2Gi", "accessModes": ["ReadOnlyMany"], "mountOptions": ["ro"]}, []),
    ({"nodeAffinity": {"required": TERMS}}, []),
    ({"hostPath.path": "/y"}, [("spec.persistentvolumesource", "Forbidden")]),
    ({"volumeMode": "Block"}, [("volumeMode", "Invalid")]),
    ({"accessModes": ["Odd"]}, [("spec.accessModes", "NotSupported")] * 2),
]


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        (None, '"null"'),
        (
            {"required": {"nodeSelectorTerms": [{}]}},
            "core.VolumeNodeAffinity{Required:(*core.NodeSelector)(0xc000000000)}",
        ),
    ],
)
def test_the_affinity_of_a_volume_is_fixed(affinity: dict[str, Any] | None, expected: str) -> None:
    kind = Kind("core/v1/persistentvolumes")
    bound = kind.existing(spec_changed(VOLUME, {"nodeAffinity": {"required": TERMS}}))
    wrong = kind.update(bound, spec_changed(VOLUME, {"nodeAffinity": affinity}))[1]
    assert wrong == [invalid("nodeAffinity", expected, "field is immutable")]


@pytest.mark.parametrize(("changes", "expected"), VOLUME_CHANGES)
def test_change_of_a_volume(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    kind = Kind("core/v1/persistentvolumes")
    wrong = kind.update(kind.existing(VOLUME), spec_changed(VOLUME, changes))[1]
    assert [(field, reason) for field, reason, _ in wrong] == expected


def test_a_secret_to_expand_with_may_come_later() -> None:
    kind = Kind("core/v1/persistentvolumes")
    value = spec_changed(VOLUME, {"hostPath": DROP, "csi": CSI})
    reference = {"name": "n", "namespace": "n"}
    later = spec_changed(value, {"csi.controllerExpandSecretRef": reference})
    assert kind.update(kind.existing(value), later)[1] == []
    other = spec_changed(value, {"csi.nodePublishSecretRef": reference})
    assert kind.update(kind.existing(value), other)[1] != []


def test_a_name_of_a_secret_that_is_no_label_may_only_stay() -> None:
    kind = Kind("core/v1/persistentvolumes")
    long = {"name": "a.b", "namespace": "n"}
    value = spec_changed(VOLUME, {"hostPath": DROP, "csi": {**CSI, "nodePublishSecretRef": long}})
    stored, wrong = kind.create(value)
    assert [field for field, _, _ in wrong] == ["spec.csi.nodePublishSecretRef.name"]
    assert kind.update(stored, value)[1] == []


CLAIM: Object = {
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
}
CLAIMS: list[tuple[dict[str, Any], Found]] = [
    ({}, []),
    ({"accessModes": []}, [required("spec.accessModes", "at least 1 access mode is required")]),
    ({"resources": {}}, [required("spec.resources[storage]")]),
    (
        {"resources.requests.storage": "0"},
        [invalid("spec.resources[storage]", '"0"', "must be greater than zero")],
    ),
    (
        {"dataSourceRef": {"kind": "Odd", "name": "n"}},
        [
            (f"spec.{name}", "Invalid", 'Invalid value: "Odd"')
            for name in ("dataSource", "dataSourceRef")
        ],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), CLAIMS)
def test_claim(changes: dict[str, Any], expected: Found) -> None:
    assert Kind("core/v1/persistentvolumeclaims").wrong(spec_changed(CLAIM, changes)) == expected


SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
ODD = {"apiGroup": "example.com", "kind": "Odd", "name": "o"}
SOURCES: list[tuple[Object, Object | None, bool]] = [
    ({"dataSource": SNAPSHOT}, SNAPSHOT, True),
    ({"dataSourceRef": SNAPSHOT}, SNAPSHOT, True),
    ({"dataSource": ODD}, None, True),
    ({"dataSourceRef": ODD}, ODD, True),
    ({"dataSource": ODD, "dataSourceRef": ODD}, ODD, True),
    ({"dataSourceRef": SNAPSHOT}, None, False),
]


@pytest.mark.parametrize(("given", "kept", "gate"), SOURCES)
def test_both_names_of_a_source_say_the_same(
    given: Object, kept: Object | None, gate: bool
) -> None:
    kind = Kind("core/v1/persistentvolumeclaims", AnyVolumeDataSource=gate)
    spec = kind.existing(spec_changed(CLAIM, given))["spec"]
    assert (spec.get("dataSource"), spec.get("dataSourceRef")) == (kept, kept)


SHRUNK = ("spec.resources.requests.storage", "Forbidden")
CLAIM_CHANGES: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("Pending", {"volumeName": "v"}, []),
    ("Pending", {"resources.requests.storage": "2048Mi"}, []),
    ("Pending", {"accessModes": ["ReadWriteMany"]}, [("spec", "Forbidden")]),
    ("Pending", {"selector": {}}, [("spec", "Forbidden")]),
    ("Pending", {"storageClassName": "x"}, [("spec", "Forbidden")]),
    ("Pending", {"resources.requests.storage": "3Gi"}, [("spec", "Forbidden")]),
    ("Pending", {"resources.requests.storage": "1Gi"}, [("spec", "Forbidden"), SHRUNK]),
    ("Pending", {"volumeMode": "Block"}, [("spec", "Forbidden"), ("volumeMode", "Invalid")]),
    ("Bound", {"resources.requests.storage": "3Gi"}, []),
    ("Bound", {"resources.requests.storage": "1Gi"}, [SHRUNK]),
    ("Bound", {"resources.limits": {"storage": "9Gi"}}, [("spec", "Forbidden")]),
]


@pytest.mark.parametrize(("phase", "changes", "expected"), CLAIM_CHANGES)
def test_change_of_a_claim(
    phase: str, changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    kind = Kind("core/v1/persistentvolumeclaims")
    old = kind.existing(CLAIM)
    old["status"] = {"phase": phase, "capacity": {"storage": "1Gi"}}
    wrong = kind.update(old, spec_changed(CLAIM, changes))[1]
    assert [(field, reason) for field, reason, _ in wrong] == expected


def test_what_is_wrong_with_a_changed_claim_is_said_twice() -> None:
    kind = Kind("core/v1/persistentvolumeclaims")
    wrong = kind.update(kind.existing(CLAIM), spec_changed(CLAIM, {"storageClassName": "A_B"}))[1]
    assert [field for field, _, _ in wrong] == ["spec.storageClassName"] * 2 + ["spec"]


def test_a_bound_claim_keeps_its_volume() -> None:
    kind = Kind("core/v1/persistentvolumeclaims")
    old = kind.existing(spec_changed(CLAIM, {"volumeName": "v"}))
    wrong = kind.update(old, spec_changed(CLAIM, {"volumeName": "w"}))[1]
    assert [field for field, _, _ in wrong] == ["spec"]


def test_a_class_can_move_from_the_annotation_to_the_field() -> None:
    kind = Kind("core/v1/persistentvolumeclaims")
    key = "volume.beta.kubernetes.io/storage-class"
    value = {**CLAIM, "metadata": {"annotations": {key: "slow"}}}
    old = kind.existing(value)
    assert kind.update(old, spec_changed(value, {"storageClassName": "slow"}))[1] == []
    assert kind.update(old, CLAIM)[1] == [
        invalid(f"metadata.annotations.{key}", '""', "field is immutable")
    ]


def test_a_claim_may_shrink_again_where_that_is_on() -> None:
    kind = Kind("core/v1/persistentvolumeclaims", RecoverVolumeExpansionFailure=True)
    old = kind.existing(CLAIM)
    old["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    less = spec_changed(CLAIM, {"resources.requests.storage": "1536Mi"})
    assert kind.update(old, less)[1] == []
    minimum = spec_changed(CLAIM, {"resources.requests.storage": "1Gi"})
    assert kind.update(old, minimum)[1] == [
        forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    ]


def test_status_of_a_claim() -> None:
    sent: Object = {
        **CLAIM,
        "status": {
            "capacity": {"storage": "-1"},
            "resizeStatus": "Odd",
            "allocatedResources": {"cpu": "1"},
        },
    }
    off = Kind("core/v1/persistentvolumeclaims")
    value, errors = off.update(off.existing(CLAIM), sent, "status")
    assert errors == [
        invalid("status.capacity[storage]", "-1", "must be a valid resource quantity")
    ]
    assert set(value["status"]) == {"capacity", "phase"}
    on = Kind("core/v1/persistentvolumeclaims", RecoverVolumeExpansionFailure=True)
    _, errors = on.update(on.existing(CLAIM), sent, "status")
    assert [field for field, _, _ in errors] == [
        "status.capacity[storage]",
        "status.resizeStatus",
        "status.allocatedResources",
    ]


def warned(kind: Kind, value: Object) -> list[str]:
    kind.behaviour.warnings(kind.existing(value), None, kind.context)
    return kind.context.warnings


def test_claims_are_not_warned_of() -> None:
    kind = Kind("core/v1/persistentvolumeclaims")
    annotations = {"volume.beta.kubernetes.io/storage-class": "slow"}
    value = spec_changed(CLAIM, {"resources.requests.storage": "1500m"})
    assert warned(kind, {**value, "metadata": {"annotations": annotations}}) == []


def test_old_node_labels_are_all_that_volumes_are_warned_of() -> None:
    old = {"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}
    source = {"glusterfs": {"endpoints": "e", "path": "/p"}, "hostPath": DROP}
    terms = {"nodeAffinity": {"required": {"nodeSelectorTerms": [old]}}}
    annotations = {
        f"volume.beta.kubernetes.io/{name}": "x" for name in ("storage-class", "mount-options")
    }
    value = {**spec_changed(VOLUME, source | terms), "metadata": {"annotations": annotations}}
    assert warned(Kind("core/v1/persistentvolumes"), value) == [
        "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key:"
        ' beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead'
    ]
