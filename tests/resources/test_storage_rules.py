"""Rules of the storage group."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import (
    DROP,
    Kind,
    changed,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)

from fairlead.codec.types.names import dns_subdomain, qualified_name

BAD = dns_subdomain("Bad_")[0]
NAME_PART = qualified_name("bad key")[0]
IMMUTABLE = "field is immutable"
INLINE = "spec.source.inlineVolumeSpec"
NOT_INLINE = "may not be specified in the context of inline volumes"

CLASS: dict[str, Any] = {"provisioner": "example.com/p"}
DRIVER: dict[str, Any] = {"spec": {}}
NODE: dict[str, Any] = {
    "spec": {"drivers": [{"name": "d.example.com", "nodeID": "n", "topologyKeys": ["k"]}]}
}
CAPACITY: dict[str, Any] = {
    "storageClassName": "fast",
    "nodeTopology": {"matchLabels": {"zone": "z"}},
}
ATTACHMENT: dict[str, Any] = {
    "spec": {
        "attacher": "example.com",
        "nodeName": "node",
        "source": {"persistentVolumeName": "pv"},
    }
}
CSI = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]}


def _terms(*rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"matchLabelExpressions": list(rule)} for rule in rules]


ZONE = {"key": "zone", "values": ["a"]}
TERM = "allowedTopologies[0].matchLabelExpressions"


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"provisioner": ""}, [required("provisioner")]),
        ({"provisioner": "Bad Key"}, [invalid("provisioner", '"bad key"', NAME_PART)]),
        (
            {"reclaimPolicy": "Recycle"},
            [unsupported("reclaimPolicy", '"Recycle"', "Delete", "Retain")],
        ),
        (
            {"volumeBindingMode": "x"},
            [unsupported("volumeBindingMode", '"x"', "Immediate", "WaitForFirstConsumer")],
        ),
        ({"parameters": {"": "x"}}, [invalid("parameters", '""', "field can not be empty.")]),
        ({"parameters": {str(n): "" for n in range(513)}}, [too_long("parameters", 512)]),
        ({"parameters": {"a": "x" * 262144}}, [too_long("parameters", 262144)]),
        (
            {"allowedTopologies": _terms([{"key": "zone", "values": []}])},
            [required(f"{TERM}[0].values")],
        ),
        (
            {"allowedTopologies": _terms([{"key": "zone", "values": ["a", "a"]}])},
            [duplicate(f"{TERM}[0].values[1]", '"a"')],
        ),
        ({"allowedTopologies": _terms([ZONE, ZONE])}, [duplicate(f"{TERM}[1].key", '"zone"')]),
        (
            {"allowedTopologies": _terms([ZONE], [ZONE])},
            [duplicate("allowedTopologies[1].matchLabelExpressions", '""')],
        ),
        ({"allowedTopologies": [{}]}, [duplicate(TERM, '""')]),
    ],
)
def test_storage_class(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("storage/v1/storageclasses").wrong(changed(CLASS, changes)) == causes


def test_only_the_extras_of_a_storage_class_change() -> None:
    kind = Kind("storage/v1/storageclasses")
    old = kind.existing(CLASS)
    _, causes = kind.update(old, {**CLASS, "allowVolumeExpansion": True, "mountOptions": ["ro"]})
    assert causes == []
    _, causes = kind.update(
        old,
        {
            "provisioner": "x",
            "parameters": {"a": "b"},
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )
    assert causes == [
        forbidden("parameters", "updates to parameters are forbidden."),
        forbidden("provisioner", "updates to provisioner are forbidden."),
        forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden."),
        invalid("volumeBindingMode", '"WaitForFirstConsumer"', IMMUTABLE),
    ]


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({}, []),
        (
            {"fsGroupPolicy": "x"},
            [unsupported("spec.fsGroupPolicy", '"x"', "File", "None", "ReadWriteOnceWithFSType")],
        ),
        (
            {"volumeLifecycleModes": ["x"]},
            [unsupported("spec.volumeLifecycleModes", '"x"', "Persistent", "Ephemeral")],
        ),
        (
            {"tokenRequests": [{"audience": ""}, {"audience": ""}]},
            [duplicate("spec.tokenRequests[1].audience", '""')],
        ),
        (
            {"tokenRequests": [{"audience": "a", "expirationSeconds": 1}]},
            [
                invalid(
                    "spec.tokenRequests[0].expirationSeconds",
                    "1",
                    "may not specify a duration less than 10 minutes",
                )
            ],
        ),
        (
            {"tokenRequests": [{"audience": "a", "expirationSeconds": 2**32 + 1}]},
            [
                invalid(
                    "spec.tokenRequests[0].expirationSeconds",
                    "4294967297",
                    "may not specify a duration larger than 2^32 seconds",
                )
            ],
        ),
    ],
)
def test_csi_driver(spec: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("storage/v1/csidrivers").wrong({"spec": spec}) == causes


def test_csi_driver_defaults_and_fixed_fields() -> None:
    kind = Kind("storage/v1/csidrivers")
    old = kind.existing(changed(DRIVER, {"spec.seLinuxMount": True}))
    assert old["spec"]["volumeLifecycleModes"] == ["Persistent"]
    assert "seLinuxMount" not in old["spec"]
    changes = {"attachRequired": False, "podInfoOnMount": True, "fsGroupPolicy": "File"}
    _, causes = kind.update(old, {"spec": {**changes, "volumeLifecycleModes": ["Ephemeral"]}})
    assert causes == [
        invalid("spec.attachedRequired", "false", IMMUTABLE),
        invalid("spec.fsGroupPolicy", '"File"', IMMUTABLE),
        invalid("spec.podInfoOnMount", "true", IMMUTABLE),
        invalid(
            "spec.volumeLifecycleModes", '[]storage.VolumeLifecycleMode{"Ephemeral"}', IMMUTABLE
        ),
    ]


@pytest.mark.parametrize(
    ("spec", "generation"),
    [
        ({"storageCapacity": True}, None),
        ({"requiresRepublish": True}, 1),
        ({"tokenRequests": [{"audience": "x"}]}, 1),
    ],
)
def test_csi_driver_counts_some_changes(spec: dict[str, Any], generation: int | None) -> None:
    kind = Kind("storage/v1/csidrivers")
    new, causes = kind.update(kind.existing(DRIVER), {"spec": spec})
    assert causes == []
    assert new["metadata"].get("generation") == generation


D0 = "spec.drivers[0]"


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"spec.drivers[0].nodeID": ""}, [required(f"{D0}.nodeID")]),
        (
            {"spec.drivers[0].nodeID": "n" * 257},
            [invalid(f"{D0}.nodeID", f'"{"n" * 257}"', "must be 256 characters or less")],
        ),
        (
            {"spec.drivers[0].name": ""},
            [required(f"{D0}.name"), invalid(f"{D0}.name", '""', BAD)],
        ),
        ({"spec.drivers[0].name": "x" * 64}, [too_long(f"{D0}.name", 63)]),
        (
            {"spec.drivers[1]": NODE["spec"]["drivers"][0]},
            [duplicate("spec.drivers[1].name", '"d.example.com"')],
        ),
        ({"spec.drivers[0].topologyKeys": ["a", "a"]}, [duplicate(D0, '"a"')]),
        (
            {"spec.drivers[0].topologyKeys": [""]},
            [
                required(D0),
                invalid(D0, '""', "name part must be non-empty"),
                invalid(D0, '""', NAME_PART),
            ],
        ),
        (
            {"spec.drivers[0].allocatable": {"count": -1}},
            [invalid(f"{D0}.allocatable.count", "-1", "must be greater than or equal to 0")],
        ),
    ],
)
def test_csi_node(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("storage/v1/csinodes").wrong(changed(NODE, changes)) == causes


def test_a_driver_of_a_csi_node_is_fixed() -> None:
    kind = Kind("storage/v1/csinodes")
    old = kind.existing(NODE)
    assert kind.update(old, {"spec": {"drivers": []}})[1] == []
    _, causes = kind.update(old, changed(NODE, {"spec.drivers[0].nodeID": "m"}))
    message = (
        'storage.CSINodeDriver{Name:"d.example.com", NodeID:"m", TopologyKeys:[]string{"k"},'
        " Allocatable:(*storage.VolumeNodeResources)(nil)}"
    )
    assert causes == [invalid("CSINodeDriver", message, IMMUTABLE)]


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"storageClassName": "Bad_"}, invalid("storageClassName", '"Bad_"', BAD)),
        ({"capacity": "-1"}, invalid("capacity", '"-1"', "must be greater than or equal to 0")),
        (
            {"nodeTopology": {"matchExpressions": [{"key": "a", "operator": "x"}]}},
            invalid(
                "nodeTopology.matchExpressions[0].operator",
                '"x"',
                "not a valid selector operator",
            ),
        ),
    ],
)
def test_storage_capacity_is_checked_twice(changes: dict[str, Any], cause: Any) -> None:
    kind = Kind("storage/v1/csistoragecapacities")
    assert kind.wrong(changed(CAPACITY, changes)) == [cause, cause]
    assert kind.wrong(changed(CAPACITY, {"maximumVolumeSize": "-5Gi"})) == []


def test_where_and_of_what_a_storage_capacity_is_stays() -> None:
    kind = Kind("storage/v1/csistoragecapacities")
    old = kind.existing(CAPACITY)
    assert kind.update(old, {**CAPACITY, "capacity": "2Gi"})[1] == []
    _, causes = kind.update(old, {"storageClassName": "slow", "nodeTopology": {}})
    message = (
        "v1.LabelSelector{MatchLabels:map[string]string(nil),"
        " MatchExpressions:[]v1.LabelSelectorRequirement(nil)}"
    )
    assert causes == [
        invalid("nodeTopology", message, IMMUTABLE),
        invalid("storageClassName", '"slow"', IMMUTABLE),
    ]


def _inline(**spec: Any) -> dict[str, Any]:
    return {"spec.source": {"inlineVolumeSpec": {**CSI, **spec}}}


ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
PV_NAME = "spec.source.persistentVolumeName"


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        (
            {"spec.attacher": ""},
            [
                required("spec.attacher"),
                required("spec.attacher"),
                invalid("spec.attacher", '""', BAD),
            ],
        ),
        ({"spec.attacher": "x" * 64}, [too_long("spec.attacher", 63)]),
        ({"spec.nodeName": "Bad_"}, [invalid("spec.nodeName", '"Bad_"', BAD)]),
        ({"spec.source": {}}, [required("spec.source", ONE_SOURCE)]),
        (
            {"spec.source": {"persistentVolumeName": "pv", "inlineVolumeSpec": CSI}},
            [forbidden("spec.source", ONE_SOURCE)],
        ),
        (
            {PV_NAME: ""},
            [
                required(PV_NAME, "must specify non empty persistentVolumeName"),
                invalid(PV_NAME, '""', BAD),
            ],
        ),
        (_inline(), []),
        (
            _inline(csi=None, accessModes=[]),
            [
                required(f"{INLINE}.csi", "has to be specified in the context of inline volumes"),
                required(f"{INLINE}.accessModes"),
                required(INLINE, "must specify a volume type"),
            ],
        ),
        (
            _inline(
                claimRef={"name": "c"},
                capacity={"storage": "1Gi"},
                persistentVolumeReclaimPolicy="Delete",
                nodeAffinity={},
                storageClassName="x",
                volumeMode="Block",
            ),
            [
                forbidden(f"{INLINE}.claimRef", NOT_INLINE),
                forbidden(f"{INLINE}.capacity", NOT_INLINE),
                forbidden(
                    f"{INLINE}.persistentVolumeReclaimPolicy",
                    "may only be Retain in the context of inline volumes",
                ),
                forbidden(f"{INLINE}.nodeAffinity", NOT_INLINE),
                forbidden(f"{INLINE}.storageClassName", NOT_INLINE),
                forbidden(
                    f"{INLINE}.volumeMode",
                    "may not specify volumeMode other than Filesystem in the context of inline"
                    " volumes",
                ),
            ],
        ),
    ],
)
def test_volume_attachment(changes: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("storage/v1/volumeattachments").wrong(changed(ATTACHMENT, changes)) == causes


def test_the_spec_of_an_attachment_is_fixed() -> None:
    kind = Kind("storage/v1/volumeattachments")
    old = kind.existing(ATTACHMENT)
    _, causes = kind.update(old, changed(ATTACHMENT, {"spec.nodeName": "other"}))
    assert [(field, reason) for field, reason, _ in causes] == [("spec", "Invalid")]


def test_the_status_of_an_attachment_goes_its_own_way() -> None:
    kind = Kind("storage/v1/volumeattachments")
    old = kind.existing({**ATTACHMENT, "status": {"attached": True}})
    assert old["status"] == {"attached": False}
    sent = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {},
        "status": {"attached": True, "attachError": {"message": "m" * 1025}},
    }
    new, causes = kind.update(old, sent, "status")
    assert new["spec"] == old["spec"]
    assert "labels" not in new["metadata"]
    assert causes == [too_long("status.attachError.message", 262144)] * 2


def test_dropping_a_class_field_by_hand() -> None:
    kind = Kind("storage/v1/storageclasses")
    assert kind.wrong(changed(CLASS, {"provisioner": DROP})) == [required("provisioner")]


OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
NEWER = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'


@pytest.mark.parametrize(
    ("key", "value", "warnings"),
    [
        (
            "storage/v1/storageclasses",
            {
                **CLASS,
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": OLD_ZONE, "values": ["a"]}]},
                ],
            },
            [f"allowedTopologies[0].matchLabelExpressions[0].key: {NEWER}"],
        ),
        (
            "storage/v1/csistoragecapacities",
            {
                "storageClassName": "fast",
                "nodeTopology": {
                    "matchLabels": {OLD_ZONE: "a"},
                    "matchExpressions": [{"key": OLD_ZONE, "operator": "Exists"}],
                },
            },
            [
                f"nodeTopology.matchExpressions[0].key: {OLD_ZONE} is {NEWER}",
                f"nodeTopology.matchLabels.{OLD_ZONE}: {NEWER}",
            ],
        ),
        (
            "node/v1/runtimeclasses",
            {"handler": "h", "scheduling": {"nodeSelector": {OLD_ZONE: "a"}}},
            [f"scheduling.nodeSelector: {NEWER}"],
        ),
    ],
)
def test_node_labels_that_have_newer_names_are_warned_of(
    key: str, value: dict[str, Any], warnings: list[str]
) -> None:
    kind = Kind(key)
    kind.behaviour.warnings(kind.existing(value), None, kind.context)
    assert kind.context.warnings == warnings
