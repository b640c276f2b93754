"""Mutable fields of a pod, and its deletion."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from support.pod_rules import PODS, Found, Object, pod

DEADLINE = "spec.activeDeadlineSeconds"


def _stored(**spec: Any) -> Object:
    value, errors, _ = PODS.create(pod(**spec))
    assert errors == []
    return value


def _changed(old: Object, **spec: Any) -> Found:
    new = deepcopy(old)
    for name, value in spec.items():
        if value is None:
            new["spec"].pop(name)
        else:
            new["spec"][name] = value
    return PODS.update(new, old)[1]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, 5, []),
        (5, 5, []),
        (5, 3, []),
        (5, 6, [(DEADLINE, "invalid", "6: must be less than or equal to previous value")]),
        (
            5,
            None,
            [
                (
                    DEADLINE,
                    "invalid",
                    '"null": must not update from a positive integer to nil value',
                )
            ],
        ),
    ],
)
def test_deadlines_only_come_nearer(before: int | None, after: int | None, expected: Found) -> None:
    old = _stored(**({"activeDeadlineSeconds": before} if before else {}))
    assert _changed(old, activeDeadlineSeconds=after) == expected


def test_images_can_change() -> None:
    old = _stored(initContainers=[{"name": "x", "image": "i:1"}])
    containers = [{**old["spec"]["containers"][0], "image": "other"}]
    initial = [{**old["spec"]["initContainers"][0], "image": "other"}]
    assert _changed(old, containers=containers, initContainers=initial) == []
    result = _changed(old, containers=[{**containers[0], "image": ""}])
    assert result == [("spec.containers[0].image", "required", "")] * 2


def test_containers_are_not_added() -> None:
    old = _stored()
    more = [*old["spec"]["containers"], {**old["spec"]["containers"][0], "name": "d"}]
    detail = "pod updates may not add or remove containers"
    assert _changed(old, containers=more) == [("spec.containers", "forbidden", detail)]


def test_other_fields_stay() -> None:
    old = _stored()
    [(field, reason, message)] = _changed(old, nodeName="n", priority=5)
    assert (field, reason) == ("spec", "forbidden")
    assert message.startswith("pod updates may not change fields other than `spec.containers[*]")
    assert '+ \tNodeName: "n",' in message
    assert "- \tPriority: nil," in message


def test_tolerations_can_be_added_and_wait_longer() -> None:
    toleration = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
    old = _stored(tolerations=[toleration])
    longer = {**toleration, "tolerationSeconds": 9}
    assert _changed(old, tolerations=[longer, {"key": "b"}]) == []
    detail = "existing toleration can not be modified except its tolerationSeconds"
    refused = [("spec.tolerations", "forbidden", detail)]
    assert _changed(old, tolerations=[{**toleration, "key": "z"}]) == refused


def test_negative_grace_period_can_become_one() -> None:
    old = _stored(terminationGracePeriodSeconds=-5)
    assert _changed(old, terminationGracePeriodSeconds=1) == []
    assert len(_changed(old, terminationGracePeriodSeconds=2)) == 1


def test_marks_of_mirror_pods_stay() -> None:
    old = _stored(nodeName="n")
    new = deepcopy(old)
    new["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert PODS.update(new, old)[1] == [
        (
            "metadata.annotations[kubernetes.io/config.mirror]",
            "forbidden",
            "may not add mirror pod annotation",
        )
    ]


def test_status_goes_through_its_own_door() -> None:
    old = _stored()
    new = deepcopy(old)
    new["status"]["phase"] = "Running"
    assert PODS.update(new, old)[0]["status"]["phase"] == "Pending"
    new["spec"]["nodeName"] = "n"
    new["metadata"]["labels"] = {"a": "b"}
    changed, errors = PODS.update(new, old, "status")
    assert errors == []
    assert changed["status"]["phase"] == "Running"
    assert "nodeName" not in changed["spec"]
    assert changed["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"nominatedNodeName": "Bad_"}, [("status.nominatedNodeName", "invalid")]),
        ({"conditions": [{"type": "Ready"}]}, []),
        ({"conditions": [{"type": "bad!"}]}, [("metadata.conditions[0].Type", "invalid")]),
        ({"podIPs": [{"ip": "nope"}]}, [("status.podIPs[0]", "invalid")]),
        ({"podIPs": [{"ip": "1.1.1.1"}, {"ip": "::1"}]}, []),
        ({"podIPs": [{"ip": "01.1.1.1"}, {"ip": "::1"}]}, []),
        ({"podIPs": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.2"}]}, [("status.podIPs", "invalid")]),
        (
            {"podIPs": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]},
            [("status.podIPs", "invalid"), ("status.podIPs[1]", "duplicate")],
        ),
    ],
)
def test_status(status: Object, expected: list[tuple[str, str]]) -> None:
    old = _stored()
    new = PODS.decode({**deepcopy(old), "status": status})
    result = PODS.update(new, old, "status")[1]
    assert [(field, reason) for field, reason, _ in result] == expected


def test_what_is_no_address_among_several() -> None:
    old = _stored()
    status = {"podIPs": [{"ip": "nope"}, {"ip": "::1"}]}
    result = PODS.update(PODS.decode({**deepcopy(old), "status": status}), old, "status")[1]
    assert next(message for field, _, message in result if field == "status.podIPs") == (
        "failed to check for dual stack with error:ip <nil> is invalid"
    )


@pytest.mark.parametrize(
    ("policy", "code", "refused"),
    [("Always", 0, False), ("OnFailure", 1, False), ("OnFailure", 0, True), ("Never", 1, True)],
)
def test_what_ended_for_good_stays_so(policy: str, code: int, refused: bool) -> None:
    old = _stored(restartPolicy=policy)
    entry = {"name": "c", "ready": False, "restartCount": 0, "image": "", "imageID": ""}
    old["status"]["containerStatuses"] = [{**entry, "state": {"terminated": {"exitCode": code}}}]
    new = deepcopy(old)
    new["status"]["containerStatuses"] = [{**entry, "state": {"running": {}}}]
    path = "status.containerStatuses[0].state"
    expected = [(path, "forbidden", "may not be transitioned to non-terminated state")]
    assert PODS.update(new, old, "status")[1] == (expected if refused else [])


def test_the_single_address_is_believed() -> None:
    text = PODS.decode({**pod(), "status": {"podIP": "1.1.1.1", "podIPs": [{"ip": "2.2.2.2"}]}})
    assert text["status"]["podIPs"] == [{"ip": "1.1.1.1"}]
    text = PODS.decode({**pod(), "status": {"podIPs": [{"ip": "2.2.2.2"}]}})
    assert text["status"]["podIP"] == "2.2.2.2"


def _debugging(*names: str, old: Object) -> Object:
    new = deepcopy(old)
    new["spec"]["ephemeralContainers"] = [{"name": name, "image": "i"} for name in names]
    return PODS.decode(new)


def test_ephemeral_containers_are_only_added() -> None:
    old = _stored()
    first = _debugging("x", old=old)
    first["metadata"]["labels"] = {"ignored": "yes"}
    first, errors = PODS.update(first, old, "ephemeralcontainers")
    assert errors == []
    assert [c["name"] for c in first["spec"]["ephemeralContainers"]] == ["x"]
    assert "labels" not in first["metadata"]
    assert PODS.update(_debugging("y", "x", old=first), first, "ephemeralcontainers")[1] == []
    path = "spec.ephemeralContainers"
    detail = 'existing ephemeral containers "x" may not be removed\n'
    errors = PODS.update(_debugging("y", old=first), first, "ephemeralcontainers")[1]
    assert errors == [(path, "forbidden", detail)]


def test_ephemeral_containers_are_plain() -> None:
    old = _stored()
    new = _debugging("c", "d", old=old)
    new["spec"]["ephemeralContainers"][1] |= {
        "targetContainerName": "none",
        "ports": [{"containerPort": 1, "protocol": "TCP"}],
        "lifecycle": {},
    }
    detail = "cannot be set for an Ephemeral Container"
    base = "spec.ephemeralContainers"
    assert PODS.update(new, old, "ephemeralcontainers")[1] == [
        (f"{base}[0].name", "duplicate", '"c"'),
        (f"{base}[1].targetContainerName", "not found", '"none"'),
        (f"{base}[1].ports", "forbidden", detail),
        (f"{base}[1].lifecycle", "forbidden", detail),
    ]


@pytest.mark.parametrize(
    ("spec", "phase", "wanted", "expected"),
    [
        ({}, "Pending", 5, 0),  # no node: nothing runs
        ({"nodeName": "n"}, "Running", None, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Running", None, 7),
        ({"nodeName": "n"}, "Running", 5, 5),
        ({"nodeName": "n"}, "Running", 0, 0),
        ({"nodeName": "n"}, "Running", -1, 1),
        ({"nodeName": "n"}, "Succeeded", 5, 0),
        ({"nodeName": "n"}, "Failed", None, 0),
    ],
)
def test_grace_period(spec: Object, phase: str, wanted: int | None, expected: int) -> None:
    value = _stored(**spec)
    value["status"]["phase"] = phase
    assert PODS.behaviour.grace_period(value, wanted) == expected
